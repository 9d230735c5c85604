"""The agent's log, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx2

from sandbox_components.errors import AccessDenied, SandboxError, Unreachable
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import moment
from sandbox_components.spec.naming import CONTAINER

_STAMP_BYTES = 64
_STAMP_SECONDS = 5.0
"""A kubelet that hangs must not keep `describe` and `pause` from what they are about."""
_READ_SECONDS = 30.0


@dataclass(frozen=True)
class LogRequest:
    """Which part of a log."""

    tail: int | None = None
    """Number of lines from the end; all when None."""
    since: timedelta | None = None
    """Only lines of this last stretch of time."""
    follow: bool = False
    previous: bool = False
    """The log of the container before the last restart."""
    timestamps: bool = False
    container: str = CONTAINER

    def params(self) -> dict[str, str]:
        """Return the query of the pod's log subresource."""
        params = {"container": self.container}
        if self.tail is not None:
            params["tailLines"] = str(self.tail)
        if self.since is not None:
            params["sinceSeconds"] = str(max(1, int(self.since.total_seconds())))
        for key, is_on in (("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)):
            if is_on:
                params[key] = "true"
        return params


def read(cluster: Cluster, namespace: str, pod: str, request: LogRequest) -> Iterator[bytes]:
    """Yield the log in the pieces in which it comes.

    Raises:
        Refused: there is no such log, as of a container that never ran.
    """
    silence = None if request.follow else _READ_SECONDS
    with cluster.stream(paths.pod_log(namespace, pod), request.params(), read_seconds=silence) as response:
        try:
            yield from response.iter_raw()
        except httpx2.HTTPError as error:
            raise Unreachable(f"the log broke off: {error}") from error


def last_line_at(cluster: Cluster, namespace: str, pod: str) -> datetime | None:
    """Return when the agent last wrote a line, None when it hasn't or nobody can tell.

    Raises:
        AccessDenied: we may not read the log.
    """
    params = {"container": CONTAINER, "tailLines": "1", "timestamps": "true", "limitBytes": str(_STAMP_BYTES)}
    try:
        with cluster.stream(paths.pod_log(namespace, pod), params, read_seconds=_STAMP_SECONDS) as response:
            start = response.read()
    except AccessDenied:
        raise
    except (SandboxError, httpx2.HTTPError):
        return None
    stamp = start.split(b" ", 1)[0].decode(errors="replace")
    # Nanoseconds are more digits than a datetime takes.
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    return moment(f"{whole}.{fraction[:6]}+00:00" if fraction else f"{whole}+00:00")
