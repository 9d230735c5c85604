"""The table of what models can read and write: names, dates, fine-tunes, and whether it keeps up with the prices."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files

import pytest
from genai_prices import data_snapshot

from sandbox_components.proxy.fault import Unpriced
from sandbox_components.proxy.model_table import Capacity, capacity
from sandbox_components.proxy.prices import Prices

FAMILIES = json.loads((files("sandbox_components.proxy") / "models.json").read_text("utf-8"))["families"]
AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
NAMES = [name for family in FAMILIES for name in family["names"]]


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "GPT-4o", "gpt-4o-2024-11-20", "gpt-4o-20241120", "ft:gpt-4o-2024-08-06:acme::x1", "ft:gpt-4o:a:b:c"],
)
def test_a_name_with_a_date_and_a_fine_tune_are_the_model(name: str) -> None:
    assert capacity(name) == Capacity(128_000, 16_384, 1445)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4",
        "gpt-4o-mini",
        "gpt-4o-evil",
        "gpt-4o-2024-11-20-x",
        "gpt-4o-2024",
        "x-gpt-4o",
        "ft:gpt-4o",
        "gpt-4o ",
    ],
)
def test_a_name_that_only_begins_alike_is_another_model(name: str) -> None:
    assert capacity(name) != capacity("gpt-4o")


def test_claude_by_date() -> None:
    assert (
        capacity("claude-haiku-4-5-20251001")
        == capacity("claude-haiku-4-5@20251001")
        == Capacity(200_000, 64_000, 1700)
    )


def test_every_name_stands_once() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(name == name.lower() for name in NAMES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family["names"][0])
def test_figures_fit_together(family: dict[str, int | None]) -> None:
    assert family["window"]
    assert family["output"] is not None
    assert 0 <= family["output"] <= family["window"]
    assert family["image"] is None or 0 < family["image"] < family["window"]


def test_no_window_is_smaller_than_in_the_price_list() -> None:
    for provider in data_snapshot.get_snapshot().providers:
        if provider.id not in ("openai", "anthropic"):
            continue
        for name in NAMES:
            model = provider.find_model(name)
            window = capacity(name).window
            if model is not None and model.context_window is not None and window is not None:
                assert window >= model.context_window, name


def test_no_window_ends_below_a_step_of_the_price() -> None:
    """A price for input above some length says that there is such input, with a beta header at least."""
    prices, seen = Prices(), 0
    for provider in data_snapshot.get_snapshot().providers:
        if provider.id not in ("openai", "anthropic"):
            continue
        for name in {*NAMES, *(model.id for model in provider.models)}:
            try:
                found = prices.of(provider.id, name, AT)
            except Unpriced:
                continue
            kinds = [
                kind for rates in found.tiers.values() for kind in asdict(rates).values() if isinstance(kind, tuple)
            ]
            last = max(start for kind in kinds for start, _ in kind)
            seen += last > 0
            assert last == 0 or (found.capacity.window or 0) > last, name
    assert seen


def test_every_claude_with_a_price_is_in_it() -> None:
    (provider,) = (one for one in data_snapshot.get_snapshot().providers if one.id == "anthropic")
    unknown = {model.id for model in provider.models if capacity(model.id).output is None}
    assert unknown == {"claude-2", "claude-v1"}
