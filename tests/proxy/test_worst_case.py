"""What is held: arithmetic by hand for each kind of request, and the promise that no answer can cost more."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.proxy import endpoint
from sandbox_components.proxy.counts import Usage
from sandbox_components.proxy.endpoint import Endpoint
from sandbox_components.proxy.fault import BadRequest, Fault, Unpriced
from sandbox_components.proxy.own_prices import read_own_prices
from sandbox_components.proxy.prices import Prices
from sandbox_components.proxy.request import read_request
from sandbox_components.proxy.worst_case import WorstCase, worst_case
from tests.proxy.bodies import (
    CHAT,
    EMBEDDINGS,
    MESSAGES,
    PICTURE,
    PICTURE_URL,
    RESPONSES,
    block,
    body,
    chat_part,
    item,
)

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
PRICES = Prices()
OWN = {
    "no-window": {"input": 1, "output": 2},
    "no-limit": {"input": 1, "output": 2, "contextWindow": 1000},
    "embedder": {"input": 1},
    "gratis": {"free": True},
}
OURS = Prices(read_own_prices(OWN))


def held(found: Endpoint, text: bytes, prices: Prices = PRICES) -> WorstCase:
    plan = read_request(found, text)
    return worst_case(plan, prices.of(found.api, plan.model, AT))


def nanos(*parts: tuple[int, str]) -> int:
    exact = sum((tokens * Decimal(rate) for tokens, rate in parts), Decimal(0)) * 1000
    return int(-(-exact // 1))


def test_a_plain_chat() -> None:
    text = body(CHAT, service_tier="default")
    read = len(text) + 64
    assert held(endpoint.CHAT, text) == WorstCase(nanos((read, "2.5"), (100, "10")), read, 100)


def test_a_tier_that_the_provider_chooses_is_held_at_the_dearest() -> None:
    for tier in ({}, {"service_tier": "auto"}, {"service_tier": None}, {"service_tier": "priority"}):
        text = body(CHAT, **tier)
        read = len(text) + 64
        assert held(endpoint.CHAT, text).nanos == nanos((read, "4.25"), (100, "17"))


def test_flex_is_held_as_default_because_it_may_be_served_so() -> None:
    text = body(RESPONSES, service_tier="flex")
    read = len(text) + 64
    assert held(endpoint.RESPONSES, text).nanos == nanos((read, "2.5"), (100, "10"))


def test_every_choice_is_held() -> None:
    one, many = body(CHAT, service_tier="default", n=1), body(CHAT, service_tier="default", n=100)
    more = held(endpoint.CHAT, many).nanos - held(endpoint.CHAT, one).nanos
    assert more == nanos((len(many) - len(one), "2.5"), (99 * 100, "10"))


def test_without_a_limit_the_models_own_is_held() -> None:
    text = body(CHAT, service_tier="default", max_completion_tokens=...)
    assert held(endpoint.CHAT, text).output_tokens == 16_384
    assert held(endpoint.RESPONSES, body(RESPONSES, max_output_tokens=...)).output_tokens == 128_000


def test_a_limit_above_the_models_own_is_held_as_it_stands() -> None:
    assert held(endpoint.CHAT, body(CHAT, max_completion_tokens=5_000_000)).output_tokens == 5_000_000


def test_an_unknown_limit_is_the_window_and_an_unknown_window_a_refusal() -> None:
    assert held(endpoint.CHAT, body(CHAT, model="no-limit", max_completion_tokens=...), OURS).output_tokens == 1000
    with pytest.raises(BadRequest, match="set max_completion_tokens") as caught:
        held(endpoint.CHAT, body(CHAT, model="no-window", max_completion_tokens=...), OURS)
    assert caught.value.param == "max_completion_tokens"


def test_anthropic_is_held_with_the_hour_long_cache_and_the_dearer_place() -> None:
    text = body(MESSAGES)
    read = len(text) + 64
    exact = Decimal(read) * 6 + Decimal(100) * 15
    assert held(endpoint.MESSAGES, text).nanos == int(-(-exact * 1100 // 1))
    text = body(MESSAGES, inference_geo="global")
    read = len(text) + 64
    assert held(endpoint.MESSAGES, text).nanos == nanos((read, "6"), (100, "15"))


def test_fast_mode_is_held_at_its_price() -> None:
    text = body(MESSAGES, model="claude-opus-5-5", speed="fast", inference_geo="global")
    read = len(text) + 64
    assert held(endpoint.MESSAGES, text).nanos == nanos((read, "16"), (100, "40"))


def test_long_input_makes_all_of_it_dearer() -> None:
    long = "x" * 280_000
    text = body(RESPONSES, input=long, service_tier="default")
    read = len(text) + 64
    assert read > 272_000
    assert held(endpoint.RESPONSES, text).nanos == nanos((read, "5"), (100, "15"))


def test_input_beyond_the_window_is_not_held() -> None:
    text = body(CHAT, service_tier="default", messages=[{"role": "user", "content": "ä" * 100_000}])
    assert len(text) > 128_000
    assert held(endpoint.CHAT, text) == WorstCase(nanos((128_000, "2.5"), (100, "10")), 128_000, 100)


def test_embeddings_write_nothing() -> None:
    text = body(EMBEDDINGS)
    assert held(endpoint.EMBEDDINGS, text) == WorstCase(nanos((len(text) + 64, "0.02")), len(text) + 64, 0)


def test_token_numbers_are_bounded_by_their_digits() -> None:
    numbers = [[7] * 5000, [8] * 3000]
    assert held(endpoint.EMBEDDINGS, body(EMBEDDINGS, input=numbers)).input_tokens > 8000


def test_a_prediction_can_be_charged_as_output() -> None:
    text = body(CHAT, prediction={"type": "content", "content": "y" * 5000})
    assert held(endpoint.CHAT, text).output_tokens == 100 + len(text)


def test_tools_add_what_the_provider_adds() -> None:
    tools = [{"name": "mine", "input_schema": {}}, {"type": "bash_20250124", "name": "bash"}]
    text = body(MESSAGES, tools=tools)
    assert held(endpoint.MESSAGES, text).input_tokens == len(text) + 64 + 1024 + 4096
    for kind in ("browser_toolset_20260801", "computer_toolset_20260801"):
        text = body(MESSAGES, tools=[{"type": kind}])
        assert held(endpoint.MESSAGES, text).input_tokens == len(text) + 64 + 1024 + 24_576


def test_a_tool_is_held_as_often_as_it_is_referred_to() -> None:
    tool = {"name": "long", "defer_loading": True, "description": "ä" * 3000, "input_schema": {}}
    tools = [tool, {"name": "other", "input_schema": {}}]
    blocks = [{"type": "tool_reference", "tool_name": name} for name in ("long", "long", "nobody", "other")]
    result = {"type": "tool_result", "tool_use_id": "1", "content": blocks}
    text = body(MESSAGES, tools=tools, messages=[{"role": "user", "content": [result]}])
    again = 2 * len(json.dumps(tool)) + len(json.dumps(tools[1])) + 3 * 1024
    assert held(endpoint.MESSAGES, text).input_tokens == len(text) + 64 + 1024 + again


def test_a_budget_for_thinking_above_the_limit_is_held_beside_it() -> None:
    for budget, most in ((99, 100), (100, 100), (101, 201), (30_000, 30_100)):
        text = body(MESSAGES, thinking={"type": "enabled", "budget_tokens": budget})
        assert held(endpoint.MESSAGES, text).output_tokens == most


@pytest.mark.parametrize(
    ("found", "make", "tokens"),
    [
        (endpoint.CHAT, lambda: chat_part({"type": "image_url", "image_url": {"url": PICTURE_URL}}), 1445),
        (
            endpoint.RESPONSES,
            lambda: item({"role": "user", "content": [{"type": "input_image", "image_url": PICTURE_URL}]}),
            24_600,
        ),
        (
            endpoint.RESPONSES,
            lambda: item(
                {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": PICTURE_URL}}
            ),
            24_600,
        ),
        (
            endpoint.MESSAGES,
            lambda: block({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}),
            1700,
        ),
        (
            endpoint.MESSAGES,
            lambda: block(
                {
                    "type": "tool_result",
                    "content": [
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
                    ],
                }
            ),
            1700,
        ),
    ],
)
def test_an_inline_picture_is_held_at_its_documented_most(found: Endpoint, make: Any, tokens: int) -> None:
    text = make()
    assert held(found, text).input_tokens == len(text) - len(PICTURE) + 64 + tokens


def test_a_picture_in_text_is_text() -> None:
    text = body(CHAT, messages=[{"role": "user", "content": PICTURE_URL}])
    assert held(endpoint.CHAT, text).input_tokens == len(text) + 64


WINDOW = [
    (endpoint.CHAT, chat_part({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}})),
    (endpoint.CHAT, chat_part({"type": "image_url", "image_url": "HTTP://example.com/a.png"})),
    (endpoint.CHAT, chat_part({"type": "file", "file": {"file_id": "file-1"}})),
    (endpoint.CHAT, chat_part({"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}})),
    (endpoint.CHAT, body(CHAT, messages=[{"role": "assistant", "audio": {"id": "audio_1"}}])),
    (endpoint.RESPONSES, body(RESPONSES, previous_response_id="resp_1")),
    (endpoint.RESPONSES, body(RESPONSES, conversation="conv_1")),
    (endpoint.RESPONSES, body(RESPONSES, conversation={"id": "conv_1"})),
    (endpoint.RESPONSES, item({"type": "item_reference", "id": "msg_1"})),
    (endpoint.RESPONSES, item({"id": "msg_1"})),
    (endpoint.RESPONSES, item({"type": "compaction", "encrypted_content": "x"})),
    (endpoint.RESPONSES, item({"role": "user", "content": [{"type": "input_file", "file_url": "https://x.y/a.pdf"}]})),
    (endpoint.RESPONSES, item({"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]})),
    (endpoint.RESPONSES, item({"role": "user", "content": [{"type": "input_image", "image_url": "https://x.y/z"}]})),
    (
        endpoint.RESPONSES,
        item({"type": "computer_call_output", "output": {"type": "computer_screenshot", "file_id": "file-1"}}),
    ),
    (endpoint.MESSAGES, block({"type": "image", "source": {"type": "url", "url": "https://x.y/z.png"}})),
    (endpoint.MESSAGES, block({"type": "image", "source": {"type": "file", "file_id": "file_1"}})),
    (
        endpoint.MESSAGES,
        block(
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
                "transformations": {},
            }
        ),
    ),
    (
        endpoint.MESSAGES,
        block({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}),
    ),
    (endpoint.MESSAGES, block({"type": "document", "source": {"type": "url", "url": "https://x.y/z.pdf"}})),
    (
        endpoint.MESSAGES,
        block({"type": "tool_result", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}),
    ),
]
SIZES = {"chat.completions": 128_000, "responses": 1_050_000, "messages": 1_000_000}


@pytest.mark.parametrize(("found", "text"), WINDOW, ids=[one[0].name for one in WINDOW])
def test_input_that_is_not_in_the_body_is_the_whole_window(found: Endpoint, text: bytes) -> None:
    assert held(found, text).input_tokens == SIZES[found.name]
    document = {**json.loads(text), "model": "no-window"}
    with pytest.raises(BadRequest, match=r"prices\.no-window\.contextWindow") as caught:
        held(found, json.dumps(document).encode(), OURS)
    assert caught.value.param


@pytest.mark.parametrize("more", [{}, {"encrypted_content": None}, {"encrypted_content": ""}])
def test_reasoning_that_the_provider_kept_is_as_long_as_output_can_be(more: dict[str, Any]) -> None:
    text = item({"type": "reasoning", "id": "rs_1", "summary": [], **more})
    assert held(endpoint.RESPONSES, text).input_tokens == len(text) + 64 + 128_000


def test_a_picture_of_which_nobody_knows_the_most_is_the_whole_window() -> None:
    for model, at in (("gpt-audio", 128_000), ("no-limit", 1000)):
        text = body(
            CHAT,
            model=model,
            messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE_URL}}]}],
        )
        assert held(endpoint.CHAT, text, OURS).input_tokens == at
    with pytest.raises(BadRequest) as caught:
        held(endpoint.CHAT, text.replace(b"no-limit", b"no-window"), OURS)
    assert caught.value.param == "messages[0].content[0].image_url.url"


def test_a_document_of_text_is_text() -> None:
    text = block({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 999}})
    assert held(endpoint.MESSAGES, text).input_tokens == len(text) + 64


def test_a_text_that_is_to_be_cited_is_cut_into_sentences() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "One. Two! Three?\nFour"}
    text = block({"type": "document", "source": source, "citations": {"enabled": True}})
    assert held(endpoint.MESSAGES, text).input_tokens == len(text) + 64 + 5 * 16


def test_counting_tokens_and_free_models_hold_nothing() -> None:
    counted = {key: value for key, value in MESSAGES.items() if key != "max_tokens"}
    assert held(endpoint.COUNT_TOKENS, body(counted)) == WorstCase(0)
    assert held(endpoint.CHAT, body(CHAT, model="gratis", max_completion_tokens=...), OURS) == WorstCase(0)


@pytest.mark.parametrize(
    ("found", "text", "param"),
    [
        (endpoint.CHAT, body(CHAT, model="gpt-5-pro", service_tier="priority"), "service_tier"),
        (endpoint.MESSAGES, body(MESSAGES, speed="fast"), "speed"),
        (endpoint.CHAT, body(CHAT, model="no-limit", service_tier="fast"), "service_tier"),
    ],
)
def test_a_tier_without_a_price_is_refused(found: Endpoint, text: bytes, param: str) -> None:
    with pytest.raises(BadRequest, match="no price here") as caught:
        held(found, text, OURS)
    assert caught.value.param == param


def test_a_model_without_a_price_for_output_only_embeds() -> None:
    assert held(endpoint.EMBEDDINGS, body(EMBEDDINGS, model="embedder"), OURS).nanos > 0
    for model in ("embedder", "text-embedding-3-small"):
        with pytest.raises(Unpriced, match="no price for output"):
            held(endpoint.CHAT, body(CHAT, model=model), OURS)


@given(
    st.sampled_from([(endpoint.CHAT, CHAT), (endpoint.RESPONSES, RESPONSES), (endpoint.MESSAGES, MESSAGES)]),
    st.text(max_size=40),
    st.integers(0, 300_000),
    st.integers(1, 4000),
    st.data(),
)
def test_no_answer_costs_more_than_is_held(
    case: tuple[Endpoint, dict[str, Any]], text: str, repeat: int, limit: int, data: st.DataObject
) -> None:
    found, base = case
    field = found.limit_fields[0]
    content = "input" if found is endpoint.RESPONSES else "messages"
    words = text * (repeat // (len(text) or 1))
    value: Any = words if content == "input" else [{"role": "user", "content": words}]
    plan = read_request(found, body(base, **{content: value, field: limit}))
    prices = PRICES.of(found.api, plan.model, AT)
    worst = worst_case(plan, prices)
    read = data.draw(st.integers(0, worst.input_tokens))
    cached = data.draw(st.integers(0, read))
    written = data.draw(st.integers(0, read - cached))
    usage = Usage(
        read,
        cached_tokens=cached,
        cache_write_tokens=written,
        cache_write_1h_tokens=data.draw(st.integers(0, written)) if found is endpoint.MESSAGES else 0,
        output_tokens=data.draw(st.integers(0, limit)),
        service_tier="" if found is endpoint.MESSAGES else data.draw(st.sampled_from(["default", "priority", "flex"])),
        inference_geo=data.draw(st.sampled_from(["us", "global"])),
    )
    assert prices.nanos(usage) <= worst.nanos


def test_faults_are_what_is_raised() -> None:
    with pytest.raises(Fault, match="nobody here knows"):
        held(endpoint.CHAT, body(CHAT, model="gpt-9"))
