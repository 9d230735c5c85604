"""A sandbox as JSON: the seeds' names, one shape for `list` and `describe`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox_components.kube.observation import Observation
from sandbox_components.views.wire import envelope, stamp, wired


def sandbox_view(observation: Observation, *, with_events: bool = True) -> dict[str, Any]:
    """Return one sandbox as `kind: Sandbox`; `notAllowed` has what we may not read, each with the missing right."""
    body = _body(observation)
    if with_events:
        body["events"] = wired(observation.events)
        if "events" in observation.denied and not observation.events:
            body["events"] = None
    return envelope("Sandbox", {**body, "notAllowed": dict(observation.denied)})


def list_view(observations: Iterable[Observation]) -> dict[str, Any]:
    """Return several sandboxes as `kind: SandboxList`, without what takes requests for each."""
    return envelope("SandboxList", {"items": [_row(observation) for observation in observations]})


def row_view(observation: Observation) -> dict[str, Any]:
    """Return one sandbox as an item of a list that is watched: `kind: Sandbox`, with what the list has of it."""
    return envelope("Sandbox", _row(observation))


def _row(observation: Observation) -> dict[str, Any]:
    return {key: value for key, value in _body(observation).items() if key != "lastActivityAt"}


def _body(seen: Observation) -> dict[str, Any]:
    workspace = wired(seen.workspace)
    return {
        "name": seen.name,
        "namespace": seen.namespace,
        "project": seen.project,
        "stack": seen.stack,
        "operatingMode": seen.operating_mode,
        "state": seen.state.value,
        "since": stamp(seen.since),
        "createdAt": stamp(seen.created_at),
        "image": seen.image,
        "imageDigest": seen.image_digest,
        "command": list(seen.command),
        "resourceLimits": dict(seen.resource_limits),
        "resourceRequests": dict(seen.resource_requests),
        "agentRunning": seen.agent_running,
        "startedAt": stamp(seen.started_at),
        "lastActivityAt": stamp(seen.last_activity_at),
        "exitStatus": wired(seen.exit_status),
        "errorReason": seen.error_reason,
        "probe": wired(seen.probe),
        "healthCheck": wired(seen.health_check),
        "workspace": {**workspace, "persistent": seen.workspace.persistent},
        "pause": wired(seen.pause),
        "ports": wired(seen.ports),
        "endpoints": endpoints(seen),
        "podName": seen.pod_name,
        "node": seen.node,
        "podIP": seen.pod_ip,
        "labels": dict(seen.labels),
        "inference": seen.proxy,
    }


def endpoints(seen: Observation) -> list[str]:
    """Return the addresses inside the cluster at which exposed ports are reached."""
    return [f"{seen.name}.{seen.namespace}.svc:{port.port}" for port in seen.ports]
