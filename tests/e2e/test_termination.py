"""Pausing takes as long as the agent needs: TERM reaches it in every form of first process, and nobody waits longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.harness.api import eventually
from tests.harness.command import Said, sandbox
from tests.harness.ground import Ground
from tests.harness.pods import inside, log_of, ready
from tests.harness.stack import Stack

pytestmark = pytest.mark.node

PLENTY = 60
"""A grace period that no pause here may come near."""
BUSY = 2.0
"""Seconds more on a busy machine; what the bounds rule out is waiting for the grace period."""
GRACE = 4
CHECKPOINT = 5
OWN = 3

CHECKPOINTING = f"""
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
IGNORING = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(3600)
"""
SLEEPING = "import time; print('ready', flush=True); time.sleep(1e6)"
TWO_COMMANDS = f"""
echo first > /workspace/first; python3 -u -c '
import pathlib, signal, sys, time
def stop(*_):
    time.sleep({OWN})
    pathlib.Path("/workspace/checkpoint").write_text("whole")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    time.sleep(3600)
'
"""


@dataclass(frozen=True)
class Agent:
    """One kind of agent, and how many seconds its end takes: from TERM until the pod is gone."""

    name: str
    changes: dict[str, Any]
    least: float
    most: float
    checkpoint: bool = False


def _python(program: str, grace: int = PLENTY) -> dict[str, Any]:
    return {"entrypoint": ["python3", "-u", "-c", program], "terminationGracePeriodSeconds": grace}


AGENTS = (
    Agent("no-handler", _python(SLEEPING), 0, 2),
    Agent("ignores-term", _python(IGNORING, GRACE), GRACE, GRACE + 2),
    Agent("checkpoints", _python(CHECKPOINTING), CHECKPOINT, CHECKPOINT + 2, checkpoint=True),
    Agent(
        "two-commands",
        {"command": TWO_COMMANDS, "entrypoint": None, "terminationGracePeriodSeconds": PLENTY},
        OWN,
        OWN + 2,
        checkpoint=True,
    ),
)


@dataclass
class Paused:
    """What `sandbox pause` said, and seconds from the pod's mark for deletion until it was gone."""

    said: Said
    seconds: float


@pytest.fixture(scope="module")
def stack(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack with one sandbox of each kind, all running."""
    with node_ground.stack(tmp_path_factory.mktemp("termination") / "stack") as stack:
        entries = {}
        for agent in AGENTS:
            entry = node_ground.sandbox(**agent.changes, volumes=node_ground.volume())
            entries[agent.name] = {key: value for key, value in entry.items() if value is not None}
        stack.configure({"sandboxes": entries})
        stack.up().ok()
        for agent in AGENTS:
            ready(node_ground, f"{agent.name}-0", stack.namespace)
        yield stack


@pytest.fixture(scope="module")
def paused(stack: Stack, node_ground: Ground) -> dict[str, Paused]:
    """All of them paused at once, each by a command of its own."""
    for agent in AGENTS:
        _wait_until_set_up(node_ground, stack.namespace, f"{agent.name}-0")
    marked: dict[str, float] = {}
    gone: dict[str, float] = {}

    def look() -> None:
        for event in node_ground.api.watch("Pod", stack.namespace):
            metadata = event["object"]["metadata"]
            name = metadata["name"].removesuffix("-0")
            if event["type"] == "DELETED":
                gone[name] = time.monotonic()
            elif metadata.get("deletionTimestamp"):
                marked.setdefault(name, time.monotonic())
            if len(gone) == len(AGENTS):
                return

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    with ThreadPoolExecutor(len(AGENTS)) as pool:
        said = dict(
            zip(
                [agent.name for agent in AGENTS],
                pool.map(lambda agent: sandbox(stack, "pause", agent.name), AGENTS),
                strict=True,
            )
        )
    watcher.join(30)
    return {name: Paused(said[name], gone[name] - marked[name]) for name in said}


def _wait_until_set_up(ground: Ground, namespace: str, pod: str) -> None:
    eventually(lambda: "ready" in log_of(ground, namespace, pod), f"{pod} has set up what it does at TERM")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_pause_takes_as_long_as_the_agent_needs(agent: Agent, paused: dict[str, Paused]) -> None:
    paused[agent.name].said.ok()
    assert agent.least <= paused[agent.name].seconds <= agent.most + BUSY
    assert paused[agent.name].said.seconds <= agent.most + 6  # the command's own start and looking included


def test_checkpoints_are_whole(paused: dict[str, Paused], stack: Stack, node_ground: Ground) -> None:
    names = [agent.name for agent in AGENTS if agent.checkpoint]
    sandbox(stack, "resume", *names).ok()
    for name in names:
        ready(node_ground, f"{name}-0", stack.namespace)
        assert inside(node_ground, stack.namespace, f"{name}-0", ["cat", "/workspace/checkpoint"]) == "whole"
