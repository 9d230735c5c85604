"""Waiting for pods to be gone, which is what pause promises."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta

from sandbox_components.errors import TimedOut, Unreachable
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.news import Report, silent, spoken
from sandbox_components.kube.objects import Json, dig, name_of
from sandbox_components.kube.watching import Feed, applied, pods_of
from sandbox_components.spec.naming import pod_name

_TICK_SECONDS = 1.0
_SETTLE_SECONDS = 0.2


def wait_gone(
    cluster: Cluster,
    namespace: str,
    names: Iterable[str],
    *,
    timeout: timedelta,
    begin: Callable[[], None] = lambda: None,
    report: Report = silent,
) -> dict[str, Json]:
    """Wait until the pods of all names are gone, and their StatefulSets make no new ones.

    Args:
        cluster: where.
        namespace: in which namespace.
        names: the sandboxes.
        timeout: for all together.
        begin: does what makes the pods go; called once they are watched, so that their last moments are seen.
        report: gets the news.

    Returns:
        The last that was seen of each pod that was still there.

    Raises:
        TimedOut: pods are still there; they go on stopping.
    """
    pending = {pod_name(name): name for name in names}
    last: dict[str, Json] = {}
    deadline = time.monotonic() + timeout.total_seconds()
    with Feed(cluster, [pods_of(namespace, pending.values())]) as feed:
        told: set[str] = set()
        present: dict[str, Json] | None = None
        begin()
        tick = _TICK_SECONDS
        while True:
            change = feed.next(min(tick, deadline - time.monotonic()))
            if change is not None:
                present = applied(change, present or {})
                last |= {pending[n]: pod for n, pod in present.items() if n in pending}
                last |= {pending[name_of(o)]: o for o in change.objects if name_of(o) in pending}
            if present is not None:
                left = [pending[n] for n in pending if n in present]
                if not left and all(_is_seen(cluster, namespace, name) for name in pending.values()):
                    return last
                tick = _TICK_SECONDS if left else _SETTLE_SECONDS
                for name in left:
                    if name not in told and dig(present[pod_name(name)], "metadata", "deletionTimestamp"):
                        told.add(name)
                        grace = dig(present[pod_name(name)], "metadata", "deletionGracePeriodSeconds")
                        report(name, f"asked to stop, it has {grace} s")
            if time.monotonic() >= deadline:
                left = [pending[n] for n in pending if present is None or n in present] or list(pending.values())
                raise TimedOut(
                    f"still there after {spoken(timeout)}: the pods of {', '.join(left)}; they go on stopping",
                    suggestions=[f"sandbox describe {left[0]} -n {namespace}"],
                )


def _is_seen(cluster: Cluster, namespace: str, name: str) -> bool:
    """Whether the controller has seen what the StatefulSet wants: until then it may still make a pod."""
    try:
        statefulset = cluster.find(paths.statefulsets(namespace, name))
    except Unreachable:  # a moment's absence of the API server ends no wait
        return False
    seen = dig(statefulset, "status", "observedGeneration") or 0
    return bool(seen >= (dig(statefulset, "metadata", "generation") or 0))
