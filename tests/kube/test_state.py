"""A hundred sets of API objects, and what each of them means."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sandbox_components.kube.objects import dig
from sandbox_components.kube.observation import ExitStatus, ProbeStatus, State
from sandbox_components.kube.snapshot import SandboxSnapshot
from sandbox_components.kube.state import observe
from tests.kube.objects import (
    DIGEST,
    IMAGE,
    NOW,
    ago,
    claim,
    condition,
    event,
    pod,
    running,
    snapshot,
    starting,
    statefulset,
    storage_class,
    terminated,
    unhealthy,
    unscheduled,
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

STARTS = [
    Case("just created: no pod, no word", snapshot(statefulset(), None), PENDING),
    Case("replicas left out means one", snapshot(statefulset(None), None), PENDING),
    Case("pod made, not looked at by the scheduler", snapshot(None, pod(phase="Pending", node=None)), PENDING),
    Case("scheduled, kubelet hasn't spoken", snapshot(None, starting(None)), PENDING),
    Case("container is being made", snapshot(None, starting(waiting("ContainerCreating"))), PENDING),
    Case("init containers run", snapshot(None, starting(waiting("PodInitializing"))), PENDING),
    Case("no room: cpu", snapshot(None, unscheduled(NO_ROOM)), PENDING, "1 Insufficient cpu"),
    Case("no room: memory", snapshot(None, unscheduled("1 Insufficient memory.")), PENDING, "--memory SIZE"),
    Case("no room: pods", snapshot(None, unscheduled("0/1 nodes: 1 Too many pods.")), PENDING, "Too many pods"),
    Case("volume is on another node", snapshot(None, unscheduled(CONFLICT)), PENDING, CONFLICT),
    Case("taints", snapshot(None, unscheduled("1 node(s) had untolerated taint {gpu: yes}.")), PENDING, "tolerations"),
    Case(
        "node selector",
        snapshot(None, unscheduled("1 node(s) didn't match Pod's node affinity/selector.")),
        PENDING,
        "nodeSelector",
    ),
    Case("scheduler gives no message", snapshot(None, unscheduled("")), PENDING, "no node has been found yet"),
    Case(
        "scheduling gate",
        snapshot(None, unscheduled("", "SchedulingGated", spec={"schedulingGates": [{"name": "example/wait"}]})),
        PENDING,
        "gate: example/wait",
    ),
    Case(
        "no such class",
        snapshot(None, unscheduled(UNBOUND), claim("Pending", "fast"), classes=[storage_class("local-path")]),
        PENDING,
        'there is no storage class "fast" (there are: local-path)',
        hopeless=True,
    ),
    Case(
        "no such class, by its event alone",
        snapshot(
            None,
            unscheduled(UNBOUND),
            claim("Pending", "fast"),
            event(
                "ProvisioningFailed",
                'storageclass.storage.k8s.io "fast" not found',
                kind="PersistentVolumeClaim",
            ),
        ),
        PENDING,
        'there is no storage class "fast"',
        hopeless=True,
    ),
    Case(
        "no default class",
        snapshot(None, unscheduled(UNBOUND), claim("Pending", None), classes=[storage_class("local-path")]),
        PENDING,
        "no default class; set a storage class (there are: local-path)",
        hopeless=True,
    ),
    Case(
        "no default class, no class at all",
        snapshot(None, unscheduled(UNBOUND), claim("Pending", None), classes=[]),
        PENDING,
        "there are: <none>",
        hopeless=True,
    ),
    Case(
        "no default class, by its event alone",
        snapshot(
            None,
            unscheduled(UNBOUND),
            claim("Pending", None),
            event(
                "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set",
                kind="PersistentVolumeClaim",
            ),
        ),
        PENDING,
        "no default class",
        hopeless=True,
    ),
    Case(
        "claim with a default class waits for its first consumer",
        snapshot(
            None,
            pod(phase="Pending", node=None),
            claim("Pending", None),
            classes=[storage_class("local-path", default=True)],
        ),
        PENDING,
    ),
    Case(
        "claim wants a volume made by hand",
        snapshot(None, unscheduled(UNBOUND), claim("Pending", ""), classes=[]),
        PENDING,
        "no volume made by hand fits",
    ),
    Case(
        "provisioner fails",
        snapshot(
            None,
            unscheduled(UNBOUND),
            claim("Pending"),
            event("ProvisioningFailed", "disk quota reached", kind="PersistentVolumeClaim"),
            classes=[storage_class("local-path")],
        ),
        PENDING,
        "disk quota reached",
    ),
    Case(
        "another claim's event says nothing",
        snapshot(
            None,
            pod(phase="Pending", node=None),
            claim("Pending"),
            event("ProvisioningFailed", "old", kind="PersistentVolumeClaim", uid="uid-older"),
            classes=[storage_class("local-path")],
        ),
        PENDING,
    ),
    Case(
        "claim's volume is gone",
        snapshot(None, unscheduled(UNBOUND), claim("Lost", volumeName="pv-1")),
        ERROR,
        'the volume "pv-1"',
    ),
    Case(
        "claim isn't there",
        SandboxSnapshot(statefulset(), unscheduled('persistentvolumeclaim "nightly-workspace" not found')),
        ERROR,
        'claim "nightly-workspace" does not exist',
    ),
    Case(
        "volume can't be mounted",
        snapshot(
            None, starting(waiting("ContainerCreating")), None, event("FailedMount", "MountVolume.SetUp failed: x")
        ),
        PENDING,
        "MountVolume.SetUp failed: x",
    ),
    Case(
        "volume is attached elsewhere",
        snapshot(
            None,
            starting(waiting("ContainerCreating")),
            None,
            event("FailedAttachVolume", 'Multi-Attach error for volume "pv-1"'),
        ),
        PENDING,
        "still attached elsewhere",
    ),
    Case(
        "no network for the pod",
        snapshot(
            None,
            starting(waiting("ContainerCreating")),
            None,
            event("FailedCreatePodSandBox", "failed to set up sandbox container network"),
        ),
        PENDING,
        "sandbox container network",
    ),
    Case(
        "a warning of an older pod says nothing",
        snapshot(None, starting(waiting("ContainerCreating")), None, event("FailedMount", "old", uid="uid-older")),
        PENDING,
    ),
]

IMAGES = [
    Case(
        "unknown tag",
        snapshot(None, starting(waiting("ErrImagePull", PULL + "manifest unknown"))),
        ERROR,
        "can't be pulled: manifest unknown",
        hopeless=True,
    ),
    Case(
        "unknown name, backing off, newer kubelet",
        snapshot(
            None,
            starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}": ErrImagePull: not found')),
        ),
        ERROR,
        "can't be pulled: not found; check name and tag",
        hopeless=True,
    ),
    Case(
        "backing off, older kubelet: the event tells",
        snapshot(
            None,
            starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"')),
            None,
            event("Failed", PULL + "manifest unknown", at=40),
            event("Failed", "Error: ErrImagePull", at=39),
            event("BackOff", f'Back-off pulling image "{IMAGE}"', at=5),
        ),
        ERROR,
        "manifest unknown",
        hopeless=True,
    ),
    Case(
        "backing off, nobody tells why",
        snapshot(None, starting(waiting("ImagePullBackOff", f'Back-off pulling image "{IMAGE}"'))),
        ERROR,
        "the pull failed",
    ),
    Case(
        "private image",
        snapshot(None, starting(waiting("ErrImagePull", "pull access: unauthorized: authentication required"))),
        ERROR,
        "imagePullSecrets",
        hopeless=True,
    ),
    Case(
        "registry away",
        snapshot(None, starting(waiting("ErrImagePull", "dial tcp 10.0.0.1:5000: connect: connection refused"))),
        ERROR,
        "Kubernetes goes on trying",
    ),
    Case(
        "registry's name unknown",
        snapshot(None, starting(waiting("ErrImagePull", "lookup registry.example: no such host"))),
        ERROR,
        "node reaches the registry",
    ),
    Case(
        "wrong processor",
        snapshot(None, starting(waiting("ErrImagePull", "no match for platform in manifest"))),
        ERROR,
        "no match for platform",
        hopeless=True,
    ),
    Case(
        "malformed name",
        snapshot(None, starting(waiting("InvalidImageName", "couldn't parse image name: invalid reference format"))),
        ERROR,
        "is not an image name: couldn't parse image name",
        hopeless=True,
    ),
    Case(
        "pull policy Never",
        snapshot(None, starting(waiting("ErrImageNeverPull", "not present with pull policy of Never"))),
        ERROR,
        "imagePullPolicy Never",
        hopeless=True,
    ),
    Case(
        "secret of the environment isn't there",
        snapshot(None, starting(waiting("CreateContainerConfigError", 'secret "nightly-env" not found'))),
        ERROR,
        'missing: secret "nightly-env" not found',
    ),
    Case(
        "key of the secret isn't there",
        snapshot(None, starting(waiting("CreateContainerConfigError", "couldn't find key K in Secret agents/x"))),
        ERROR,
        "couldn't find key K",
    ),
    Case(
        "image runs as root",
        snapshot(
            None,
            starting(
                waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root (pod: x)")
            ),
        ),
        ERROR,
        "set runAsUser",
        hopeless=True,
    ),
    Case(
        "container can't be created",
        snapshot(None, starting(waiting("CreateContainerError", "context deadline exceeded"))),
        ERROR,
        "CreateContainerError): context deadline exceeded",
    ),
    Case(
        "command isn't in the image",
        snapshot(
            None,
            starting(waiting("RunContainerError", 'exec: "./start.sh": stat ./start.sh: no such file or directory')),
        ),
        ERROR,
        "check the entrypoint",
        hopeless=True,
    ),
    Case(
        "hook fails",
        snapshot(None, starting(waiting("PostStartHookError", "exited with 1"))),
        ERROR,
        "a hook of the container failed",
    ),
    Case(
        "image can't be inspected",
        snapshot(None, starting(waiting("ImageInspectError", "no"))),
        ERROR,
        "ImageInspectError): no",
    ),
    Case(
        "a container put in front of ours doesn't start",
        snapshot(
            None,
            starting(
                waiting("PodInitializing"), init=[{"name": "proxy", "state": waiting("ImagePullBackOff", "back off")}]
            ),
        ),
        ERROR,
        'init container "proxy" does not start: ImagePullBackOff: back off',
    ),
]

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

ENDS = [
    Case("crash loop with a code", snapshot(None, crashed(3)), ERROR, "exit code 3", ExitStatus(3), restarts=1),
    Case(
        "crash loop that won't end",
        snapshot(None, crashed(3, restarts=3)),
        ERROR,
        "(3 restarts so far)",
        ExitStatus(3),
        hopeless=True,
        restarts=3,
    ),
    Case(
        "crash loop, segmentation fault",
        snapshot(None, crashed(139)),
        ERROR,
        "ended by SIGSEGV (exit code 139)",
        ExitStatus(139, "SIGSEGV"),
        restarts=1,
    ),
    Case("crash loop, abort", snapshot(None, crashed(134)), ERROR, "SIGABRT", ExitStatus(134, "SIGABRT"), restarts=1),
    Case("crash loop, killed", snapshot(None, crashed(137)), ERROR, "SIGKILL", KILLED, restarts=1),
    Case(
        "signal told apart by the runtime",
        snapshot(None, crashed(0, signal=9)),
        ERROR,
        "exit code 0",
        ExitStatus(0, "SIGKILL"),
        restarts=1,
    ),
    Case(
        "realtime signal",
        snapshot(None, crashed(128 + 40)),
        ERROR,
        "SIGRT40",
        ExitStatus(168, "SIGRT40"),
        restarts=1,
    ),
    Case("code 255 is no signal", snapshot(None, crashed(255)), ERROR, "code 255", ExitStatus(255), restarts=1),
    Case(
        "killed for memory, waits",
        snapshot(None, crashed(137, "OOMKilled")),
        ERROR,
        "(OOMKilled, exit code 137): it used more than its limit of 64Mi",
        KILLED,
        restarts=1,
    ),
    Case(
        "completed",
        snapshot(None, crashed(0, "Completed")),
        ERROR,
        "has to keep running",
        ExitStatus(0),
        restarts=1,
    ),
    Case(
        "completed a moment ago",
        snapshot(None, pod(terminated(0, "Completed"), ready=False)),
        ERROR,
        "ended with exit code 0",
        ExitStatus(0),
    ),
    Case(
        "failed a moment ago",
        snapshot(None, pod(terminated(2), ready=False)),
        ERROR,
        "exit code 2",
        ExitStatus(2),
    ),
    Case(
        "command not found", snapshot(None, crashed(127)), ERROR, "not found in the image", ExitStatus(127), restarts=1
    ),
    Case("command not executable", snapshot(None, crashed(126)), ERROR, "mode bits", ExitStatus(126), restarts=1),
    Case(
        "command can't be started",
        snapshot(None, crashed(128, "StartError", message='exec: "x": executable file not found in $PATH')),
        ERROR,
        'can\'t be started: "x"',
        ExitStatus(128),
        hopeless=True,
        restarts=1,
    ),
    Case(
        "command can't be started, older runtime",
        snapshot(None, crashed(127, "ContainerCannotRun", message="no such file")),
        ERROR,
        "no such file",
        ExitStatus(127),
        hopeless=True,
        restarts=1,
    ),
    Case(
        "run error with a past start",
        snapshot(
            None,
            pod(waiting("RunContainerError", "x"), last=terminated(128, "StartError", message="boom"), restarts=1),
        ),
        ERROR,
        "boom",
        ExitStatus(128),
        hopeless=True,
        restarts=1,
    ),
    Case(
        "termination message is shown",
        snapshot(None, crashed(4, message="disk is full\n")),
        ERROR,
        ": disk is full",
        ExitStatus(4),
        restarts=1,
    ),
    Case(
        "runtime restarted under it",
        snapshot(None, crashed(255, "Unknown")),
        ERROR,
        "container runtime restarted",
        ExitStatus(255),
        restarts=1,
    ),
    Case(
        "crash loop, past start unknown",
        snapshot(None, pod(waiting("CrashLoopBackOff", "back-off 5m0s"), restarts=9)),
        ERROR,
        "back-off 5m0s",
        hopeless=True,
        restarts=9,
    ),
    Case(
        "evicted",
        snapshot(
            None,
            pod(phase="Failed", reason="Evicted", message="The node was low on resource: ephemeral-storage."),
        ),
        ERROR,
        "evicted from node node-a: The node was low on resource: ephemeral-storage;",
    ),
    Case(
        "evicted, exit known",
        snapshot(None, pod(terminated(137), ready=False, phase="Failed", reason="Evicted", message="low")),
        ERROR,
        "evicted",
        KILLED,
    ),
    Case(
        "evicted, runs again",
        snapshot(
            None, pod(running(20)), None, event("Evicted", "The node was low on memory. ", uid="uid-older", at=30)
        ),
        RUNNING,
        "runs again, but before its pod was evicted: The node was low on memory; what was",
    ),
    Case(
        "evicted, the next one starts",
        snapshot(
            None,
            starting(waiting("ContainerCreating")),
            None,
            event("Evicted", "The node was low on memory.", uid="uid-older", at=30),
        ),
        PENDING,
        "a new pod starts, because the one before was evicted",
    ),
    Case(
        "evicted an hour ago",
        snapshot(None, pod(running(20)), None, event("Evicted", "low", uid="uid-older", at=3600)),
        RUNNING,
    ),
    Case(
        "evicted before the resume",
        snapshot(
            statefulset(generation=3, record=RESUME),
            pod(running(20)),
            None,
            event("Evicted", "low", uid="uid-older", at=90),
        ),
        RUNNING,
    ),
    Case(
        "node was shut down",
        snapshot(None, pod(phase="Failed", reason="Terminated", message="Pod was terminated by node shutdown.")),
        ERROR,
        "node shutdown",
    ),
    Case(
        "node had no room after all",
        snapshot(None, pod(phase="Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")),
        ERROR,
        "OutOfcpu: Node didn't have enough resource",
    ),
    Case(
        "pod failed without a word",
        snapshot(None, pod(terminated(1), ready=False, phase="Failed")),
        ERROR,
        "exit code 1",
        ExitStatus(1),
    ),
    Case(
        "being moved by the eviction API",
        snapshot(
            None,
            pod(
                running(),
                deleted=5,
                conditions=[condition("DisruptionTarget", True, "EvictionByEvictionAPI", "Eviction API: evicting")],
            ),
        ),
        PENDING,
        "being moved: Eviction API: evicting",
    ),
    Case("being replaced by an update", snapshot(None, pod(running(), deleted=5)), PENDING),
    Case(
        "quota",
        snapshot(statefulset(), None, None, event("FailedCreate", QUOTA, kind="StatefulSet")),
        ERROR,
        'quota leaves no room: pods "nightly-0" is forbidden: exceeded quota: small',
        hopeless=True,
    ),
    Case(
        "pod security",
        snapshot(statefulset(), None, None, event("FailedCreate", SECURITY, kind="StatefulSet")),
        ERROR,
        "Pod Security level refuses the pod",
        hopeless=True,
    ),
    Case(
        "limit range",
        snapshot(statefulset(), None, None, event("FailedCreate", LIMITS, kind="StatefulSet")),
        ERROR,
        "LimitRange",
        hopeless=True,
    ),
    Case(
        "webhook may change its mind",
        snapshot(statefulset(), None, None, event("FailedCreate", WEBHOOK, kind="StatefulSet")),
        ERROR,
        "refuses to create the pod: admission webhook",
    ),
    Case(
        "quota was raised since",
        snapshot(
            statefulset(),
            None,
            None,
            event("FailedCreate", QUOTA, kind="StatefulSet", at=60),
            event("SuccessfulCreate", "create Pod nightly-0", kind="StatefulSet", at=30, level="Normal"),
        ),
        PENDING,
    ),
    Case(
        "quota error of a StatefulSet that was of the same name",
        snapshot(statefulset(), None, None, event("FailedCreate", QUOTA, kind="StatefulSet", uid="uid-older")),
        PENDING,
    ),
    Case(
        "quota error from before the resume",
        snapshot(
            statefulset(generation=3, record=RESUME),
            None,
            None,
            event("FailedCreate", QUOTA, kind="StatefulSet", at=300),
        ),
        RESUMING,
    ),
    Case(
        "quota refuses the resume",
        snapshot(
            statefulset(generation=3, record=RESUME),
            None,
            None,
            event("FailedCreate", QUOTA, kind="StatefulSet", at=30),
        ),
        ERROR,
        "exceeded quota",
        hopeless=True,
    ),
]

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

CASES = [*STARTS, *IMAGES, *RUNS, *ENDS, *PAUSES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_objects_mean(case: Case) -> None:
    seen = observe(case.seen, NOW)

    assert seen.state is case.state, seen.error_reason
    if case.reason is None:
        assert seen.error_reason is None
    else:
        assert case.reason in (seen.error_reason or "")
    assert seen.exit_status == case.exit
    assert seen.probe.status is case.probe
    assert seen.probe.restart_count == case.restarts
    assert (seen.diagnosis is not None and seen.diagnosis.is_hopeless) is case.hopeless


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_state_and_facts_agree(case: Case) -> None:
    seen = observe(case.seen, NOW)

    container = dig(case.seen.pod, "status", "containerStatuses", 0)
    assert seen.agent_running is (dig(container, "state", "running") is not None)
    if seen.state is State.PAUSED:
        assert seen.operating_mode == "Paused"
        assert case.seen.pod is None
    if seen.state is State.ERROR:
        assert seen.error_reason
    if seen.is_ready:
        assert seen.agent_running


def test_there_are_at_least_a_hundred_cases_with_different_names() -> None:
    assert len({case.id for case in CASES}) == len(CASES) >= 100


def test_the_digest_is_of_what_runs() -> None:
    assert observe(snapshot(None, pod(running())), NOW).image_digest == DIGEST
    assert observe(snapshot(None, pod(running(), image_id="sha256:" + "0" * 64)), NOW).image_digest is None
    recorded = statefulset(0, record={**PAUSE, "imageDigest": "sha256:12"})
    assert observe(snapshot(recorded), NOW).image_digest == "sha256:12"


def test_the_last_activity_is_the_newer_of_start_and_last_log_line() -> None:
    started = observe(snapshot(None, pod(running(60))), NOW)
    assert started.last_activity_at == started.started_at
    assert observe(snapshot(None, pod(running(60))), NOW, last_log_at=NOW).last_activity_at == NOW


def test_a_paused_sandbox_tells_who_when_and_why() -> None:
    seen = observe(snapshot(statefulset(0, record={**PAUSE, "reason": "weekend"})), NOW)
    assert seen.pause is not None
    assert (seen.pause.by, seen.pause.reason) == ("ada", "weekend")
    assert seen.since == seen.pause.at
    plain = observe(snapshot(statefulset(0)), NOW)
    assert plain.pause is not None
    assert plain.pause.by is None
