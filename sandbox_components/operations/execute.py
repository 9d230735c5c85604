"""Run a command in a sandbox, and say so when the container was restarted under it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from sandbox_components.errors import Refused
from sandbox_components.kube import exec as kube_exec
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.exec import ExecRequest
from sandbox_components.kube.objects import Json, dig, items, name_of, named, text, uid
from sandbox_components.kube.observation import Observation, State
from sandbox_components.kube.snapshot import SandboxSnapshot, read_pod, read_statefulset
from sandbox_components.kube.state import observe

_KILLED = 137
_PATIENCE_TRIES, _PATIENCE_SECONDS = 8, 0.25


@dataclass(frozen=True)
class Executed:
    """How a command ended."""

    code: int
    """The command's own, or docker's 125, 126, 127."""
    notes: tuple[str, ...] = ()
    """What the user has to know besides."""


def execute(
    cluster: Cluster,
    namespace: str,
    name: str,
    request: ExecRequest,
    *,
    stdin: int,
    stdout: BinaryIO,
    stderr: BinaryIO,
) -> Executed:
    """Run a command in a sandbox's container.

    Raises:
        NotFound: there is no such sandbox.
        Refused: it is paused, or its container doesn't run; says why. It is never started for this.
        TimedOut: the request's time ran out.
    """
    pod = running_pod(cluster, namespace, name, request.container)
    before = _life(pod, request.container)
    result = kube_exec.run(cluster, namespace, name_of(pod), request, stdin=stdin, stdout=stdout, stderr=stderr)
    notes = []
    if result.problem:
        notes.append(result.problem)
    if result.code != 0:
        # A killed command may be the first to know: the pod's status tells a moment later why.
        tries = _PATIENCE_TRIES if result.code in (None, _KILLED) else 1
        for left in reversed(range(tries)):
            after = read_pod(cluster, namespace, name)
            happened = _what_happened(name, before, after, request.container)
            if happened or not left:
                break
            time.sleep(_PATIENCE_SECONDS)
        notes += happened
    if result.code is None and not notes:
        notes.append("the connection ended before the command's exit code was told")
    return Executed(kube_exec.FAILED if result.code is None else result.code, tuple(notes))


def running_pod(cluster: Cluster, namespace: str, name: str, container: str) -> Json:
    """Return the sandbox's pod if the container in it runs.

    Raises:
        NotFound: there is no such sandbox.
        Refused: it is paused, or its container doesn't run.
    """
    statefulset = read_statefulset(cluster, namespace, name)
    pod = read_pod(cluster, namespace, name)
    status = named(items(pod, "status", "containerStatuses"), container)
    if pod is not None and dig(status, "state", "running") is not None:
        return pod
    seen = observe(SandboxSnapshot(statefulset, pod, is_partial=True), cluster.now())
    if pod is not None and status is None and seen.agent_running:
        raise no_container(name, container, items(pod, "status", "containerStatuses"))
    raise not_running(seen)


def no_container(name: str, container: str, known: Iterable[Json]) -> Refused:
    """Return the error that names the containers that there are."""
    names = ", ".join(text(entry, "name") for entry in known)
    return Refused(f'sandbox "{name}" has no container "{container}", but: {names}', code="no_container")


def not_running(seen: Observation) -> Refused:
    """Return the error that says why nothing runs in a sandbox, and what to do."""
    where = f"{seen.name} -n {seen.namespace}"
    if seen.state in (State.PAUSED, State.PAUSING):
        return Refused(
            f'sandbox "{seen.name}" is {seen.state.lower()}: nothing runs in it',
            suggestions=[f"sandbox resume {where}"],
            code="sandbox_paused",
        )
    cause = f": {seen.diagnosis.cause}" if seen.diagnosis else ""
    return Refused(
        f'sandbox "{seen.name}" has no running container (state {seen.state}){cause}',
        suggestions=[f"sandbox describe {where}"],
        code="sandbox_not_running",
    )


def _life(pod: Json | None, container: str) -> tuple[str, int]:
    status = named(items(pod, "status", "containerStatuses"), container)
    return uid(pod), int(dig(status, "restartCount") or 0)


def _what_happened(name: str, before: tuple[str, int], pod: Json | None, container: str) -> list[str]:
    """Compare the pod's UID and restart count with those from before the command."""
    if pod is None or dig(pod, "metadata", "deletionTimestamp"):
        return ["the sandbox's pod was stopped while the command ran"]
    after = _life(pod, container)
    status = named(items(pod, "status", "containerStatuses"), container)
    if after[0] != before[0]:
        return ["the sandbox's pod was replaced while the command ran; files outside the workspace are gone"]
    if after[1] != before[1] or dig(status, "state", "terminated") is not None:
        last = dig(status, "state", "terminated") or dig(status, "lastState", "terminated") or {}
        cause = text(last, "reason") or "unknown reason"
        return [
            f"the container restarted while the command ran ({cause}, exit code {last.get('exitCode')}); "
            f"see `sandbox describe {name}`"
        ]
    return []
