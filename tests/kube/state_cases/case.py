"""One set of API objects and what it means, and the words that several themes share."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox_components.kube.observation import ExitStatus, ProbeStatus, State
from sandbox_components.kube.snapshot import SandboxSnapshot
from tests.kube.objects import (
    ago,
    event,
    pod,
    terminated,
    waiting,
)

PENDING, RUNNING, PAUSING = State.PENDING, State.RUNNING, State.PAUSING
PAUSED, RESUMING, ERROR = State.PAUSED, State.RESUMING, State.ERROR
PASSING, FAILING, UNKNOWN, NONE = ProbeStatus.PASSING, ProbeStatus.FAILING, ProbeStatus.UNKNOWN, ProbeStatus.NONE
KILLED = ExitStatus(137, "SIGKILL")


@dataclass(frozen=True)
class Case:
    id: str
    seen: SandboxSnapshot
    state: State
    reason: str | None = None
    """A part of errorReason; None: there must be none."""
    exit: ExitStatus | None = None
    probe: ProbeStatus = NONE
    hopeless: bool = False
    restarts: int = 0


def crashed(code: int, reason: str = "Error", *, restarts: int = 1, **more: object) -> dict[str, object]:
    """A pod whose container waits for its next start."""
    back_off = waiting("CrashLoopBackOff", "back-off 10s restarting failed container")
    return pod(back_off, last=terminated(code, reason, **more), restarts=restarts)  # type: ignore[arg-type]


PAUSE = {"v": 1, "mode": "Paused", "by": "ada", "at": ago(60)}
RESUME = {"v": 1, "mode": "Running", "by": "ada", "at": ago(60), "generation": 3}
RESUME_LONG_AGO = {**RESUME, "at": ago(86400)}
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
CONFLICT = "0/2 nodes are available: 2 node(s) had volume node affinity conflict"
PULL = 'Failed to pull image "registry.example/agent:1": rpc error: code = NotFound desc = '
QUOTA = (
    'create Pod nightly-0 in StatefulSet nightly failed error: pods "nightly-0" is forbidden: exceeded quota: '
    "small, requested: limits.memory=64Mi, used: limits.memory=0, limited: limits.memory=1Mi"
)
SECURITY = (
    'create Pod nightly-0 in StatefulSet nightly failed error: pods "nightly-0" is forbidden: violates PodSecurity '
    '"restricted:latest": allowPrivilegeEscalation != false'
)
LIMITS = (
    'create Pod nightly-0 in StatefulSet nightly failed error: pods "nightly-0" is forbidden: maximum cpu usage per '
    "Container is 100m, but limit is 500m"
)
WEBHOOK = (
    'create Pod nightly-0 in StatefulSet nightly failed error: admission webhook "policy.example" denied the '
    "request: no"
)
HUNG = 'Get "http://10.0.0.7:8080/healthz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
PROBE_KILL = event("Killing", "Container agent failed liveness probe, will be restarted", at=25, level="Normal")
