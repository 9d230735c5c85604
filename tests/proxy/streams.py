"""Answers of the documented formats, as bytes on the wire, and what they used. All text in them is made up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sandbox_components.proxy.counts import Usage


@dataclass(frozen=True)
class Answer:
    endpoint: str
    body: bytes
    usage: Usage | None
    is_complete: bool = True
    failed: bool = False
    has_output: bool = True
    stripped: bytes | None = None


def sse(*events: tuple[str | None, Any], end: bytes = b"\n") -> bytes:
    lines = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
        lines.append((b"event: " + name.encode() + end if name else b"") + b"data: " + text.encode() + end + end)
    return b"".join(lines)


def chunk(**more: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764000000, "model": "gpt-5-2025-08-07"}
    return {**head, "service_tier": "default", "choices": [], "usage": None, **more}


def delta(text: str) -> tuple[None, dict[str, Any]]:
    return None, chunk(choices=[{"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}])


CHAT_USAGE = {
    "prompt_tokens": 1200,
    "completion_tokens": 350,
    "total_tokens": 1550,
    "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 256,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}
CHAT_SEEN = Usage(1200, cached_tokens=1024, output_tokens=350, reasoning_tokens=256, service_tier="default")
_CHAT = [
    (None, chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])),
    delta("Häuser, 家, \u2028 and \"usage\": {'prompt_tokens': 9}"),
    delta(" done"),
    (None, chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])),
]
_CHAT_USAGE = (None, chunk(usage=CHAT_USAGE))
CHAT = Answer(
    "chat.completions",
    sse(*_CHAT, _CHAT_USAGE, (None, "[DONE]")),
    CHAT_SEEN,
    stripped=sse(*_CHAT, (None, "[DONE]")),
)
CHAT_CRLF = Answer("chat.completions", sse(*_CHAT, _CHAT_USAGE, (None, "[DONE]"), end=b"\r\n"), CHAT_SEEN)
CHAT_CR = Answer("chat.completions", sse(*_CHAT, _CHAT_USAGE, (None, "[DONE]"), end=b"\r"), CHAT_SEEN)
CHAT_KEEPALIVES = Answer(
    "chat.completions",
    b": ping\n\n" + sse(*_CHAT[:2]) + b": ping\n\n\n" + sse(_CHAT_USAGE, (None, "[DONE]")),
    CHAT_SEEN,
)
CHAT_WITHOUT_END = Answer("chat.completions", sse(*_CHAT, _CHAT_USAGE)[:-2], CHAT_SEEN)
CHAT_CUT = Answer("chat.completions", sse(*_CHAT[:3]), None, is_complete=False)
CHAT_FAILED = Answer(
    "chat.completions",
    sse(*_CHAT[:2], (None, {"error": {"message": "The server had an error", "type": "server_error"}})),
    None,
    is_complete=False,
    failed=True,
)
CHAT_FAILED_AT_ONCE = Answer(
    "chat.completions",
    sse((None, {"error": {"message": "overloaded " * 50, "type": "server_error", "code": None}})),
    None,
    is_complete=False,
    failed=True,
    has_output=False,
)
CHAT_RUNNING_COUNTS = Answer(
    "chat.completions",
    sse(
        (
            None,
            chunk(choices=[{"index": 0, "delta": {"content": "a"}}], usage={**CHAT_USAGE, "completion_tokens": 260}),
        ),
        (
            None,
            chunk(choices=[{"index": 0, "delta": {"content": "b"}}], usage={**CHAT_USAGE, "completion_tokens": 300}),
        ),
        _CHAT_USAGE,
        (None, "[DONE]"),
    ),
    CHAT_SEEN,
)
CHAT_DOCUMENT = Answer(
    "chat.completions",
    json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "model": "gpt-5-2025-08-07",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "usage"}, "finish_reason": "stop"}],
            "usage": CHAT_USAGE,
            "service_tier": "flex",
        },
        indent=2,
    ).encode(),
    Usage(1200, cached_tokens=1024, output_tokens=350, reasoning_tokens=256, service_tier="flex"),
)


def response(status: str, usage: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "model": "gpt-6-sol",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}],
        "service_tier": "priority",
        "usage": usage,
    }


RESPONSES_USAGE = {
    "input_tokens": 400,
    "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50},
    "output_tokens": 90,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 490,
}
RESPONSES_SEEN = Usage(
    400,
    cached_tokens=100,
    cache_write_tokens=50,
    output_tokens=90,
    reasoning_tokens=64,
    service_tier="priority",
)
_TEXT = {
    "type": "response.output_text.delta",
    "item_id": "msg_1",
    "output_index": 0,
    "content_index": 0,
    "delta": "hel",
}


def responses(last: str, status: str, usage: Any = RESPONSES_USAGE) -> bytes:
    return sse(
        ("response.created", {"type": "response.created", "response": response("in_progress", None)}),
        ("response.in_progress", {"type": "response.in_progress", "response": response("in_progress", None)}),
        ("response.output_text.delta", _TEXT),
        (last, {"type": last, "response": response(status, usage)}),
    )


RESPONSES = Answer("responses", responses("response.completed", "completed"), RESPONSES_SEEN)
RESPONSES_INCOMPLETE = Answer("responses", responses("response.incomplete", "incomplete"), RESPONSES_SEEN)
RESPONSES_FAILED = Answer(
    "responses", responses("response.failed", "failed", None), None, is_complete=False, failed=True
)
RESPONSES_ERROR = Answer(
    "responses",
    sse(
        ("response.created", {"type": "response.created", "response": response("in_progress", None)}),
        ("error", {"type": "error", "code": "ERR_SOMETHING", "message": "Something went wrong", "param": None}),
    ),
    None,
    is_complete=False,
    failed=True,
    has_output=False,
)
RESPONSES_DOCUMENT = Answer("responses", json.dumps(response("completed", RESPONSES_USAGE)).encode(), RESPONSES_SEEN)

MESSAGE_START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 3,
            "cache_creation_input_tokens": 12304,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 12304, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 8,
            "service_tier": "standard",
            "inference_geo": "global",
        },
    },
}
MESSAGE_DELTA = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"output_tokens": 550},
}
MESSAGES_SEEN = Usage(
    12307,
    cache_write_tokens=12304,
    output_tokens=550,
    service_tier="standard",
    inference_geo="global",
)
_BLOCKS = [
    ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ("ping", {"type": "ping"}),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hallo\n\nevent: error\n"}},
    ),
    ("content_block_stop", {"type": "content_block_stop", "index": 0}),
]
_STOP = ("message_stop", {"type": "message_stop"})
MESSAGES = Answer(
    "messages",
    sse(("message_start", MESSAGE_START), *_BLOCKS, ("message_delta", MESSAGE_DELTA), _STOP),
    MESSAGES_SEEN,
)
MESSAGES_LATE_COUNTS = Answer(
    "messages",
    sse(
        ("message_start", {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}}),
        *_BLOCKS,
        (
            "message_delta",
            {
                **MESSAGE_DELTA,
                "usage": {
                    "input_tokens": 30,
                    "cache_read_input_tokens": 7000,
                    "cache_creation_input_tokens": 200,
                    "output_tokens": 55,
                },
            },
        ),
        _STOP,
    ),
    Usage(7230, cached_tokens=7000, cache_write_tokens=200, output_tokens=55),
)
MESSAGES_TWO_DELTAS = Answer(
    "messages",
    sse(
        ("message_start", MESSAGE_START),
        *_BLOCKS,
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 100}}),
        ("message_delta", {**MESSAGE_DELTA, "usage": {"input_tokens": 0, "output_tokens": 550}}),
        _STOP,
    ),
    MESSAGES_SEEN,
)
MESSAGES_CUT = Answer(
    "messages",
    sse(("message_start", MESSAGE_START), *_BLOCKS),
    Usage(
        12307,
        cache_write_tokens=12304,
        output_tokens=8,
        service_tier="standard",
        inference_geo="global",
    ),
    is_complete=False,
)
MESSAGES_OVERLOADED = Answer(
    "messages",
    sse(
        ("message_start", MESSAGE_START),
        ("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded " * 80}}),
    ),
    MESSAGES_CUT.usage,
    is_complete=False,
    failed=True,
    has_output=False,
)
MESSAGES_DOCUMENT = Answer(
    "messages",
    json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "hello"}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 100,
                "cache_creation_input_tokens": 5000,
                "cache_read_input_tokens": 2000,
                "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 4000},
                "output_tokens": 700,
                "output_tokens_details": {"thinking_tokens": 600},
                "server_tool_use": None,
                "service_tier": "standard",
                "speed": "fast",
                "inference_geo": "us",
            },
        }
    ).encode(),
    Usage(
        7100,
        cached_tokens=2000,
        cache_write_tokens=5000,
        cache_write_1h_tokens=4000,
        output_tokens=700,
        reasoning_tokens=600,
        service_tier="standard",
        speed="fast",
        inference_geo="us",
    ),
)
EMBEDDINGS = Answer(
    "embeddings",
    json.dumps(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.1, -0.2]}],
            "model": "text-embedding-3-small",
            "usage": {"prompt_tokens": 12, "total_tokens": 12},
        }
    ).encode(),
    Usage(12),
)

ANSWERS = {name.lower(): answer for name, answer in list(globals().items()) if isinstance(answer, Answer)}
STREAMS = {name: answer for name, answer in ANSWERS.items() if not answer.body.startswith(b"{")}
