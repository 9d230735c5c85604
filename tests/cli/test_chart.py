"""The chart of `spend`: every row has its bar, from nothing to the dearest, on whatever terminal."""

from __future__ import annotations

import pytest

from sandbox_components.cli.spend_text import print_chart
from sandbox_components.operations.inference import Actor
from sandbox_components.operations.spend import Amounts, Row, Spend


def chart(capsys: pytest.CaptureFixture[str], rows: dict[str, int]) -> dict[str, int]:
    """Print a chart of keys to nano-dollars, and return the bars' lengths."""
    spent = [Row(key, Amounts(1, nanos, 0, 0, {})) for key, nanos in rows.items()]
    total = Amounts(len(rows), sum(rows.values()), 0, 0, {})
    print_chart(Spend(Actor("org", "acme"), "month:UTC:2026-11", "UTC", None, None, total, "day", tuple(spent), ()))
    lines = [line for line in capsys.readouterr().out.splitlines() if "┤" in line]
    return {line.split("┤")[0].strip(): line.count("█") for line in lines}


def test_a_month_has_all_its_days_on_a_low_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "10")
    days = {f"2026-10-{day:02d}": day * 10**8 for day in range(1, 32)}
    bars = chart(capsys, days)
    assert list(bars) == list(days)
    assert list(bars.values()) == sorted(bars.values())


@pytest.mark.parametrize("columns", [1, 40, 80, 300])
def test_small_amounts_begin_at_nothing(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    bars = chart(capsys, {"a": 10**7, "b": 2 * 10**7, "c": 0})
    assert bars["c"] == 0
    assert bars["b"] > 20
    assert abs(bars["b"] - 2 * bars["a"]) <= 2


@pytest.mark.parametrize("rows", [{"a": 0}, {"a": 123}, {"a": 10**18, "b": 1}])
def test_amounts_at_the_edges(rows: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    assert chart(capsys, rows).keys() == rows.keys()
