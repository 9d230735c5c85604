"""uvicorn as the proxy uses it: two listeners in one event loop, one signal for both, and bounds that it lacks itself.

Requests' heads must come in time and be small, there are no websockets, and nothing is logged by uvicorn itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy.settings import Bounds, address

HEAD_SECONDS = 15.0
"""For a connection's first request to come in, head and all."""
_KEEP_ALIVE_SECONDS = 75
"""Longer than SDKs keep a connection in their pools is not needed; shorter would make them meet closed ones."""


class Protocol(H11Protocol):
    """HTTP/1.1 with bounds on connections and on how long the head of a request may take to come in."""

    most_connections = 0
    most_of_an_address = 0
    addresses: Counter[str]
    """Open connections by the client's address."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, or hang up."""
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self._address = self.client[0] if self.client else ""
        self.addresses[self._address] += 1
        is_one_too_many = self.addresses[self._address] > self.most_of_an_address
        if is_one_too_many or self.addresses.total() > self.most_connections:
            transport.close()
        else:
            self._start_clock()

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of a head that isn't whole yet start the clock."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()
        elif self._head_timer is None:
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        self.addresses[self._address] -= 1
        if not self.addresses[self._address]:
            del self.addresses[self._address]
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_clock(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


class Server(uvicorn.Server):
    """A server whose end is told by `should_exit` alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `serve_all`."""
        yield


def server(app: Any, bounds: Bounds, shutdown_seconds: float) -> Server:
    """Return a server of an ASGI application, not started yet."""
    own: dict[str, Any] = {"most_connections": bounds.connections, "most_of_an_address": bounds.connections_per_address}
    own["addresses"] = Counter()
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
        h11_max_incomplete_event_size=bounds.header_bytes,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(shutdown_seconds) or 1,
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
