"""Resume sandboxes: scale to 1, and wait for a new pod that is Ready."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sandbox_components.kube import scaling
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, uid
from sandbox_components.kube.record import Record
from sandbox_components.kube.snapshot import SandboxSnapshot, read_pod, read_statefulset
from sandbox_components.kube.state import observe
from sandbox_components.kube.wait import Report, silent, wait_ready


@dataclass(frozen=True)
class Resumed:
    """What became of one sandbox that was to be resumed."""

    name: str
    outcome: str
    """`resumed`, `already running`, or where nobody waited: `resuming`, `would resume`, `not paused, not ready`."""


def resume(
    cluster: Cluster,
    namespace: str,
    names: Sequence[str],
    *,
    wait: bool = True,
    timeout: timedelta | None = None,
    dry_run: bool = False,
    report: Report = silent,
) -> list[Resumed]:
    """Resume each sandbox; one that runs already stays as it is.

    Nothing is changed unless all names are there.

    Args:
        cluster: where.
        namespace: in which namespace.
        names: the sandboxes.
        wait: until a new pod is Ready.
        timeout: for all together; by default 5 minutes and what the slowest health check needs.
        dry_run: only say what would be done.
        report: gets the news while waiting.

    Raises:
        NotFound: one of them isn't there.
        Refused: one of them can't come right.
        TimedOut: it takes longer; goes on without us.
    """
    statefulsets: dict[str, Json] = {}
    pods: dict[str, Json | None] = {}
    for name in dict.fromkeys(names):
        statefulsets[name] = read_statefulset(cluster, namespace, name)
        pods[name] = read_pod(cluster, namespace, name)
    paused = [name for name, found in statefulsets.items() if scaling.wanted_replicas(found) == 0]
    ready = [
        name
        for name, found in statefulsets.items()
        if name not in paused and observe(SandboxSnapshot(found, pods[name], is_partial=True), cluster.now()).is_ready
    ]
    if dry_run:
        return [Resumed(n, _without_waiting(n, paused, ready, "would resume")) for n in statefulsets]
    begun = cluster.now()
    for name in paused:
        note = Record(
            mode="Running",
            by=cluster.who,
            at=begun,
            generation=scaling.next_generation(statefulsets[name]),
        )
        scaling.set_replicas(cluster, statefulsets[name], 1, note)
    starting = [name for name in statefulsets if name not in ready]
    if wait and starting:
        old = {name: uid(pods[name]) for name in paused if pods[name] is not None}
        wait_ready(cluster, namespace, starting, timeout=timeout, since=begun, old_uids=old, report=report)
    if not wait:
        return [Resumed(n, _without_waiting(n, paused, ready, "resuming")) for n in statefulsets]
    return [Resumed(n, "already running" if n in ready else "resumed") for n in statefulsets]


def _without_waiting(name: str, paused: Collection[str], ready: Collection[str], done: str) -> str:
    """Return what may be said of a sandbox whose pod nobody has seen become ready."""
    if name in paused:
        return done
    return "already running" if name in ready else "not paused, not ready"
