"""A request on its way through the proxy, as far as it has come: what its answer, log line and metrics are made of."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox_components.proxy.endpoint import Endpoint
from sandbox_components.proxy.exchange import Result
from sandbox_components.proxy.incoming import Headers
from sandbox_components.proxy.request import Plan
from sandbox_components.proxy.upstream import Upstream
from sandbox_components.spec.identity import Identity


@dataclass(slots=True)
class Visit:
    """A request, as far as it has come."""

    id: str
    method: str
    path: bytes
    query: bytes
    headers: Headers
    begun_at: float
    is_body_read: bool = False
    endpoint: Endpoint | None = None
    identity: Identity | None = None
    upstream: Upstream | None = None
    plan: Plan | None = None
    most_nanos: int | None = None
    result: Result | None = None

    @property
    def api(self) -> str:
        """In whose words an error is told."""
        if self.endpoint is not None:
            return self.endpoint.api
        names = {name for name, _ in self.headers}
        return "anthropic" if names & {b"anthropic-version", b"x-api-key"} else "openai"
