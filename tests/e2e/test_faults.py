"""The node fails in every way that it can: the disk keeps its file, and no command says more than is true."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from tests.harness.api import eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pods import log_of, ready
from tests.harness.stack import Stack

SOAK = bool(os.environ.get("SANDBOX_SOAK"))
pytestmark = [pytest.mark.node, pytest.mark.timeout(600)]
soak = pytest.mark.soak

KUBELET_DOWN = 60 if SOAK else 15
CHECKPOINT = 5
UNREACHABLE, TIMED_OUT = 1, 9

WATCHERS = ("kube-controller-manager", "kube-scheduler", "kubelet")
"""They come back to a lost API server after up to a minute; the tests start them anew instead of waiting."""
SLOW = f"""
import pathlib, signal, sys, time
def stop(*_):
    time.sleep({CHECKPOINT})
    pathlib.Path("/workspace/checkpoint").write_text("whole")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    time.sleep(3600)
"""


class World:
    """A counting agent and one that takes its time to stop, and their disks as the host sees them."""

    def __init__(self, ground: Ground, cluster: Cluster, stack: Stack) -> None:
        self.ground, self.api, self.cluster, self.stack = ground, ground.api, cluster, stack
        self.namespace = stack.namespace
        counter = ground.sandbox(
            image={"uri": "localhost:5000/agent:1"},
            entrypoint=["./start.sh"],
            env={"STEP_SECONDS": "0.2", "TRY": "0"},
            volumes=ground.volume(),
            deletion="protect",
        )
        slow = ground.sandbox(
            entrypoint=["python3", "-u", "-c", SLOW], terminationGracePeriodSeconds=60, volumes=ground.volume()
        )
        self.entries = {"counter": counter, "slow": slow}
        self.write(0)

    def write(self, attempt: int) -> None:
        """Declare the counting agent's n-th revision."""
        self.entries["counter"]["env"]["TRY"] = str(attempt)
        self.stack.configure({"sandboxes": self.entries})

    def disk(self, name: str) -> Path:
        """The folder on the host that is the sandbox's disk."""
        claim = self.api.get("PersistentVolumeClaim", f"{name}-workspace", self.namespace)
        (found,) = (self.cluster.folder / "volumes").glob(f"{claim['spec']['volumeName']}_*")
        return found

    def goes_on_from(self, step: int, folder: Path) -> None:
        """Check that the counting agent runs, and counts on from `step` or later."""
        ready(self.ground, "counter-0", self.namespace, 180)
        before = eventually(lambda: steps(folder) or None, "the file with the count")
        assert before >= step, "the count went back: the disk lost a write"
        eventually(lambda: steps(folder) > before, "the agent counts on")

    def state(self, name: str) -> str:
        """What the command says of a sandbox."""
        said = sandbox(self.stack, "describe", name, "-o", "json").ok()
        return str(json.loads(said.output)["state"])

    @contextmanager
    def without(self, component: str) -> Iterator[None]:
        """Have a component killed for a while; healthy again afterwards."""
        self.cluster.stop_component(component, signal_number=signal.SIGKILL)
        try:
            yield
        finally:
            self.cluster.start_component(component)
            self.cluster.wait_healthy(timeout_seconds=120)
            watchers = WATCHERS if component == "kube-apiserver" else ()
            for other in watchers:
                self.cluster.stop_component(other, signal_number=signal.SIGKILL)
            for other in watchers:
                self.cluster.start_component(other)
            self.cluster.wait_healthy(timeout_seconds=120)


def steps(folder: Path) -> int:
    """The count on the disk; the agent replaces the file in one step, so it is never half there."""
    file = folder / "step"
    return int(file.read_text()) if file.exists() else 0


