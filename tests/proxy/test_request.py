"""Requests: what is passed on and how, and what is refused with the name of the field; hostile bodies among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.proxy import endpoint
from sandbox_components.proxy.endpoint import Endpoint
from sandbox_components.proxy.fault import BadRequest
from sandbox_components.proxy.request import read_request
from sandbox_components.proxy.strict_json import put, read_object
from tests.proxy.bodies import CHAT, EMBEDDINGS, MESSAGES, PICTURE, RESPONSES, block, body, chat_part, item

BASES: list[tuple[Endpoint, dict[str, Any]]] = [
    (endpoint.CHAT, CHAT),
    (endpoint.RESPONSES, RESPONSES),
    (endpoint.EMBEDDINGS, EMBEDDINGS),
    (endpoint.MESSAGES, MESSAGES),
    (endpoint.COUNT_TOKENS, {key: value for key, value in MESSAGES.items() if key != "max_tokens"}),
]
ENDPOINT = pytest.mark.parametrize(("found", "base"), BASES, ids=lambda one: getattr(one, "name", ""))


@ENDPOINT
def test_a_plain_request_goes_on_untouched(found: Endpoint, base: dict[str, Any]) -> None:
    text = json.dumps(base, indent=3, ensure_ascii=True).encode() + b"\n"
    plan = read_request(found, text)
    assert plan.body is text
    assert (plan.model, plan.stream, plan.adds_usage) == (base["model"], False, False)
    assert plan.text_tokens >= len(text)


def test_usage_is_asked_for_in_a_chat_stream() -> None:
    text = (
        b' {\n "model": "gpt-4o", "stream" :true, "messages": [{"role":"user","content":"\xc3\xa4 \\ud83d\\ude00"}] }'
    )
    plan = read_request(endpoint.CHAT, text)
    assert plan.adds_usage
    assert plan.body == text.replace(b"{", b'{"stream_options":{"include_usage":true},', 1)


@pytest.mark.parametrize(
    "options",
    [None, {}, {"include_usage": False}, {"include_usage": None}, {"include_obfuscation": False}],
)
def test_usage_is_asked_for_whatever_the_options_say(options: Any) -> None:
    text = body(CHAT, stream=True, stream_options=options, seed=1)
    plan = read_request(endpoint.CHAT, text)
    assert plan.adds_usage
    wanted = {**(options or {}), "include_usage": True}
    assert json.loads(plan.body) == {**json.loads(text), "stream_options": wanted}
    assert plan.body.count(b"stream_options") == 1
    assert plan.body.endswith(b', "seed": 1}')


def test_usage_that_the_client_asks_for_is_its_own() -> None:
    text = body(CHAT, stream=True, stream_options={"include_usage": True})
    plan = read_request(endpoint.CHAT, text)
    assert (plan.adds_usage, plan.body) == (False, text)


@pytest.mark.parametrize(("found", "base"), [(endpoint.RESPONSES, RESPONSES), (endpoint.MESSAGES, MESSAGES)])
def test_other_streams_tell_their_usage_anyway(found: Endpoint, base: dict[str, Any]) -> None:
    plan = read_request(found, body(base, stream=True))
    assert (plan.stream, plan.adds_usage) == (True, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5) | st.just("k"), JSON, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_put_sets_one_field_and_leaves_the_rest(document: dict[str, Any], indent: int | None, escape: bool) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=escape).encode("utf-8", "surrogatepass")
    changed = put(b"\n " + text, "k", {"x": 1})
    assert read_object(changed) == {**document, "k": {"x": 1}}


@ENDPOINT
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"null", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'"x"', "not a JSON object"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        ('{"model": "ä"}'.encode("utf-16"), "not UTF-8"),
        (b'{"model": "\xe4"}', "not UTF-8"),
        (b"\x1f\x8b\x08\x00", "not UTF-8"),
        (b'{"model": "a", "model": "b"}', '"model" is given twice'),
        (b'{"model": "a", "mod\\u0065l": "b"}', '"model" is given twice'),
        (b'{"model": "a", "messages": [{"role": "x", "role": "y"}]}', '"role" is given twice'),
        (b'{"n": NaN}', "NaN"),
        (b'{"n": Infinity}', "Infinity"),
        (b'{"n": -Infinity}', "-Infinity"),
        (b'{"n": 1' + b"0" * 5000 + b"}", "too long"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{'model': 'a'}", "not JSON"),
        (b'{"model": "a"} {"model": "b"}', "not JSON"),
        (b'{"model": "a",}', "not JSON"),
        (b'{"model": "a\x00"}', "not JSON"),
        (b"{}", "model is missing"),
    ],
)
def test_bodies_that_could_be_read_in_two_ways(found: Endpoint, base: dict[str, Any], text: bytes, told: str) -> None:
    with pytest.raises(BadRequest, match=told) as caught:
        read_request(found, text)
    assert caught.value.status == 400


def test_blocks_in_blocks_are_bounded_by_name() -> None:
    for depth in (450, 5_000):
        inner = '{"type": "tool_result", "content": [' * depth + "]}" * depth
        text = body(MESSAGES, messages=[{"role": "user", "content": []}]).replace(b"[]", f"[{inner}]".encode())
        if depth < 1_000:
            assert read_request(endpoint.MESSAGES, text).body == text
            continue
        with pytest.raises(BadRequest, match="nested too deeply"):
            read_request(endpoint.MESSAGES, text)


def test_a_body_of_millions_of_names_is_refused_unread() -> None:
    text = b"{" + b",".join(b'"%x":1' % at for at in range(1_000_001)) + b"}"
    with pytest.raises(BadRequest, match="more than 1000000 keys") as caught:
        read_request(endpoint.CHAT, text)
    assert caught.value.status == 413


@ENDPOINT
@pytest.mark.parametrize(
    "model", [None, "", 7, ["gpt-4o"], {}, "gpt 4o", "gpt-4o\n", "a" * 300, "../x", "gpt-4o ", "ｇpt-4o"]
)
def test_names_of_models(found: Endpoint, base: dict[str, Any], model: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        read_request(found, body(base, model=model))
    assert caught.value.param == "model"


@ENDPOINT
@pytest.mark.parametrize(
    "name", ["colour", "Max_Tokens", "MAX_TOKENS", "max_tokens ", "models", "provider", "batch", "n\n"]
)
def test_unknown_fields_are_refused_by_name(found: Endpoint, base: dict[str, Any], name: str) -> None:
    with pytest.raises(BadRequest, match="is not passed on") as caught:
        read_request(found, body(base, **{name: 1}))
    assert caught.value.param == (name if name.isprintable() else "?")
    assert caught.value.code == "unknown_field"


REFUSED: list[tuple[Endpoint, bytes, str]] = [
    # chat completions
    (endpoint.CHAT, body(CHAT, web_search_options={}), "web_search_options"),
    (endpoint.CHAT, body(CHAT, tools=[{"type": "web_search"}]), "tools[0].type"),
    (endpoint.CHAT, body(CHAT, tools=[{"type": "function"}, {"type": "mcp"}]), "tools[1].type"),
    (endpoint.CHAT, body(CHAT, tools=[{}]), "tools[0].type"),
    (endpoint.CHAT, body(CHAT, tools={}), "tools"),
    (endpoint.CHAT, body(CHAT, tools=["x"]), "tools[0]"),
    (endpoint.CHAT, body(CHAT, messages=...), "messages"),
    (endpoint.CHAT, body(CHAT, messages="hi"), "messages"),
    (endpoint.CHAT, body(CHAT, messages=["hi"]), "messages[0]"),
    (endpoint.CHAT, body(CHAT, messages=[{"content": 5}]), "messages[0].content"),
    (endpoint.CHAT, chat_part({"type": "video_url"}), "messages[0].content[0].type"),
    (endpoint.CHAT, chat_part({"type": 5}), "messages[0].content[0].type"),
    (
        endpoint.CHAT,
        chat_part({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}),
        "messages[0].content[0].image_url.url",
    ),
    (
        endpoint.CHAT,
        chat_part({"type": "image_url", "image_url": {"url": "data:text/plain;base64,aGk="}}),
        "messages[0].content[0].image_url.url",
    ),
    (endpoint.CHAT, chat_part({"type": "image_url"}), "messages[0].content[0].image_url.url"),
    (endpoint.CHAT, chat_part({"type": "input_audio", "input_audio": "x"}), "messages[0].content[0].input_audio"),
    (endpoint.CHAT, body(CHAT, n=0), "n"),
    (endpoint.CHAT, body(CHAT, n=129), "n"),
    (endpoint.CHAT, body(CHAT, n="2"), "n"),
    (endpoint.CHAT, body(CHAT, n=True), "n"),
    (endpoint.CHAT, body(CHAT, n=1.5), "n"),
    (endpoint.CHAT, body(CHAT, max_completion_tokens=10**12), "max_completion_tokens"),
    (endpoint.CHAT, body(CHAT, max_completion_tokens=-1), "max_completion_tokens"),
    (endpoint.CHAT, body(CHAT, max_completion_tokens="9"), "max_completion_tokens"),
    (endpoint.CHAT, body(CHAT, max_completion_tokens=0), "max_completion_tokens"),
    (endpoint.CHAT, body(CHAT, max_tokens=0), "max_tokens"),
    (endpoint.RESPONSES, body(RESPONSES, max_output_tokens=0), "max_output_tokens"),
    (endpoint.CHAT, body(CHAT, max_tokens=1e3), "max_tokens"),
    (endpoint.CHAT, body(CHAT, stream="true"), "stream"),
    (endpoint.CHAT, body(CHAT, stream=1), "stream"),
    (endpoint.CHAT, body(CHAT, stream=True, stream_options=[]), "stream_options"),
    (endpoint.CHAT, body(CHAT, stream=True, stream_options={"include_usage": 1}), "stream_options.include_usage"),
    (endpoint.CHAT, body(CHAT, service_tier="scale"), "service_tier"),
    (endpoint.CHAT, body(CHAT, service_tier="ultra"), "service_tier"),
    (endpoint.CHAT, body(CHAT, service_tier=["flex"]), "service_tier"),
    (endpoint.CHAT, body(CHAT, prompt_cache_options={"ttl": "12h"}), "prompt_cache_options"),
    (endpoint.CHAT, body(CHAT, prompt_cache_options={"prewarm": True}), "prompt_cache_options"),
    (
        endpoint.CHAT,
        chat_part({"type": "text", "text": "", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}),
        "prompt_cache_breakpoint",
    ),
    (endpoint.CHAT, body(CHAT, moderation={"model": "omni-moderation-latest"}), "moderation"),
    # responses
    (endpoint.RESPONSES, body(RESPONSES, background=True), "background"),
    (endpoint.RESPONSES, body(RESPONSES, background="yes"), "background"),
    (endpoint.RESPONSES, body(RESPONSES, background_options={}), "background_options"),
    (endpoint.RESPONSES, body(RESPONSES, prompt={"id": "pmpt_1"}), "prompt"),
    (endpoint.RESPONSES, body(RESPONSES, context_management=[{"type": "compaction"}]), "context_management"),
    (endpoint.RESPONSES, body(RESPONSES, access_programs={"cyber": "daybreak_red"}), "access_programs"),
    (endpoint.RESPONSES, body(RESPONSES, reasoning={"mode": "pro"}), "reasoning.mode"),
    (endpoint.RESPONSES, body(RESPONSES, service_tier="standard"), "service_tier"),
    (endpoint.RESPONSES, body(RESPONSES, n=2), "n"),
    (endpoint.RESPONSES, body(RESPONSES, tool_choice={"type": "web_search_preview"}), "tool_choice.type"),
    (endpoint.RESPONSES, body(RESPONSES, service_tier="ultrafast"), "service_tier"),
    *[
        (endpoint.RESPONSES, body(RESPONSES, tools=[{"type": "function"}, {"type": kind}]), "tools[1].type")
        for kind in (
            "web_search",
            "web_search_preview",
            "file_search",
            "code_interpreter",
            "image_generation",
            "mcp",
            "programmatic_tool_calling",
            "tool_search",
            "shell",
            "something_new",
        )
    ],
    (
        endpoint.RESPONSES,
        body(RESPONSES, tools=[{"type": "shell", "environment": {"type": "container_auto"}}]),
        "tools[0].type",
    ),
    (
        endpoint.RESPONSES,
        body(RESPONSES, tools=[{"type": "namespace", "tools": [{"type": "mcp"}]}]),
        "tools[0].tools[0].type",
    ),
    (
        endpoint.RESPONSES,
        item({"type": "additional_tools", "tools": [{"type": "web_search"}]}),
        "input[0].tools[0].type",
    ),
    (endpoint.RESPONSES, item({"type": "tool_search_output", "tools": [{"type": "mcp"}]}), "input[0].tools[0].type"),
    (endpoint.RESPONSES, item({"type": "compaction_trigger"}), "input[0].type"),
    (endpoint.RESPONSES, item({"type": "mcp_approval_response"}), "input[0].type"),
    (endpoint.RESPONSES, item({"type": "program", "code": "x"}), "input[0].type"),
    (endpoint.RESPONSES, item({"type": "something_new"}), "input[0].type"),
    (endpoint.RESPONSES, item({"role": "user", "content": [{"type": "input_video"}]}), "input[0].content[0].type"),
    (endpoint.RESPONSES, item({"role": "user", "content": [{"type": "input_image"}]}), "input[0].content[0].image_url"),
    (endpoint.RESPONSES, item({"type": "computer_call_output", "output": "x"}), "input[0].output"),
    (endpoint.RESPONSES, body(RESPONSES, input=7), "input"),
    # messages
    *[
        (endpoint.MESSAGES, body(MESSAGES, tools=[{"name": "mine"}, {"type": kind}]), "tools[1].type")
        for kind in (
            "web_search_20250305",
            "web_fetch_20250910",
            "code_execution_20250825",
            "tool_search_tool_regex_20251119",
            "mcp_toolset",
            "advisor_20260301",
            "something_new",
        )
    ],
    *[
        (endpoint.MESSAGES, body(MESSAGES, **{name: {}}), name)
        for name in (
            "mcp_servers",
            "container",
            "fallbacks",
            "fallback_credit_token",
            "billing_policy",
            "user_profile_id",
            "workspace_id",
            "compaction",
            "thread",
        )
    ],
    (endpoint.MESSAGES, body(MESSAGES, speed="ludicrous"), "speed"),
    (endpoint.MESSAGES, body(MESSAGES, service_tier="priority"), "service_tier"),
    (endpoint.MESSAGES, body(MESSAGES, inference_geo="eu"), "inference_geo"),
    (endpoint.MESSAGES, body(MESSAGES, max_tokens=-1), "max_tokens"),
    (endpoint.MESSAGES, body(MESSAGES, max_tokens=2**63), "max_tokens"),
    (
        endpoint.MESSAGES,
        body(MESSAGES, context_management={"edits": [{"type": "compact_20260112"}]}),
        "context_management.edits[0].type",
    ),
    (endpoint.MESSAGES, body(MESSAGES, context_management=5), "context_management.edits"),
    (endpoint.MESSAGES, body(MESSAGES, thinking={"budget_tokens": "9999"}), "thinking.budget_tokens"),
    (endpoint.MESSAGES, body(MESSAGES, thinking={"budget_tokens": -1}), "thinking.budget_tokens"),
    (endpoint.MESSAGES, body(MESSAGES, system=[{"type": "guess"}]), "system[0].type"),
    (endpoint.MESSAGES, block({"type": "container_upload", "file_id": "x"}), "messages[0].content[0].type"),
    (endpoint.MESSAGES, block({"type": "web_search_tool_result"}), "messages[0].content[0].type"),
    (
        endpoint.MESSAGES,
        block({"type": "tool_result", "content": [{"type": "x"}]}),
        "messages[0].content[0].content[0].type",
    ),
    (endpoint.MESSAGES, block({"type": "image", "source": "x"}), "messages[0].content[0].source"),
    (endpoint.MESSAGES, block({"type": "image", "source": {"type": "s3"}}), "messages[0].content[0].source.type"),
    (
        endpoint.MESSAGES,
        block({"type": "image", "source": {"type": "base64", "media_type": "text/html", "data": PICTURE}}),
        "messages[0].content[0].source.media_type",
    ),
    (
        endpoint.MESSAGES,
        block({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": 5}}),
        "messages[0].content[0].source.data",
    ),
    (
        endpoint.MESSAGES,
        block({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "ä"}}),
        "messages[0].content[0].source.data",
    ),
    (endpoint.MESSAGES, block({"type": "document", "source": {"type": "x"}}), "messages[0].content[0].source.type"),
    (endpoint.MESSAGES, body(MESSAGES, messages=5), "messages"),
]


@pytest.mark.parametrize(("found", "text", "param"), REFUSED, ids=[f"{one[0].name}:{one[2]}" for one in REFUSED])
def test_every_refusal_names_its_field(found: Endpoint, text: bytes, param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_request(found, text)
    assert caught.value.param == param
    assert param.split("[")[0].split(".")[0] in str(caught.value)


PASSED: list[tuple[Endpoint, bytes]] = [
    (
        endpoint.CHAT,
        body(
            CHAT,
            messages=[
                {"role": "assistant", "content": None, "tool_calls": []},
                {"role": "tool", "tool_call_id": "1", "content": "x"},
            ],
        ),
    ),
    (endpoint.CHAT, body(CHAT, tools=[{"type": "function", "function": {"name": "web_search"}}, {"type": "custom"}])),
    (endpoint.CHAT, body(CHAT, web_search_options=None, stop=None, stream=None, service_tier=None, n=None)),
    (endpoint.CHAT, body(CHAT, prompt_cache_options={"mode": "explicit", "ttl": "30m"}, service_tier="default")),
    (endpoint.RESPONSES, body(RESPONSES, background=False, prompt=None, input=None, reasoning={"effort": "high"})),
    (
        endpoint.RESPONSES,
        body(
            RESPONSES,
            tools=[
                {"type": "shell", "environment": {"type": "local"}},
                {"type": "apply_patch"},
                {"type": "tool_search", "execution": "client"},
                {"type": "namespace", "tools": [{"type": "function"}]},
            ],
        ),
    ),
    (
        endpoint.RESPONSES,
        item({"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "x"}]}),
    ),
    (endpoint.RESPONSES, item({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"})),
    (
        endpoint.MESSAGES,
        body(
            MESSAGES,
            thinking={"type": "enabled", "budget_tokens": 2000},
            top_k=5,
            system=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        ),
    ),
    (
        endpoint.MESSAGES,
        body(
            MESSAGES,
            tools=[{"type": "bash_20250124", "name": "bash"}, {"type": "custom"}, {"name": "x", "input_schema": {}}],
        ),
    ),
    (
        endpoint.MESSAGES,
        body(MESSAGES, context_management={"edits": [{"type": "clear_tool_uses_20250919"}]}, container=None),
    ),
    (endpoint.MESSAGES, body(MESSAGES, max_tokens=0)),
    (endpoint.MESSAGES, block({"type": "tool_result", "tool_use_id": "1", "content": "plain"})),
    (endpoint.COUNT_TOKENS, body(MESSAGES, max_tokens=..., mcp_servers=[], tools=[{"type": "web_search_20250305"}])),
]


@pytest.mark.parametrize(("found", "text"), PASSED)
def test_what_agents_send_passes(found: Endpoint, text: bytes) -> None:
    assert read_request(found, text).body == text


def test_the_limit_is_named_as_the_client_named_it() -> None:
    assert read_request(endpoint.CHAT, body(CHAT)).limit_field == "max_completion_tokens"
    assert read_request(endpoint.CHAT, body(CHAT, max_completion_tokens=..., max_tokens=5)).limit_field == "max_tokens"
    assert read_request(endpoint.CHAT, body(CHAT, max_completion_tokens=...)).limit_field == "max_completion_tokens"
    assert read_request(endpoint.EMBEDDINGS, body(EMBEDDINGS)).limit_field == ""


def test_of_two_limits_the_higher_counts() -> None:
    assert read_request(endpoint.CHAT, body(CHAT, max_tokens=5)).output_limit == 100
    assert read_request(endpoint.CHAT, body(CHAT, max_tokens=500)).output_limit == 500


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "content", "source", "data", "role", "image_url", "url", "tools", "output", "id"]),
            inner
            | st.sampled_from(["image", "document", "input_image", "image_url", "base64", "tool_result", "reasoning"]),
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.sampled_from(BASES), st.data())
def test_any_value_is_accepted_or_refused_by_name(case: tuple[Endpoint, dict[str, Any]], data: st.DataObject) -> None:
    found, base = case
    name = data.draw(st.sampled_from(sorted(found.fields)))
    text = body(base, **{name: data.draw(ANYTHING)})
    refused = None
    try:
        plan = read_request(found, text)
    except BadRequest as error:
        refused = error
    if refused is None:
        assert plan.adds_usage or plan.body == text
        assert plan.text_tokens > 0
    else:
        assert refused.param
        assert refused.message.isprintable()


@given(st.binary(max_size=200), st.sampled_from([one for one, _ in BASES]))
def test_any_bytes_are_refused_as_bad_requests(text: bytes, found: Endpoint) -> None:
    with pytest.raises(BadRequest):
        read_request(found, text)
