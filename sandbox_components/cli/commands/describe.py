"""`sandbox describe`."""

from __future__ import annotations

import click

from sandbox_components.cli.options import Target, name_argument, output_option, target_options
from sandbox_components.cli.output import print_document


@click.command("describe")
@name_argument
@output_option("text", "json", "yaml")
@click.option("--no-events", is_flag=True, help="Leave out the events.")
@target_options
def command(target: Target, name: str, output: str, no_events: bool) -> None:
    """Show all about one sandbox, and why it isn't well.

    \b
    sandbox describe nightly
    sandbox describe nightly -o json | jq .probe
    """  # noqa: D301
    from sandbox_components.operations.describe import describe

    with target.connect() as cluster:
        seen = describe(cluster, target.namespace_in(cluster), name)
        now = cluster.now()
    if output == "text":
        from sandbox_components.cli.sections import print_sections

        print_sections(seen, now, with_events=not no_events)
    else:
        from sandbox_components.views.sandbox import sandbox_view

        print_document(sandbox_view(seen, with_events=not no_events), output)
