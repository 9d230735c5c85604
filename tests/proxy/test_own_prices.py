"""The operator's own prices: they win over the list, and unlikely ones are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy.counts import Usage
from sandbox_components.proxy.fault import Unpriced
from sandbox_components.proxy.own_prices import read_own_prices
from sandbox_components.proxy.prices import Prices

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def own(**entry: Any) -> Prices:
    return Prices(read_own_prices({"gpt-4o": entry}))


def test_the_operators_price_wins() -> None:
    prices = own(input="1.5", output=2, cachedInput="0.01").of("openai", "gpt-4o", AT)
    assert prices.nanos(Usage(1_000_000, cached_tokens=500_000, output_tokens=1_000_000)) == 2_755_000_000
    assert prices.source == "operator"
    assert prices.version != own(input="1.6", output=2).of("openai", "gpt-4o", AT).version
    assert prices.capacity.output == 16384


def test_sizes_alone_leave_the_price() -> None:
    prices = own(maxOutputTokens=100, contextWindow=200).of("openai", "gpt-4o", AT)
    assert (prices.capacity.output, prices.capacity.window, prices.source) == (100, 200, "genai-prices")
    assert prices.nanos(Usage(1000, output_tokens=500)) == 7_500_000


def test_sizes_alone_do_not_let_through_what_cannot_be_capped() -> None:
    prices = Prices(read_own_prices({"gpt-4o-search-preview": {"contextWindow": 1000}}))
    with pytest.raises(Unpriced, match="searches the web"):
        prices.of("openai", "gpt-4o-search-preview", AT)


def test_a_free_model_costs_nothing() -> None:
    prices = own(free=True).of("openai", "gpt-4o", AT)
    assert prices.is_free
    assert prices.writes
    assert prices.nanos(Usage(10**6, output_tokens=10**6, problem="whatever")) == 0
    assert prices.dearest_nanos(("standard",), 10**6, 10**6) == 0


def test_the_operator_can_price_what_the_list_refuses() -> None:
    prices = Prices(read_own_prices({"local": {"input": "0.1"}, "gpt-7": {"input": 1, "output": 2}}))
    assert not prices.of("openai", "local", AT).writes
    assert prices.of("openai", "gpt-7", AT).nanos(Usage(1000, output_tokens=1)) == 1_002_000


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"input": 0}, "free: true"),
        ({"input": "0.0000025", "output": "0.00001"}, "no likely price"),
        ({"input": 2500000, "output": 1}, "no likely price"),
        ({"input": -1}, "no likely price"),
        ({"input": "cheap"}, "is not a price"),
        ({"input": "NaN"}, "is not a price"),
        ({"input": True}, "is not a price"),
        ({"input": "1e-400000"}, "no likely price"),
        ({"output": 1}, "input: is missing"),
        ({"free": True, "input": 1}, "free: is true"),
        ({"inputs": 1}, "inputs"),
        ({"contextWindow": 0, "free": True}, "contextWindow"),
    ],
)
def test_unlikely_prices_are_refused(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        read_own_prices({"gpt-4o": entry})
    assert str(caught.value).startswith("prices.gpt-4o")
