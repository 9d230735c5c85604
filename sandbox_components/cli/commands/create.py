"""`sandbox create`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import Run, carry_out, changing_options
from sandbox_components.cli.declaring import Declared, declaring_options, read_entry
from sandbox_components.cli.once import OnceCommand
from sandbox_components.cli.options import Target, target_options


@click.command("create", cls=OnceCommand)
@click.argument("name")
@declaring_options(is_update=False)
@changing_options
@target_options
def command(target: Target, name: str, declared: Declared, run: Run) -> None:
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
    declared.check_complete()
    request = read_entry(declared.file, name) if declared.file is not None else {}
    entry = declared.apply(dict(request))
    declared.check_removals(request)
    secrets = declared.secrets()
    edit = declare.create(name, entry, secrets, "request" if declared.file is not None else "")
    carry_out(target, Request(name, edit, "created", secrets=secrets), run)
