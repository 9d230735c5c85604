"""A client's request as it comes in: headers that can't be trusted to mean one thing are refused, bodies are bounded.

The body is read as a whole before anything is decided, so what the provider gets is framed anew by us: no request can
hide in another's body.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from sandbox_components.proxy.fault import BadRequest, TooBusy
from sandbox_components.proxy.settings import Bounds

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_SMALL_BYTES = 2**20
_LINGER_BYTES = 128 * 2**20
_LINGER_SECONDS = 5.0


class ClientGone(Exception):
    """The client hung up before its request was whole."""


class Desk:
    """Counts what is being answered, and keeps to the bounds.

    Args:
        bounds: what clients may ask of us.
        seconds: for a whole request to come in.
    """

    def __init__(self, bounds: Bounds, seconds: float) -> None:
        self._bounds = bounds
        self._seconds = seconds
        self._in_flight: Counter[str] = Counter()
        self._buffered: Counter[str] = Counter()
        self._turn = asyncio.Lock()
        self.buffered = 0
        """Bytes of requests in memory."""

    @property
    def in_flight(self) -> int:
        """Calls that are being answered, or whose rest is being read."""
        return self._in_flight.total()

    @contextmanager
    def place(self, sandbox_id: str) -> Iterator[None]:
        """Take up one of the sandbox's places for a call.

        Raises:
            TooBusy: it has none left.
        """
        if self._in_flight[sandbox_id] >= self._bounds.calls_per_sandbox:
            most = self._bounds.calls_per_sandbox
            raise TooBusy(f"this sandbox has {most} calls in flight, as many as it may: try again when one has ended")
        self._in_flight[sandbox_id] += 1
        try:
            yield
        finally:
            self._in_flight[sandbox_id] -= 1
            if not self._in_flight[sandbox_id]:
                del self._in_flight[sandbox_id]

    async def read(self, sandbox_id: str, headers: Headers, receive: Receive) -> bytes:
        """Return the body. Its bytes count until `forget` is called with their number.

        Raises:
            BadRequest: it is too large, or too slow.
            TooBusy: too much is in memory already.
            ClientGone: it never came.
        """
        announced = length_of(headers) or 0
        self._check(sandbox_id, announced, announced)
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ClientGone
                    part = message.get("body", b"")
                    self._check(sandbox_id, len(body) + len(part), len(part))
                    body += part
                    self._count(sandbox_id, len(part))
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            self.forget(sandbox_id, len(body))
            text = f"the request did not come in whole within {self._seconds:.0f} seconds"
            raise BadRequest(text, status=408, code="request_timeout") from None
        except BaseException:
            self.forget(sandbox_id, len(body))
            raise

    def forget(self, sandbox_id: str, length: int) -> None:
        """Count a body no more."""
        self._count(sandbox_id, -length)

    @asynccontextmanager
    async def turn(self, length: int) -> AsyncIterator[None]:
        """Have large bodies made out one by one, and leave all other calls as much time in between as that takes."""
        if length <= _SMALL_BYTES:
            yield
            return
        async with self._turn:
            begun = time.monotonic()
            try:
                yield
            finally:
                await asyncio.sleep(time.monotonic() - begun)

    def _count(self, sandbox_id: str, length: int) -> None:
        self.buffered += length
        self._buffered[sandbox_id] += length
        if not self._buffered[sandbox_id]:
            del self._buffered[sandbox_id]

    def _check(self, sandbox_id: str, length: int, coming: int) -> None:
        """Check the length of a body of which so many bytes aren't counted yet."""
        most, at_once = self._bounds.body_bytes, self._bounds.buffered_bytes
        if length > most:
            raise BadRequest(f"the request's body has more than {most} bytes", status=413, code="request_too_large")
        if self._buffered[sandbox_id] + coming > max(most, at_once // 2):
            raise TooBusy("this sandbox has too many large requests in memory: try again when one has ended")
        if self.buffered + coming > max(most, at_once):
            raise TooBusy("the proxy has too many large requests in memory: try again in a moment")


def length_of(headers: Headers) -> int | None:
    """Return the announced length of the body."""
    found = next((value for name, value in headers if name == b"content-length"), b"")
    return int(found) if found.isdigit() else None


def has_body(headers: Headers) -> bool:
    """Tell whether a body comes after these."""
    return bool(length_of(headers)) or any(name == b"transfer-encoding" for name, _ in headers)


def check_headers(headers: Headers, most_bytes: int) -> None:
    """Refuse what two readers could read in two ways, and what is too large.

    Raises:
        BadRequest: naming the header.
    """
    if sum(len(name) + len(value) + 4 for name, value in headers) > most_bytes:
        text = f"the request's headers have more than {most_bytes} bytes"
        raise BadRequest(text, status=431, code="headers_too_large")
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise BadRequest("the request has both Content-Length and Transfer-Encoding: send one")
    if b"upgrade" in names and has_body(headers):
        raise BadRequest("only HTTP/1.1 is spoken here: send the request without the header Upgrade")
    for name in (b"content-length", b"transfer-encoding", b"host", b"content-type", b"content-encoding"):
        if names.count(name) > 1:
            raise BadRequest(f"the request has the header {name.decode()} more than once")


def check_content(headers: Headers) -> None:
    """Refuse bodies that aren't plain JSON.

    Raises:
        BadRequest: naming the header.
    """
    found = dict(headers)
    if found.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise BadRequest("compressed bodies are not passed on: send it as it is", status=415, code="bad_encoding")
    kind = found.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise BadRequest("Content-Type must be application/json", status=415, code="bad_content_type")


async def skip_body(headers: Headers, receive: Receive) -> bool:
    """Read a small body of a request that is refused, so that the connection can be used again; whether it can."""
    length = length_of(headers)
    names = {name for name, _ in headers}
    if (length is None and b"transfer-encoding" in names) or (b"upgrade" in names and has_body(headers)):
        return False
    return (length or 0) <= _SMALL_BYTES and await _read_away(receive, _SMALL_BYTES)


async def linger(receive: Receive) -> None:
    """Read on for a while after a refusal: closing at once would have the client hear of a broken connection only."""
    await _read_away(receive, _LINGER_BYTES)


async def _read_away(receive: Receive, most: int) -> bool:
    read = 0
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while read <= most:
                message = await receive()
                read += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return bool(message["type"] == "http.request")
    except TimeoutError:
        return False
    return False
