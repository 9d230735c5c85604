"""`sandbox revisions`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.completion import complete_revision
from sandbox_components.cli.options import Target, name_argument, output_option, target_options
from sandbox_components.cli.output import print_document, print_table, shown
from sandbox_components.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_components.revisions.past import Past
    from sandbox_components.revisions.timeline import Revision, Timeline


@click.command("revisions")
@name_argument
@click.option("--revision", metavar="N|ID", shell_complete=complete_revision, help="Show all of this one.")
@click.option("--at", metavar="TIME", help='What ran then: "2026-11-29 14:05", "2 hours ago"; of a day, all that ran.')
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N.")
@click.option("--utc", is_flag=True, help="Read and show times in UTC instead of this machine's zone.")
@output_option("table", "wide", "json", "yaml", "name")
@target_options
def command(
    target: Target, name: str, revision: str | None, at: str | None, limit: int | None, utc: bool, output: str
) -> None:
    """List a sandbox's revisions out of the stack's history, newest first as `git log` and `pulumi stack history` do.

    A revision is a change of image, command, resources, env, health check or ports; labels, network rules, the disk
    and pauses make none. The stack's own is marked with *. Needs no passphrase and no cluster.

    \b
    sandbox revisions nightly
    sandbox revisions nightly --revision 3
    sandbox revisions nightly --at "yesterday 14:05"
    """  # noqa: D301
    from sandbox_components.operations.revisions import read_timeline
    from sandbox_components.revisions.moment import read_moment
    from sandbox_components.views import revisions as views

    if revision is not None and (at is not None or limit is not None):
        raise InvalidInput("--revision", "shows one: leave out " + ("--at" if at is not None else "--limit"))
    moment = None
    if at is not None:
        moment = read_moment(at, now=datetime.now(UTC), zone=UTC if utc else None)
    engine = engine_of(target)
    line = read_timeline(engine, name)
    owner = engine.project.name, engine.stack
    for problem in line.problems:
        click.echo(f"warning: {problem}", err=True)
    if not line.is_whole:
        click.echo(
            f"warning: the history of stack {engine.stack} has lost its beginning: numbers are not sure, ids are",
            err=True,
        )
    if revision is not None:
        one = line.find(revision, "--revision")
        if output in ("json", "yaml"):
            print_document(views.revision_document(line, one, *owner), output)
        elif output == "name":
            click.echo(_name(line, one))
        else:
            from sandbox_components.cli.revision_text import print_revision

            print_revision(line, one, is_utc=utc)
        return
    if moment is not None:
        from sandbox_components.revisions.past import what_ran

        _print_past(line, what_ran(line, moment), owner, output, limit, utc)
        return
    newest = list(reversed(line.revisions))[:limit]
    if output in ("json", "yaml"):
        print_document(views.revisions_document(line, newest, *owner), output)
    else:
        _print_rows(line, newest, output, utc)


def _print_past(
    line: Timeline, past: Past, owner: tuple[str, str], output: str, limit: int | None, is_utc: bool
) -> None:
    """Print what ran: the sentence on stderr, so that stdout holds rows alone."""
    from sandbox_components.cli.revision_text import clock
    from sandbox_components.views import revisions as views

    if limit is not None:
        past = replace(past, revisions=past.revisions[-limit:])
    if output in ("json", "yaml"):
        print_document(views.past_document(line, past, *owner), output)
        return
    click.echo(views.past_text(line, past, lambda at: clock(at, is_utc=is_utc)), err=True)
    if past.stage.value in ("live", "updating", "creating", "deleting"):
        _print_rows(line, list(reversed(past.revisions)), output, is_utc)


def _print_rows(line: Timeline, revisions: Sequence[Revision], output: str, is_utc: bool) -> None:
    if output == "name":
        for one in revisions:
            click.echo(_name(line, one))
        return
    from sandbox_components.cli.revision_text import HEADS, WIDE_HEADS, row

    heads = WIDE_HEADS if output == "wide" or not line.is_whole else HEADS
    print_table(heads, [row(line, one, is_wide=heads is WIDE_HEADS, is_utc=is_utc) for one in revisions])


def _name(line: Timeline, revision: Revision) -> str:
    """Return what `--to-revision` takes: the number, or the id where numbers are not sure."""
    return shown(revision.number if line.is_whole else revision.id)
