"""`sandbox diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.completion import complete_side
from sandbox_components.cli.options import Target, name_argument, output_option, target_options
from sandbox_components.cli.output import print_document

if TYPE_CHECKING:
    from sandbox_components.kube.client import Cluster

DIFFERS = 1
FAULT = 2
"""What a fault of the general kind ends with under `--exit-code`, where 1 means that they differ."""


@click.command("diff")
@name_argument
@click.argument("first", metavar="[FROM", required=False, shell_complete=complete_side)
@click.argument("second", metavar="[TO]]", required=False, shell_complete=complete_side)
@click.option("--exit-code", is_flag=True, help="Exit 1 when they differ, 0 when not; faults are 2 and more.")
@output_option("text", "json", "yaml")
@target_options
def command(target: Target, name: str, first: str | None, second: str | None, exit_code: bool, output: str) -> int:
    """Show what differs between two revisions, or between one and the cluster.

    FROM and TO are numbers or ids of `sandbox revisions`, or `live` for what the cluster holds. Without TO it is the
    current one; without both, what the current one changed. `live` alone shows drift: what was changed past Pulumi.
    Secret variables are compared by value, and shown by name.

    \b
    sandbox diff nightly
    sandbox diff nightly 2 5
    sandbox diff nightly live --exit-code
    """  # noqa: D301
    from sandbox_components.errors import SandboxError
    from sandbox_components.operations.difference import compare

    engine = engine_of(target)

    def connect() -> Cluster:
        return target.on(engine.stack).connect()

    try:
        found = compare(engine, name, first, second, connect)
    except SandboxError as error:
        if exit_code and error.exit_code == DIFFERS:
            error.exit_code = FAULT
        raise
    for note in found.notes:
        click.echo(f"warning: {note}", err=True)
    if output == "text":
        from sandbox_components.cli.difference_text import print_comparison

        print_comparison(found)
    else:
        from sandbox_components.views.revisions import difference_document

        print_document(difference_document(found, engine.project.name, engine.stack), output)
    return DIFFERS if exit_code and not found.difference.is_empty else 0
