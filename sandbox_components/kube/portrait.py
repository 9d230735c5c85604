"""The part of an observation that is copied from the objects rather than judged."""

from __future__ import annotations

from datetime import datetime

from sandbox_components.kube import probes
from sandbox_components.kube.objects import Json, dig, items, moment, name_of, named, text, uid
from sandbox_components.kube.observation import (
    Diagnosis,
    Event,
    ExitStatus,
    Observation,
    PauseNote,
    Port,
    Probe,
    State,
    Workspace,
)
from sandbox_components.kube.record import Record
from sandbox_components.kube.snapshot import WORKSPACE_VOLUME, SandboxSnapshot, agent_container, claim_of
from sandbox_components.spec.naming import (
    INFERENCE_ANNOTATION,
    OWN_LABELS,
    PROJECT_ANNOTATION,
    STACK_ANNOTATION,
)


def portray(
    snapshot: SandboxSnapshot,
    *,
    state: State,
    since: datetime | None,
    operating_mode: str,
    diagnosis: Diagnosis | None,
    pause: Record | None,
    agent_running: bool,
    exit_status: ExitStatus | None,
    image_digest: str | None,
    started_at: datetime | None,
    last_activity_at: datetime | None,
    probe: Probe,
) -> Observation:
    """Put what was judged beside what the objects say themselves."""
    meta = dig(snapshot.statefulset, "metadata") or {}
    container = agent_container(snapshot.pod_template) or {}
    return Observation(
        name=snapshot.name,
        namespace=snapshot.namespace,
        state=state,
        since=since,
        created_at=moment(meta.get("creationTimestamp")),
        project=text(meta, "annotations", PROJECT_ANNOTATION) or None,
        stack=text(meta, "annotations", STACK_ANNOTATION) or None,
        operating_mode=operating_mode,
        image=text(container, "image") or None,
        image_digest=image_digest,
        command=tuple(str(word) for word in [*(container.get("command") or []), *(container.get("args") or [])]),
        resource_limits=dict(dig(container, "resources", "limits") or {}),
        resource_requests=dict(dig(container, "resources", "requests") or {}),
        agent_running=agent_running,
        started_at=started_at,
        last_activity_at=last_activity_at,
        exit_status=exit_status,
        diagnosis=diagnosis,
        probe=probe,
        health_check=probes.health_check(container),
        workspace=_workspace(snapshot, container),
        pause=PauseNote(pause.by, pause.at, pause.reason) if pause else _unnamed_pause(operating_mode),
        node=text(snapshot.pod, "spec", "nodeName") or None,
        pod_name=name_of(snapshot.pod) or None,
        pod_uid=uid(snapshot.pod) or None,
        pod_ip=text(snapshot.pod, "status", "podIP") or None,
        cluster_ip=text(snapshot.service, "spec", "clusterIP") or None,
        service_type=text(snapshot.service, "spec", "type") or None,
        ports=_ports(snapshot, container),
        labels={k: str(v) for k, v in (meta.get("labels") or {}).items() if not k.startswith(OWN_LABELS)},
        events=tuple(event_of(event) for event in snapshot.events),
        proxy=text(meta, "annotations", INFERENCE_ANNOTATION) or None,
        grace_seconds=_grace(snapshot.pod_template),
        denied=snapshot.denied,
    )


def _grace(pod_spec: Json) -> int:
    seconds = dig(pod_spec, "terminationGracePeriodSeconds")
    return seconds if isinstance(seconds, int) else 30


def _unnamed_pause(operating_mode: str) -> PauseNote | None:
    return PauseNote() if operating_mode == "Paused" else None


def _workspace(snapshot: SandboxSnapshot, container: Json) -> Workspace:
    mount = named(items(container, "volumeMounts"), WORKSPACE_VOLUME)
    wanted = claim_of(snapshot.pod_template)
    claim = snapshot.claim
    return Workspace(
        mount_path=text(mount, "mountPath") or None,
        claim_name=wanted,
        claim_uid=uid(claim) or None,
        phase=text(claim, "status", "phase") or None,
        size=text(claim, "spec", "resources", "requests", "storage") or None,
        capacity=text(claim, "status", "capacity", "storage") or None,
        storage_class=text(claim, "spec", "storageClassName") or None,
    )


def _ports(snapshot: SandboxSnapshot, container: Json) -> tuple[Port, ...]:
    """Read the Service's ports, or the container's where the Service wasn't read."""
    exposed = items(snapshot.service, "spec", "ports") or items(container, "ports")
    ports = []
    for entry in exposed:
        number = entry.get("port") or entry.get("containerPort")
        if isinstance(number, int):
            ports.append(Port(number, text(entry, "name") or None, text(entry, "protocol") or "TCP"))
    return tuple(ports)


def event_of(event: Json) -> Event:
    """Return an event in the words of an observation."""
    count = dig(event, "series", "count") or event.get("count") or 1
    return Event(
        at=probes.event_time(event),
        kind=text(event, "involvedObject", "kind"),
        type=text(event, "type"),
        reason=text(event, "reason"),
        message=" ".join(text(event, "message").split()),
        count=count if isinstance(count, int) else 1,
    )
