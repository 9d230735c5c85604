"""Health checks on the real node: a hung server is restarted in time, a slow start isn't, every tunable's ends hold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.engine.sandbox_command import SandboxCommand
from tests.harness.api import Json, eventually, is_ready
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]

DELAY, INTERVAL, FAILURES, TIMEOUT, GRACE = 4, 2, 3, 1, 3
BOUND = DELAY + FAILURES * INTERVAL + TIMEOUT + GRACE
SECOND = 1
"""What the API server's times are rounded to."""
BUSY = 3
"""Seconds more that a busy machine gets."""
HUNG = """
import signal, socket, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = socket.create_server(("", 8080))
held = []
while True:
    held.append(server.accept())
"""
LOWEST = {"intervalSeconds": 1, "initialDelaySeconds": 0, "timeoutSeconds": 1, "failureThreshold": 1}
HIGHEST = {"intervalSeconds": 3600, "initialDelaySeconds": 3600, "timeoutSeconds": 300, "failureThreshold": 100}
BEYOND = {
    "interval": (0, 3601),
    "initial-delay": (-1, 3601),
    "timeout": (0, 301),
    "failures": (0, 101),
}


def check(**tunables: int) -> Json:
    return {"type": "http", "http": {"path": "/healthz", "port": 8080}, **tunables}


@pytest.fixture(scope="module")
def stack(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """All of them at once."""
    agent: dict[str, Any] = {"image": {"uri": "localhost:5000/agent:1"}, "env": {"STATE_DIR": "/tmp"}}

    def one(command: str, **more: Any) -> Json:
        entry = node_ground.sandbox(**agent, command=command, **more)
        del entry["entrypoint"]
        return entry

    tunables = {
        "initialDelaySeconds": DELAY,
        "intervalSeconds": INTERVAL,
        "failureThreshold": FAILURES,
        "timeoutSeconds": TIMEOUT,
    }
    hung = node_ground.sandbox(
        entrypoint=["python3", "-c", HUNG], healthCheck=check(**tunables), terminationGracePeriodSeconds=GRACE
    )
    sandboxes = {
        "hung": hung,
        "slow": one("sleep 20; exec ./start.sh", healthCheck=check(initialDelaySeconds=30)),
        "lowest": one(
            "exec ./start.sh",
            healthCheck=check(
                **LOWEST,
            ),
        ),
        "highest": one("exec ./start.sh", healthCheck=check(**HIGHEST)),
    }
    with node_ground.stack(tmp_path_factory.mktemp("health") / "stack") as made:
        made.configure({"sandboxes": sandboxes})
        made.up().ok()
        yield made


def status(ground: Ground, stack: Stack, name: str) -> Json | None:
    """The agent's container, once there is one."""
    pod = ground.api.find("Pod", f"{name}-0", stack.namespace)
    found = ((pod or {}).get("status", {}).get("containerStatuses") or [None])[0]
    return found if isinstance(found, dict) else None


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_a_hung_server_is_restarted_in_time(stack: Stack, node_ground: Ground) -> None:
    def ended() -> Json | None:
        found = status(node_ground, stack, "hung")
        last: Json | None = ((found or {}).get("lastState") or {}).get("terminated")
        return last

    last = eventually(ended, "the hung agent is restarted", BOUND + 60)
    lived = (moment(last["finishedAt"]) - moment(last["startedAt"])).total_seconds()
    assert DELAY + (FAILURES - 1) * INTERVAL - SECOND <= lived <= BOUND + SECOND + BUSY
    assert last["exitCode"] == 137

    def told() -> Json | None:
        """The answer once the newest failure is the hang's: just after a restart nothing listens yet."""
        document = SandboxCommand(stack)("describe", "hung", "-o", "json", "-n", stack.namespace).ok().document
        said = (document["probe"]["lastError"] or "").lower()
        return document if any(word in said for word in ("timed out", "timeout", "deadline", "no answer")) else None

    document = eventually(told, "the failure is told as an answer that didn't come", 30)
    assert document["probe"]["restartCount"] >= 1
    assert "health check" in document["errorReason"]
    assert document["exitStatus"] == {"code": 137, "signal": "SIGKILL"}


def test_the_ends_of_each_tunable_hold(stack: Stack, node_ground: Ground) -> None:
    for name, tunables in (("lowest", LOWEST), ("highest", HIGHEST)):
        pod = eventually(lambda name=name: node_ground.api.find("Pod", f"{name}-0", stack.namespace), "the pod")
        probe = pod["spec"]["containers"][0]["livenessProbe"]
        assert probe["periodSeconds"] == tunables["intervalSeconds"]
        assert probe.get("initialDelaySeconds", 0) == tunables["initialDelaySeconds"]
        assert probe["timeoutSeconds"] == tunables["timeoutSeconds"]
        assert probe["failureThreshold"] == tunables["failureThreshold"]
    eventually(
        lambda: is_ready(node_ground.api.find("Pod", "highest-0", stack.namespace)),
        "healthy, an hour before its first liveness probe",
    )


def test_one_beyond_each_end_is_refused(stack: Stack) -> None:
    command = SandboxCommand(stack)
    before = stack.config_file.read_bytes()
    for key, values in BEYOND.items():
        for value in values:
            refused = command("update", "slow", "--health-check", f"path=/healthz,port=8080,{key}={value}", "-y")
            assert refused.code == 2
            assert refused.errors[0].startswith(f"error: --health-check: {key}: {value} is out of range: ")
    assert stack.config_file.read_bytes() == before


def test_a_slow_start_within_the_delay_is_left_alone(stack: Stack, node_ground: Ground) -> None:
    def started() -> datetime | None:
        running = ((status(node_ground, stack, "slow") or {}).get("state") or {}).get("running")
        return moment(running["startedAt"]) if running else None

    first = eventually(started, "it runs")
    eventually(lambda: is_ready(node_ground.api.find("Pod", "slow-0", stack.namespace)), "it is healthy", 90)
    # Past the delay and as many failures as would have restarted it.
    rest = 30 + 3 * 10 + 5 - (datetime.now(UTC) - first).total_seconds()
    time.sleep(max(rest, 0))
    found = status(node_ground, stack, "slow")
    assert found is not None
    assert found["restartCount"] == 0
    assert started() == first
    document = SandboxCommand(stack)("describe", "slow", "-o", "json", "-n", stack.namespace).ok().document
    assert (document["state"], document["probe"]["status"]) == ("Running", "passing")
