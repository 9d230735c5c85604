"""`sandbox rollback`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sandbox_components.cli.changing import (
    Run,
    Telling,
    carry_out,
    changing_options,
    engine_of,
    tell_to_commit,
)
from sandbox_components.cli.completion import complete_revision, complete_sandbox
from sandbox_components.cli.once import Once, OnceCommand
from sandbox_components.cli.options import Target, target_options
from sandbox_components.cli.progress import Progress

if TYPE_CHECKING:
    from sandbox_components.operations.change import Change


@click.command("rollback", cls=OnceCommand)
@click.argument("name", shell_complete=complete_sandbox)
@click.option(
    "--to-revision",
    cls=Once,
    metavar="N|ID",
    shell_complete=complete_revision,
    help="Number or id of a revision (default: the one before the current one).",
)
@click.option("-m", "--message", default="", help="Why: for the revision's message.")
@changing_options
@target_options
def command(target: Target, name: str, to_revision: str | None, message: str, run: Run) -> None:
    """Go back to an earlier revision; the disk stays as it is.

    That is image, command, resources, env, health check and ports, as they were then, secret variables too.

    It is a new update, by a pin in the stack's config that wins over what is declared until `sandbox unpin`.

    \b
    sandbox rollback nightly
    sandbox rollback nightly --to-revision 2 -m "1.3 loses its plan"
    """  # noqa: D301
    from sandbox_components.operations.rollback import find_way, number_now

    engine = engine_of(target)
    with Progress(is_quiet=target.is_quiet) as progress:
        way = find_way(engine, name, to_revision, note=message.strip(), report=lambda line: progress(name, line))
        progress.clear()
    for problem in way.problems:
        click.echo(f"warning: {problem}", err=True)
    to = {"number": way.number, "id": way.to.id}

    def lead() -> None:
        click.echo(f"{name} goes back to {way.title}, which was current from {way.since}:", err=True)
        if way.to.result == "failed":
            click.echo("  mind: its own update had failed, the sandbox did not become ready", err=True)

    def after(done: Change) -> tuple[str, dict[str, Any]]:
        is_done = done.outcome == "rolled back"
        number = number_now(engine, name, way) if is_done else way.number and way.current.number
        if done.outcome == "unchanged":
            how = f"as {way.title} was" if way.is_there else f"pinned to {way.title} already"
            click.echo(f"{name} is {how}: nothing is to be done", err=True)
        elif done.outcome != "planned":
            tell_to_commit(engine, f"rollback {name} to {way.title}")
        words = f" to {way.title}" + ("" if number is None else f", as revision {number}") if is_done else ""
        return words, {"toRevision": to, "revision": number}

    carry_out(target, way.request, run, engine=engine, telling=Telling(lead, after))
