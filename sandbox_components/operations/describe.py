"""Describe one sandbox, with its events and the time of its last log line."""

from __future__ import annotations

from sandbox_components.kube import logs
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import name_of
from sandbox_components.kube.observation import Observation
from sandbox_components.kube.snapshot import read_around, read_statefulset
from sandbox_components.kube.state import observe


def describe(cluster: Cluster, namespace: str, name: str) -> Observation:
    """Return all that the cluster knows of one sandbox.

    Raises:
        NotFound: with the names that are like it.
    """
    snapshot = read_around(cluster, read_statefulset(cluster, namespace, name))
    last_log_at = None
    if snapshot.pod is not None:
        last_log_at = logs.last_line_at(cluster, namespace, name_of(snapshot.pod))
    return observe(snapshot, cluster.now(), last_log_at=last_log_at)
