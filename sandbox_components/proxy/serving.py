"""uvicorn as the proxy uses it: two listeners in one event loop, one signal for both, and bounds that it lacks itself.

Requests' heads must come in time and be small, there are no websockets, and nothing is logged by uvicorn itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy.settings import Bounds, Timeouts, address

HEAD_SECONDS = 15.0
"""At most, for the head of a request to come in."""
_FRAME_BYTES = 256 * 2**10
"""For the frames of a chunked body's chunks."""
_KEEP_ALIVE_SECONDS = 75
"""Longer than SDKs keep a connection in their pools is not needed; shorter would make them meet closed ones."""
_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:", re.IGNORECASE)
_NO_UPGRADE = b"\r\nx-ignored-upgrade:"


class _Corked:
    """A transport that sends what is written within one turn of the event loop by one system call."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send soon."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Send what waits, and close."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))


class Protocol(HttpToolsProtocol):
    """HTTP/1.1 with bounds on connections, on what stands around bodies, and on how long a head takes to come in."""

    most_connections = 0
    most_of_an_address = 0
    most_head_bytes = 0
    head_seconds = HEAD_SECONDS
    reading_seconds = 0.0
    addresses: Counter[str]
    """Open connections by the client's address."""
    _is_inside = False
    """A request has begun and isn't whole."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, or hang up."""
        with contextlib.suppress(OSError):
            # asyncio does it only where the listening socket names its protocol; without it first bytes wait 40 ms.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(cast("asyncio.Transport", _Corked(transport, self.loop)))
        self._head_timer: asyncio.TimerHandle | None = None
        self._stuck_timer: asyncio.TimerHandle | None = None
        self._frame_bytes = 0
        self._address = self.client[0] if self.client else ""
        self.addresses[self._address] += 1
        is_one_too_many = self.addresses[self._address] > self.most_of_an_address
        if is_one_too_many or self.addresses.total() > self.most_connections:
            transport.close()
        else:
            self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a head that isn't whole yet start the clock."""
        if self.transport.is_closing():
            return
        self._frame_bytes += len(data)
        if not self._is_inside:
            data = _without_upgrade(data)
        super().data_received(data)
        if self._frame_bytes > self.most_head_bytes and not self.transport.is_closing():
            self.send_400_response("More bytes around the body than are accepted.")
        elif self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()
        elif self._head_timer is None:
            self._start_clock()

    def on_message_begin(self) -> None:
        """Take note."""
        self._is_inside = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the request. A target that isn't a path is no path of ours, whatever path is in it."""
        if not self.url.startswith(b"/"):
            self.url = b"/"
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body: the application bounds it."""
        self._frame_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Count anew for the next request."""
        self._frame_bytes = 0
        self._is_inside = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Hang up on a client that leaves its answer lying for too long."""
        super().pause_writing()
        self._stuck_timer = self.loop.call_later(self.reading_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it reads."""
        super().resume_writing()
        if self._stuck_timer is not None:
            self._stuck_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_clock()
        if self._stuck_timer is not None:
            self._stuck_timer.cancel()
        self.addresses[self._address] -= 1
        if not self.addresses[self._address]:
            del self.addresses[self._address]
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_clock(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Return the bytes of a request without the offer to speak another protocol, as a server may pass it over.

    Java's own client makes that offer with every request (`h2c`), and the parser would take the body for the other
    protocol. Where the head comes in pieces it is left, and the application refuses the request.
    """
    end = data.find(b"\r\n\r\n")
    if end < 0 or not _UPGRADE.search(data, 0, end):
        return data
    return _UPGRADE.sub(_NO_UPGRADE, data[:end]) + data[end:]


class Server(uvicorn.Server):
    """A server whose end is told by `should_exit` alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve_all`."""
        yield


def server(app: Any, bounds: Bounds, timeouts: Timeouts) -> Server:
    """Return a server of an ASGI application, not started yet."""
    own: dict[str, Any] = {
        "most_connections": bounds.connections,
        "most_of_an_address": bounds.connections_per_address,
        "most_head_bytes": bounds.header_bytes + _FRAME_BYTES,
        "head_seconds": min(timeouts.request, HEAD_SECONDS),
        "reading_seconds": timeouts.client,
        "addresses": Counter(),
    }
    config = uvicorn.Config(
        app,
        http=type("BoundedProtocol", (Protocol,), own),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(timeouts.shutdown) or 1,
    )
    return Server(config)


def listen(where: str, field: str) -> socket.socket:
    """Return a listening socket.

    Raises:
        InvalidInput: the address can't be had.
    """
    host, port = address(where)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidInput(field, f"{where} can't be listened on: {error.strerror or error}") from None


async def serve_all(
    servers: list[tuple[Server, socket.socket]], on_stop: Callable[[], None], handler: logging.Handler
) -> None:
    """Serve until SIGTERM or SIGINT; a second one doesn't wait for calls in flight.

    Args:
        servers: with their sockets.
        on_stop: called at the first signal.
        handler: gets what libraries log.
    """
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        on_stop()
        for one, _ in servers:
            one.force_exit = one.should_exit
            one.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await asyncio.gather(*(one.serve(sockets=[listener]) for one, listener in servers))
