"""`sandbox pins`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import print_document, print_table, shown


@click.command("pins")
@output_option("table", "json", "yaml")
@target_options
def command(target: Target, output: str) -> None:
    """List the sandboxes that a rollback has pinned to a revision, out of the stack's config.

    \b
    sandbox pins
    sandbox pins -s production -o json
    """  # noqa: D301
    from sandbox_components.operations.pins import pins_of

    engine = engine_of(target)
    found = pins_of(engine.project, engine.stack)
    if output != "table":
        from sandbox_components.views.pins import pins_document

        print_document(pins_document(found, engine.project.name, engine.stack), output)
        return
    if not found:
        click.echo(f"nothing is pinned in stack {engine.stack}", err=True)
        return
    rows = [
        [
            one.name,
            shown(one.pin.revision),
            one.pin.id,
            one.pin.spec.image.uri,
            shown(one.pin.by),
            shown(one.pin.at),
            "config" if one.is_declared else "program",
        ]
        for one in found
    ]
    print_table(["NAME", "REVISION", "ID", "IMAGE", "BY", "SINCE", "DECLARED IN"], rows)
