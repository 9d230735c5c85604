"""Other managers touch what the engine made: nobody's scaling is undone, taken over or a conflict.

Each case was a fault of Pulumi's provider with workloads that declare replicas; one stack serves them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.api import eventually, is_ready
from tests.harness.ground import Ground
from tests.harness.kwok import KwokNode
from tests.harness.stack import Stack

pytestmark = pytest.mark.engine

NAME = "one"


class One:
    """A stack with one sandbox."""

    def __init__(self, ground: Ground, stack: Stack) -> None:
        self.ground, self.stack, self.api, self.namespace = ground, stack, ground.api, stack.namespace
        self.env = 0
        ground.prepare_claim(stack.namespace, f"{NAME}-workspace")
        self.entry = ground.sandbox(volumes=ground.volume())

    def declare(self, **changes: object) -> None:
        self.entry |= changes
        self.stack.configure({"sandboxes": {NAME: self.entry}})

    def change_template(self) -> None:
        self.env += 1
        self.declare(env={"COUNT": str(self.env)})

    @property
    def replicas(self) -> int:
        found: int = self.api.get("StatefulSet", NAME, self.namespace)["spec"]["replicas"]
        return found

    @property
    def is_running(self) -> bool:
        return is_ready(self.api.find("Pod", f"{NAME}-0", self.namespace))

    def scale(self, replicas: int, manager: str = "kubectl") -> None:
        self.api.scale(NAME, self.namespace, replicas, manager)

    def patch(self, replicas: int, manager: str) -> None:
        """Do what `kubectl patch` and `kubectl edit` do: past the scale subresource."""
        self.api.patch("StatefulSet", NAME, self.namespace, {"spec": {"replicas": replicas}}, manager)


@pytest.fixture(scope="module")
def one(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[One]:
    with engine_ground.stack(tmp_path_factory.mktemp("other-hands")) as stack:
        made = One(engine_ground, stack)
        made.declare()
        stack.up().ok()
        yield made


@pytest.fixture(autouse=True)
def running(one: One) -> None:
    """Begin running, with nothing to do."""
    one.scale(1)
    eventually(lambda: one.is_running, "the pod is Ready")


def test_ups_and_refreshes_of_a_paused_one_find_nothing(one: One) -> None:
    one.scale(0)
    for _ in range(3):
        assert not one.stack.up("--expect-no-changes").ok().changed
    assert not one.stack.refresh("--expect-no-changes").ok().changed
    assert not one.stack.up("--expect-no-changes").ok().changed
    assert one.replicas == 0


@pytest.mark.parametrize("manager", ["kubectl", "kube-controller-manager"])
def test_a_change_after_somebody_scaled_is_no_conflict(one: One, manager: str) -> None:
    one.scale(0, manager)
    one.change_template()
    assert one.stack.up().ok().changed == {"StatefulSet": 1}
    assert one.replicas == 0
    one.scale(1, manager)
    one.change_template()
    one.stack.up().ok()
    assert one.replicas == 1


@pytest.mark.parametrize("manager", ["kubectl-patch", "keda"])
def test_replicas_patched_past_the_scale_subresource_stay(one: One, manager: str) -> None:
    """The provider takes over fields whose manager's name begins with kubectl or pulumi-, and would drop them."""
    one.patch(0, manager)
    one.change_template()
    one.stack.up().ok()
    assert one.replicas == 0
    one.change_template()
    one.stack.up().ok()
    assert one.replicas == 0


def test_a_pod_that_takes_long_to_end_is_no_reason_to_resume(one: One, kwok_node: KwokNode) -> None:
    with kwok_node.busy():
        one.scale(0)
        pod = f"{NAME}-0"
        eventually(lambda: one.api.get("Pod", pod, one.namespace)["metadata"].get("deletionTimestamp"), "it is ending")
        one.stack.refresh().ok()
        one.change_template()
        one.stack.up().ok()
        assert one.replicas == 0
    eventually(lambda: one.api.find("Pod", pod, one.namespace) is None, "it is gone")
    assert not one.stack.preview().ok().changed


def test_waiting_for_a_paused_one_does_not_hang(one: One) -> None:
    one.scale(0)
    one.declare(waitForReady=True)
    try:
        one.change_template()
        assert one.stack.up().ok().seconds < 60
        assert one.replicas == 0
    finally:
        one.declare(waitForReady=False)
        one.stack.up().ok()


def test_a_bound_lazy_claim_grows_and_is_labelled_without_waiting(one: One) -> None:
    before = one.api.get("PersistentVolumeClaim", f"{NAME}-workspace", one.namespace)
    assert before["status"]["phase"] == "Bound"
    one.declare(volumes=one.ground.volume(size="2Gi"), labels={"team": "red"})
    outcome = one.stack.up().ok()
    assert outcome.seconds < 60
    assert all(step.op == "update" for step in outcome.changes)
    after = one.api.get("PersistentVolumeClaim", f"{NAME}-workspace", one.namespace)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert after["metadata"]["labels"]["team"] == "red"
    assert not one.stack.preview().ok().changed


def test_no_change_of_any_argument_replaces_the_workload(one: One) -> None:
    uid = one.api.get("StatefulSet", NAME, one.namespace)["metadata"]["uid"]
    one.declare(
        image={"uri": "localhost:5000/agent:2"},
        entrypoint=["./start.sh", "--all"],
        resourceLimits={"cpu": "60m", "memory": "80Mi"},
        resourceRequests={"cpu": "10m"},
        env={"COUNT": "new"},
        volumes=one.ground.volume(size="2Gi", mountPath="/data"),
        healthCheck={"type": "http", "http": {"path": "/", "port": 8080}},
        ports=[{"port": 8080}, {"port": 53, "protocol": "UDP"}],
        labels={"team": "blue"},
        egress="none",
        runAsUser=1234,
        terminationGracePeriodSeconds=2,
        imagePullPolicy="Always",
        imagePullSecrets=["some"],
    )
    outcome = one.stack.up().ok()
    assert {step.op for step in outcome.changes if step.kind == "StatefulSet"} == {"update"}
    assert {step.op for step in outcome.changes} <= {"update", "create"}
    assert one.api.get("StatefulSet", NAME, one.namespace)["metadata"]["uid"] == uid
    assert not one.stack.preview().ok().changed


def test_a_claim_that_nobody_binds_holds_up_nothing(engine_ground: Ground, tmp_path: Path) -> None:
    """A lazy class with no pod that could be scheduled: the claim is Pending, and `up` done within seconds."""
    with engine_ground.stack(tmp_path) as stack:
        entry = engine_ground.sandbox(volumes=engine_ground.volume(), nodeSelector={"no": "such"})
        stack.configure({"sandboxes": {NAME: entry}})
        assert stack.up().ok().seconds < 60
        claim = engine_ground.api.get("PersistentVolumeClaim", f"{NAME}-workspace", stack.namespace)
        assert claim["status"]["phase"] == "Pending"
        assert not stack.preview().ok().changed
        stack.configure({"sandboxes": None})
        assert stack.up().ok().seconds < 60
        assert engine_ground.api.find("StatefulSet", NAME, stack.namespace) is None
