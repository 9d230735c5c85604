"""The proxy's way to the providers: one connection pool for each, raw bytes both ways, nothing retried.

It stands on httpcore2, the transport below httpx2: that spares a third of a call's work and passes an answer's bytes
on as they come in. What matters to the ledger is one distinction: a request of which the provider can't have read
anything costs nothing (`NotSent`); once it was sent, a provider that doesn't answer may still charge for it (`Lost`).
"""

from __future__ import annotations

import contextlib
import fnmatch
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from urllib.parse import urlsplit

import httpcore2

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy import settings

Headers = Sequence[tuple[bytes, bytes]]

_WRITE_SECONDS = 60.0
_IDLE_SECONDS = 15.0
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
    """An answer whose head has come in. Read `chunks` to the end, or `close` it."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response
        self.status = response.status
        self.headers: list[tuple[bytes, bytes]] = []
        """Those that reach the client, with names in lower case. No cookies, no names of accounts."""
        self.length: int | None = None
        """Of the body in bytes, if the provider said so."""
        self.encoding = b"identity"
        for raw, value in response.headers:
            name = raw.lower()
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
        try:
            async for chunk in self._response.aiter_stream():
                yield chunk
        except httpcore2.TimeoutException as error:
            raise Lost("the provider's answer stood still", is_slow=True) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise Lost("the provider's answer broke off", is_slow=False) from error

    async def close(self) -> None:
        """Give the connection back if the whole answer was read, close it otherwise."""
        with contextlib.suppress(Exception):
            await self._response.aclose()


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
        self._scheme, self._host, self._port = parts.scheme.encode(), str(parts.hostname).encode(), parts.port
        self._path = parts.path.encode()
        self._host_header = parts.netloc.encode()
        authorization = (
            (b"x-api-key", key.encode()) if self.api == "anthropic" else (b"authorization", f"Bearer {key}".encode())
        )
        self._own = [(b"host", self._host_header), authorization, (b"accept-encoding", b"identity")]
        try:
            context = ssl.create_default_context(cafile=described.ca_file) if self._scheme == b"https" else None
        except OSError as error:
            raise InvalidInput("caFile", f"{described.ca_file} can't be used: {error.strerror or error}") from None
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=_IDLE_SECONDS,
        )

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
        waiting = {
            "pool": self._timeouts.connect,
            "connect": self._timeouts.connect,
            "write": _WRITE_SECONDS,
            "read": self._timeouts.first_byte,
        }
        request = httpcore2.Request(
            method,
            httpcore2.URL(scheme=self._scheme, host=self._host, port=self._port, target=self._path + path),
            headers=[*self._own, *headers, (b"content-length", str(len(body)).encode())],
            content=body,
            extensions={"timeout": waiting},
        )
        try:
            response = await self._pool.handle_async_request(request)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol) as error:
            raise NotSent(f'the upstream "{self.name}" can\'t be reached') from error
        except httpcore2.PoolTimeout as error:
            raise NotSent(f'the upstream "{self.name}" has no free connection') from error
        except httpcore2.TimeoutException as error:
            raise Lost(f'the upstream "{self.name}" did not answer in time', is_slow=True) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, ssl.SSLError) as error:
            raise Lost(f'the upstream "{self.name}" closed the connection without an answer', is_slow=False) from error
        waiting["read"] = self._timeouts.between_bytes
        return Answer(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


def choose(upstreams: Iterable[Upstream], api: str, model: str | None) -> Upstream | None:
    """Return the first upstream of an API that serves the model; None as the model takes any."""
    return next((one for one in upstreams if one.api == api and (model is None or one.serves(model))), None)
