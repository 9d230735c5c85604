"""Small factories for the Kubernetes objects of one sandbox, as the API server sends them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox_components.kube.snapshot import SandboxSnapshot, in_order

Json = dict[str, Any]

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
NAME = "nightly"
NAMESPACE = "agents"
IMAGE = "registry.example/agent:1"
DIGEST = "sha256:" + "ab" * 32


def ago(seconds: float) -> str:
    """A Kubernetes timestamp so many seconds before NOW."""
    return (NOW - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def probe(**changes: int) -> Json:
    settings = {"periodSeconds": 10, "initialDelaySeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}
    return {"httpGet": {"path": "/healthz", "port": 8080}, **settings, **changes}


def container(*, checked: bool = False, memory: str = "64Mi") -> Json:
    found: Json = {
        "name": "agent",
        "image": IMAGE,
        "command": ["./start.sh"],
        "resources": {"limits": {"cpu": "500m", "memory": memory}},
        "volumeMounts": [{"name": "workspace", "mountPath": "/workspace"}],
    }
    if checked:
        found["livenessProbe"] = probe()
        found["readinessProbe"] = probe(initialDelaySeconds=0)
    return found


def pod_spec(*, checked: bool = False, claim: bool = True, node: str | None = None, **more: Any) -> Json:
    volume: Json = {"name": "workspace"}
    if claim:
        volume["persistentVolumeClaim"] = {"claimName": f"{NAME}-workspace"}
    else:
        volume["emptyDir"] = {}
    spec: Json = {"containers": [container(checked=checked)], "volumes": [volume], **more}
    return spec | ({"nodeName": node} if node else {})


def statefulset(
    replicas: int | None = 1,
    *,
    checked: bool = False,
    claim: bool = True,
    generation: int = 1,
    observed: int | None = None,
    status_replicas: int | None = None,
    record: Json | str | None = None,
) -> Json:
    annotations = {"sandbox-components/project": "agents", "sandbox-components/stack": "production"}
    if record is not None:
        annotations["sandbox-components/pause"] = record if isinstance(record, str) else json.dumps(record)
    spec: Json = {"template": {"spec": pod_spec(checked=checked, claim=claim)}}
    if replicas is not None:
        spec["replicas"] = replicas
    status: Json = {"observedGeneration": generation if observed is None else observed}
    if status_replicas is not None:
        status["replicas"] = status_replicas
    return {
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "uid": "uid-set",
            "generation": generation,
            "creationTimestamp": ago(86400),
            "labels": {"sandbox-components/sandbox": NAME, "team": "demo"},
            "annotations": annotations,
        },
        "spec": spec,
        "status": status,
    }


def running(started: float = 600) -> Json:
    return {"running": {"startedAt": ago(started)}}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def terminated(code: int, reason: str = "Error", *, finished: float = 20, message: str = "", signal: int = 0) -> Json:
    found: Json = {"exitCode": code, "reason": reason, "startedAt": ago(finished + 10), "finishedAt": ago(finished)}
    if message:
        found["message"] = message
    if signal:
        found["signal"] = signal
    return {"terminated": found}


def pod(
    state: Json | None = None,
    *,
    ready: bool | None = None,
    last: Json | None = None,
    restarts: int = 0,
    phase: str = "Running",
    node: str | None = "node-a",
    created: float = 700,
    checked: bool = False,
    claim: bool = True,
    conditions: list[Json] | None = None,
    deleted: float | None = None,
    grace: int = 30,
    image_id: str = f"registry.example/agent@{DIGEST}",
    init: list[Json] | None = None,
    spec: Json | None = None,
    **status: Any,
) -> Json:
    """A pod; `deleted`: its deletion was asked for so many seconds ago."""
    is_ready = ready if ready is not None else bool(state and "running" in state)
    meta: Json = {"name": f"{NAME}-0", "namespace": NAMESPACE, "uid": "uid-pod", "creationTimestamp": ago(created)}
    if deleted is not None:
        meta |= {"deletionTimestamp": ago(deleted - grace), "deletionGracePeriodSeconds": grace}
    found: Json = {"phase": phase, "podIP": "10.0.0.7", **status}
    if state is not None:
        entry: Json = {"name": "agent", "state": state, "ready": is_ready, "restartCount": restarts}
        entry |= {"imageID": image_id, "lastState": last or {}}
        found["containerStatuses"] = [entry]
    if init is not None:
        found["initContainerStatuses"] = init
    if conditions is None:
        conditions = [condition("PodScheduled", True), condition("Ready", is_ready)] if node else []
    found["conditions"] = conditions
    return {
        "metadata": meta,
        "spec": pod_spec(checked=checked, claim=claim, node=node, **(spec or {})),
        "status": found,
    }


def condition(kind: str, is_true: bool, reason: str = "", message: str = "") -> Json:
    return {"type": kind, "status": "True" if is_true else "False", "reason": reason, "message": message}


def unscheduled(message: str, reason: str = "Unschedulable", **more: Any) -> Json:
    conditions = [condition("PodScheduled", False, reason, message)]
    return pod(phase="Pending", node=None, created=60, conditions=conditions, **more)


def starting(state: Json | None, **more: Any) -> Json:
    """A pod that has a node and no running container yet."""
    return pod(state, ready=False, phase="Pending", created=60, image_id="", **more)


def claim(phase: str = "Bound", storage_class: str | None = "local-path", **spec: Any) -> Json:
    found: Json = {"resources": {"requests": {"storage": "10Gi"}}, **spec}
    if storage_class is not None:
        found["storageClassName"] = storage_class
    status: Json = {"phase": phase}
    if phase == "Bound":
        status["capacity"] = {"storage": "10Gi"}
    meta = {"name": f"{NAME}-workspace", "namespace": NAMESPACE, "uid": "uid-claim"}
    return {"metadata": meta, "spec": found, "status": status}


def storage_class(name: str, *, default: bool = False) -> Json:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": annotations}}


_INVOLVED = {"Pod": f"{NAME}-0", "StatefulSet": NAME, "PersistentVolumeClaim": f"{NAME}-workspace"}
_UIDS = {"Pod": "uid-pod", "StatefulSet": "uid-set", "PersistentVolumeClaim": "uid-claim"}


def event(
    reason: str, message: str, *, kind: str = "Pod", at: float = 10, level: str = "Warning", uid: str | None = None
) -> Json:
    involved = {"kind": kind, "name": _INVOLVED[kind], "uid": uid or _UIDS[kind]}
    return {
        "metadata": {"uid": f"event-{reason}-{at}"},
        "involvedObject": involved,
        "type": level,
        "reason": reason,
        "message": message,
        "lastTimestamp": ago(at),
        "count": 1,
    }


def unhealthy(message: str = "dial tcp: connection refused", kind: str = "Liveness", at: float = 10) -> Json:
    return event("Unhealthy", f"{kind} probe failed: {message}", at=at)


def snapshot(
    set_: Json | None = None,
    pod: Json | None = None,
    claim_: Json | None = None,
    *events: Json,
    classes: list[Json] | None = None,
) -> SandboxSnapshot:
    """All objects of a sandbox; a bound claim unless another is given."""
    return SandboxSnapshot(
        statefulset=set_ or statefulset(),
        pod=pod,
        claim=claim_ or claim(),
        events=in_order(events),
        storage_classes=None if classes is None else tuple(classes),
    )
