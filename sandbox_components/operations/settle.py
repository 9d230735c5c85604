"""After an update: wait until the cluster has done what the verb promised, with news and with the reason if not."""

from __future__ import annotations

from datetime import timedelta

from sandbox_components.errors import AccessDenied, NotFound, Refused
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.scaling import wanted_replicas
from sandbox_components.kube.snapshot import read_statefulset
from sandbox_components.kube.wait import Report, wait_gone, wait_ready
from sandbox_components.operations.change import Change
from sandbox_components.operations.engine import Engine
from sandbox_components.spec import naming


def check_free(cluster: Cluster, namespace: str, name: str, engine: Engine) -> None:
    """Refuse a name that a sandbox of another stack has in this namespace: the two would share their objects.

    Raises:
        Refused: naming the other stack.
    """
    try:
        found = read_statefulset(cluster, namespace, name)
    except NotFound:
        return
    marks = (found.get("metadata") or {}).get("annotations") or {}
    project, stack = marks.get(naming.PROJECT_ANNOTATION), marks.get(naming.STACK_ANNOTATION)
    if (project, stack) != (engine.project.name, engine.stack.rsplit("/", 1)[-1]):
        owner = f"stack {stack} of project {project}" if stack else "somebody else"
        raise Refused(
            f'"{name}" in namespace "{namespace}" belongs to {owner} already',
            suggestions=["choose another name, or another sandbox-components:namespace for this stack"],
        )


def is_absent(cluster: Cluster, namespace: str) -> bool:
    """Whether there is no such namespace; who may not look takes it to be there."""
    try:
        return cluster.find(f"{paths.NAMESPACES}/{namespace}") is None
    except AccessDenied:
        return False


def settle(
    cluster: Cluster,
    namespace: str,
    done: Change,
    *,
    is_deletion: bool = False,
    timeout: timedelta | None,
    report: Report,
) -> None:
    """Wait: created and restarted sandboxes until Ready, deleted ones until the pod is gone.

    Where nothing was left to change it waits too: the command before may have been killed while it waited; and after
    a rollback in any case, which may have sent again what the engine thought was there. A paused sandbox is left alone:
    what changed is taken over at its resume.

    Raises:
        Refused: it can't come right; says why.
        TimedOut: it takes longer; goes on without us.
    """
    if is_deletion:
        wait_gone(cluster, namespace, [done.name], timeout=timeout or timedelta(minutes=5), report=report)
        return
    if not done.is_new and not done.restarts and done.outcome not in ("unchanged", "rolled back"):
        return
    try:
        statefulset = read_statefulset(cluster, namespace, done.name)
    except NotFound:
        return
    if wanted_replicas(statefulset) == 0:
        report(done.name, "is paused: the change is taken over at `sandbox resume`")
        return
    wait_ready(cluster, namespace, [done.name], timeout=timeout, report=report)