@pytest.fixture(scope="module")
def world(node_ground: Ground, node_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Both agents, running."""
    with node_ground.stack(tmp_path_factory.mktemp("faults") / "stack") as stack:
        world = World(node_ground, node_cluster, stack)
        stack.up().ok()
        for name in world.entries:
            ready(node_ground, f"{name}-0", stack.namespace)
        yield world


@pytest.fixture
def folder(world: World) -> Path:
    """The counting agent's disk, with a count."""
    found = world.disk("counter")
    eventually(lambda: steps(found) > 0, "a first step", 30)
    return found


@pytest.mark.parametrize("how", ["deleted", "evicted"])
def test_pod_goes(how: str, world: World, folder: Path) -> None:
    uid = _pod_uid(world)
    step = steps(folder)
    if how == "deleted":
        world.api.delete("Pod", "counter-0", world.namespace)
    else:
        world.api.evict("counter-0", world.namespace)
    eventually(lambda: _pod_uid(world) not in ("", uid), "another pod")
    world.goes_on_from(step, folder)
    assert world.state("counter") == "Running"


def test_api_server_is_away(world: World, folder: Path) -> None:
    uid = _pod_uid(world)
    step = steps(folder)
    with world.without("kube-apiserver"):
        said = sandbox(world.stack, "pause", "counter", "--timeout", "20s")
        assert said.exit_code == UNREACHABLE
        assert "can't be reached" in said.errors or "unreachable" in said.errors
        assert "paused" not in said.output
        told = sandbox(world.stack, "list")
        assert told.exit_code == UNREACHABLE
        said = sandbox(world.stack, "update", "counter", "--env", "TRY=1", "-y", "--timeout", "20s")
        assert said.exit_code == 1
        assert "stays edited" in said.errors
    world.write(0)
    world.goes_on_from(step, folder)
    assert _pod_uid(world) == uid


def test_api_server_goes_during_a_pause(world: World) -> None:
    eventually(lambda: "ready" in log_of(world.ground, world.namespace, "slow-0"), "the slow agent is set up")
    folder = world.disk("slow")
    (folder / "checkpoint").unlink(missing_ok=True)
    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(sandbox, world.stack, "pause", "slow", "--timeout", "180s")
        eventually(
            lambda: world.api.get("Pod", "slow-0", world.namespace)["metadata"].get("deletionTimestamp"), "pausing", 90
        )
        with world.without("kube-apiserver"):
            time.sleep(1)
        said = pausing.result(240)
    is_gone = world.api.find("Pod", "slow-0", world.namespace) is None
    assert (said.exit_code == 0) is is_gone, said.text
    assert said.ok().output == "slow paused\n"
    assert (folder / "checkpoint").read_text() == "whole"
    assert world.state("slow") == "Paused"
    sandbox(world.stack, "resume", "slow").ok()


def test_api_server_goes_during_up(world: World, folder: Path) -> None:
    step = steps(folder)
    world.write(2)
    with world.stack.start("up", "--yes", "--skip-preview") as running:
        log = running.log
        eventually(lambda: log.exists() and "resourcePreEvent" in log.read_text(), "the update has begun", 60)
        with world.without("kube-apiserver"):
            done = running.wait(170)
    took_it = _try_of(world) == "2"
    assert (done.exit_code == 0) is took_it, done.output
    world.stack.up().ok()
    eventually(lambda: _try_of(world) == "2", "the new revision")
    world.goes_on_from(step, folder)


def _pod_uid(world: World) -> str:
    pod = world.api.find("Pod", "counter-0", world.namespace)
    return "" if pod is None else str(pod["metadata"]["uid"])


def _try_of(world: World) -> str:
    pod = world.api.get("StatefulSet", "counter", world.namespace)["spec"]["template"]["spec"]
    return next(str(one["value"]) for one in pod["containers"][0]["env"] if one["name"] == "TRY")


def test_kubelet_away(world: World, folder: Path) -> None:
    with world.without("kubelet"):
        step = steps(folder)
        began = time.monotonic()
        eventually(lambda: steps(folder) > step, "the agent counts on without the kubelet")
        said = sandbox(world.stack, "pause", "counter", "--timeout", "5s")
        assert said.exit_code == TIMED_OUT
        assert "paused" not in said.output
        assert world.state("counter") == "Pausing"
        assert world.api.find("Pod", "counter-0", world.namespace) is not None
        time.sleep(max(0.0, KUBELET_DOWN - (time.monotonic() - began)))
        step = steps(folder)
    eventually(lambda: world.api.find("Pod", "counter-0", world.namespace) is None, "the pause is carried out", 120)
    assert world.state("counter") == "Paused"
    assert steps(folder) >= step
    sandbox(world.stack, "resume", "counter").ok()
    world.goes_on_from(step, folder)


@soak
@pytest.mark.parametrize("component", ["containerd", "etcd"])
def test_restarted(component: str, world: World, folder: Path) -> None:
    step = steps(folder)
    world.cluster.restart_component(component, signal_number=signal.SIGKILL)
    world.goes_on_from(step, folder)
    assert world.state("counter") == "Running"
    sandbox(world.stack, "pause", "counter").ok()
    assert world.api.find("Pod", "counter-0", world.namespace) is None
    step = steps(folder)
    sandbox(world.stack, "resume", "counter").ok()
    world.goes_on_from(step, folder)


@soak
def test_drain_and_uncordon(world: World, folder: Path) -> None:
    step = steps(folder)
    kubectl = [str(world.ground.tools / "kubectl"), f"--kubeconfig={world.ground.kubeconfig}"]
    only = "--pod-selector=sandbox-components/sandbox=counter"
    drain = ["drain", world.cluster.node, only, "--delete-emptydir-data", "--timeout=60s"]
    subprocess.run([*kubectl, *drain], check=True)
    try:
        eventually(lambda: "unschedulable" in sandbox(world.stack, "describe", "counter").output, "why it waits")
        assert world.state("counter") != "Running"
    finally:
        subprocess.run([*kubectl, "uncordon", world.cluster.node], check=True)
    world.goes_on_from(step, folder)
    assert world.state("counter") == "Running"


@soak
def test_disk_pressure(world: World, folder: Path) -> None:
    step = steps(folder)
    uid = _pod_uid(world)
    file = world.cluster.folder / "config" / "kubelet.json"
    kept = file.read_text()
    full = json.loads(kept) | {
        "evictionHard": {"nodefs.available": "99%"},
        "evictionPressureTransitionPeriod": "5s",
    }
    world.cluster.stop_component("kubelet")
    file.write_text(json.dumps(full))
    world.cluster.start_component("kubelet")
    try:
        eventually(lambda: _evicted(world) and _pod_uid(world) != uid, "the kubelet evicts the agent", 180)
    finally:
        world.cluster.stop_component("kubelet")
        file.write_text(json.dumps(json.loads(kept) | {"evictionPressureTransitionPeriod": "5s"}))
        world.cluster.start_component("kubelet")
        world.cluster.wait_healthy(timeout_seconds=180)
    world.goes_on_from(step, folder)
    assert world.state("counter") == "Running"


def _evicted(world: World) -> bool:
    events = world.api.list("Event", world.namespace)
    return any(one["reason"] == "Evicted" and one["involvedObject"]["name"] == "counter-0" for one in events)
