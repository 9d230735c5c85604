"""Printing: tables as kubectl has them, JSON and YAML, ages, states in colour. stdout is data, nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import click

NONE = "<none>"
UNKNOWN = "<unknown>"

_COLORS = {
    "Running": "green",
    "Paused": "blue",
    "Pending": "yellow",
    "Pausing": "yellow",
    "Resuming": "yellow",
    "Error": "red",
}


def harmless(text: str) -> str:
    """Return text of others for a terminal: what would move its cursor or turn its letters round is spelt out.

    An agent writes its own termination message, and whoever may make events writes those.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)


def print_document(document: Mapping[str, Any], output: str) -> None:
    """Print one answer as JSON or YAML."""
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    import yaml

    click.echo(yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=10_000), nl=False)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, with_heads: bool = True) -> list[int]:
    """Print columns three spaces apart, nothing cut off; states are coloured on a terminal.

    Returns:
        The columns' widths, for rows that follow later.
    """
    rows = [[harmless(cell) for cell in row] for row in rows]
    lines = [list(heads), *rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(heads))]
    if with_heads:
        print_row(heads, widths)
    for row in rows:
        print_row(row, widths)
    return widths


def print_row(row: Sequence[str], widths: Sequence[int]) -> None:
    """Print one row of a table."""
    words = [harmless(cell) for cell in row]
    cells = [_colored(word, word.ljust(width)) for word, width in zip(words, widths, strict=True)]
    cells[-1] = _colored(words[-1], words[-1])
    click.echo("   ".join(cells).rstrip())


def _colored(word: str, shown: str) -> str:
    return click.style(shown, fg=_COLORS[word]) if word in _COLORS else shown


def shown(value: object) -> str:
    """Return a value for reading: `<none>` for nothing."""
    return NONE if value is None or value == "" else str(value)


def age(since: datetime | None, now: datetime) -> str:
    """Return how long ago in kubectl's way: 45s, 5m30s, 3h12m, 2d4h, 30d."""
    if since is None:
        return UNKNOWN
    return span(now - since)


def span(length: timedelta) -> str:
    """Return a stretch of time with two digits or so of precision."""
    seconds = max(int(length.total_seconds()), 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return f"{days}d"
