"""Spending for reading: tables, and a chart of bars."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import click

from sandbox_components.cli.output import UNKNOWN, harmless, print_table, shown
from sandbox_components.operations.spend import Amounts, Spend, Standing
from sandbox_components.spec.money import NANOS_PER_DOLLAR, print_dollars
from sandbox_components.views.wire import stamp

_NARROWEST_CHART, _WIDEST_CHART = 40, 100
_LONGEST_LABEL = 32
_HEADS = ["SPENT", "CALLS", "INPUT", "CACHED", "OUTPUT", "ESTIMATED"]


def print_spend(found: Spend) -> None:
    """Print what was spent, and below it the limits that bind."""
    if found.by == "total":
        print_table(["PERIOD", *_HEADS], [[found.period, *_cells(found.total)]])
    else:
        rows = [[row.key, *_cells(row.amounts)] for row in found.rows]
        print_table([found.by.upper(), *_HEADS], [*rows, ["total", *_cells(found.total)]])
    if not found.limits:
        click.echo(f"{found.actor.shown} has no limit", err=True)
        return
    click.echo()
    rows = [
        [
            one.actor_type,
            one.actor_id,
            one.period,
            print_dollars(one.used_nanos),
            print_dollars(one.limit_nanos),
            print_dollars(one.left_nanos),
            stamp(one.ends_at) or UNKNOWN,
            shown(one.source),
        ]
        for one in found.limits
    ]
    print_table(["LIMIT OF", "ACTOR", "PERIOD", "USED", "LIMIT", "LEFT", "RESETS", "SET BY"], rows)


def print_chart(found: Spend) -> None:
    """Print bars of the rows; without colours, so that it can be kept as text."""
    if not found.rows:
        click.echo(f"{found.actor.shown} has spent nothing in {found.period}", err=True)
        return
    import plotext

    labels = [_label(row.key) for row in reversed(found.rows)]
    amounts = [row.amounts.nanos / NANOS_PER_DOLLAR for row in reversed(found.rows)]
    figure = plotext.figure
    plotext.terminal.limit(False, False)  # a month has more rows than a terminal, and none may be left out
    figure.clear()
    width = min(max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST_CHART), _WIDEST_CHART)
    figure.plot_size(width, 2 * len(labels) + 4)
    figure.ruler("x").lim(0, max(amounts) or 1)  # else small amounts are drawn on an axis from -1 to 1
    figure.title(f"{harmless(found.actor.shown)}: US dollars by {found.by}, {found.period}")
    figure.draw(figure.bar(labels, amounts, orientation="h", width=0.5))
    click.echo(figure.build().string(colorless=True).rstrip("\n"))
    click.echo(f"total: {print_dollars(found.total.nanos)}")


def limit_line(one: Standing) -> str:
    """Return how far a limit is used, in one line."""
    held = f", {print_dollars(one.held_nanos)} in flight" if one.held_nanos else ""
    used = f"{print_dollars(one.used_nanos)} of {print_dollars(one.limit_nanos)} used{held}"
    return f"{used}, resets {stamp(one.ends_at) or UNKNOWN}"


def limit_lines(limits: Sequence[Standing]) -> list[tuple[str, str]]:
    """Return a label and a line for each limit."""
    return [
        (one.period if one.actor_type == "sandbox" else f"{one.actor_type} {one.period}", limit_line(one))
        for one in limits
    ]


def _cells(amounts: Amounts) -> list[str]:
    tokens = [str(amounts.tokens.get(key, 0)) for key in ("inputTokens", "cachedInputTokens", "outputTokens")]
    return [print_dollars(amounts.nanos), str(amounts.calls), *tokens, print_dollars(amounts.estimated_nanos)]


def _label(key: str) -> str:
    text = harmless(key) or "total"
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
