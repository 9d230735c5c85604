"""List sandboxes, once or as they change."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator

from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import text
from sandbox_components.kube.observation import Observation
from sandbox_components.kube.snapshot import SandboxSnapshot, read_around, read_many
from sandbox_components.kube.state import observe
from sandbox_components.kube.watching import Feed, Source, outlast
from sandbox_components.spec.naming import SANDBOX_LABEL

_POLL_SECONDS = 5.0


def list_sandboxes(cluster: Cluster, namespace: str | None) -> list[Observation]:
    """Return the sandboxes of a namespace, or of all, by namespace and name."""
    found = [observe(snapshot, cluster.now()) for snapshot in read_many(cluster, namespace)]
    return sorted(found, key=lambda o: (o.namespace, o.name))


def watch_sandboxes(
    cluster: Cluster, namespace: str | None, say: Callable[[str], None] = lambda _: None
) -> Iterator[Observation]:
    """Yield every sandbox once, and then each one again whenever what a list shows of it changes.

    Never ends: a cluster that is away for a while is waited for. Who may not watch gets a list every few seconds.

    Args:
        cluster: where.
        namespace: in which namespace; None for all.
        say: gets a line about how it goes on, where it isn't by watching.
    """
    selector = {"labelSelector": SANDBOX_LABEL}
    sources = [
        Source("statefulsets", paths.statefulsets(namespace), selector, skip_old=True, polled=False),
        Source("pods", paths.pods(namespace), selector, skip_old=True, polled=False),
    ]
    shown: dict[tuple[str, str], object] = {}
    with Feed(cluster, sources) as feed:
        for observation in list_sandboxes(cluster, namespace):
            shown[observation.namespace, observation.name] = _face(observation)
            yield observation
        while True:
            change = feed.next(3600)
            if change is not None and change.denied is not None:
                say(f"not allowed: {change.denied.right or 'watch'}; listing every {_POLL_SECONDS:g} s instead")
                break
            for obj in change.objects if change else ():
                key = text(obj, "metadata", "namespace"), text(obj, "metadata", "labels", SANDBOX_LABEL)
                snapshot = outlast(functools.partial(_read, cluster, *key), math.inf)
                if snapshot is None:
                    shown.pop(key, None)
                    continue
                observation = observe(snapshot, cluster.now())
                if shown.get(key) != _face(observation):
                    shown[key] = _face(observation)
                    yield observation
    while True:
        time.sleep(_POLL_SECONDS)
        found = outlast(functools.partial(list_sandboxes, cluster, namespace), math.inf)
        for observation in found:
            if shown.get((observation.namespace, observation.name)) != _face(observation):
                yield observation
        shown = {(observation.namespace, observation.name): _face(observation) for observation in found}


def _read(cluster: Cluster, namespace: str, name: str) -> SandboxSnapshot | None:
    """Read a sandbox of whatever stack, None when it is gone; a list shows all that are in the namespace."""
    statefulset = cluster.find(paths.statefulsets(namespace, name))
    return None if statefulset is None else read_around(cluster, statefulset, with_events=False)


def _face(observation: Observation) -> object:
    return observation.state, observation.probe, observation.image, observation.pod_uid, observation.diagnosis
