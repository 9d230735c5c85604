"""`describe -o json` in every state that a sandbox can be in, on the real node: one stack makes them all at once."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from sandbox_components.cli.app import sandbox
from tests.engine.sandbox_command import SandboxCommand
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(600)]

Json = dict[str, Any]
DEFAULT = "storageclass.kubernetes.io/is-default-class"
IGNORES_TERM = ["python3", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1e6)"]
EATS_MEMORY = ["python3", "-c", "import time; time.sleep(1); x = bytearray(2**30); time.sleep(1e6)"]
WRITES_MUCH = "sleep 3; dd if=/dev/zero of=/tmp/much bs=1M count=64 2>/dev/null; sleep 1000000"
AGENT: Json = {"image": {"uri": "localhost:5000/agent:1"}, "command": "exec ./start.sh", "env": {"STATE_DIR": "/tmp"}}
CHECK: Json = {
    "type": "http",
    "http": {"path": "/healthz", "port": 8080},
    "intervalSeconds": 1,
    "timeoutSeconds": 1,
}
SICK = {"command": "touch /tmp/unhealthy; exec ./start.sh"}


def entries(ground: Ground) -> dict[str, Json]:
    """All sandboxes of the stack."""

    def one(**changes: Any) -> Json:
        entry = ground.sandbox(resourceRequests={"cpu": "1m", "memory": "16Mi"}, **changes)
        if "command" in changes:
            del entry["entrypoint"]
        return entry

    return {
        "too-large": ground.sandbox(resourceLimits={"cpu": "900", "memory": "64Mi"}),
        "no-class": one(volumes=[{"mountPath": "/data", "storageClass": "no-such-class", "size": "1Gi"}]),
        "no-default": one(volumes=[{"mountPath": "/data", "size": "1Gi"}]),
        "no-image": one(image={"uri": "localhost:5000/nowhere:1"}),
        "no-tag": one(image={"uri": "localhost:5000/busybox:nowhere"}),
        "no-name": one(),
        "well": one(**AGENT, healthCheck=CHECK, ports=[{"port": 8080}], labels={"team": "core"}),
        "plain": one(),
        "sick": one(**AGENT | SICK, healthCheck={**CHECK, "intervalSeconds": 5, "failureThreshold": 100}),
        "killed": one(**AGENT | SICK, healthCheck={**CHECK, "initialDelaySeconds": 3, "failureThreshold": 2}),
        "code": one(command="echo to the log; exit 3"),
        "signal": one(command="kill -SEGV $$"),
        "memory": one(entrypoint=EATS_MEMORY),
        "ends": one(entrypoint=["true"]),
        "wrong": one(entrypoint=["/no/such/program"]),
        "moved": one(entrypoint=IGNORES_TERM, terminationGracePeriodSeconds=8),
        "evicted": one(command=WRITES_MUCH),
        "sleeps": one(**AGENT, healthCheck=CHECK, volumes=ground.volume()),
        "stubborn": one(entrypoint=IGNORES_TERM, terminationGracePeriodSeconds=8),
        "resumes": one(**AGENT | {"command": "sleep 4; exec ./start.sh"}, healthCheck=CHECK),
        "no-quota": one(),
    }


@dataclass(frozen=True)
class Place:
    """The stack with all of them."""

    stack: Stack
    ground: Ground

    def describe(self, name: str) -> Json:
        """What `sandbox describe NAME -o json` prints."""
        out = io.StringIO()
        words = [
            "describe",
            name,
            "-o",
            "json",
            "-n",
            self.stack.namespace,
            "--kubeconfig",
            str(self.ground.kubeconfig),
        ]
        with contextlib.redirect_stdout(out):
            sandbox.main(words, prog_name="sandbox", standalone_mode=False)
        found: Json = json.loads(out.getvalue())
        return found

    def until(self, name: str, is_so: Callable[[Json], bool], seconds: float = 90) -> Json:
        """Describe it until that is so, and return the whole answer."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.describe(name)
            if is_so(found):
                return found
            assert time.monotonic() < deadline, json.dumps(found, indent=1)
            time.sleep(0.3)

    def patch(self, name: str, container: Mapping[str, Any]) -> None:
        """Change the container behind the stack's back."""
        api, namespace = self.ground.api, self.stack.namespace
        now = api.get("StatefulSet", name, namespace)["spec"]["template"]["spec"]["containers"][0]
        template = {"spec": {"containers": [{**now, **container}]}}
        api.patch("StatefulSet", name, namespace, {"spec": {"template": template}})


