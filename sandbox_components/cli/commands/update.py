"""`sandbox update`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import Run, Telling, carry_out, changing_options, engine_of
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.declaring import Declared, declaring_options, read_entry
from sandbox_components.cli.once import OnceCommand
from sandbox_components.cli.options import Target, target_options
from sandbox_components.errors import InvalidInput


@click.command("update", cls=OnceCommand)
@click.argument("name", shell_complete=complete_sandbox)
@declaring_options(is_update=True)
@changing_options
@target_options
def command(target: Target, name: str, declared: Declared, run: Run) -> None:
    """Change a sandbox declared in the stack's config: what isn't given stays, -f replaces all of it.

    \b
    sandbox update nightly --image ghcr.io/acme/agent:1.3
    sandbox update nightly --env DEBUG=1 --env OLD- --label team=core
    """  # noqa: D301
    from sandbox_components.operations import declare
    from sandbox_components.operations.change import Request
    from sandbox_components.operations.pins import pinned_id
    from sandbox_components.spec import naming

    naming.check_name(name, "NAME")
    if declared == Declared():
        raise _nothing_given(target, name)
    whole = read_entry(declared.file, name) if declared.file is not None else None
    secrets = declared.secrets()
    edit = declare.update(
        name,
        lambda old: declared.apply(dict(whole) if whole is not None else old),
        secrets,
        declared.dropped_secrets(),
        "request" if declared.file is not None else "",
    )
    request = Request(name, edit, "updated", secrets=secrets, arguments=declared.arguments())
    engine = engine_of(target)
    pinned = pinned_id(engine.project, engine.stack, name)

    def lead() -> None:
        if pinned is not None:
            told = f"{name} is pinned to revision {pinned}: that becomes its declaration, and this goes over it"
            click.echo(told, err=True)

    carry_out(target, request, run, engine=engine, telling=Telling(lead))


def _nothing_given(target: Target, name: str) -> InvalidInput:
    """Return the error for an update of nothing, which would yet make a pin the declaration."""
    from sandbox_components.operations.pins import pinned_id

    engine = engine_of(target)
    pinned = pinned_id(engine.project, engine.stack, name)
    ways = [f"sandbox update {name} --image IMAGE", f"sandbox update {name} --help"]
    if pinned is not None:
        ways.insert(1, f"it is pinned to revision {pinned}; to make that its declaration: sandbox unpin {name} --adopt")
    return InvalidInput("", "nothing to change is given", suggestions=ways)
