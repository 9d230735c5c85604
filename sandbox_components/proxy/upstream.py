"""The proxy's way to the providers: one connection pool for each, raw bytes both ways, nothing retried.

What matters to the ledger is one distinction: a request that the provider can't have read costs nothing (`NotSent`);
once it was sent, a provider that doesn't answer may still charge for it (`Lost`).
"""

from __future__ import annotations

import asyncio
import fnmatch
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from urllib.parse import urlsplit

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy import settings
from sandbox_components.proxy.connection import Broken, Connection

Headers = Sequence[tuple[bytes, bytes]]

_IDLE_SECONDS = 15.0
_NEXT_ADDRESS_SECONDS = 0.25
_ANSWER_HEADERS = {
    b"content-type",
    b"retry-after",
    b"retry-after-ms",
    b"x-should-retry",
    b"x-request-id",
    b"request-id",
    b"openai-version",
    b"openai-processing-ms",
}
_ANSWER_PREFIXES = (b"x-ratelimit-", b"anthropic-ratelimit-")


class NotSent(Exception):
    """No connection came about: the provider knows nothing of the call."""


class Lost(Exception):
    """The request was sent, and no (whole) answer came.

    Attributes:
        is_slow: the provider kept the connection, but said nothing in time.
    """

    def __init__(self, message: str, *, is_slow: bool) -> None:
        super().__init__(message)
        self.is_slow = is_slow


class Answer:
    """An answer whose head has come in. Read `chunks` to the end if you can, and `close` it in any case."""

    def __init__(self, connection: Connection, between_seconds: float, give_back: Callable[[Connection], None]) -> None:
        self._connection = connection
        self._between_seconds = between_seconds
        self._give_back = give_back
        self.status = connection.status
        self.headers: list[tuple[bytes, bytes]] = []
        """Those that reach the client, with names in lower case. No cookies, no names of accounts."""
        self.length: int | None = None
        """Of the body in bytes, if the provider said so."""
        self.encoding = b"identity"
        for name, value in connection.headers:
            if name in _ANSWER_HEADERS or name.startswith(_ANSWER_PREFIXES):
                self.headers.append((name, value))
            elif name == b"content-length" and value.isdigit():
                self.length = int(value)
            elif name == b"content-encoding":
                self.encoding = value.strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes in.

        Raises:
            Lost: it broke off, or stood still for too long.
        """
        while True:
            try:
                chunk = await self._connection.read(self._between_seconds)
            except TimeoutError as error:
                raise Lost("the provider's answer stood still", is_slow=True) from error
            except Broken as error:
                raise Lost("the provider's answer broke off", is_slow=False) from error
            if not chunk:
                return
            yield chunk

    def close(self) -> None:
        """Give the connection back if the whole answer was read, close it otherwise."""
        self._give_back(self._connection)


class Upstream:
    """One provider.

    Args:
        described: how the settings describe it.
        key: the provider's key.
        timeouts: how long to wait for what.
        connections: how many at most.
    """

    def __init__(self, described: settings.Upstream, key: str, timeouts: settings.Timeouts, connections: int) -> None:
        self.name = described.name
        self.api = described.api
        self.key = key
        self._models = described.models
        self._timeouts = timeouts
        parts = urlsplit(described.base_url)
        is_safe = parts.scheme == "https"
        self._host, self._port = str(parts.hostname), parts.port or (443 if is_safe else 80)
        self._path = parts.path.encode()
        header = f"x-api-key: {key}" if self.api == "anthropic" else f"authorization: Bearer {key}"
        self._own = f"host: {parts.netloc}\r\n{header}\r\naccept-encoding: identity\r\n".encode()
        self._free = asyncio.Semaphore(connections)
        self._idle: list[tuple[float, Connection]] = []
        try:
            self._context = ssl.create_default_context(cafile=described.ca_file) if is_safe else None
        except OSError as error:
            raise InvalidInput("caFile", f"{described.ca_file} can't be used: {error.strerror or error}") from None
        if self._context is not None:
            self._context.set_alpn_protocols(["http/1.1"])

    def serves(self, model: str) -> bool:
        """Tell whether its allow-list has this model."""
        return any(fnmatch.fnmatchcase(model, pattern) for pattern in self._models)

    async def send(self, method: bytes, path: bytes, headers: Headers, body: bytes) -> Answer:
        """Send a request and return its answer as soon as the head is there.

        Args:
            method: GET or POST.
            path: such as `/v1/messages`; below the base URL's own path.
            headers: the client's that may pass; ours are added.
            body: all of it.

        Raises:
            NotSent: the provider got nothing.
            Lost: it got the request, and may charge for it.
        """
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        length = str(len(body)).encode()
        head = b"".join(
            (
                method,
                b" ",
                self._path,
                path,
                b" HTTP/1.1\r\n",
                self._own,
                lines,
                b"content-length: ",
                length,
                b"\r\n\r\n",
            )
        )
        connection = await self._connect()
        try:
            await connection.ask(head, body, self._timeouts.first_byte)
        except TimeoutError as error:
            self._give_back(connection)
            raise Lost(f'the upstream "{self.name}" did not answer in time', is_slow=True) from error
        except Broken as error:
            self._give_back(connection)
            raise Lost(f'the upstream "{self.name}" closed the connection without an answer', is_slow=False) from error
        except BaseException:
            self._give_back(connection)
            raise
        return Answer(connection, self._timeouts.between_bytes, self._give_back)

    async def _connect(self) -> Connection:
        if not self._free.locked():
            await self._free.acquire()
        else:
            try:
                async with asyncio.timeout(self._timeouts.connect):
                    await self._free.acquire()
            except TimeoutError as error:
                raise NotSent(f'the upstream "{self.name}" has no free connection') from error
        while self._idle:
            since, connection = self._idle.pop()
            if not connection.is_closed and time.monotonic() - since < _IDLE_SECONDS:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(self._timeouts.connect):
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection, self._host, self._port, ssl=self._context, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
                )
                return connection
        except (OSError, TimeoutError) as error:
            self._free.release()
            raise NotSent(f'the upstream "{self.name}" can\'t be reached') from error
        except BaseException:
            self._free.release()
            raise

    def _give_back(self, connection: Connection) -> None:
        if connection.is_reusable:
            self._idle.append((time.monotonic(), connection))
        else:
            connection.close()
        self._free.release()

    async def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop()[1].close()
        await asyncio.sleep(0)


def choose(upstreams: Iterable[Upstream], api: str, model: str | None) -> Upstream | None:
    """Return the first upstream of an API that serves the model; None as the model takes any."""
    return next((one for one in upstreams if one.api == api and (model is None or one.serves(model))), None)
