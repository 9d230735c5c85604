"""Paused, on the way there, and on the way back."""

from __future__ import annotations

from sandbox_components.kube.observation import ExitStatus
from tests.kube.objects import (
    ago,
    event,
    pod,
    running,
    snapshot,
    starting,
    statefulset,
    terminated,
    unscheduled,
    waiting,
)
from tests.kube.state_cases.case import (
    ERROR,
    NO_ROOM,
    PAUSE,
    PAUSED,
    PAUSING,
    PENDING,
    QUOTA,
    RESUME,
    RESUME_LONG_AGO,
    RESUMING,
    RUNNING,
    UNKNOWN,
    Case,
    crashed,
)

PAUSES = [
    Case("paused", snapshot(statefulset(0, record=PAUSE)), PAUSED),
    Case("paused by a plain scale", snapshot(statefulset(0)), PAUSED),
    Case("paused, check configured", snapshot(statefulset(0, checked=True, record=PAUSE)), PAUSED, probe=UNKNOWN),
    Case(
        "paused, what was recorded is shown",
        snapshot(statefulset(0, record={**PAUSE, "exitStatus": {"code": 143, "signal": "SIGTERM"}, "restartCount": 2})),
        PAUSED,
        exit=ExitStatus(143, "SIGTERM"),
        restarts=2,
    ),
    Case("paused, record can't be read", snapshot(statefulset(0, record="{")), PAUSED),
    Case("paused, record of a later form", snapshot(statefulset(0, record={"v": 9, "mode": "Asleep"})), PAUSED),
    Case("changed while paused", snapshot(statefulset(0, generation=5, observed=4, status_replicas=0)), PAUSED),
    Case(
        "scaled, controller hasn't seen it",
        snapshot(statefulset(0, generation=5, observed=4, status_replicas=1)),
        PAUSING,
    ),
    Case("pausing, pod not yet told", snapshot(statefulset(0, record=PAUSE), pod(running())), PAUSING),
    Case("pausing", snapshot(statefulset(0, record=PAUSE), pod(running(), deleted=5)), PAUSING),
    Case(
        "pausing, agent has ended",
        snapshot(statefulset(0, record=PAUSE), pod(terminated(0, "Completed"), ready=False, deleted=5)),
        PAUSING,
        exit=ExitStatus(0),
    ),
    Case(
        "pausing, node doesn't confirm",
        snapshot(statefulset(0, record=PAUSE), pod(running(), deleted=120)),
        PAUSING,
        "node node-a has not confirmed",
    ),
    Case("pausing while crash looping", snapshot(statefulset(0), crashed(1)), PAUSING, exit=ExitStatus(1), restarts=1),
    Case(
        "quota error is no matter while paused",
        snapshot(statefulset(0, record=PAUSE), None, None, event("FailedCreate", QUOTA, kind="StatefulSet")),
        PAUSED,
    ),
    Case("resuming, no pod yet", snapshot(statefulset(1, generation=3, record=RESUME)), RESUMING),
    Case(
        "resuming, container is being made",
        snapshot(statefulset(1, generation=3, record=RESUME), starting(waiting("ContainerCreating"))),
        RESUMING,
    ),
    Case(
        "resuming, no room",
        snapshot(statefulset(1, generation=3, record=RESUME), unscheduled(NO_ROOM)),
        RESUMING,
        "Insufficient cpu",
    ),
    Case(
        "resuming, up and not yet checked",
        snapshot(
            statefulset(1, generation=3, checked=True, record=RESUME),
            pod(running(3), ready=False, checked=True, created=10),
        ),
        RESUMING,
        probe=UNKNOWN,
    ),
    Case("resumed", snapshot(statefulset(1, generation=3, record=RESUME), pod(running(10), created=20)), RUNNING),
    Case(
        "resumed, image can't be pulled",
        snapshot(statefulset(1, generation=3, record=RESUME), starting(waiting("ErrImagePull", "not found"))),
        ERROR,
        "not found",
        hopeless=True,
    ),
    Case(
        "resumed while the old pod stops",
        snapshot(statefulset(1, generation=3, record={**RESUME, "at": ago(2)}), pod(running(), deleted=5)),
        RESUMING,
    ),
    Case(
        "resumed by a plain scale",
        snapshot(statefulset(1, generation=3, record=PAUSE), starting(waiting("ContainerCreating"))),
        RESUMING,
    ),
    Case(
        "changed after the resume: a new start",
        snapshot(statefulset(1, generation=4, record=RESUME), starting(waiting("ContainerCreating"))),
        PENDING,
    ),
    Case(
        "moved long after the resume: a new start",
        snapshot(statefulset(1, generation=3, record=RESUME_LONG_AGO), starting(waiting("ContainerCreating"))),
        PENDING,
    ),
    Case(
        "scaled up by hand, never paused by us",
        snapshot(statefulset(1), starting(waiting("ContainerCreating"))),
        PENDING,
    ),
    Case(
        "old pause note, running for long",
        snapshot(statefulset(1, record=PAUSE), pod(running(50000), created=50010)),
        RUNNING,
    ),
]
