"""`sandbox exec`."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import timedelta

import click

from sandbox_components.cli.options import Target, forget_hidden, name_argument, target_options, timeout_option
from sandbox_components.errors import InvalidInput, SandboxError

_OUR_FAULT = 125


class _Exec(click.Command):
    """Says where `--` belongs when a flag of the remote command is taken for one of ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            if "--" in args:
                raise
            forget_hidden(error)
            message = f"{error.format_message()} Put -- before the command: sandbox exec NAME -- CMD ARG..."
            raise click.UsageError(message, ctx) from error


@click.command("exec", cls=_Exec)
@name_argument
@click.argument("argv", metavar="[--] CMD [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("-i", "--stdin", "with_stdin", is_flag=True, help="Pass stdin on to the command.")
@click.option("-t", "--tty", "with_tty", is_flag=True, help="Give the command a terminal; with -i.")
@click.option("-c", "--container", default="agent", show_default=True, help="Container to run in.")
@timeout_option("Stop waiting after this time; the command may go on.")
@target_options
def command(
    target: Target,
    name: str,
    argv: tuple[str, ...],
    with_stdin: bool,
    with_tty: bool,
    container: str,
    timeout: timedelta | None,
) -> int:
    """Run a command in a sandbox, without a shell: each word arrives as it is.

    The exit code is the command's own; 127 if it isn't there, 126 if it can't be run, 125 for every other fault, 2 for
    wrong flags.

    \b
    sandbox exec nightly -- ls -l /workspace
    sandbox exec nightly -i -- tar -xf - -C /workspace < files.tar
    sandbox exec nightly -it -- sh
    """  # noqa: D301
    from sandbox_components.kube.exec import ExecRequest
    from sandbox_components.operations.execute import execute

    if with_tty and not (with_stdin and os.isatty(0) and os.isatty(1)):
        raise InvalidInput("--tty", "needs -i, and a terminal on stdin and stdout")
    seconds = timeout.total_seconds() if timeout else None
    request = ExecRequest(argv, container, with_stdin, with_tty, seconds)
    try:
        with target.connect() as cluster:
            namespace = target.namespace_in(cluster)
            done = execute(
                cluster, namespace, name, request, stdin=0, stdout=sys.stdout.buffer, stderr=sys.stderr.buffer
            )
    except SandboxError as error:
        error.exit_code = _OUR_FAULT
        if with_tty:
            line = (
                f"kubectl exec -it {name}-0 -c {container} -n {target.namespace or 'NAMESPACE'} -- {shlex.join(argv)}"
            )
            error.suggestions = (*error.suggestions, line)
        raise
    if not target.is_quiet:
        for note in done.notes:
            click.echo(f"sandbox exec: {note}", err=True)
    return done.code
