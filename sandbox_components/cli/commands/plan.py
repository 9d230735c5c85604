"""`sandbox plan`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import print_document
from sandbox_components.cli.progress import Progress
from sandbox_components.errors import Refused, SandboxError

CHANGES, FAULT, REFUSED = 1, 2, Refused.exit_code


@click.command("plan")
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=complete_sandbox)
@output_option("text", "json", "yaml", "markdown")
@click.option("--exit-code", is_flag=True, help="Exit 1 when something changes, 4 when it is refused.")
@target_options
def command(target: Target, names: tuple[str, ...], output: str, exit_code: bool) -> int:
    """Show what `pulumi up` would do to sandboxes and disks: who restarts, and which fields change.

    It is the engine's own preview, of all sandboxes that change or of the named ones; nothing is changed. Secrets are
    shown by name. --exit-code: faults are then 2 and more.

    \b
    sandbox plan
    sandbox plan nightly -s staging
    sandbox plan -s production -o markdown > comment.md
    """  # noqa: D301
    from sandbox_components.operations.planning import plan

    try:
        engine = engine_of(target)
        with Progress(is_quiet=target.is_quiet) as progress:
            progress(engine.stack, "planning")
            found = plan(engine, names)
    except SandboxError as error:
        if exit_code and error.exit_code == CHANGES:
            error.exit_code = FAULT
        raise
    if output == "text":
        from sandbox_components.cli.planned import print_plan

        print_plan(found, is_named=bool(names))
    elif output == "markdown":
        from sandbox_components.views.plan_markdown import plan_markdown

        click.echo(plan_markdown(found, is_named=bool(names)), nl=False)
    else:
        from sandbox_components.views.plan import plan_document

        print_document(plan_document(found), output)
    if not exit_code:
        return 0
    return REFUSED if found.is_refused else CHANGES if found.changes else 0
