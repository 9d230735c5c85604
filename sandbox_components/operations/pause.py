"""Pause sandboxes: scale to 0, say who and why, wait until the pods are gone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sandbox_components.errors import AccessDenied, SandboxError
from sandbox_components.kube import logs, paths, scaling
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.exits import exit_status
from sandbox_components.kube.objects import Json, dig, items, name_of, named, text
from sandbox_components.kube.observation import Observation
from sandbox_components.kube.probes import health_check
from sandbox_components.kube.record import Record
from sandbox_components.kube.snapshot import (
    SandboxSnapshot,
    agent_container,
    claim_of,
    in_order,
    read_events,
    read_pod,
    read_statefulset,
)
from sandbox_components.kube.state import observe
from sandbox_components.kube.wait import Report, silent, wait_gone
from sandbox_components.spec.naming import CONTAINER, PAUSE_ANNOTATION


@dataclass(frozen=True)
class Paused:
    """What became of one sandbox that was to be paused."""

    name: str
    outcome: str
    """`paused`, `already paused`, `pausing` (not waited for) or `would pause`."""
    is_ephemeral: bool
    """It has no disk: nothing of it is kept."""


@dataclass(frozen=True)
class _Plan:
    statefulset: Json
    pod: Json | None
    is_paused: bool
    is_ephemeral: bool


def pause(
    cluster: Cluster,
    namespace: str,
    names: Sequence[str],
    *,
    reason: str | None = None,
    wait: bool = True,
    timeout: timedelta = timedelta(minutes=5),
    dry_run: bool = False,
    report: Report = silent,
) -> list[Paused]:
    """Pause each sandbox; one that is paused already stays as it is.

    Nothing is changed unless all names are there.

    Args:
        cluster: where.
        namespace: in which namespace.
        names: the sandboxes.
        reason: for whoever looks later.
        wait: until the pods are gone.
        timeout: for all together.
        dry_run: only say what would be done.
        report: gets the news while waiting.

    Raises:
        NotFound: one of them isn't there.
        TimedOut: pods are still stopping.
    """
    plans = {name: _plan(cluster, namespace, name) for name in dict.fromkeys(names)}
    if dry_run:
        return [_result(n, p, "already paused" if p.is_paused else "would pause") for n, p in plans.items()]
    notes = {name: _note(cluster, plan, reason) for name, plan in plans.items() if not plan.is_paused}

    def scale() -> None:
        for name, note in notes.items():
            scaling.set_replicas(cluster, plans[name].statefulset, 0, note)

    leaving = [name for name, plan in plans.items() if not plan.is_paused or plan.pod is not None]
    if not wait:
        scale()
    elif leaving:
        last = wait_gone(cluster, namespace, leaving, timeout=timeout, begin=scale, report=report)
        for name, pod in last.items():
            try:
                _note_exit(cluster, namespace, name, pod, notes.get(name))
            except SandboxError as error:  # the sandbox is paused all the same: the note only explains
                report(name, f"how it ended could not be noted: {error.message}")
    done = "paused" if wait else "pausing"
    return [_result(n, p, "already paused" if p.is_paused else done) for n, p in plans.items()]


def _plan(cluster: Cluster, namespace: str, name: str) -> _Plan:
    statefulset = read_statefulset(cluster, namespace, name)
    return _Plan(
        statefulset=statefulset,
        pod=read_pod(cluster, namespace, name),
        is_paused=scaling.wanted_replicas(statefulset) == 0,
        is_ephemeral=claim_of(dig(statefulset, "spec", "template", "spec") or {}) is None,
    )


def _note(cluster: Cluster, plan: _Plan, reason: str | None) -> Record:
    """Keep what `describe` shows while there is no pod to ask."""
    events: tuple[Json, ...] = ()
    if plan.pod is not None and health_check(agent_container(dig(plan.pod, "spec"))) is not None:
        with contextlib.suppress(SandboxError):  # they only explain: without them the pause goes on
            namespace = text(plan.pod, "metadata", "namespace")
            events = in_order(read_events(cluster, namespace, "Pod", name_of(plan.pod)))
    snapshot = SandboxSnapshot(plan.statefulset, plan.pod, events=events, is_partial=True)
    seen: Observation = observe(snapshot, cluster.now())
    last_log_at = None
    if plan.pod is not None and seen.agent_running:
        with contextlib.suppress(AccessDenied):
            last_log_at = logs.last_line_at(cluster, seen.namespace, name_of(plan.pod))
    return Record(
        mode="Paused",
        by=cluster.who,
        at=cluster.now(),
        reason=reason,
        generation=scaling.next_generation(plan.statefulset),
        exit_status=seen.exit_status,
        image_digest=seen.image_digest,
        started_at=seen.started_at,
        last_activity_at=max((t for t in (seen.last_activity_at, last_log_at) if t), default=None),
        restart_count=seen.probe.restart_count,
        last_error=seen.probe.last_error,
    )


def _note_exit(cluster: Cluster, namespace: str, name: str, pod: Json, note: Record | None) -> None:
    """Add how the agent ended to the note that was written before it did, unless somebody has resumed it since."""
    status = named(items(pod, "status", "containerStatuses"), CONTAINER)
    ended = exit_status(dig(status, "state", "terminated"))
    if note is None or ended is None:
        return
    now = cluster.get(paths.statefulsets(namespace, name))
    if dig(now, "metadata", "annotations", PAUSE_ANNOTATION) == note.dump():
        scaling.write_note(cluster, namespace, name, replace(note, exit_status=ended))


def _result(name: str, plan: _Plan, outcome: str) -> Paused:
    return Paused(name, outcome, plan.is_ephemeral)
