"""A rollback beside another update, and `kill -9` in each of its phases: the old or the new state, and a way on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.rollback_ground import BUSYBOX, NAME, image, two_revisions
from tests.engine.sandbox_command import SandboxCommand, Started
from tests.engine.test_declaring_races import go_on
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.engine]

IS_SOAK = bool(os.environ.get("SANDBOX_SOAK"))


@pytest.fixture(scope="module")
def stack(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack with two revisions, and nothing pinned at a test's begin."""
    with two_revisions(engine_ground, tmp_path_factory.mktemp("races") / "stack") as made:
        yield made


@pytest.fixture
def sandbox(stack: Stack) -> SandboxCommand:
    """The command on that stack."""
    return SandboxCommand(stack)


def locks(stack: Stack) -> list[Path]:
    """What the engine holds locked."""
    return list((stack.folder / "state/.pulumi/locks").rglob("*.json"))


def test_another_update_holds_the_stack(stack: Stack, sandbox: SandboxCommand, engine_ground: Ground) -> None:
    """Nothing is half done: the cluster and the config are as they were, to the byte."""
    program, before = stack.program.read_text(), stack.config_file.read_bytes()
    go = stack.folder / "go"
    slow = f"while not pulumi.runtime.is_dry_run() and not os.path.exists({str(go)!r}):\n    time.sleep(0.05)"
    stack.program.write_text(f"{program}\nimport os, pulumi, time\n{slow}\n")
    with stack.start("up", "--yes", "--skip-preview") as other:
        eventually(lambda: locks(stack), "the other one's lock")
        refused = sandbox("rollback", NAME, "-y", "-o", "json")
        assert refused.code == 1
        assert '"code": "stack_locked"' in refused.err
        assert "is locked by another update (created by" in refused.err
        assert f"pulumi cancel --stack {stack.name} --yes" in refused.err
        assert "nothing was changed, Pulumi.test.yaml is as it was" in refused.err
        assert stack.config_file.read_bytes() == before
        assert image(engine_ground, stack) == BUSYBOX
        go.touch()
        other.wait().ok()
    stack.program.write_text(program)
    assert stack.config_file.read_bytes() == before


def reach(run: Started, stack: Stack, moment: str) -> None:
    """Wait until a rollback is there."""
    if moment == "the config is edited":
        before = stack.config_file.read_bytes()
        eventually(lambda: run.process.poll() is not None or stack.config_file.read_bytes() != before, moment)
    elif moment == "the engine has its lock":
        eventually(lambda: run.process.poll() is not None or locks(stack) != [], moment)
    elif moment.startswith("after "):
        time.sleep(float(moment.split()[1]))
    else:
        run.said(moment)


MOMENTS = (
    "planning",
    "the config is edited",
    "the engine has its lock",
    "updating StatefulSet",
    "the change is taken over",
)
"""The last one comes after the update, while it tells of the pod."""


@pytest.mark.timeout(1800 if IS_SOAK else 600)
def test_killed_at_any_moment(stack: Stack, sandbox: SandboxCommand, engine_ground: Ground) -> None:
    here, there = ("1", engine_ground.image), ("2", BUSYBOX)
    many: list[str] = []
    if IS_SOAK:
        began = time.monotonic()
        sandbox("rollback", NAME, "--to-revision", "1", "-y").ok()
        whole = time.monotonic() - began
        many = [f"after {whole * number / 16:.2f} s" for number in range(1, 16)]
        here, there = there, here
    for moment in (*MOMENTS, *many):
        words = ("rollback", NAME, "--to-revision", here[0], "-y")
        if moment == MOMENTS[-1]:
            engine_ground.api.scale(NAME, stack.namespace, 0, "kubectl")
        before = stack.config_file.read_bytes()
        run = sandbox.start(*words)
        reach(run, stack, moment)
        run.kill()
        left = stack.config_file.read_bytes()
        assert left == before or f"revision: {here[0]}".encode() in left, moment
        assert image(engine_ground, stack) in (here[1], there[1]), moment
        if moment in MOMENTS[:2] and not locks(stack):
            # Nothing but the config may have changed: the next one is the same command once more.
            assert image(engine_ground, stack) == there[1], moment
            assert left == before or moment != "planning"
            continue
        done = go_on(sandbox, *words)
        assert done.out.startswith(("one rolled back to revision", "one unchanged")), moment
        assert image(engine_ground, stack) == here[1], moment
        assert left in (before, stack.config_file.read_bytes()), moment
        here, there = there, here
    assert stack.preview("--expect-no-changes").ok()
