"""The health check: how it is configured, and how its latest run ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sandbox_components.kube.objects import Json, dig, is_true, moment, text
from sandbox_components.kube.observation import HealthCheck, ProbeStatus

_DEFAULTS = {"periodSeconds": 10, "initialDelaySeconds": 0, "timeoutSeconds": 1, "failureThreshold": 3}


def health_check(container: Json | None) -> HealthCheck | None:
    """Read the configured check from the container: its liveness probe, else its readiness probe."""
    probe = dig(container, "livenessProbe") or dig(container, "readinessProbe")
    if not probe:
        return None
    return HealthCheck(
        path=text(probe, "httpGet", "path") or "/",
        port=dig(probe, "httpGet", "port") or 0,
        interval_seconds=_number(probe, "periodSeconds"),
        initial_delay_seconds=_number(probe, "initialDelaySeconds"),
        timeout_seconds=_number(probe, "timeoutSeconds"),
        failure_threshold=_number(probe, "failureThreshold"),
    )


def default_wait(container: Json | None) -> timedelta:
    """How long to wait for a pod by default: 5 minutes and what the check needs to come to its judgement."""
    check = health_check(container)
    seconds = 300
    if check:
        seconds += check.initial_delay_seconds + check.interval_seconds * check.failure_threshold
    return timedelta(seconds=seconds)


def last_unhealthy(events: Iterable[Json]) -> Json | None:
    """Return the newest failed check among the pod's own events, which come oldest first."""
    return next((event for event in reversed(list(events)) if text(event, "reason") == "Unhealthy"), None)


def error_of(event: Json | None) -> str | None:
    """Return why the check failed, without Kubernetes' words around it."""
    said = " ".join(text(event, "message").split())
    for lead in ("Liveness probe failed: ", "Readiness probe failed: ", "Startup probe failed: "):
        said = said.removeprefix(lead)
    return said or None


def killed_by_probe(events: Iterable[Json], finished: datetime | None) -> str | None:
    """Return the failed check that the container, gone since `finished`, was killed for; None if it wasn't.

    The kubelet says so in an event `Killing` just before; the last failed liveness check tells why.
    """
    known = list(events)
    killing = [e for e in known if text(e, "reason") == "Killing" and "liveness probe" in text(e, "message")]
    if not killing or finished is None:
        return None
    last = event_time(killing[-1])
    # The event comes when the killing begins; the process may take its whole grace period.
    if last is None or not -5 <= (finished - last).total_seconds() <= 600:
        return None
    # Later failures are those of the container that came after it.
    before = [e for e in known if (event_time(e) or finished) <= finished and "Readiness" not in text(e, "message")]
    return error_of(last_unhealthy(before)) or "no answer"


def probe_status(
    pod: Json, container: Json | None, status: Json | None, events: list[Json], now: datetime
) -> ProbeStatus:
    """Judge the latest check from the container's readiness, the pod's events and the time it has had.

    Args:
        pod: the pod.
        container: the agent's container as configured.
        status: its container status, None before there is one.
        events: the pod's own events, oldest first; may be empty when they weren't read.
        now: the cluster's time.
    """
    if health_check(container) is None:
        return ProbeStatus.NONE
    started = moment(dig(status, "state", "running", "startedAt"))
    unhealthy = last_unhealthy(events)
    if started is None:
        return ProbeStatus.FAILING if unhealthy else ProbeStatus.UNKNOWN
    if dig(status, "ready"):
        # The kubelet says ready, the pod's condition doesn't: the node has stopped reporting, and nobody knows.
        return ProbeStatus.PASSING if is_true(pod, "Ready") else ProbeStatus.UNKNOWN
    if not dig(container, "readinessProbe"):
        return ProbeStatus.UNKNOWN
    if unhealthy is not None:
        return ProbeStatus.FAILING
    readiness = dig(container, "readinessProbe")
    patience = _number(readiness, "initialDelaySeconds") + _number(readiness, "timeoutSeconds")
    patience += _number(readiness, "periodSeconds") * _number(readiness, "failureThreshold")
    return ProbeStatus.FAILING if (now - started).total_seconds() > patience else ProbeStatus.UNKNOWN


def event_time(event: Json | None) -> datetime | None:
    """Return when an event was last seen; newer recorders fill other fields than older ones."""
    for path in (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("firstTimestamp",)):
        found = moment(dig(event, *path))
        if found:
            return found
    return moment(dig(event, "metadata", "creationTimestamp"))


def _number(probe: Json, key: str) -> int:
    value = dig(probe, key)
    return value if isinstance(value, int) and not isinstance(value, bool) else _DEFAULTS[key]
