"""Revisions for reading: rows of the table, and all of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from sandbox_components.cli.output import NONE, UNKNOWN, harmless, shown
from sandbox_components.revisions.timeline import GROUPS, Revision, Timeline
from sandbox_components.views.revisions import cause_text, image_of, who

HEADS = ["REVISION", "CREATED", "CAUSE", "IMAGE", "CHANGED", "MESSAGE"]
WIDE_HEADS = [*HEADS[:3], "RESULT", *HEADS[3:5], "WHO", "ID", "MESSAGE"]
_LABEL_WIDTH = 15


def clock(at: datetime | None, *, is_utc: bool) -> str:
    """Return a time to the second, with its zone: what `--at` takes."""
    if at is None:
        return UNKNOWN
    if is_utc:
        return at.astimezone(UTC).isoformat(" ", "seconds").replace("+00:00", "Z")
    return at.astimezone().isoformat(" ", "seconds")


def row(line: Timeline, one: Revision, *, is_wide: bool, is_utc: bool) -> list[str]:
    """Return a table's row."""
    number = f"{one.number}{'' if line.is_whole else '?'}{' *' if one.is_current else ''}"
    is_oldest_known = one.cause == "unknown"
    created = ("before " if is_oldest_known else "") + clock(one.entry.ended_at, is_utc=is_utc)
    cause = UNKNOWN if is_oldest_known else cause_text(one)
    image, changed = image_of(one) or UNKNOWN, ",".join(one.changed) or NONE
    message = " ".join(one.entry.message.splitlines()[:1]) or NONE
    if is_wide:
        person = who(one.entry.environment) or UNKNOWN
        return [number, created, cause, one.result, image, changed, person, one.id, message]
    if one.result != "succeeded":
        cause += f" ({one.result})"
    return [number, created, cause, image, changed, message]


def print_revision(line: Timeline, one: Revision, *, is_utc: bool) -> None:
    """Print all of one revision."""
    entry, environment = one.entry, one.entry.environment
    sure = "" if line.is_whole else " (not sure: the history has lost its beginning)"
    _section(
        "Revision",
        [
            ("Number", f"{one.number}{sure}{', current' if one.is_current else ''}"),
            ("Id", one.id),
            ("Created", clock(entry.ended_at, is_utc=is_utc)),
            ("Started", clock(entry.started_at, is_utc=is_utc)),
            ("Cause", UNKNOWN if one.cause == "unknown" else cause_text(one) + (f" ({one.to})" if one.to else "")),
            ("Result", one.result),
            ("Changed", ", ".join(one.changed) or NONE),
        ],
    )
    _section(
        "Update",
        [
            ("Operation", f"{entry.kind}, {entry.result}"),
            ("Message", shown(entry.message.strip())),
            ("Who", who(environment) or UNKNOWN),
            ("Commit", _commit(environment)),
            ("CI", shown(environment.get("ci.build.url") or environment.get("ci.system"))),
            ("Pulumi", shown(environment.get("pulumi.version"))),
        ],
    )
    click.echo(click.style("Spec", bold=True))
    if one.problem is not None:
        click.echo(f"  can't be read: {harmless(one.problem)}")
        return
    for label, value in _spec(one.spec):
        first, *more = value.splitlines() or [""]
        click.echo(f"  {(label + ':').ljust(_LABEL_WIDTH)} {first}".rstrip())
        for text in more:
            click.echo(f"  {' ' * _LABEL_WIDTH} {text}".rstrip())


def _section(title: str, lines: Iterable[tuple[str, str]]) -> None:
    click.echo(click.style(title, bold=True))
    for label, value in lines:
        click.echo(f"  {(label + ':').ljust(_LABEL_WIDTH)} {harmless(value)}")
    click.echo()


def _commit(environment: Mapping[str, str]) -> str:
    head = environment.get("git.head")
    if not head:
        return NONE
    return head + (" (with changes that were not committed)" if environment.get("git.dirty") == "true" else "")


def _spec(spec: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield the six groups, one value a line; secret variables by name alone."""
    from sandbox_components.revisions.difference import values

    by_group = values(spec)
    for group in GROUPS:
        lines = [f"{name.removeprefix(group + '.')}: {plain(value)}" for name, value in by_group.get(group, ())]
        if group == "env":
            lines += [f"{name}: (secret)" for name in (spec.get("secretEnv") or {}).get("names") or ()]
        if group == "image":
            lines = [plain(value) for _, value in by_group.get(group, ())]
        yield group, "\n".join(lines) or NONE


def plain(value: Any) -> str:
    """Return a value for reading: texts as they are, the rest as JSON; nothing in it moves a terminal's cursor."""
    import json

    return harmless(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True))
