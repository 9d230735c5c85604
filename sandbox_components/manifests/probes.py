"""A health check as the container's two probes: one that restarts, one that shows."""

from __future__ import annotations

from typing import Any

from sandbox_components.spec.health import HealthCheck

_READINESS_INTERVAL_SECONDS = 5
"""A healthy sandbox is Ready within this, also where its user probes liveness once an hour."""


def probes(check: HealthCheck) -> dict[str, Any]:
    """Return `livenessProbe` and `readinessProbe` of the container; empty for type none.

    Liveness has the user's four tunables. Readiness asks the same endpoint from the start, without restarting
    anything: it makes a healthy sandbox Ready at once and lets `probe.status` be read.
    """
    if check.http is None:
        return {}
    get = {"httpGet": {"path": check.http.path, "port": check.http.port, "scheme": "HTTP"}}
    return {
        "livenessProbe": {
            **get,
            "periodSeconds": check.interval_seconds,
            "initialDelaySeconds": check.initial_delay_seconds,
            "timeoutSeconds": check.timeout_seconds,
            "failureThreshold": check.failure_threshold,
            "successThreshold": 1,
        },
        "readinessProbe": {
            **get,
            "periodSeconds": min(check.interval_seconds, _READINESS_INTERVAL_SECONDS),
            "timeoutSeconds": check.timeout_seconds,
            "failureThreshold": 1,
            "successThreshold": 1,
        },
    }
