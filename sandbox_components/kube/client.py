"""A connection to one cluster: plain JSON requests over the HTTP client that lightkube sets up.

lightkube gives kubeconfig, TLS and credentials; its model classes and resource registry are left out, because the
command reads a handful of kinds and every one of its calls pays for the imports.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self

import httpx2
from lightkube.config import client_adapter
from lightkube.core.exceptions import ConfigError

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound, Unreachable
from sandbox_components.kube import answers, config
from sandbox_components.kube.objects import Json
from sandbox_components.spec.naming import FIELD_MANAGER

MERGE_PATCH = "application/merge-patch+json"
_PAGE = 500
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0
_BUSY_TRIES = 4
_BUSY_SECONDS = 10.0
"""A busy API server says 429 and when to come back, without having done anything; that long it is waited for."""
_WATCH_SECONDS = 60
"""How long a watch lasts. One that says nothing for longer is a dead connection, and is noticed by that."""


class Cluster:
    """A connected cluster. Use as a context manager, or close it.

    Args:
        connection: which cluster, as whom.
        transport: replaces the network in tests.
        timeout_seconds: for one answer; connecting gets at most 5 s of it.
    """

    def __init__(
        self,
        connection: config.Connection,
        *,
        transport: httpx2.BaseTransport | None = None,
        timeout_seconds: float = _READ_SECONDS,
    ) -> None:
        self.connection = connection
        self.only_stack: str | None = None
        """Sandboxes of other stacks are refused, when the user has named one."""
        self.timeout = httpx2.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds))
        params = client_adapter.ConnectionParams(timeout=self.timeout, transport=transport, proxy=connection.proxy)
        try:
            self._http = client_adapter.Client(connection.config, params)
        except (ConfigError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise InvalidInput(
                connection.source, f"the kubeconfig's server, certificates or credentials can't be used: {error}"
            ) from error
        self._ahead: float = 0.0
        self._tries = _BUSY_TRIES if timeout_seconds >= _READ_SECONDS else 1  # who is in a hurry doesn't ask again

    @classmethod
    def connect(
        cls, kubeconfig: str | None = None, context: str | None = None, *, timeout_seconds: float = _READ_SECONDS
    ) -> Cluster:
        """Choose a cluster as `config.load` does and prepare a client; nothing is sent yet."""
        return cls(config.load(kubeconfig, context), timeout_seconds=timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def who(self) -> str:
        """Name to record for who did something."""
        return self.connection.who

    def now(self) -> datetime:
        """The cluster's time, by the date of its last answer: ages don't depend on this machine's clock."""
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self._ahead, UTC)

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Json:
        """Return one object, or the first page of a list.

        Raises:
            NotFound, AccessDenied, Unreachable: and the other faults of `answers`.
        """
        return self._decoded("GET", path, params=params)

    def find(self, path: str) -> Json | None:
        """Return one object, or None when it isn't there."""
        try:
            return self.get(path)
        except NotFound:
            return None

    def list_all(self, path: str, params: Mapping[str, Any] | None = None) -> list[Json]:
        """Return all items of a list, page by page."""
        return self.list_at(path, params)[0]

    def list_at(self, path: str, params: Mapping[str, Any] | None = None) -> tuple[list[Json], str]:
        """Return all items of a list, and the resource version to watch from."""
        wanted: dict[str, Any] = {"limit": _PAGE, **(params or {})}
        found: list[Json] = []
        while True:
            page = self.get(path, wanted)
            found += page.get("items") or []
            meta = page.get("metadata") or {}
            if not meta.get("continue") or wanted["limit"] != _PAGE:
                return found, str(meta.get("resourceVersion") or "")
            wanted["continue"] = meta["continue"]

    def patch(self, path: str, body: Json) -> Json:
        """Merge `body` into an object under the command's own field manager."""
        params = {"fieldManager": FIELD_MANAGER}
        return self._decoded("PATCH", path, params=params, body=body, content_type=MERGE_PATCH)

    def create(self, path: str, body: Json) -> Json:
        """Create an object."""
        return self._decoded("POST", path, params={"fieldManager": FIELD_MANAGER}, body=body)

    def watch(
        self, path: str, resource_version: str, params: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, Json]]:
        """Yield changes (`ADDED`, `MODIFIED`, `DELETED`, object) until the server ends the watch.

        Raises:
            Gone: the resource version is too old; list again.
        """
        wanted = {
            "watch": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(_WATCH_SECONDS),
            **(params or {}),
        }
        request = answers.Request.of("GET", path, watch=True)
        with self.stream(path, wanted, request=request, read_seconds=_WATCH_SECONDS + _READ_SECONDS) as response:
            try:
                for line in response.iter_lines():
                    if not line:
                        continue
                    change = json.loads(line)
                    if change.get("type") == "ERROR":
                        status = change.get("object") or {}
                        raise self._fault(int(status.get("code") or 500), json.dumps(status).encode(), request)
                    if change.get("type") != "BOOKMARK":
                        yield change["type"], change["object"]
            except httpx2.HTTPError as error:
                raise self._unreachable(error) from error

    @contextmanager
    def stream(
        self,
        path: str,
        params: Mapping[str, Any] | None = None,
        *,
        request: answers.Request | None = None,
        read_seconds: float | None = _READ_SECONDS,
    ) -> Iterator[httpx2.Response]:
        """Open an answer that is read piece by piece (a watch, a log).

        Args:
            path: of the object or list.
            params: the query.
            request: what a refusal calls it; by default what the path says.
            read_seconds: how long the server may be silent; None is for ever, as for a log that is followed.
        """
        timeout = httpx2.Timeout(read_seconds, connect=_CONNECT_SECONDS)
        built = self._http.build_request("GET", path, params=dict(params or {}), timeout=timeout)
        response = self._sent(built, stream=True)
        try:
            if response.status_code >= 400:
                try:
                    body = response.read()
                except httpx2.HTTPError as error:
                    raise self._unreachable(error) from error
                raise self._fault(response.status_code, body, request or answers.Request.of("GET", path))
            yield response
        finally:
            response.close()

    def answer(
        self, path: str, *, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return status and body as they came, for what isn't the API server's own to answer."""
        built = self._http.build_request("GET", path, params=dict(params or {}), headers=dict(headers or {}))
        response = self._sent(built)
        return response.status_code, response.content

    def _decoded(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        request = self._http.build_request(
            method,
            path,
            params=dict(params or {}),
            content=None if body is None else json.dumps(body).encode(),
            headers=None if body is None else {"Content-Type": content_type},
        )
        response = self._sent(request)
        for _ in range(self._tries - 1):
            if response.status_code != 429:
                break
            time.sleep(_pause_of(response))
            response = self._sent(request)
        if response.status_code >= 400:
            raise self._fault(response.status_code, response.content, answers.Request.of(method, path))
        self._keep_time(response)
        try:
            decoded = json.loads(response.content)
        except ValueError as error:
            raise Unreachable(
                f"{self.connection.server} does not answer like a Kubernetes API server",
                suggestions=["kubectl config view --minify", "sandbox doctor"],
            ) from error
        return decoded if isinstance(decoded, dict) else {}

    def _sent(self, request: httpx2.Request, *, stream: bool = False) -> httpx2.Response:
        try:
            return self._http.send(request, stream=stream)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        except (ConfigError, LookupError, TypeError, ValueError, OSError) as error:
            # An exec plugin that isn't there, fails, says nothing or something else than a token.
            raise AccessDenied(
                f"no credentials for {self.connection.server}: {error}",
                suggestions=["kubectl auth whoami", "check the user's exec plugin in the kubeconfig"],
            ) from error

    def _unreachable(self, error: httpx2.HTTPError) -> Unreachable:
        cause = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, httpx2.TimeoutException):
            cause = f"no answer in time ({cause})"
        return Unreachable(
            f"the cluster at {self.connection.server} (from {self.connection.source}) can't be reached: {cause}",
            suggestions=["kubectl version", "sandbox doctor"],
        )

    def _fault(self, status: int, body: bytes, request: answers.Request) -> Exception:
        return answers.fault(status, body, request, server=self.connection.server, who=f'"{self.who}"')

    def _keep_time(self, response: httpx2.Response) -> None:
        try:
            server = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        ahead = server - datetime.now(UTC).timestamp()
        # The header has whole seconds only: differences below two seconds are its rounding, not a wrong clock.
        self._ahead = ahead if abs(ahead) > 2 else 0.0


def _pause_of(response: httpx2.Response) -> float:
    """Return for how long the server wants to be left alone."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), _BUSY_SECONDS) if asked.isdecimal() else 1.0
