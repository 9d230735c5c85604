"""Read a sandbox's log."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox_components.errors import Refused
from sandbox_components.kube import logs
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.logs import LogRequest
from sandbox_components.kube.objects import items, name_of, named
from sandbox_components.kube.snapshot import SandboxSnapshot, read_pod, read_statefulset
from sandbox_components.kube.state import observe
from sandbox_components.operations.execute import no_container, not_running


def read_logs(cluster: Cluster, namespace: str, name: str, request: LogRequest) -> Iterator[bytes]:
    """Yield the agent's log, bytes as they are.

    Raises:
        NotFound: there is no such sandbox.
        Refused: it is paused, has no such container, or that never ran, or not before; says which.
    """
    statefulset = read_statefulset(cluster, namespace, name)
    pod = read_pod(cluster, namespace, name)
    seen = observe(SandboxSnapshot(statefulset, pod, is_partial=True), cluster.now())
    if pod is None:
        raise not_running(seen)
    try:
        yield from logs.read(cluster, namespace, name_of(pod), request)
    except Refused as error:
        kinds = ("containers", "initContainers", "ephemeralContainers")
        known = [entry for kind in kinds for entry in items(pod, "spec", kind)]
        if named(known, request.container) is None:
            raise no_container(name, request.container, known) from error
        if request.previous:
            raise Refused(
                f'there is no earlier container of "{name}" whose log is kept ({seen.probe.restart_count} restarts)',
                suggestions=[f"sandbox logs {name} -n {namespace}"],
                code="no_previous_log",
            ) from error
        if seen.started_at is None:
            raise not_running(seen) from error
        raise
