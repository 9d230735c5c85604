"""`sandbox resume`."""

from __future__ import annotations

from datetime import timedelta

import click

from sandbox_components.cli.options import Target, names_argument, output_option, target_options, timeout_option
from sandbox_components.cli.output import print_document
from sandbox_components.cli.progress import Progress


@click.command("resume")
@names_argument
@click.option("--wait/--no-wait", default=True, help="Wait until a new pod is ready (default).")
@timeout_option("How long to wait (default 5m and what the health check needs).")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@output_option("text", "json", "yaml")
@target_options
def command(
    target: Target, names: tuple[str, ...], wait: bool, timeout: timedelta | None, dry_run: bool, output: str
) -> None:
    """Start paused sandboxes on their disks.

    \b
    sandbox resume nightly
    sandbox resume nightly hourly --no-wait
    """  # noqa: D301
    from sandbox_components.operations.resume import resume

    with target.connect() as cluster:
        namespace = target.namespace_in(cluster)
        with Progress(is_quiet=target.is_quiet, is_single=len(names) == 1) as progress:
            results = resume(cluster, namespace, names, wait=wait, timeout=timeout, dry_run=dry_run, report=progress)
    if output != "text":
        from sandbox_components.views.operation import operations_document

        print_document(operations_document(results, namespace, [None] * len(results)), output)
        return
    for result in results:
        click.echo(f"{result.name} {result.outcome}")
