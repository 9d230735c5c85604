"""Requests as agents send them, for tests."""

from __future__ import annotations

import base64
import json
from typing import Any

PICTURE = base64.b64encode(b"\x89PNG" + bytes(30_000)).decode()
PICTURE_URL = f"data:image/png;base64,{PICTURE}"

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "hi"}],
    "max_completion_tokens": 100,
}
RESPONSES: dict[str, Any] = {"model": "gpt-6-sol", "input": "hi", "max_output_tokens": 100}
EMBEDDINGS: dict[str, Any] = {"model": "text-embedding-3-small", "input": ["hi", "there"]}
MESSAGES: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}


def body(base: dict[str, Any], **changes: Any) -> bytes:
    """The base with changes; a field that is `...` is left out."""
    document = {key: value for key, value in {**base, **changes}.items() if value is not ...}
    return json.dumps(document).encode()


def chat_part(part: dict[str, Any]) -> bytes:
    return body(CHAT, messages=[{"role": "user", "content": [part]}])


def item(one: dict[str, Any]) -> bytes:
    return body(RESPONSES, input=[one])


def block(one: dict[str, Any]) -> bytes:
    return body(MESSAGES, messages=[{"role": "user", "content": [one]}])
