"""A container that runs: healthy, not checked yet, sick, on a node that is silent, or restarted lately."""

from __future__ import annotations

from sandbox_components.kube.observation import ExitStatus
from tests.kube.objects import (
    condition,
    event,
    pod,
    running,
    snapshot,
    starting,
    statefulset,
    terminated,
    unhealthy,
    waiting,
)
from tests.kube.state_cases.case import (
    ERROR,
    FAILING,
    HUNG,
    KILLED,
    PASSING,
    PENDING,
    PROBE_KILL,
    RUNNING,
    UNKNOWN,
    Case,
)

RUNS = [
    Case("runs, no check", snapshot(None, pod(running())), RUNNING),
    Case("runs, passes", snapshot(statefulset(checked=True), pod(running(), checked=True)), RUNNING, probe=PASSING),
    Case("runs, ephemeral", snapshot(statefulset(claim=False), pod(running(), claim=False)), RUNNING),
    Case(
        "runs, passes, failed while it started",
        snapshot(statefulset(checked=True), pod(running(), checked=True), None, unhealthy(at=590)),
        RUNNING,
        probe=PASSING,
    ),
    Case(
        "starts, check hasn't run",
        snapshot(statefulset(checked=True), pod(running(3), ready=False, checked=True)),
        PENDING,
        probe=UNKNOWN,
    ),
    Case(
        "starts, first check failed",
        snapshot(
            statefulset(checked=True), pod(running(8), ready=False, checked=True), None, unhealthy(kind="Readiness")
        ),
        PENDING,
        probe=FAILING,
    ),
    Case(
        "fails, before the restart",
        snapshot(statefulset(checked=True), pod(running(55), ready=False, checked=True), None, unhealthy(HUNG, at=3)),
        RUNNING,
        "context deadline exceeded",
        probe=FAILING,
    ),
    Case(
        "fails, no events to tell why",
        snapshot(statefulset(checked=True), pod(running(300), ready=False, checked=True)),
        RUNNING,
        "it is not ready; the check asks port 8080 for /healthz",
        probe=FAILING,
    ),
    Case(
        "fails, after the restart",
        snapshot(
            statefulset(checked=True),
            pod(running(10), ready=False, checked=True, restarts=1, last=terminated(137, finished=11)),
            None,
            unhealthy(HUNG, at=30),
            PROBE_KILL,
        ),
        RUNNING,
        "(1 restart so far)",
        KILLED,
        FAILING,
        restarts=1,
    ),
    Case(
        "restarted by the check, passes again",
        snapshot(
            statefulset(checked=True),
            pod(running(15), checked=True, restarts=1, last=terminated(137, finished=16)),
            None,
            unhealthy(HUNG, at=30),
            PROBE_KILL,
        ),
        RUNNING,
        "restarted because its health check failed: Get",
        KILLED,
        PASSING,
        restarts=1,
    ),
    Case(
        "restarted by the check again and again",
        snapshot(
            statefulset(checked=True),
            pod(waiting("CrashLoopBackOff", "back-off"), checked=True, restarts=4, last=terminated(143, finished=20)),
            None,
            unhealthy(HUNG, at=30),
            PROBE_KILL,
        ),
        ERROR,
        "its health check failed",
        ExitStatus(143, "SIGTERM"),
        FAILING,
        hopeless=True,
        restarts=4,
    ),
    Case(
        "check configured, container not up yet",
        snapshot(statefulset(checked=True), starting(waiting("ContainerCreating"), checked=True)),
        PENDING,
        probe=UNKNOWN,
    ),
    Case(
        "a check of an older pod says nothing",
        snapshot(
            statefulset(checked=True),
            pod(running(3), ready=False, checked=True),
            None,
            event("Unhealthy", "Liveness probe failed: x", uid="uid-older"),
        ),
        PENDING,
        probe=UNKNOWN,
    ),
    Case(
        "crashed once, minutes ago",
        snapshot(None, pod(running(100), restarts=1, last=terminated(3, finished=101))),
        RUNNING,
        "runs again, but before the agent's command ended with exit code 3 (1 restart so far)",
        ExitStatus(3),
        restarts=1,
    ),
    Case(
        "crashed once, long ago",
        snapshot(None, pod(running(9000), restarts=1, last=terminated(3, finished=9001))),
        RUNNING,
        None,
        ExitStatus(3),
        restarts=1,
    ),
    Case(
        "killed for memory, runs again",
        snapshot(None, pod(running(30), restarts=1, last=terminated(137, "OOMKilled", finished=31))),
        RUNNING,
        "its limit of 64Mi",
        KILLED,
        restarts=1,
    ),
    Case(
        "node has stopped reporting",
        snapshot(
            statefulset(checked=True),
            pod(
                running(),
                ready=True,
                checked=True,
                conditions=[condition("PodScheduled", True), condition("Ready", False)],
            ),
        ),
        RUNNING,
        "node node-a has stopped reporting",
        probe=UNKNOWN,
    ),
    Case(
        "a readiness gate of somebody else's isn't a silent node",
        snapshot(
            None,
            pod(
                running(),
                ready=True,
                conditions=[condition("Ready", False)],
                spec={"readinessGates": [{"conditionType": "example/x"}]},
            ),
        ),
        RUNNING,
    ),
]
