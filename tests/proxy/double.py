"""A provider of models for tests: a real HTTP server that speaks OpenAI's and Anthropic's documented formats.

Run as a module it serves until its standard input ends. What an answer is like stands in the last user message: where
that is JSON of the form `{"double": {...}}`, its fields are those of `Wish`. Everything that was asked is remembered
and told at `/double/calls`, so that a test can compare what was served with what was charged.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]

KEY = "sk-the-real-key-of-the-double"
WORD = "tok "
_EVENT = "event: {}\ndata: {}\n\n"


@dataclass(frozen=True)
class Wish:
    """How a call wants to be answered."""

    input: int = 11
    output: int = 7
    cached: int = 0
    reasoning: int = 0
    status: int = 200
    delay: float = 0.0
    """Seconds before the answer begins."""
    gap: float = 0.0
    """Seconds between two events of a stream."""
    events: int = 3
    """Events with text in a stream."""
    stall: str = ""
    """`before` the answer, or in its `middle`: nothing comes any more."""
    cut: str = ""
    """`before` the answer, or in its `middle`: the connection is closed."""
    usage: bool = True
    error: bool = False
    """An error event in the middle of a stream."""
    size: int = 0
    """Bytes of text in the answer, at least."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Over the fields of the answer's usage."""
    tier: str = "default"
    """The service tier that an answer of OpenAI's tells."""


