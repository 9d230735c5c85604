"""`sandbox delete`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import Run, carry_out, changing_options
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.options import Target, target_options


@click.command("delete")
@click.argument("name", shell_complete=complete_sandbox)
@changing_options
@target_options
def command(target: Target, name: str, run: Run) -> None:
    """Delete a sandbox declared in the stack's config; shows what becomes of its disk, and asks.

    \b
    sandbox delete nightly
    sandbox delete nightly --dry-run
    """  # noqa: D301
    from sandbox_components.operations import declare
    from sandbox_components.operations.change import Request

    request = Request(name, declare.delete(name), "deleted", deletes=True)
    carry_out(target, request, run)
