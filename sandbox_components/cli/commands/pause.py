"""`sandbox pause`."""

from __future__ import annotations

from datetime import timedelta

import click

from sandbox_components.cli.options import Target, names_argument, output_option, target_options, timeout_option
from sandbox_components.cli.output import print_document
from sandbox_components.cli.progress import Progress


@click.command("pause")
@names_argument
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks later.")
@click.option("--wait/--no-wait", default=True, help="Wait until the pods are gone (default).")
@timeout_option("How long to wait (default 5m).")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@output_option("text", "json", "yaml")
@target_options
def command(
    target: Target,
    names: tuple[str, ...],
    reason: str | None,
    wait: bool,
    timeout: timedelta | None,
    dry_run: bool,
    output: str,
) -> None:
    """Stop sandboxes and keep their disks.

    The agent gets TERM and its grace period to write a checkpoint. What is written outside the workspace is lost.

    \b
    sandbox pause nightly
    sandbox pause nightly hourly --reason "over the weekend"
    """  # noqa: D301
    from sandbox_components.operations.pause import pause

    with target.connect() as cluster:
        namespace = target.namespace_in(cluster)
        with Progress(is_quiet=target.is_quiet, is_single=len(names) == 1) as progress:
            results = pause(
                cluster,
                namespace,
                names,
                reason=reason,
                wait=wait,
                timeout=timeout or timedelta(minutes=5),
                dry_run=dry_run,
                report=progress,
            )
    warnings = [
        f"{result.name} is ephemeral: nothing of its files is kept"
        if result.is_ephemeral and result.outcome != "already paused"
        else None
        for result in results
    ]
    if output != "text":
        from sandbox_components.views.operation import operations_document

        print_document(operations_document(results, namespace, warnings), output)
        return
    for result, warning in zip(results, warnings, strict=True):
        click.echo(f"{result.name} {result.outcome}")
        if warning:
            click.echo(f"warning: {warning}", err=True)
