"""What `sandbox plan` says of a change, against what the update then does to the pod: same UID, or another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.engine import plan_table
from tests.engine.plan_table import IN_CI, KINDS, NEW, REMOVED, RESTARTS
from tests.harness.api import Json, eventually, is_ready
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.stack import Stack

SOAK = bool(os.environ.get("SANDBOX_SOAK"))
NAMES = tuple(KINDS) if SOAK else IN_CI

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800 if SOAK else 300)]

PIN = {
    "revision": 1,
    "id": "1764000000000000000",
    "spec": {
        "v": 1,
        "image": {"uri": "localhost:5000/python:3.11"},
        "command": {"entrypoint": ["sleep", "infinity"]},
        "resources": {"limits": {"cpu": "50m", "memory": "64Mi"}},
    },
    "by": "tests",
    "at": "2026-11-29T20:00:00Z",
}


def settled(ground: Ground, stack: Stack, name: str) -> Json:
    """The sandbox's pod, of the template that is declared now."""

    def found() -> Json | None:
        workload = ground.api.get("StatefulSet", name, stack.namespace)
        status = workload["status"]
        pod = ground.api.find("Pod", f"{name}-0", stack.namespace)
        is_done = (
            status.get("observedGeneration") == workload["metadata"]["generation"]
            and status.get("readyReplicas") == 1
            and pod is not None
            and is_ready(pod)
            and "deletionTimestamp" not in pod["metadata"]
            and pod["metadata"]["labels"]["controller-revision-hash"] == status["updateRevision"]
        )
        return pod if is_done else None

    return eventually(found, f"{name} settled", 120)


def recorded(ground: Ground, stack: Stack, name: str) -> str | None:
    found = ground.api.find("StatefulSet", name, stack.namespace)
    return None if found is None else str(found["metadata"]["annotations"]["sandbox-components/spec"])


class Changed:
    """The stack before the update, the plan, and the stack afterwards."""

    def __init__(self, ground: Ground, stack: Stack) -> None:
        plan_table.prepare(ground, stack.namespace, NAMES)
        plan_table.declare(ground, stack, NAMES, after=False)
        stack.up().ok()
        plan_table.spare_claims(ground, stack.namespace, NAMES)
        self.before = {name: settled(ground, stack, name) for name in NAMES if KINDS[name].before is not None}
        self.revisions = {name: recorded(ground, stack, name) for name in NAMES}
        plan_table.declare(ground, stack, NAMES, after=True)
        self.json = sandbox(stack, "plan", "-o", "json").ok().output
        self.said = [self.json]
        if SOAK:
            self.said += [sandbox(stack, "plan", "-o", output).ok().text for output in ("text", "markdown")]
        self.sandboxes: dict[str, Any] = {one["name"]: one for one in json.loads(self.json)["sandboxes"]}
        stack.up().ok()
        self.after = {name: settled(ground, stack, name) for name in NAMES if KINDS[name].after is not None}
        self.then = {name: recorded(ground, stack, name) for name in NAMES}


@pytest.fixture(scope="module")
def stack(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("plan") / "stack"
    with engine_ground.stack(folder, program="planned", source=plan_table.SOURCE) as stack:
        yield stack


@pytest.fixture(scope="module")
def changed(engine_ground: Ground, stack: Stack) -> Changed:
    return Changed(engine_ground, stack)


@pytest.mark.parametrize("name", NAMES)
def test_the_plan_is_right_about_the_pod(name: str, changed: Changed) -> None:
    kind, said = KINDS[name], changed.sandboxes[name]
    assert said["verdict"] == kind.verdict
    assert {one["field"] for one in said["changes"]} == set(kind.fields)
    assert said["disk"]["outcome"] == kind.disk
    if kind.verdict in (NEW, REMOVED):
        assert (name in changed.before, name in changed.after) == (kind.verdict == REMOVED, kind.verdict == NEW)
        return
    uids = [pods[name]["metadata"]["uid"] for pods in (changed.before, changed.after)]
    assert (uids[0] != uids[1]) == kind.restarts == (said["restarts"] == "yes")
    if kind.verdict != plan_table.REPLACED:  # which begins a new life, and a revision with it
        assert said["isRevision"] == (changed.revisions[name] != changed.then[name])


def test_no_secret_is_said(changed: Changed) -> None:
    for text in changed.said:
        assert "canary" not in text


def test_afterwards_nothing_is_left_to_do(changed: Changed, stack: Stack) -> None:
    done = sandbox(stack, "plan", "--exit-code")
    assert (done.exit_code, done.output) == (0, f"stack test of agents: {len(changed.after)} unchanged\n"), done.text


def test_a_protected_disk_that_would_go_is_refused_and_said(stack: Stack) -> None:
    before = stack.config_file.read_text()
    stack.configure({"sandboxes": {"image": yaml.safe_load(before)["config"]["sandbox-components:sandboxes"]["image"]}})
    stack.configure({"secretEnv": None, "pins": {"image": PIN}})
    done = sandbox(stack, "plan", "--exit-code", "-o", "json")
    stack.config_file.write_text(before)
    assert done.exit_code == 4, done.text
    found = json.loads(done.output)
    sandboxes = {one["name"]: one for one in found["sandboxes"]}
    assert (found["outcome"], found["isWhole"]) == ("refused", True)
    assert [name for name, one in sandboxes.items() if one["isRefused"]] == ["deletion"]
    (refusal,) = sandboxes["deletion"]["refusals"]
    assert refusal["reason"] == "the disk is protected (deletion: protect) and would be deleted"
    assert sandboxes["deletion"]["disk"]["outcome"] == "deleted"
    assert sandboxes["labels"]["verdict"] == REMOVED
    pinned = sandboxes["image"]
    assert (pinned["verdict"], pinned["isPinned"]) == (RESTARTS, True)
    assert "image is pinned to revision 1" in pinned["notes"][0]
