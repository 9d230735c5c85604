"""List sandboxes, once or as they change."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox_components.errors import NotFound
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import text
from sandbox_components.kube.observation import Observation
from sandbox_components.kube.snapshot import read_many, read_one
from sandbox_components.kube.state import observe
from sandbox_components.kube.watching import Feed, Source
from sandbox_components.spec.naming import SANDBOX_LABEL


def list_sandboxes(cluster: Cluster, namespace: str | None) -> list[Observation]:
    """Return the sandboxes of a namespace, or of all, by namespace and name."""
    found = [observe(snapshot, cluster.now()) for snapshot in read_many(cluster, namespace)]
    return sorted(found, key=lambda o: (o.namespace, o.name))


def watch_sandboxes(cluster: Cluster, namespace: str | None) -> Iterator[Observation]:
    """Yield every sandbox once, and then each one again whenever what a list shows of it changes; never ends."""
    selector = {"labelSelector": SANDBOX_LABEL}
    sources = [
        Source("statefulsets", paths.statefulsets(namespace), selector, skip_old=True),
        Source("pods", paths.pods(namespace), selector, skip_old=True),
    ]
    shown: dict[tuple[str, str], object] = {}
    with Feed(cluster, sources) as feed:
        for observation in list_sandboxes(cluster, namespace):
            shown[observation.namespace, observation.name] = _face(observation)
            yield observation
        while True:
            change = feed.next(3600)
            for obj in change.objects if change else ():
                key = text(obj, "metadata", "namespace"), text(obj, "metadata", "labels", SANDBOX_LABEL)
                try:
                    snapshot = read_one(cluster, *key, with_events=False)
                except NotFound:
                    shown.pop(key, None)
                    continue
                observation = observe(snapshot, cluster.now())
                if shown.get(key) != _face(observation):
                    shown[key] = _face(observation)
                    yield observation


def _face(observation: Observation) -> object:
    return observation.state, observation.probe, observation.image, observation.pod_uid, observation.diagnosis
