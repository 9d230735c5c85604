"""Two commands at once, and `kill -9` in each phase: the config is the old or the new one, and there is a way on."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.engine.sandbox_command import Done, SandboxCommand
from tests.harness.api import eventually, is_ready
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.engine]


def go_on(sandbox: SandboxCommand, *words: str) -> Done:
    """Run a command; as long as it names the way out of what a killed update left, type that and run it again."""
    for _ in range(5):
        done = sandbox(*words)
        if done.code == 0:
            return done
        assert len(done.errors) == 1, done.err
        lines = [line.partition(": ")[2] if line.startswith("if ") else line for line in done.tries]
        lines = [line for line in lines if line.startswith(("pulumi cancel ", "pulumi refresh ", "find "))]
        assert lines, f"no way on is told:\n{done.err}"
        typed = subprocess.run(
            ["sh", "-c", lines[0]],
            cwd=sandbox.stack.folder,
            env=sandbox.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert typed.returncode == 0, f"{lines[0]}\n{typed.stdout}{typed.stderr}"
    raise AssertionError(f"no end of it:\n{done.err}")


def test_two_at_once_take_turns(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    runs = [sandbox.start("create", name, "-f", request_file, "-y") for name in ("one", "two")]
    done = [run.wait().ok() for run in runs]
    assert {one.out for one in done} == {"one created\n", "two created\n"}
    assert sum("waiting for another sandbox command on this stack (pid " in one.err for one in done) == 1
    declared = yaml.safe_load(stack.config_file.read_text())["config"]["sandbox-components:sandboxes"]
    assert sorted(declared) == ["one", "two"]
    runs = [
        sandbox.start("update", "one", "--image", "localhost:5000/busybox:1", "-y", "--no-wait"),
        sandbox.start("delete", "two", "-y"),
    ]
    assert all(run.wait().ok() for run in runs)
    (found,) = engine_ground.api.list("StatefulSet", stack.namespace)
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "localhost:5000/busybox:1"
    assert stack.preview("--expect-no-changes").ok()


def test_killed_while_it_plans(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    before = stack.config_file.read_bytes()
    for seconds in (0.0, 0.7):
        run = sandbox.start("create", "one", "-f", request_file, "-y")
        run.said("planning")
        time.sleep(seconds)
        run.kill()
        assert stack.config_file.read_bytes() == before
    assert sandbox("create", "one", "-f", request_file, "-y").ok().out == "one created\n"


def test_killed_while_it_waits_for_its_turn(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    first = sandbox.start("create", "one", "-f", request_file, "-y")
    first.said("planning")
    second = sandbox.start("create", "two", "-f", request_file, "-y")
    second.said("waiting for another sandbox command")
    second.kill()
    assert first.wait().ok().out == "one created\n"
    assert "two" not in stack.config_file.read_text()


@pytest.mark.parametrize("moment", ["creating Namespace", "creating ServiceAccount", "creating StatefulSet"])
def test_killed_while_the_engine_creates(
    moment: str, stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    run = sandbox.start("create", "one", "-f", request_file, "-y")
    run.said(moment)
    run.kill()
    held = stack.config_file.read_bytes()
    assert "one:" in held.decode()
    done = go_on(sandbox, "create", "one", "-f", request_file, "-y")
    # The StatefulSet is the last: the engine may have noted its end before it was killed.
    assert done.out == "one created\n" or (moment == "creating StatefulSet" and done.out == "one unchanged\n")
    assert stack.config_file.read_bytes() == held
    assert is_ready(engine_ground.api.find("Pod", "one-0", stack.namespace))
    assert stack.preview("--expect-no-changes").ok()


def test_killed_while_the_engine_updates_and_deletes(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    sandbox("create", "one", "-f", request_file, "-y").ok()
    words = ("update", "one", "--image", "localhost:5000/busybox:1", "-y")
    run = sandbox.start(*words)
    run.said("updating StatefulSet")
    run.kill()
    held = stack.config_file.read_bytes()
    assert b"busybox:1" in held
    go_on(sandbox, *words)
    assert stack.config_file.read_bytes() == held
    pod = eventually(lambda: engine_ground.api.find("Pod", "one-0", stack.namespace), "a pod")
    assert pod["spec"]["containers"][0]["image"] == "localhost:5000/busybox:1"

    run = sandbox.start("delete", "one", "-y")
    run.said("deleting StatefulSet")
    run.kill()
    assert "one:" not in stack.config_file.read_text()
    go_on(sandbox, "delete", "one", "-y")
    assert engine_ground.api.list("StatefulSet", stack.namespace) == []
    assert engine_ground.api.list("Service", stack.namespace) == []
    assert stack.preview("--expect-no-changes").ok()


def test_killed_while_it_waits_for_the_pod(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    nowhere = yaml.safe_load(Path(request_file).read_text()) | {"nodeSelector": {"nowhere": "at-all"}}
    Path(request_file).write_text(yaml.safe_dump(nowhere))
    run = sandbox.start("create", "one", "-f", request_file, "-y")
    run.said("no node has a place for it")
    run.kill()
    held = stack.config_file.read_bytes()
    again = sandbox("create", "one", "-f", request_file, "-y", "--timeout", "2s")
    assert again.code == 9, again.err
    assert "one is not ready after 2s" in again.errors[0]
    assert stack.config_file.read_bytes() == held
    assert sandbox("delete", "one", "-y").ok().out == "one deleted\n"


def test_another_update_holds_the_stack(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    sandbox("create", "one", "-f", request_file, "-y").ok()
    # Only an update is slow, a preview isn't: that way the update that holds the stack outlives the command's plan.
    stack.program.write_text(
        stack.program.read_text() + "\nimport pulumi, time\nif not pulumi.runtime.is_dry_run(): time.sleep(20)\n"
    )
    with stack.start("up", "--yes", "--skip-preview") as other:
        eventually(lambda: any((stack.folder / "state/.pulumi/locks").rglob("*.json")), "the other one's lock")
        held = sandbox("update", "one", "--label", "a=b", "-y")
        assert held.code == 1, held.err
        assert len(held.errors) == 1
        assert "is locked by another update (created by" in held.errors[0]
        assert "pulumi cancel" in held.err
        other.wait().ok()
    assert sandbox("update", "one", "--label", "a=b", "-y").ok().out == "one updated\n"