@pytest.fixture(scope="module")
def place(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Make all of them with one `pulumi up`, while the cluster has no default class."""
    api = node_ground.api
    defaults = [
        one["metadata"]["name"]
        for one in api.list("StorageClass")
        if (one["metadata"].get("annotations") or {}).get(DEFAULT) == "true"
    ]
    with node_ground.stack(tmp_path_factory.mktemp("states") / "stack") as stack:
        made = Place(stack, node_ground)
        stack.configure({"sandboxes": entries(node_ground)})
        try:
            for name in defaults:
                api.patch("StorageClass", name, "", {"metadata": {"annotations": {DEFAULT: "false"}}})
            stack.up().ok()
            # A default class that comes later is given to claims that wait for one.
            without = made.until("no-default", lambda found: found["errorReason"] is not None)
        finally:
            for name in defaults:
                api.patch("StorageClass", name, "", {"metadata": {"annotations": {DEFAULT: "true"}}})
        assert without["state"] == "Pending"
        assert "no default class" in without["errorReason"]
        assert (without["workspace"]["phase"], without["workspace"]["storageClass"]) == ("Pending", None)
        made.until("no-default", lambda found: found["workspace"]["storageClass"] is not None)
        yield made


@dataclass(frozen=True)
class Expected:
    """What describe says of one of them in the end.

    Attributes:
        state: the state.
        reason: part of `errorReason`, as a regular expression; "" where there is none.
        running: `agentRunning`.
        exit: code and signal of `exitStatus`; None where the agent hasn't ended.
        probe: `probe.status`.
    """

    state: str
    reason: str
    running: bool = False
    exit: tuple[int, str | None] | None = None
    probe: str = "none"
    restarted: bool = False
    error: str = ""


PULL = r'the image "localhost:5000/{}" can\'t be pulled: .*(not found|does not exist)'
STATES = {
    "too-large": Expected("Pending", "no node has a place for it: .*Insufficient cpu"),
    "no-class": Expected("Pending", 'there is no storage class "no-such-class"'),
    "no-image": Expected("Error", PULL.format("nowhere:1")),
    "no-tag": Expected("Error", PULL.format("busybox:nowhere")),
    "well": Expected("Running", "", running=True, probe="passing"),
    "plain": Expected("Running", "", running=True),
    "sick": Expected("Running", "its health check fails: .*503", running=True, probe="failing", error="503"),
    "killed": Expected("Running|Error", "health check.*503", probe="failing|unknown", restarted=True, error="503"),
    "code": Expected("Error", "ended with exit code 3", exit=(3, None), restarted=True),
    "signal": Expected("Error", r"ended by SIGSEGV \(exit code 139\)", exit=(139, "SIGSEGV"), restarted=True),
    "memory": Expected("Error", r"want of memory \(OOMKilled.*64Mi", exit=(137, "SIGKILL"), restarted=True),
    "ends": Expected("Error", "ended with exit code 0.*has to keep running", exit=(0, None), restarted=True),
    "wrong": Expected("Error", "command can't be started: .*no such file"),
}


@pytest.mark.parametrize("name", STATES)
def test_states(name: str, place: Place) -> None:
    expected = STATES[name]

    def is_so(found: Json) -> bool:
        restarts = found["probe"]["restartCount"]
        return (
            re.fullmatch(expected.state, found["state"]) is not None
            and re.search(expected.reason or "^$", found["errorReason"] or "") is not None
            and (restarts > 0 or not expected.restarted)
            and re.fullmatch(expected.probe, found["probe"]["status"]) is not None
        )

    found = place.until(name, is_so)
    assert (found["schemaVersion"], found["kind"], found["name"]) == (1, "Sandbox", name)
    assert (found["project"], found["stack"], found["operatingMode"]) == ("agents", "test", "Running")
    if name != "killed":
        assert found["agentRunning"] is expected.running
    assert expected.error in (found["probe"]["lastError"] or "")
    ended = found["exitStatus"]
    if expected.exit is not None:
        assert (ended["code"], ended["signal"]) == expected.exit
    elif name not in ("killed", "wrong"):
        assert ended is None
    if not expected.restarted and name != "wrong":
        assert found["probe"]["restartCount"] == 0
    if expected.running:
        assert found["startedAt"] <= found["lastActivityAt"]
        assert re.fullmatch(r"(localhost:5000/[a-z0-9.]+@)?sha256:[0-9a-f]{64}", found["imageDigest"])
        assert found["podIP"]
        assert found["node"]


def test_all_of_one_that_is_well(place: Place) -> None:
    found = place.until("well", lambda found: found["state"] == "Running")
    assert found["healthCheck"]["path"] == "/healthz"
    assert found["labels"] == {"team": "core"}
    assert found["endpoints"] == [f"well.{place.stack.namespace}.svc:8080"]
    assert found["workspace"]["persistent"] is False
    reasons = {event["reason"] for event in found["events"]}
    assert {"Scheduled", "Started"} <= reasons
    later = place.until("well", lambda now: now["lastActivityAt"] > found["lastActivityAt"], 20)
    assert later["startedAt"] == found["startedAt"]


def test_before_and_after_the_restart_of_a_failing_probe(place: Place) -> None:
    before = place.until("sick", lambda found: found["probe"]["status"] == "failing")
    assert (before["probe"]["restartCount"], before["agentRunning"], before["exitStatus"]) == (0, True, None)
    after = place.until("killed", lambda found: found["probe"]["restartCount"] > 0)
    assert "503" in after["probe"]["lastError"]
    assert after["exitStatus"] is not None


def test_a_malformed_image_name(place: Place) -> None:
    place.patch("no-name", {"image": "localhost:5000/Upper Case"})
    found = place.until("no-name", lambda found: "is not an image name" in (found["errorReason"] or ""))
    assert (found["state"], found["agentRunning"], found["imageDigest"]) == ("Error", False, None)


def test_moved_by_an_eviction(place: Place) -> None:
    place.until("moved", lambda found: found["agentRunning"])
    api, namespace = place.ground.api, place.stack.namespace
    uid = api.get("Pod", "moved-0", namespace)["metadata"]["uid"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "moved-0", "namespace": namespace}}
    api._call("POST", f"/api/v1/namespaces/{namespace}/pods/moved-0/eviction", body=eviction)
    found = place.until("moved", lambda found: found["state"] == "Pending", 10)
    assert "its pod is being moved: " in found["errorReason"]
    place.until("moved", lambda found: found["state"] == "Running")
    assert api.get("Pod", "moved-0", namespace)["metadata"]["uid"] != uid


def test_evicted_by_the_node(place: Place) -> None:
    resources = {"cpu": "50m", "memory": "64Mi", "ephemeral-storage": "8Mi"}
    place.patch("evicted", {"resources": {"limits": resources}})
    found = place.until("evicted", lambda found: "evicted" in (found["errorReason"] or ""), 120)
    assert "ephemeral" in found["errorReason"]


def test_paused_and_what_is_remembered(place: Place) -> None:
    running = place.until("sleeps", lambda found: found["probe"]["status"] == "passing")
    command = SandboxCommand(place.stack)
    command("pause", "sleeps", "--reason", "over the weekend", "-n", place.stack.namespace).ok()
    found = place.describe("sleeps")
    assert (found["state"], found["operatingMode"], found["agentRunning"]) == ("Paused", "Paused", False)
    assert found["pause"]["reason"] == "over the weekend"
    assert found["imageDigest"] == running["imageDigest"]
    assert found["startedAt"] == running["startedAt"]
    assert found["lastActivityAt"] >= running["lastActivityAt"]
    assert found["exitStatus"]["code"] == 0
    assert found["workspace"]["phase"] == "Bound"
    assert (found["errorReason"], found["podName"], found["podIP"]) == (None, None, None)


def test_pausing_takes_as_long_as_the_agent_is_given(place: Place) -> None:
    place.until("stubborn", lambda found: found["agentRunning"])
    SandboxCommand(place.stack)("pause", "stubborn", "--no-wait", "-n", place.stack.namespace).ok()
    found = place.describe("stubborn")
    assert (found["state"], found["operatingMode"], found["agentRunning"]) == ("Pausing", "Paused", True)
    found = place.until("stubborn", lambda found: found["state"] != "Pausing")
    assert (found["state"], found["agentRunning"]) == ("Paused", False)


def test_resuming(place: Place) -> None:
    command = SandboxCommand(place.stack)
    place.until("resumes", lambda found: found["agentRunning"])
    command("pause", "resumes", "-n", place.stack.namespace).ok()
    command("resume", "resumes", "--no-wait", "-n", place.stack.namespace).ok()
    found = place.describe("resumes")
    assert (found["state"], found["operatingMode"], found["pause"]) == ("Resuming", "Running", None)
    found = place.until("resumes", lambda found: found["agentRunning"])
    assert (found["state"], found["probe"]["status"]) in (("Resuming", "unknown"), ("Resuming", "failing"))
    found = place.until("resumes", lambda found: found["state"] == "Running")
    assert (found["probe"]["status"], found["probe"]["restartCount"]) == ("passing", 0)


def test_refused_by_quota(place: Place) -> None:
    api, namespace = place.ground.api, place.stack.namespace
    place.until("no-quota", lambda found: found["agentRunning"])
    where = f"/api/v1/namespaces/{namespace}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "1"}}}
    api._call("POST", where, body=quota)
    eventually(lambda: api._call("GET", f"{where}/none").get("status", {}).get("used"), "the quota counts")
    try:
        api.delete("Pod", "no-quota-0", namespace, grace_seconds=0)
        found = place.until("no-quota", lambda found: found["errorReason"] is not None)
        assert (found["state"], found["agentRunning"], found["podName"]) == ("Error", False, None)
        assert "the namespace's quota leaves no room: " in found["errorReason"]
        refused = SandboxCommand(place.stack)("update", "no-quota", "--env", "A=1", "-y")
        assert refused.code == 4, refused.err
        assert "no-quota can't become ready: the namespace's quota leaves no room" in refused.errors[0]
    finally:
        api._call("DELETE", f"{where}/none")
    # The controller tries again after ever longer times; a change lets it try at once.
    assert SandboxCommand(place.stack)("update", "no-quota", "--env", "A=2", "-y").ok().out == "no-quota updated\n"


def test_waiting_ends_early_where_it_cannot_come_right(place: Place) -> None:
    command = SandboxCommand(place.stack)
    for words, says in (
        (("--image", "localhost:5000/nowhere:1"), "can't be pulled: "),
        (("--image", "localhost:5000/busybox:1", "--", "/no/such/program"), "command can't be started"),
    ):
        began = time.monotonic()
        refused = (
            command("update", "plain", *words, "-y") if "--" not in words else command("update", "plain", "-y", *words)
        )
        assert refused.code == 4, refused.err
        assert says in refused.errors[0]
        assert time.monotonic() - began < 60
    mended = command("update", "plain", "-y", "--", "sleep", "infinity")
    assert mended.ok().out == "plain updated\n"
    for news in ("planning", "updating StatefulSet", "started", "ready"):
        assert f"plain: {news}" in mended.err
