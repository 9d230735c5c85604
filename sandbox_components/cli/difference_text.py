"""A comparison for reading: fields old → new by group, texts of several lines as `diff -u` shows them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click

from sandbox_components.cli.revision_text import plain
from sandbox_components.operations.difference import Comparison
from sandbox_components.revisions.difference import ADDED, CHANGED, REMOVED, UNCHANGED, UNKNOWN, Field
from sandbox_components.views.revisions import name_of, side_text

_SIGNS = {ADDED: "+", REMOVED: "-", CHANGED: "~", UNCHANGED: "=", UNKNOWN: "?"}
_COLORS = {"+": "green", "-": "red", "~": "yellow", "?": "yellow"}


def print_comparison(found: Comparison) -> None:
    """Print what differs, and what it means."""
    old, new = side_text(found.old, found.is_whole), side_text(found.new, found.is_whole)
    click.echo(click.style(f"{found.name}: {old} → {new}", bold=True))
    for group in found.difference.changed:
        click.echo(f"  {group}")
        for line in _lines(found, group):
            sign = line.lstrip()[:1]
            click.echo(click.style(line, fg=_COLORS.get(sign)))
    if found.difference.is_empty:
        click.echo("  no differences")
    unknown = [one.name for one in found.difference.secrets if one.verdict == UNKNOWN]
    if unknown and "env" not in found.difference.changed:
        click.echo(f"  unknown: whether the values of {', '.join(unknown)} differ")
    if found.is_live:
        _print_drift(found)


def _lines(found: Comparison, group: str) -> Iterator[str]:
    for field in found.difference.fields:
        if field.group == group:
            yield from _field(field)
    if group != "env":
        return
    for secret in found.difference.secrets:
        if secret.verdict != UNCHANGED or found.difference.is_resealed:
            yield f"    {_SIGNS[secret.verdict]} env.{secret.name}: {secret.verdict} (secret)"
    if found.difference.is_resealed and all(one.verdict == UNCHANGED for one in found.difference.secrets):
        yield "    ~ the Secret was made anew, with the same values"


def _field(field: Field) -> Iterator[str]:
    sign = _SIGNS[field.operation]
    texts = [plain(value) for value in (field.old, field.new) if value is not None]
    if all("\n" not in text for text in texts):
        yield f"    {sign} {field.name}: {' → '.join(texts)}"
        return
    yield f"    {sign} {field.name}:"
    old, new = (plain(value).splitlines() if value is not None else [] for value in (field.old, field.new))
    for line in list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]:
        yield f"        {line}"


def _print_drift(found: Comparison) -> None:
    assert found.current is not None
    declared = f"{name_of(found.current, found.is_whole)}, which the stack has now"
    if not found.drift:
        click.echo(f"no drift: the cluster holds {declared}")
        return
    click.echo(f"drift in {', '.join(found.drift)}: the cluster doesn't hold {declared}")
    if found.by:
        click.echo(f"parts of the pod template belong to: {', '.join(found.by)}")
    click.echo("take it back: pulumi up --refresh", err=True)
