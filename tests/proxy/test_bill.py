"""What is charged, whatever the answer told: parametrised over the three APIs, streamed and not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.ledger.model import Cost
from sandbox_components.proxy import endpoint
from sandbox_components.proxy.bill import bill, full
from sandbox_components.proxy.own_prices import read_own_prices
from sandbox_components.proxy.prices import Prices
from sandbox_components.proxy.request import Plan, read_request
from sandbox_components.proxy.usage import UsageReader
from sandbox_components.proxy.worst_case import WorstCase, worst_case
from tests.proxy import streams
from tests.proxy.bodies import CHAT, EMBEDDINGS, MESSAGES, RESPONSES, body
from tests.proxy.streams import Answer

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
PRICES = Prices(read_own_prices({"gratis": {"free": True}}))


@dataclass(frozen=True)
class Case:
    plan: Plan
    worst: WorstCase

    def charge(self, *chunks: bytes) -> Cost:
        reader = UsageReader(self.plan.endpoint.name, self.plan.adds_usage)
        for chunk in chunks:
            reader.feed(chunk)
        return bill(self.plan, self.worst, PRICES.of(self.plan.endpoint.api, self.plan.model, AT), reader)


def case(found: endpoint.Endpoint, text: bytes) -> Case:
    plan = read_request(found, text)
    return Case(plan, worst_case(plan, PRICES.of(found.api, plan.model, AT)))


def chat(**more: object) -> Case:
    return case(endpoint.CHAT, body(CHAT, model="gpt-5", max_completion_tokens=4000, stream=True, **more))


def responses() -> Case:
    return case(endpoint.RESPONSES, body(RESPONSES, max_output_tokens=4000))


def messages() -> Case:
    return case(endpoint.MESSAGES, body(MESSAGES, max_tokens=4000))


def dollars(by_hand: str) -> int:
    products = (product.split(" * ") for product in by_hand.split(" + "))
    return int(sum((int(tokens) * Decimal(rate) for tokens, rate in products), Decimal(0)) * 1000)


CHAT_PRICE = "176 * 1.25 + 1024 * 0.125 + 350 * 10"
RESPONSES_PRICE = "250 * 4 + 100 * 0.4 + 50 * 5 + 90 * 20"
MESSAGES_PRICE = "3 * 3 + 12304 * 3.75 + 550 * 15"


@pytest.mark.parametrize(
    ("asked", "answer", "by_hand"),
    [
        (chat(), streams.CHAT, CHAT_PRICE),
        (chat(), streams.CHAT_CRLF, CHAT_PRICE),
        (chat(), streams.CHAT_WITHOUT_END, CHAT_PRICE),
        (chat(), streams.CHAT_RUNNING_COUNTS, CHAT_PRICE),
        (chat(), streams.CHAT_DOCUMENT, "176 * 0.625 + 1024 * 0.0625 + 350 * 5"),
        (responses(), streams.RESPONSES, RESPONSES_PRICE),
        (responses(), streams.RESPONSES_DOCUMENT, RESPONSES_PRICE),
        (responses(), streams.RESPONSES_INCOMPLETE, RESPONSES_PRICE),
        (messages(), streams.MESSAGES, MESSAGES_PRICE),
        (messages(), streams.MESSAGES_TWO_DELTAS, MESSAGES_PRICE),
        (case(endpoint.EMBEDDINGS, body(EMBEDDINGS)), streams.EMBEDDINGS, "12 * 0.02"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_an_answer_that_told_all_costs_its_price(asked: Case, answer: Answer, by_hand: str) -> None:
    cost = asked.charge(answer.body)
    assert cost.nanos == dollars(by_hand)
    assert not cost.is_estimated
    assert answer.usage is not None
    assert (cost.input_tokens, cost.cached_input_tokens, cost.cache_write_tokens) == (
        answer.usage.input_tokens,
        answer.usage.cached_tokens,
        answer.usage.cache_write_tokens,
    )
    assert (cost.output_tokens, cost.reasoning_tokens) == (answer.usage.output_tokens, answer.usage.reasoning_tokens)
    assert (cost.price_source, cost.price_version) == ("genai-prices", "0.2.3")


@pytest.mark.parametrize(
    ("asked", "chunks"),
    [
        (chat(), [streams.CHAT_CUT.body]),
        (chat(), [streams.CHAT_FAILED.body]),
        (chat(), []),
        (chat(), [b"<html>"]),
        (chat(), [b"{"]),
        (responses(), []),
        (responses(), [streams.RESPONSES.body[:700]]),
        (responses(), [streams.RESPONSES_FAILED.body]),
        (messages(), []),
        (messages(), [b"event: message_start\n"]),
    ],
)
def test_an_answer_that_told_nothing_costs_all_that_was_held(asked: Case, chunks: list[bytes]) -> None:
    cost = asked.charge(*chunks)
    assert cost.nanos == asked.worst.nanos > 0
    assert cost.is_estimated
    assert cost.output_tokens == 0


def test_an_error_before_any_output_costs_the_input_that_was_held() -> None:
    for asked, answer in ((chat(), streams.CHAT_FAILED_AT_ONCE), (responses(), streams.RESPONSES_ERROR)):
        cost = asked.charge(answer.body)
        assert 0 < cost.nanos < asked.worst.nanos
        assert cost.is_estimated
    asked = chat(service_tier="default")
    read = asked.worst.input_tokens
    assert asked.charge(streams.CHAT_FAILED_AT_ONCE.body).nanos == dollars(f"{read} * 1.25")


def test_the_text_of_an_error_is_no_output() -> None:
    cost = messages().charge(streams.MESSAGES_OVERLOADED.body)
    assert cost.nanos == dollars("3 * 3 + 12304 * 3.75 + 8 * 15")
    assert cost.is_estimated


def test_a_stream_that_broke_off_costs_its_input_and_the_output_that_was_held() -> None:
    big = case(endpoint.MESSAGES, body(MESSAGES, max_tokens=4000, system="x" * 20_000))
    cost = big.charge(streams.MESSAGES_CUT.body)
    assert cost.nanos == dollars("3 * 3 + 12304 * 3.75 + 4000 * 15") < big.worst.nanos
    assert cost.is_estimated


def test_a_stream_that_broke_off_with_counts_so_far_costs_the_output_that_was_held() -> None:
    running = streams.CHAT_RUNNING_COUNTS.body
    asked = chat(service_tier="default", user="x" * 2000)
    cost = asked.charge(running[: running.index(b'"choices":[]')])
    assert cost.nanos == dollars("176 * 1.25 + 1024 * 0.125 + 4000 * 10")
    assert cost.is_estimated


def test_a_stream_that_broke_off_never_costs_more_than_was_held() -> None:
    asked = messages()
    assert asked.charge(streams.MESSAGES_CUT.body).nanos == asked.worst.nanos


def test_more_than_was_held_is_charged_when_it_was_used() -> None:
    asked = case(endpoint.CHAT, body(CHAT, model="gpt-5", max_completion_tokens=1))
    assert asked.charge(streams.CHAT.body).nanos == dollars(CHAT_PRICE) > asked.worst.nanos


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_tokens": -5},
        {"prompt_tokens": None},
        {"completion_tokens": "many"},
        {"prompt_tokens_details": {"cached_tokens": 10**7}},
    ],
)
def test_counts_that_cannot_be_right_cost_all_that_was_held(change: dict[str, object]) -> None:
    document = json.loads(streams.CHAT_DOCUMENT.body)
    document["usage"] |= change
    asked = chat()
    cost = asked.charge(json.dumps(document).encode())
    assert (cost.nanos, cost.is_estimated) == (asked.worst.nanos, True)


def test_a_tier_without_a_price_costs_all_that_was_held() -> None:
    document = json.loads(streams.CHAT_DOCUMENT.body) | {"service_tier": "priority"}
    asked = case(endpoint.CHAT, body(CHAT, model="gpt-5-pro"))
    cost = asked.charge(json.dumps(document).encode())
    assert (cost.nanos, cost.is_estimated) == (asked.worst.nanos, True)


def test_what_is_free_costs_nothing_and_is_counted() -> None:
    cost = case(endpoint.CHAT, body(CHAT, model="gratis")).charge(streams.CHAT.body)
    assert (cost.nanos, cost.input_tokens, cost.price_source, cost.is_estimated) == (0, 1200, "operator", False)
    counting = {key: value for key, value in MESSAGES.items() if key != "max_tokens"}
    assert case(endpoint.COUNT_TOKENS, body(counting)).charge(b'{"input_tokens": 2095}').nanos == 0


def test_all_that_was_held_is_told_as_estimated() -> None:
    asked = chat()
    assert full(asked.worst, PRICES.of("openai", "gpt-5", AT)) == Cost(
        asked.worst.nanos, price_source="genai-prices", price_version="0.2.3", is_estimated=True
    )


@given(st.binary(max_size=200), st.sampled_from([chat(), responses(), messages()]))
def test_no_answer_is_free(noise: bytes, asked: Case) -> None:
    assert asked.charge(noise).nanos > 0
