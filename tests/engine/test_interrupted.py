"""^C and `kill` while the engine plans and works: it ends in good order, and the same command goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.engine.sandbox_command import Done, SandboxCommand, Started
from tests.harness.api import eventually, is_ready
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.engine]


def to_all(run: Started) -> None:
    """As ^C at a terminal: to the command and the engine at once."""
    os.killpg(run.process.pid, signal.SIGINT)


def to_the_command(run: Started) -> None:
    """As `kill -INT PID`."""
    run.process.send_signal(signal.SIGINT)


def end_the_command(run: Started) -> None:
    """As `kill PID`."""
    run.process.terminate()


def locks(stack: Stack) -> list[Path]:
    """What the engine left locked."""
    return list((stack.folder / "state/.pulumi/locks").rglob("*.json"))


def check_interrupted(stack: Stack, done: Done) -> None:
    """It said what stays, and left nothing locked."""
    assert done.code == 130, done.err
    assert done.errors == ["error: interrupted before the update of stack test was done"]
    assert "Pulumi.test.yaml stays edited; to go on: the same command, or pulumi up --stack test" in done.tries
    assert "Traceback" not in done.err
    assert locks(stack) == []
    assert "one:" in stack.config_file.read_text()


def test_interrupted_while_the_engine_creates(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    words = ("create", "one", "-f", request_file, "-y")
    run = sandbox.start(*words)
    run.said("creating Namespace")
    to_all(run)
    check_interrupted(stack, run.wait())
    held = stack.config_file.read_bytes()
    assert sandbox(*words).ok().out == "one created\n"
    assert stack.config_file.read_bytes() == held
    assert is_ready(engine_ground.api.find("Pod", "one-0", stack.namespace))


def test_the_command_alone_is_interrupted_or_ended(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    quick = stack.folder / "quick"
    slow = f"import os, pulumi, time\nif not (pulumi.runtime.is_dry_run() or os.path.exists({str(quick)!r})):"
    program = stack.program.read_text()
    stack.program.write_text(f"{program}\n{slow}\n    open({str(quick)!r}, 'w').close()\n    time.sleep(60)\n")
    words = ("create", "one", "-f", request_file, "-y")
    for interrupt in (to_the_command, end_the_command):
        run = sandbox.start(*words)
        eventually(quick.exists, "the program of the update")
        interrupt(run)
        check_interrupted(stack, run.wait())
        assert "the engine ends what it has begun" in run.told.read_text()
        quick.unlink()
    quick.touch()
    assert sandbox(*words).ok().out == "one created\n"


def test_interrupted_while_it_plans(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    before = stack.config_file.read_bytes()
    words = ("create", "one", "-f", request_file, "-y", "--dry-run")
    for interrupt in (to_all, to_the_command):
        run = sandbox.start(*words)
        run.said("planning")
        interrupt(run)
        done = run.wait()
        assert done.code == 130, done.err
        assert done.errors == ["error: interrupted, nothing was changed"]
        assert "Traceback" not in done.err
        assert stack.config_file.read_bytes() == before
        assert locks(stack) == []
    sandbox(*words).ok()
