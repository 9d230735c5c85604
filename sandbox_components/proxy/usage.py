"""What a call used, read out of its answer while the answer passes by.

One reader for all endpoints, streamed or not. Providers repeat counts while they stream, each time as totals so far;
so the last value of every field counts and nothing is ever added up. What an answer doesn't say is never taken for
zero: `finish` gives None, or `is_complete` stays false, and `bill` decides what is charged then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from sandbox_components.proxy.counts import Usage, flatten, usage_of
from sandbox_components.proxy.sse import Event, EventSplitter, parse

__all__ = ["Usage", "UsageReader"]

LARGEST_DOCUMENT = 256 * 2**20
"""Bytes of an answer in one piece that are kept to read it; a larger one is charged in full."""

_TELLING = (b'"usage"', b'"error"', b"message_stop", b"[DONE]", b"response.failed")
_OUTPUT = (b'"delta"', b"content_block")
_LAST = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _Inner(msgspec.Struct):
    usage: Any = None
    service_tier: Any = None


class _Message(msgspec.Struct):
    """What is read of an answer, or of the data of an event; all else in it is skipped."""

    type: Any = None
    usage: Any = None
    error: Any = None
    service_tier: Any = None
    choices: Any = None
    delta: Any = None
    message: _Inner | str | None = None
    response: _Inner | None = None


_DECODER = msgspec.json.Decoder(_Message)


class UsageReader:
    """Reads usage out of an answer's bytes.

    Args:
        endpoint: such as `chat.completions`; see `endpoint.ENDPOINTS`.
        strips_usage: the usage chunk was our wish and not the client's: `feed` takes it out of the stream again.

    Attributes:
        is_complete: the final counts are there.
        failed: the provider reported an error in place of (the rest of) an answer.
        has_output: something of the model's output was in it.
        ended: the answer came to its own end.
    """

    def __init__(self, endpoint: str, strips_usage: bool = False) -> None:
        self.is_complete = False
        self.failed = False
        self.has_output = False
        self.ended = False
        self._endpoint = endpoint
        self._strips_usage = strips_usage
        self._splitter: EventSplitter | None = None
        self._document: bytearray | None = None
        self._is_over = False
        self._fields: dict[str, Any] = {}

    def feed(self, chunk: bytes) -> bytes:
        """Take the answer's next bytes and return what is to be passed on now. Never raises, whatever comes."""
        if self._is_over or not chunk:
            return chunk
        if self._splitter is None and self._document is None:
            if not (start := chunk.lstrip()[:1]):
                return chunk
            # Told by the bytes, not by what was asked for: a faulty upstream answers either with the other.
            if start in (b"{", b"["):
                self._document = bytearray()
            else:
                self._splitter = EventSplitter()
        if self._document is not None:
            self._document += chunk
            if len(self._document) > LARGEST_DOCUMENT:
                self._give_up()
            return chunk
        assert self._splitter is not None
        kept = [event.raw for event in self._splitter.feed(chunk) if not self._read_event(event)]
        if self._splitter.is_too_large:
            kept.append(self._splitter.rest())
            self._give_up()
        return b"".join(kept) if self._strips_usage else chunk

    def rest(self) -> bytes:
        """Return the bytes that `feed` held back, to be passed on when no more bytes come."""
        if self._splitter is None:
            return b""
        rest = self._splitter.rest()
        is_ours = bool(rest.strip()) and self._read_event(parse(rest))
        return rest if self._strips_usage and not is_ours else b""

    def finish(self) -> Usage | None:
        """Return what the call used, or None when the answer doesn't tell. Call it when no more bytes come."""
        self.rest()
        if self._document is not None:
            self._read_document(bytes(self._document))
        self._is_over, self._document, self._splitter = True, None, None
        return usage_of(self._endpoint, self._fields) if self._fields else None

    def _give_up(self) -> None:
        self._is_over, self._document, self._splitter = True, None, None
        self.has_output = True

    def _read_event(self, event: Event) -> bool:
        """Take note of an event; True for the one that the client didn't ask for."""
        data = event.data
        self.failed = self.failed or event.name == b"error"
        if not any(word in data for word in _TELLING):
            self.has_output = self.has_output or any(word in data for word in _OUTPUT)
            return False
        if data.strip() == b"[DONE]":
            self.ended = True
            self.is_complete = self.is_complete or (self._endpoint == "chat.completions" and bool(self._fields))
            return False
        message = _decode(data)
        if message is None:
            self.has_output = True
            return False
        kind = message.type if isinstance(message.type, str) else ""
        self.failed = self.failed or bool(message.error) or kind == "error"
        if self._endpoint.startswith("messages"):
            self._read_anthropic(kind, message)
        elif kind.startswith("response."):
            self.failed = self.failed or kind == "response.failed"
            self.ended = self.ended or kind in _LAST
            self.has_output = self.has_output or message.delta is not None or kind in _LAST[:2]
            self._take(message.response, is_final=kind in _LAST)
        elif not self.failed:
            self.has_output = self.has_output or bool(message.choices)
            self._take(message, is_final=_is_last(message.choices))
            return self._strips_usage and message.choices == [] and bool(message.usage)
        return False

    def _read_anthropic(self, kind: str, message: _Message) -> None:
        if kind == "message_start" and isinstance(message.message, _Inner):
            self._take(message.message, is_final=False)
        elif kind == "message_delta":
            stops = isinstance(message.delta, Mapping) and message.delta.get("stop_reason") is not None
            self._take(message, is_final=stops)
        elif kind == "message_stop":
            self.ended = True
        elif kind.startswith("content_block"):
            self.has_output = True

    def _read_document(self, document: bytes) -> None:
        message = _decode(document)
        if message is None:
            self.has_output = True
            return
        self.ended = True
        self.failed = bool(message.error) and not message.usage
        self.has_output = not self.failed
        self._take(message, is_final=True)

    def _take(self, message: _Message | _Inner | None, *, is_final: bool) -> None:
        if message is None:
            return
        if isinstance(message.usage, Mapping) and message.usage:
            flatten(message.usage, self._fields)
            self.is_complete = self.is_complete or is_final
        if isinstance(message.service_tier, str) and self._fields:
            self._fields["service_tier"] = message.service_tier


def _is_last(choices: object) -> bool:
    """Tell whether the counts in a chunk of a chat are the last: some servers tell them all along."""
    if not isinstance(choices, list) or not choices:
        return True
    return any(isinstance(one, Mapping) and one.get("finish_reason") is not None for one in choices)


def _decode(data: bytes) -> _Message | None:
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        read = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    plain = {name: read.get(name) for name in ("type", "usage", "error", "service_tier", "choices", "delta")}
    nested = {name: _inner(read.get(name)) for name in ("message", "response")}
    return _Message(**plain, **nested)


def _inner(value: object) -> Any:
    return _Inner(value.get("usage"), value.get("service_tier")) if isinstance(value, dict) else None