@dataclass
class Seen:
    """A call as it came in, and what became of it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    length: int
    model: str = ""
    is_stream: bool = False
    input: int = 0
    cached: int = 0
    output: int = 0
    is_served: bool = False
    """The answer was begun with 200: a provider would charge for it."""
    is_finished: bool = False


@dataclass
class Provider:
    """The ASGI application."""

    calls: list[Seen] = field(default_factory=list)
    open: int = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path = str(scope["path"])
        if path.startswith("/double/"):
            await self._tell(path, send)
            return
        self.open += 1
        gone = asyncio.create_task(_disconnect(receive))
        hang_up = receive.__self__.transport.abort  # type: ignore[attr-defined]  # uvicorn's, which has no other way
        answer = asyncio.create_task(self._answer(path, _headers(scope), bytes(body), send, hang_up))
        try:
            await asyncio.wait({gone, answer}, return_when=asyncio.FIRST_COMPLETED)
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
            if answer.done() and not answer.cancelled():
                answer.result()
        finally:
            self.open -= 1

    async def _tell(self, path: str, send: Send) -> None:
        if path == "/double/reset":
            self.calls.clear()
        told = {"calls": [asdict(one) for one in self.calls], "open": self.open}
        await _send_json(send, 200, told)

    async def _answer(
        self, path: str, headers: dict[str, str], raw: bytes, send: Send, hang_up: Callable[[], None]
    ) -> None:
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        seen = Seen(path, headers, body if isinstance(body, dict) else {}, len(raw))
        self.calls.append(seen)
        is_ours = headers.get("authorization") == f"Bearer {KEY}" or headers.get("x-api-key") == KEY
        if not is_ours:
            await _send_json(send, 401, {"error": {"message": "bad key", "type": "authentication_error"}})
            return
        if path == "/v1/models":
            await _send_json(send, 200, {"object": "list", "data": [{"id": "gpt-4o", "object": "model"}]})
            seen.is_finished = True
            return
        wish = wish_of(seen.body)
        seen.model, seen.is_stream = str(seen.body.get("model")), bool(seen.body.get("stream"))
        seen.input, seen.cached, seen.output = wish.input, wish.cached, min(wish.output, _most(seen.body))
        if wish.delay:
            await asyncio.sleep(wish.delay)
        if wish.stall == "before":
            await asyncio.sleep(3600)
        if wish.cut == "before":
            hang_up()
            return
        if wish.status != 200:
            error = {"type": "error", "error": {"message": "as you wished", "type": "api_error"}}
            await _send_json(send, wish.status, error, {"retry-after": "7"} if wish.status in (429, 503) else {})
            seen.is_finished = True
            return
        make = _FORMATS.get(path)
        if make is None:
            await _send_json(send, 404, {"error": {"message": f"no {path}"}})
            return
        seen.is_served = path != "/v1/messages/count_tokens"
        events, whole = make(seen, wish)
        if not seen.is_stream:
            await _send_json(send, 200, whole, cut=wish.cut == "middle", stall=wish.stall == "middle")
        else:
            await _send_events(send, events, wish)
        seen.is_finished = True


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(scope: Message) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def wish_of(body: Mapping[str, Any]) -> Wish:
    """Read the wish in the last message."""
    said = body.get("input") if "messages" not in body else (body["messages"] or [{}])[-1].get("content")
    if isinstance(said, list) and said and isinstance(said[-1], dict):
        said = said[-1].get("text") or said[-1].get("content")
    try:
        read = json.loads(said) if isinstance(said, str) else None
        wanted = read["double"] if isinstance(read, dict) else {}
    except (ValueError, KeyError):
        wanted = {}
    known = {one.name for one in fields(Wish)}
    return Wish(**{name: value for name, value in wanted.items() if name in known})


def asked(**wanted: Any) -> str:
    """Return the text of a message that asks for an answer like this."""
    return json.dumps({"double": wanted})


def _most(body: Mapping[str, Any]) -> int:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        if isinstance(body.get(name), int):
            return int(body[name])
    return 1 << 30


Made = tuple[list[str], dict[str, Any]]


def _data(event: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(event)}\n\n"


def _text(wish: Wish) -> str:
    return (WORD * max(wish.events, 1)).ljust(wish.size, "x")


def _chat(seen: Seen, wish: Wish) -> Made:
    usage = {
        "prompt_tokens": seen.input,
        "completion_tokens": seen.output,
        "total_tokens": seen.input + seen.output,
        "prompt_tokens_details": {"cached_tokens": seen.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": wish.reasoning, "audio_tokens": 0},
        **wish.told,
    }
    common = {"id": "chatcmpl-1", "created": 1764400000, "model": seen.model, "service_tier": wish.tier}
    whole = {
        **common,
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": _text(wish)}, "finish_reason": "stop"},
        ],
        **({"usage": usage} if wish.usage else {}),
    }
    wants_usage = bool((seen.body.get("stream_options") or {}).get("include_usage"))
    chunk = {**common, "object": "chat.completion.chunk", **({"usage": None} if wants_usage else {})}

    def event(delta: dict[str, str], reason: str | None = None) -> str:
        return _data({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    events = [event({"role": "assistant", "content": ""})]
    events += [event({"content": WORD.ljust(wish.size // max(wish.events, 1), "x")}) for _ in range(wish.events)]
    if wish.error:
        return [*events, _data({"error": {"message": "as you wished", "type": "server_error"}})], whole
    events.append(event({}, "stop"))
    if wants_usage and wish.usage:
        events.append(_data({**chunk, "choices": [], "usage": usage}))
    return [*events, "data: [DONE]\n\n"], whole


def _responses(seen: Seen, wish: Wish) -> Made:
    usage = {
        "input_tokens": seen.input,
        "input_tokens_details": {"cached_tokens": seen.cached},
        "output_tokens": seen.output,
        "output_tokens_details": {"reasoning_tokens": wish.reasoning},
        "total_tokens": seen.input + seen.output,
    }
    part = {"type": "output_text", "text": _text(wish), "annotations": []}
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
    begun = {"id": "resp_1", "object": "response", "created_at": 1764400000, "status": "in_progress"}
    begun |= {"model": seen.model, "service_tier": "default", "output": [], "usage": None}
    whole = {**begun, "status": "completed", "output": [item], "usage": usage if wish.usage else None}

    count = itertools.count()

    def event(kind: str, rest: dict[str, Any]) -> str:
        return _EVENT.format(kind, json.dumps({"type": kind, "sequence_number": next(count), **rest}))

    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    new = {**item, "status": "in_progress", "content": []}
    events = [
        event("response.created", {"response": begun}),
        event("response.in_progress", {"response": begun}),
        event("response.output_item.added", {"output_index": 0, "item": new}),
        event("response.content_part.added", {**place, "part": {**part, "text": ""}}),
    ]
    delta = {**place, "delta": WORD, "logprobs": []}
    events += [event("response.output_text.delta", delta) for _ in range(wish.events)]
    if wish.error:
        failed = {**begun, "status": "failed", "error": {"code": "server_error", "message": "as you wished"}}
        return [*events, event("response.failed", {"response": failed})], whole
    events += [
        event("response.output_text.done", {**place, "text": part["text"], "logprobs": []}),
        event("response.content_part.done", {**place, "part": part}),
        event("response.output_item.done", {"output_index": 0, "item": item}),
    ]
    return [*events, event("response.completed", {"response": whole})], whole


def _messages(seen: Seen, wish: Wish) -> Made:
    usage = {
        "input_tokens": seen.input - seen.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": seen.cached,
        "output_tokens": seen.output,
        "service_tier": "standard",
        **wish.told,
    }
    common = {"id": "msg_1", "type": "message", "role": "assistant", "model": seen.model, "stop_sequence": None}
    content = [{"type": "text", "text": _text(wish)}]
    whole = {**common, "content": content, "stop_reason": "end_turn", **({"usage": usage} if wish.usage else {})}

    def event(kind: str, **rest: Any) -> str:
        return _EVENT.format(kind, json.dumps({"type": kind, **rest}))

    first = {**common, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events = [
        event("message_start", message=first),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("ping"),
    ]
    delta = {"type": "text_delta", "text": WORD}
    events += [event("content_block_delta", index=0, delta=delta) for _ in range(wish.events)]
    if wish.error:
        return [*events, event("error", error={"type": "overloaded_error", "message": "as you wished"})], whole
    events.append(event("content_block_stop", index=0))
    if wish.usage:
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        events.append(event("message_delta", delta=ended, usage={"output_tokens": seen.output}))
    return [*events, event("message_stop")], whole


def _embeddings(seen: Seen, wish: Wish) -> Made:
    seen.output = seen.cached = 0
    usage = {"prompt_tokens": seen.input, "total_tokens": seen.input}
    data = [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]
    return [], {"object": "list", "data": data, "model": seen.model, **({"usage": usage} if wish.usage else {})}


def _count(seen: Seen, wish: Wish) -> Made:
    return [], {"input_tokens": wish.input}


_FORMATS: dict[str, Callable[[Seen, Wish], Made]] = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/embeddings": _embeddings,
    "/v1/messages": _messages,
    "/v1/messages/count_tokens": _count,
}


async def _send_json(
    send: Send,
    status: int,
    answer: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    *,
    cut: bool = False,
    stall: bool = False,
) -> None:
    body = json.dumps(answer).encode()
    all_headers = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    await _begin(send, status, all_headers)
    if cut or stall:
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        if stall:
            await asyncio.sleep(3600)
        raise ConnectionAbortedError
    await send({"type": "http.response.body", "body": body})


async def _send_events(send: Send, events: list[str], wish: Wish) -> None:
    await _begin(send, 200, {"content-type": "text/event-stream; charset=utf-8", "x-request-id": "req_of_the_double"})
    async for event in _paced(events, wish):
        await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _paced(events: list[str], wish: Wish) -> AsyncIterator[str]:
    for at, event in enumerate(events):
        if at and wish.gap:
            await asyncio.sleep(wish.gap)
        if at == len(events) // 2:
            if wish.stall == "middle":
                await asyncio.sleep(3600)
            if wish.cut == "middle":
                yield event[: len(event) // 2]
                raise ConnectionAbortedError
        yield event


async def _begin(send: Send, status: int, headers: Mapping[str, str]) -> None:
    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": told})


def main() -> None:
    """Serve on a free port of the address in the arguments, say the URL, and end with standard input."""
    import logging
    import socket

    import uvicorn

    logging.disable(logging.CRITICAL)  # a cut connection is meant
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio sets no TCP_NODELAY
    listener.bind(((sys.argv[1:] or ["127.0.0.1"])[0], 0))
    listener.listen(1024)
    server = uvicorn.Server(uvicorn.Config(Provider(), log_config=None, lifespan="off", ws="none", http="httptools"))
    print("http://{}:{}".format(*listener.getsockname()), flush=True)

    def until_the_end() -> None:
        sys.stdin.read()
        server.should_exit = server.force_exit = True

    threading.Thread(target=until_the_end, daemon=True).start()
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
