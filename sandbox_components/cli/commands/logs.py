"""`sandbox logs`."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import click

from sandbox_components.cli.options import Duration, Target, name_argument, target_options


class _Lines(click.ParamType[int | None]):
    """A number of lines, or `all`."""

    name = "n|all"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what the help shows, where the word stands as it is typed."""
        return "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if value == "all":
            return None
        if not str(value).isdigit():
            self.fail(f'"{value}" is neither a number of lines nor "all"', param, ctx)
        return int(value)


@click.command("logs")
@name_argument
@click.option("-f", "--follow", is_flag=True, help="Go on as the agent writes.")
@click.option("--tail", type=_Lines(), default="100", show_default=True, help="Lines from the end.")
@click.option("--since", type=Duration(), help="Only this last stretch of time, such as 10m.")
@click.option("-p", "--previous", is_flag=True, help="Of the container before the last restart.")
@click.option("-c", "--container", default="agent", show_default=True, help="Container to read.")
@click.option("--timestamps", is_flag=True, help="Put the time before each line.")
@target_options
def command(
    target: Target,
    name: str,
    follow: bool,
    tail: int | None,
    since: timedelta | None,
    previous: bool,
    container: str,
    timestamps: bool,
) -> None:
    """Print the agent's log, byte for byte.

    \b
    sandbox logs nightly
    sandbox logs nightly -f --tail 10
    sandbox logs nightly -p --tail all
    """  # noqa: D301
    from sandbox_components.kube.logs import LogRequest
    from sandbox_components.operations.logs import read_logs

    request = LogRequest(tail, since, follow, previous, timestamps, container)
    with target.connect() as cluster:
        for chunk in read_logs(cluster, target.namespace_in(cluster), name, request):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    if follow and not target.is_quiet:
        click.echo(f"the log ended: the container has stopped (sandbox describe {name})", err=True)
