"""Describe one sandbox, with its events and the time of its last log line."""

from __future__ import annotations

from dataclasses import replace

from sandbox_components.kube import logs
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import name_of
from sandbox_components.kube.observation import Observation
from sandbox_components.kube.snapshot import noted, read_around, read_statefulset
from sandbox_components.kube.state import observe


def describe(cluster: Cluster, namespace: str, name: str) -> Observation:
    """Return all that the cluster knows of one sandbox, and lets us read.

    Raises:
        NotFound: with the names that are like it.
        AccessDenied: we may not read its StatefulSet or pod.
    """
    snapshot = read_around(cluster, read_statefulset(cluster, namespace, name))
    denied, last_log_at = dict(snapshot.denied), None
    if snapshot.pod is not None:
        with noted("lastActivityAt", denied):
            last_log_at = logs.last_line_at(cluster, namespace, name_of(snapshot.pod))
    seen = observe(snapshot, cluster.now(), last_log_at=last_log_at)
    if "lastActivityAt" in denied:
        seen = replace(seen, last_activity_at=None)  # its start would pass for its last line
    return replace(seen, denied=denied)
