"""Golden prices: what calls cost, by hand; and that no call can cost more than its worst case.

The arithmetic of each case is tokens * dollars per million tokens, with the rates of genai-prices 0.2.3 on the day of
`AT`, as the providers' price pages have them: https://developers.openai.com/api/docs/pricing and
https://platform.claude.com/docs/en/about-claude/pricing. A case that fails after an upgrade of genai-prices is either a
price that changed (change the arithmetic, and say so in the changelog) or a fault.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.proxy.counts import Usage
from sandbox_components.proxy.fault import Unpriced
from sandbox_components.proxy.prices import Prices
from sandbox_components.proxy.rates import CannotPrice

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
PRICES = Prices()


class Case(NamedTuple):
    what: str
    api: str
    model: str
    usage: Usage
    by_hand: str
    dollars: str


CASES = [
    Case("embeddings: twelve tokens", "openai", "text-embedding-3-small", Usage(12), "12 * 0.02", "0.00000024"),
    Case(
        "embeddings: a large batch", "openai", "text-embedding-3-large", Usage(287_431), "287_431 * 0.13", "0.03736603"
    ),
    Case("embeddings: the old model", "openai", "text-embedding-ada-002", Usage(8_191), "8_191 * 0.1", "0.0008191"),
    Case("plain", "openai", "gpt-4o", Usage(1_000, output_tokens=500), "1_000 * 2.5 + 500 * 10", "0.0075"),
    Case(
        "plain, with a date", "openai", "gpt-4o-2024-11-20", Usage(1, output_tokens=1), "1 * 2.5 + 1 * 10", "0.0000125"
    ),
    Case(
        "cached",
        "openai",
        "gpt-4o",
        Usage(2_048, cached_tokens=1_920, output_tokens=300),
        "128 * 2.5 + 1_920 * 1.25 + 300 * 10",
        "0.00572",
    ),
    Case(
        "all cached",
        "openai",
        "gpt-4.1",
        Usage(4_096, cached_tokens=4_096, output_tokens=10),
        "4_096 * 0.5 + 10 * 8",
        "0.002128",
    ),
    Case("a small model", "openai", "gpt-4o-mini", Usage(333, output_tokens=77), "333 * 0.15 + 77 * 0.6", "0.00009615"),
    Case(
        "reasoning is output",
        "openai",
        "o3",
        Usage(900, output_tokens=4_200, reasoning_tokens=4_000),
        "900 * 2 + 4_200 * 8",
        "0.0354",
    ),
    Case(
        "reasoning and cache",
        "openai",
        "gpt-5",
        Usage(1_200, cached_tokens=1_024, output_tokens=350, reasoning_tokens=256),
        "176 * 1.25 + 1_024 * 0.125 + 350 * 10",
        "0.003848",
    ),
    Case(
        "reasoning, nothing shown",
        "openai",
        "gpt-5",
        Usage(50, output_tokens=128_000, reasoning_tokens=128_000),
        "50 * 1.25 + 128_000 * 10",
        "1.2800625",
    ),
    Case(
        "a dear model", "openai", "gpt-5-pro", Usage(10_000, output_tokens=20_000), "10_000 * 15 + 20_000 * 120", "2.55"
    ),
    Case(
        "the dearest model",
        "openai",
        "o1-pro",
        Usage(10_000, output_tokens=20_000),
        "10_000 * 150 + 20_000 * 600",
        "13.5",
    ),
    Case(
        "cache write",
        "openai",
        "gpt-6-sol",
        Usage(10_000, cached_tokens=3_000, cache_write_tokens=6_000, output_tokens=800),
        "1_000 * 2 + 3_000 * 0.2 + 6_000 * 2.5 + 800 * 10",
        "0.0256",
    ),
    Case(
        "a price that changed in July",
        "openai",
        "gpt-5.6-terra",
        Usage(1_000, cache_write_tokens=400, output_tokens=100),
        "600 * 2 + 400 * 2.5 + 100 * 12",
        "0.0034",
    ),
    Case(
        "just not long", "openai", "gpt-6-sol", Usage(272_000, output_tokens=1_000), "272_000 * 2 + 1_000 * 10", "0.554"
    ),
    Case(
        "long by one token",
        "openai",
        "gpt-6-sol",
        Usage(272_001, output_tokens=1_000),
        "272_001 * 4 + 1_000 * 15",
        "1.103004",
    ),
    Case(
        "long, cached and written",
        "openai",
        "gpt-6-sol",
        Usage(500_000, cached_tokens=300_000, cache_write_tokens=100_000, output_tokens=2_000),
        "100_000 * 4 + 300_000 * 0.4 + 100_000 * 5 + 2_000 * 15",
        "1.05",
    ),
    Case(
        "flex",
        "openai",
        "gpt-6-sol",
        Usage(10_000, output_tokens=1_000, service_tier="flex"),
        "10_000 * 1 + 1_000 * 5",
        "0.015",
    ),
    Case(
        "flex, cached",
        "openai",
        "gpt-5.4",
        Usage(10_000, cached_tokens=8_000, output_tokens=1_000, service_tier="flex"),
        "2_000 * 1.25 + 8_000 * 0.13 + 1_000 * 7.5",
        "0.01104",
    ),
    Case(
        "flex, long",
        "openai",
        "gpt-6-sol",
        Usage(300_000, output_tokens=1_000, service_tier="flex"),
        "300_000 * 2 + 1_000 * 7.5",
        "0.6075",
    ),
    Case(
        "flex where it is no cheaper",
        "openai",
        "gpt-4o",
        Usage(1_000, output_tokens=1_000, service_tier="flex"),
        "1_000 * 2.5 + 1_000 * 10",
        "0.0125",
    ),
    Case(
        "priority",
        "openai",
        "gpt-4o",
        Usage(1_000, cached_tokens=400, output_tokens=500, service_tier="priority"),
        "600 * 4.25 + 400 * 2.125 + 500 * 17",
        "0.0119",
    ),
    Case(
        "priority, as fast",
        "openai",
        "gpt-6-sol",
        Usage(1_000, output_tokens=500, service_tier="fast"),
        "1_000 * 4 + 500 * 20",
        "0.014",
    ),
    Case(
        "priority, long, one price",
        "openai",
        "gpt-5.4",
        Usage(400_000, output_tokens=500, service_tier="priority"),
        "400_000 * 5 + 500 * 30",
        "2.015",
    ),
    Case(
        "priority, long, two prices",
        "openai",
        "gpt-6-sol",
        Usage(400_000, output_tokens=500, service_tier="priority"),
        "400_000 * 8 + 500 * 30",
        "3.215",
    ),
    Case(
        "asked for priority, got default",
        "openai",
        "gpt-4o",
        Usage(1_000, output_tokens=500, service_tier="default"),
        "1_000 * 2.5 + 500 * 10",
        "0.0075",
    ),
    Case(
        "capacity bought beforehand",
        "openai",
        "gpt-4o",
        Usage(1_000, output_tokens=500, service_tier="scale"),
        "1_000 * 2.5 + 500 * 10",
        "0.0075",
    ),
    Case(
        "a tier where there is but one",
        "openai",
        "gpt-oss-20b",
        Usage(1_000, service_tier="x"),
        "1_000 * 0.029",
        "0.000029",
    ),
    Case(
        "audio in and out",
        "openai",
        "gpt-audio",
        Usage(1_500, audio_input_tokens=1_400, output_tokens=900, audio_output_tokens=800),
        "100 * 2.5 + 1_400 * 32 + 100 * 10 + 800 * 64",
        "0.09725",
    ),
    Case(
        "cache write for five minutes",
        "anthropic",
        "claude-sonnet-4-5",
        Usage(12_307, cache_write_tokens=12_304, output_tokens=550),
        "3 * 3 + 12_304 * 3.75 + 550 * 15",
        "0.054399",
    ),
    Case(
        "cache write for an hour",
        "anthropic",
        "claude-sonnet-4-5",
        Usage(7_100, cached_tokens=2_000, cache_write_tokens=5_000, cache_write_1h_tokens=4_000, output_tokens=700),
        "100 * 3 + 2_000 * 0.3 + 1_000 * 3.75 + 4_000 * 6 + 700 * 15",
        "0.03915",
    ),
    Case(
        "long by one token",
        "anthropic",
        "claude-sonnet-4-5",
        Usage(200_001, output_tokens=1_000),
        "200_001 * 6 + 1_000 * 22.5",
        "1.222506",
    ),
    Case(
        "long because of the cache",
        "anthropic",
        "claude-haiku-5-5",
        Usage(120_000, cached_tokens=110_000, output_tokens=1_000),
        "10_000 * 0.5 + 110_000 * 0.05 + 1_000 * 2.5",
        "0.013",
    ),
    Case(
        "not long",
        "anthropic",
        "claude-haiku-5-5",
        Usage(100_000, output_tokens=1_000),
        "100_000 * 0.1 + 1_000 * 0.5",
        "0.0105",
    ),
    Case(
        "cheap cache hits",
        "anthropic",
        "claude-fable-5-2",
        Usage(900_000, cached_tokens=890_000, output_tokens=5_000),
        "10_000 * 8 + 890_000 * 0.2 + 5_000 * 40",
        "0.458",
    ),
    Case(
        "fast",
        "anthropic",
        "claude-opus-5-5",
        Usage(3_000, cached_tokens=1_000, cache_write_tokens=1_000, output_tokens=900, speed="fast"),
        "1_000 * 8 + 1_000 * 0.4 + 1_000 * 10 + 900 * 40",
        "0.0544",
    ),
    Case(
        "capacity bought beforehand",
        "anthropic",
        "claude-opus-5-5",
        Usage(3_000, output_tokens=900, service_tier="priority"),
        "3_000 * 4 + 900 * 20",
        "0.03",
    ),
    Case(
        "thinking is output, with a date",
        "anthropic",
        "claude-haiku-4-5-20251001",
        Usage(25, output_tokens=1_500, reasoning_tokens=1_400),
        "25 * 1 + 1_500 * 5",
        "0.007525",
    ),
    Case(
        "in the United States",
        "anthropic",
        "claude-opus-5-5",
        Usage(1_000, output_tokens=100, inference_geo="us"),
        "1_100 * 4 + 110 * 20",
        "0.0066",
    ),
    Case(
        "anywhere",
        "anthropic",
        "claude-opus-5-5",
        Usage(1_000, output_tokens=100, inference_geo="global"),
        "1_000 * 4 + 100 * 20",
        "0.006",
    ),
    Case(
        "a search of the provider's",
        "anthropic",
        "claude-opus-5-5",
        Usage(1_000, output_tokens=100, web_searches=2),
        "1_000 * 4 + 100 * 20 + 2 * 10000",
        "0.026",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model}: {case.what}")
def test_golden(case: Case) -> None:
    products = (product.split(" * ") for product in case.by_hand.split(" + "))
    by_hand = sum((int(tokens) * Decimal(rate) for tokens, rate in products), Decimal(0)) / 10**6
    assert by_hand == Decimal(case.dollars)
    assert PRICES.of(case.api, case.model, AT).nanos(case.usage) == by_hand * 10**9


def test_there_are_forty_of_them() -> None:
    assert len(CASES) >= 40
    assert len({(case.model, case.what) for case in CASES}) == len(CASES)


def test_a_price_is_rounded_up_once() -> None:
    rates = PRICES.of("openai", "gpt-5.6-luna", AT)
    for tokens in range(1, 50):
        exact = genai_prices.calc_price(
            genai_prices.Usage(input_tokens=tokens, cache_read_tokens=tokens, output_tokens=0),
            "gpt-5.6-luna",
            provider_id="openai",
            genai_request_timestamp=AT,
        ).total_price
        assert 0 <= rates.nanos(Usage(tokens, cached_tokens=tokens)) - exact * 10**9 < 1


@pytest.mark.parametrize(
    ("at", "by_hand"),
    [(datetime(2026, 7, 29, 23, 59, tzinfo=UTC), "1000 * 2.5"), (datetime(2026, 7, 30, tzinfo=UTC), "1000 * 2")],
)
def test_a_price_is_that_of_its_day(at: datetime, by_hand: str) -> None:
    tokens, rate = by_hand.split(" * ")
    assert PRICES.of("openai", "gpt-5.6-terra", at).nanos(Usage(1000)) == int(tokens) * Decimal(rate) * 1000


MODELS = [
    ("openai", "gpt-4o"),
    ("openai", "gpt-5"),
    ("openai", "gpt-6-sol"),
    ("openai", "gpt-5.4"),
    ("openai", "gpt-5.6-terra"),
    ("openai", "gpt-audio"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("anthropic", "claude-fable-5-2"),
    ("anthropic", "claude-opus-5-5"),
]
TOKENS = st.integers(0, 400_000)


@st.composite
def usages(draw: st.DrawFn, api: str) -> Usage:
    plain, cached, written, written_1h, out = (draw(TOKENS) for _ in range(5))
    if api == "openai":
        tier = draw(st.sampled_from(["", "default", "flex", "priority", "fast"]))
        return Usage(
            plain + cached + written,
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=out,
            service_tier=tier,
        )
    return Usage(
        plain + cached + written + written_1h,
        cached_tokens=cached,
        cache_write_tokens=written + written_1h,
        cache_write_1h_tokens=written_1h,
        output_tokens=out,
        speed=draw(st.sampled_from(["", "standard"])),
    )


@given(st.data(), st.sampled_from([model for model in MODELS if model[1] != "gpt-audio"]))
def test_the_price_list_reckons_the_same(data: st.DataObject, model: tuple[str, str]) -> None:
    usage = data.draw(usages(model[0]))
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cache_write_1h_tokens=usage.cache_write_1h_tokens,
        ),
        model[1],
        provider_id=model[0],
        genai_request_timestamp=AT,
        price_context={"service_tier": usage.service_tier} if usage.service_tier else None,
    ).total_price
    assert 0 <= PRICES.of(*model, AT).nanos(usage) - theirs * 10**9 < 1


@given(st.data(), st.sampled_from(MODELS))
def test_nothing_costs_more_than_the_worst_case(data: st.DataObject, model: tuple[str, str]) -> None:
    prices = PRICES.of(*model, AT)
    usage = data.draw(usages(model[0]))
    if model[0] == "anthropic":
        usage = replace(usage, inference_geo=data.draw(st.sampled_from(["us", "global", ""])))
        if "speed=fast" in prices.tiers:
            usage = replace(usage, speed=data.draw(st.sampled_from(["fast", ""])))
    if model[1] == "gpt-audio":
        usage = replace(usage, service_tier="")
        usage = replace(usage, audio_input_tokens=data.draw(st.integers(0, usage.input_tokens)))
        usage = replace(usage, audio_output_tokens=data.draw(st.integers(0, usage.output_tokens)))
    spare = data.draw(st.sampled_from([0, 1, 10**6]))
    most = prices.dearest_nanos(tuple(prices.tiers), usage.input_tokens + spare, usage.output_tokens + spare)
    assert prices.nanos(usage) <= most


@pytest.mark.parametrize(
    ("api", "model", "told"),
    [
        ("openai", "gpt-7", "nobody here knows"),
        ("anthropic", "gpt-4o", "nobody here knows"),
        ("openai", "claude-opus-5-5", "nobody here knows"),
        ("nobody", "gpt-4o", "nobody here knows"),
        ("openai", "", "nobody here knows"),
        ("openai", "moderation", "no price, or zero"),
        ("google", "gemma-3", "no price, or zero"),
        ("openai", "whisper-1", "audio_hours"),
        ("openai", "gpt-image-1", "input_image_mtok"),
        ("openai", "gpt-4o-search-preview", "searches the web"),
        ("openai", "o3-deep-research", "hosted tools"),
        ("deepseek", "deepseek-chat", "at some hours"),
    ],
)
def test_what_cannot_be_capped_is_refused(api: str, model: str, told: str) -> None:
    with pytest.raises(Unpriced, match=told) as caught:
        PRICES.of(api, model, AT)
    assert (caught.value.status, caught.value.param) == (400, "model")


@pytest.mark.parametrize(
    ("model", "usage", "told"),
    [
        (("openai", "gpt-4o"), Usage(5, problem="usage.x is not a count"), "not a count"),
        (("openai", "gpt-5-pro"), Usage(5, output_tokens=1, service_tier="priority"), "tier priority has no price"),
        (("openai", "gpt-5-pro"), Usage(5, output_tokens=1, service_tier="ultrafast"), "tier ultrafast has no price"),
        (("openai", "gpt-4o"), Usage(5, output_tokens=1, service_tier="turbo"), "tier in the answer has no price"),
        (("anthropic", "claude-haiku-5-5"), Usage(5, output_tokens=1, speed="fast"), "speed=fast has no price"),
        (("anthropic", "claude-2"), Usage(5, output_tokens=1, web_searches=1), "web searches have no price"),
        (("openai", "text-embedding-3-small"), Usage(5, output_tokens=1), "output of this model has no price"),
    ],
)
def test_what_was_used_without_a_price_is_not_priced(model: tuple[str, str], usage: Usage, told: str) -> None:
    with pytest.raises(CannotPrice, match=told):
        PRICES.of(*model, AT).nanos(usage)


def test_rates_are_worked_out_once_a_day() -> None:
    prices = Prices()
    first = prices.of("openai", "gpt-4o", AT)
    assert prices.of("openai", "gpt-4o", AT + timedelta(minutes=1)) is first
    assert prices.of("openai", "gpt-4o", AT + timedelta(days=1)) is not first
    assert (first.source, first.version) == ("genai-prices", "0.2.3")


def test_every_case_of_usage_is_priced_somewhere() -> None:
    used = {name for case in CASES for name, value in asdict(case.usage).items() if value}
    assert used == {*asdict(Usage())} - {"problem"}
