"""`sandbox unpin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sandbox_components.cli.changing import Run, Telling, carry_out, changing_options, engine_of, tell_to_commit
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.options import Target, target_options

if TYPE_CHECKING:
    from sandbox_components.operations.change import Change


@click.command("unpin")
@click.argument("name", shell_complete=complete_sandbox)
@click.option("--adopt", is_flag=True, help="Make what is pinned the sandbox's declaration in the config.")
@changing_options
@target_options
def command(target: Target, name: str, adopt: bool, run: Run) -> None:
    """End a rollback: take again what is declared, or with --adopt declare what is pinned.

    \b
    sandbox unpin nightly
    sandbox unpin nightly --adopt
    """  # noqa: D301
    from sandbox_components.operations.unpin import request_to_unpin

    engine = engine_of(target)
    request = request_to_unpin(engine, name, adopt=adopt)

    def after(done: Change) -> tuple[str, dict[str, Any]]:
        if done.outcome == "unchanged":
            click.echo(f"{name} is not pinned: nothing is to be done", err=True)
        elif done.outcome != "planned":
            tell_to_commit(engine, f"unpin {name}")
        return "", {}

    carry_out(target, request, run, engine=engine, telling=Telling(after=after))
