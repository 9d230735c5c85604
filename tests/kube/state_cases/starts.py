"""A pod on its way: no node yet, no disk yet, nothing wrong or everything."""

from __future__ import annotations

from sandbox_components.kube.snapshot import SandboxSnapshot
from tests.kube.objects import (
    claim,
    event,
    pod,
    snapshot,
    starting,
    statefulset,
    storage_class,
    unscheduled,
    waiting,
)
from tests.kube.state_cases.case import (
    CONFLICT,
    ERROR,
    NO_ROOM,
    PENDING,
    UNBOUND,
    Case,
)

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
