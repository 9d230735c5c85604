"""`sandbox update`."""

from __future__ import annotations

from typing import Any

import click

from sandbox_components.cli.changing import carry_out, changing_options
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.declaring import Declared, declaring_options, read_entry
from sandbox_components.cli.options import Target, target_options


@click.command("update")
@click.argument("name", shell_complete=complete_sandbox)
@click.argument("entrypoint", nargs=-1, metavar="[-- ARG...]")
@declaring_options
@changing_options
@target_options
def command(
    target: Target,
    name: str,
    file: str | None,
    command_line: str | None,
    no_up: bool,
    dry_run: bool,
    yes: bool,
    wait: bool,
    timeout: Any,
    output: str,
    **flags: Any,
) -> None:
    """Change a sandbox declared in the stack's config: what isn't given stays, -f replaces all of it.

    \b
    sandbox update nightly --image ghcr.io/acme/agent:1.3
    sandbox update nightly --env DEBUG=1 --env OLD- --label team=core
    """  # noqa: D301
    from sandbox_components.operations import declare
    from sandbox_components.operations.change import Request

    declared = Declared(file=file, command=command_line, **flags)
    whole = read_entry(file, name) if file else None
    secrets = declared.secrets()
    edit = declare.update(
        name,
        lambda old: declared.apply(dict(whole) if whole is not None else old),
        secrets,
        declared.dropped_secrets(),
        "request" if file else "",
    )
    request = Request(name, edit, "updated", secrets=secrets)
    carry_out(target, request, no_up=no_up, dry_run=dry_run, yes=yes, wait=wait, timeout=timeout, output=output)
