"""One HTTP/1.1 connection to a provider, on asyncio and the parser of llhttp, for one request at a time.

Written here because it costs a call a tenth of the time that the general clients take, never sends a request twice, and
holds a provider up whose answer nobody reads.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from typing import cast

import httptools

_MOST_HEADER_BYTES = 256 * 2**10
_HIGH = 256 * 2**10
"""Bytes of an answer that wait for a slow client before the provider is held up."""
_LARGE = 64 * 2**10
"""Bytes of a request's body that isn't copied to be sent in one piece with its head."""


class Broken(Exception):
    """The connection ended, or what came wasn't HTTP. Whether the provider had read the request can't be known."""


class Connection(asyncio.Protocol):
    """See the module. `ask` first, then `read` until it returns nothing; then, if `is_reusable`, again."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_closed = False
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._fault: Broken | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._header_bytes = 0
        self._is_asked = False
        self._has_head = False
        self._is_whole = True
        self._is_framed = True
        self._is_paused = False
        self._keeps_alive = True

    async def ask(self, head: bytes, body: bytes, seconds: float) -> None:
        """Send a whole request and wait for the head of its answer, which is then in `status` and `headers`.

        Raises:
            TimeoutError: nothing came in time.
            Broken: see there.
        """
        self.status, self.headers, self._header_bytes = 0, [], 0
        self._is_asked, self._has_head, self._is_whole, self._is_framed = True, False, False, False
        if len(body) < _LARGE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        async with asyncio.timeout(seconds):
            while not self._has_head:
                await self._wait()

    async def read(self, seconds: float) -> bytes:
        """Return the next bytes of the answer's body, empty at its end.

        Raises:
            TimeoutError: nothing came in time.
            Broken: the answer broke off.
        """
        if not self._chunks and not self._is_whole:
            async with asyncio.timeout(seconds):
                while not self._chunks and not self._is_whole:
                    await self._wait()
        if not self._chunks:
            return b""
        chunk = b"".join(self._chunks) if len(self._chunks) > 1 else self._chunks[0]
        self._chunks.clear()
        self._waiting_bytes = 0
        if self._is_paused and not self.is_closed:
            self._is_paused = False
            self._transport.resume_reading()
        return chunk

    @property
    def is_reusable(self) -> bool:
        """Whether another request may be sent on it."""
        return self._is_whole and self._keeps_alive and not self.is_closed and not self._chunks

    def close(self) -> None:
        """End it, whatever is under way."""
        self.is_closed = True
        self._transport.abort()

    async def _wait(self) -> None:
        if self._fault is not None:
            raise self._fault
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, message: str) -> None:
        if self._fault is None:
            self._fault = Broken(message)
        self.close()
        self._wake()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, and have dead peers found out."""
        self._transport = cast("asyncio.Transport", transport)
        with contextlib.suppress(OSError, AttributeError):
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        if not self._is_asked or (self._is_whole and not self._chunks):
            self._fail("the provider spoke without being asked")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail("the provider did not answer in HTTP/1.1")
        if self._waiting_bytes > _HIGH and not self._is_paused and not self.is_closed:
            self._is_paused = True
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note; an answer whose length nobody said ends here."""
        self.is_closed = True
        if self._has_head and not self._is_framed and exc is None and self._fault is None:
            self._is_whole = True
            self._wake()
        elif not self._is_whole:
            self._fail("the provider closed the connection")

    # What the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        name = name.lower()
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _MOST_HEADER_BYTES:
            raise ValueError("too many headers")
        self.headers.append((name, value))
        self._is_framed = self._is_framed or name in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        """The head is there, unless it only says that more comes."""
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self.headers, self._is_framed = [], False
            if status == 101:
                raise ValueError("nobody asked for another protocol")
            return
        if self._has_head:
            raise ValueError("two answers to one request")
        self.status, self._has_head = status, True
        self._keeps_alive = self._parser.should_keep_alive()
        self._wake()

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body."""
        self._chunks.append(body)
        self._waiting_bytes += len(body)
        self._wake()

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if self._has_head:
            self._is_whole = True
            self._wake()
