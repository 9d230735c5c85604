"""exec and logs on the real node: exit codes, signals, bytes, closed stdin, a restart in between, a paused sandbox."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest

from tests.harness.api import eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pods import ready
from tests.harness.stack import Stack

pytestmark = pytest.mark.node

NAME, POD = "worker", "worker-0"
AGENT = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    "for step in range(10**9):\n"
    "    print(f'step={step} \\u00fc', flush=True)\n"
    "    time.sleep(0.5)\n"
)
SIZE = 5_000_000
ECHO = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
DIGEST = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"


@pytest.fixture(scope="module")
def stack(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with node_ground.stack(tmp_path_factory.mktemp("exec")) as made:
        made.configure({"sandboxes": {NAME: node_ground.sandbox(entrypoint=["python3", "-c", AGENT])}})
        made.up().ok()
        ready(node_ground, POD, made.namespace)
        yield made


def raw(stack: Stack, arguments: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command with bytes for input and output."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox_components", *arguments],
        cwd=stack.folder,
        env={**stack.env, "SANDBOX_STACK": stack.name, "SANDBOX_NAMESPACE": stack.namespace},
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "exit 255"], 255),
        (["sh", "-c", "kill -SEGV $$"], 139),
        (["sh", "-c", "kill -KILL $$"], 137),
        (["no-such-command"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_the_exit_code_is_the_commands_own(stack: Stack, command: Sequence[str], code: int) -> None:
    assert sandbox(stack, "exec", NAME, "--", *command).exit_code == code


def test_words_arrive_as_they_are(stack: Stack) -> None:
    words = ["a b", "", "$HOME", "$(id)", "q'\"", "line\nbreak", "ü€", "--flag", "*"]
    done = sandbox(stack, "exec", NAME, "--", "python3", "-c", "import sys; print(sys.argv[1:])", *words).ok()
    assert done.output == f"{words}\n"


def test_stdout_and_stderr_stay_apart(stack: Stack) -> None:
    done = sandbox(stack, "exec", NAME, "--", "sh", "-c", "echo out; echo err >&2").ok()
    assert (done.output, done.errors) == ("out\n", "err\n")


def test_five_megabytes_both_ways(stack: Stack) -> None:
    blob = os.urandom(SIZE)
    there = raw(stack, ["exec", NAME, "-i", "--", "python3", "-c", DIGEST], blob)
    assert there.stdout.decode().strip() == hashlib.sha256(blob).hexdigest()
    back = raw(stack, ["exec", NAME, "-i", "--", "python3", "-c", ECHO], blob)
    assert back.returncode == 0
    assert back.stdout == blob


def test_closed_stdin_ends_a_command_that_reads(stack: Stack) -> None:
    assert sandbox(stack, "exec", NAME, "-i", "--", "cat").ok().output == ""
    without = sandbox(stack, "exec", NAME, "--", "cat", given="not passed on").ok()
    assert without.output == ""


def test_a_timeout_ends_the_waiting(stack: Stack) -> None:
    done = sandbox(stack, "exec", NAME, "--timeout", "1s", "--", "sleep", "30")
    assert done.exit_code == 125
    assert "has not ended after 1s" in done.errors


def test_logs(stack: Stack) -> None:
    everything = raw(stack, ["logs", NAME, "--tail", "all"])
    assert everything.returncode == 0
    assert everything.stdout.decode().splitlines()[:2] == ["step=0 ü", "step=1 ü"]
    last = sandbox(stack, "logs", NAME, "--tail", "2").ok().output.splitlines()
    assert len(last) == 2
    stamped = sandbox(stack, "logs", NAME, "--tail", "1", "--timestamps").ok().output
    assert stamped[:3] == "202"
    assert "Z step=" in stamped
    assert sandbox(stack, "logs", NAME, "--since", "2s", "--tail", "all").ok().output.count("step=") < 8


def test_following_logs_ends_with_the_container(stack: Stack) -> None:
    following = subprocess.Popen(
        [sys.executable, "-m", "sandbox_components", "logs", NAME, "-f", "--tail", "1"],
        cwd=stack.folder,
        env={**stack.env, "SANDBOX_STACK": stack.name, "SANDBOX_NAMESPACE": stack.namespace},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        time.sleep(3)
        sandbox(stack, "pause", NAME).ok()
        out, err = following.communicate(timeout=30)
    finally:
        following.kill()
    assert following.returncode == 0
    assert out.count(b"step=") >= 3
    assert b"the container has stopped" in err


def test_a_paused_sandbox_is_not_started(stack: Stack, node_ground: Ground) -> None:
    sandbox(stack, "pause", NAME).ok()
    for arguments, code in ((["exec", NAME, "--", "true"], 125), (["logs", NAME], 4)):
        done = sandbox(stack, *arguments)
        assert done.exit_code == code
        assert f"sandbox resume {NAME}" in done.errors
    assert node_ground.api.find("Pod", POD, stack.namespace) is None
    sandbox(stack, "resume", NAME).ok()


def test_a_restart_in_between_is_said(stack: Stack, node_ground: Ground) -> None:
    ready(node_ground, POD, stack.namespace)
    kill = (
        "import os, pathlib, time\n"
        "for path in pathlib.Path('/proc').glob('[0-9]*'):\n"
        "    if int(path.name) != os.getpid() and b'step=' in (path / 'cmdline').read_bytes():\n"
        "        os.kill(int(path.name), 9)\n"
        "time.sleep(60)\n"
    )
    done = sandbox(stack, "exec", NAME, "--", "python3", "-c", kill)
    assert done.exit_code in (125, 137)
    assert "restarted while the command ran" in done.errors

    def previous() -> bytes | None:
        """What the container before wrote, once the kubelet has told of the restart."""
        told = raw(stack, ["logs", NAME, "-p", "--tail", "all"])
        return told.stdout if told.returncode == 0 else None

    assert eventually(previous, "the earlier container's log is there", 30).startswith(b"step=0")
