"""`sandbox create`."""

from __future__ import annotations

from typing import Any

import click

from sandbox_components.cli.changing import carry_out, changing_options
from sandbox_components.cli.declaring import Declared, declaring_options, read_entry
from sandbox_components.cli.options import Target, target_options


@click.command("create")
@click.argument("name")
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
    """Create a sandbox declared in the stack's config, and run it.

    \b
    sandbox create nightly --image ghcr.io/acme/agent:1.2 --command ./start.sh \\
        --cpu 500m --memory 2Gi --volume /data
    sandbox create nightly -f request.json -y
    """  # noqa: D301
    from sandbox_components.operations import declare
    from sandbox_components.operations.change import Request
    from sandbox_components.spec import naming

    naming.check_name(name, "NAME")
    declared = Declared(file=file, command=command_line, **flags)
    entry = declared.apply(read_entry(file, name) if file else {})
    secrets = declared.secrets()
    edit = declare.create(name, entry, secrets, "request" if file else "")
    request = Request(name, edit, "created", secrets=secrets)
    carry_out(target, request, no_up=no_up, dry_run=dry_run, yes=yes, wait=wait, timeout=timeout, output=output)
