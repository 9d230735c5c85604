"""`sandbox doctor`."""

from __future__ import annotations

from itertools import chain

import click

from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import print_document

_SIGNS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "failed": ("FAILED", "red")}


@click.command("doctor")
@output_option("text", "json", "yaml")
@target_options
def command(target: Target, output: str) -> int:
    """Check cluster, rights, storage classes, network policy and versions.

    Exit code 1 if something is wrong; a warning is not.

    \b
    sandbox doctor
    sandbox doctor -n agents -o json
    """  # noqa: D301
    from sandbox_components.operations.doctor import Verdict, check_cluster, check_machine

    checks = []
    for check in chain(check_machine(), check_cluster(target.connect, target.namespace)):
        checks.append(check)
        if output == "text":
            sign, color = _SIGNS[check.verdict.value]
            click.echo(f"{click.style(sign.ljust(8), fg=color)} {check.name}: {check.detail}")
            if check.next_step:
                click.echo(f"         -> {check.next_step}")
    is_well = all(check.verdict is not Verdict.FAILED for check in checks)
    if output != "text":
        from sandbox_components.views.doctor import checks_view

        print_document(checks_view(checks, is_well=is_well), output)
    return 0 if is_well else 1
