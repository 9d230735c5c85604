"""The shell line of a `command` string, run for real: as session leader, as a container's first process is.

All cases of all shells run at once before the first test, because nearly all of their time is waiting.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_components.manifests.process import SHELL_LINE, first_process
from sandbox_components.spec.sandbox import read_sandbox
from tests.manifests.expansion import expand

pytestmark = pytest.mark.server

SHELLS = [name for name in ("dash", "busybox", "bash") if shutil.which(name)]
SAVING = 0.5
STEPS = range(0, 12, 2)
"""Milliseconds after the start."""
AGENT = f"""\
import os, signal, sys, time

def save(*_):
    os.write(1, b"saving\\n")
    time.sleep({SAVING})
    os.write(1, b"saved\\n")
    os._exit(int(sys.argv[1]))

signal.signal(signal.SIGTERM, save)
os.write(1, b"up\\n")
while True:
    time.sleep(0.05)
"""
"""Unbuffered and in short sleeps, because Python misses a signal that comes just before a long one."""


@dataclass(frozen=True)
class Case:
    """A command, the signal that stops it (None: it ends by itself), and what must come of it.

    Attributes:
        code: exit code; a shell that replaces itself by its one command may also end with `exec_code`.
        out: all of the standard output.
        least: seconds from the signal to the end, at least.
        most: and at most; generous, for machines that do much else.
        ready: text in the output after which the signal is sent.
    """

    id: str
    command: str
    code: int
    out: str
    stop: signal.Signals | None = None
    least: float = 0
    most: float = 5
    ready: str = "up\n"
    exec_code: int | None = None


CASES = [
    Case("ends with 0", "true", 0, ""),
    Case("ends with 7", "echo a; exit 7", 7, "a\n"),
    Case("last code counts", "true; false", 1, ""),
    Case("not found", "no-such-program 2>/dev/null", 127, ""),
    Case("syntax error", "if", 2, ""),
    Case("killed", "kill -KILL $$", 137, ""),
    Case("quotes", "printf '%s|' 'a  b' \"c\" $((1+1)) \\\"d 'e\nf'", 0, 'a  b|c|2|"d|e\nf|'),
    Case("several lines", "# a comment\nfor n in 1 2; do\n  echo $n\ndone\ncat <<E\nhere\nE", 0, "1\n2\nhere\n"),
    Case("no arguments", 'echo "$#$*"', 0, "0\n"),
    Case("a dash first", "-x 2>/dev/null", 127, ""),
    Case("no standard input", "cat; echo end", 0, "end\n"),
    Case("one command", "AGENT 0", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING, exec_code=0),
    Case("one command's code", "AGENT 7", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING, exec_code=7),
    Case("exec", "exec AGENT 7", 7, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("two commands", "AGENT 0; echo second", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("two lines", "AGENT 3\necho second\n", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("and, or", "AGENT 0 && echo second || echo third", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("loop", "while :; do AGENT 0; done", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("background and wait", "AGENT 0 & wait", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("background and another", "AGENT 0 & sleep 60", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("subshell", "(AGENT 0; echo second)", 143, "up\nsaving\nsaved\n", signal.SIGTERM, SAVING),
    Case("no handler", "echo up; sleep 60; echo second", 143, "up\n", signal.SIGTERM, most=2),
    Case("shell alone", "echo up; while :; do sleep 0.05; done", 143, "up\n", signal.SIGTERM, most=2),
    Case("own trap", "trap 'echo mine; exit 5' TERM; echo up; sleep 60", 5, "up\nmine\n", signal.SIGTERM, most=2),
    Case("ignored for a while", "trap '' TERM; echo up; sleep 1; echo end", 0, "up\nend\n", signal.SIGTERM, 0.5),
    Case("STOPSIGNAL INT", "AGENT 0; echo second", 143, "up\nsaving\nsaved\n", signal.SIGINT, SAVING),
    Case("STOPSIGNAL QUIT", "AGENT 0; echo second", 143, "up\nsaving\nsaved\n", signal.SIGQUIT, SAVING),
]


@dataclass(frozen=True)
class Outcome:
    """What came of a case: code, output, seconds from the signal, members of its group that are left."""

    code: int
    out: str
    seconds: float
    left: list[int]


def _members(group: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def _started(folder: Path, name: str, argv: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
    out = folder / f"{name}.out"
    with out.open("wb") as file:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL, start_new_session=True
        )
    return process, out


def _wait_for(out: Path, text: str) -> None:
    for _ in range(1000):
        if text in out.read_text():
            return
        time.sleep(0.02)


def _argv(folder: Path, shell: str, command: str) -> list[str]:
    sh = str(folder / shell / "sh")
    agent = f"{sys.executable} -SIE {folder / 'agent.py'}"
    return [sh, "-c", SHELL_LINE.replace("/bin/sh", sh), "sandbox", command.replace("AGENT", agent)]


def _end(process: subprocess.Popen[bytes], out: Path) -> Outcome:
    """Wait for the first process, and leave nothing behind, whatever happens."""
    try:
        since = time.monotonic()
        code = process.wait(20)
        seconds = time.monotonic() - since
        return Outcome(code, out.read_text(), seconds, _members(process.pid))
    finally:
        for member in _members(process.pid):
            os.kill(member, signal.SIGKILL)
        process.wait()


def _run(folder: Path, shell: str, case: Case) -> Outcome:
    process, out = _started(folder, f"{shell} {case.id}", _argv(folder, shell, case.command))
    if case.stop is not None:
        _wait_for(out, case.ready)
        process.send_signal(case.stop)
    return _end(process, out)


def _twice(folder: Path, shell: str) -> Outcome:
    process, out = _started(folder, f"{shell} twice", _argv(folder, shell, "AGENT 0; echo second"))
    _wait_for(out, "up\n")
    process.terminate()
    _wait_for(out, "saving\n")
    process.terminate()
    return _end(process, out)


def _early(folder: Path, shell: str, milliseconds: int) -> Outcome:
    argv = _argv(folder, shell, "sleep 60; echo second")
    process, out = _started(folder, f"{shell} after {milliseconds}", argv)
    time.sleep(milliseconds / 1000)
    process.terminate()
    return _end(process, out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shells")
    for shell in SHELLS:
        (made / shell).mkdir()
        (made / shell / "sh").symlink_to(str(shutil.which(shell)))
    (made / "agent.py").write_text(AGENT)
    return made


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[tuple[str, str], Outcome]:
    with ThreadPoolExecutor(16) as pool:
        running = {(shell, case.id): pool.submit(_run, folder, shell, case) for shell in SHELLS for case in CASES}
        running |= {(shell, "twice"): pool.submit(_twice, folder, shell) for shell in SHELLS}
        running |= {
            (shell, f"after {step}"): pool.submit(_early, folder, shell, step) for shell in SHELLS for step in STEPS
        }
    return {key: one.result() for key, one in running.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_command(outcomes: dict[tuple[str, str], Outcome], shell: str, case: Case) -> None:
    outcome = outcomes[shell, case.id]
    assert outcome.out == case.out
    assert outcome.code in (case.code, case.exec_code)
    assert case.least * 0.9 <= outcome.seconds <= case.least + case.most
    if case.stop is not None:
        assert outcome.left == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_second_signal_takes_no_time_away(outcomes: dict[tuple[str, str], Outcome], shell: str) -> None:
    outcome = outcomes[shell, "twice"]
    assert outcome.code == 143
    assert outcome.out == "up\nsaving\nsaved\n"
    assert outcome.left == []


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_signal_at_any_moment_of_the_start(outcomes: dict[tuple[str, str], Outcome], shell: str, step: int) -> None:
    outcome = outcomes[shell, f"after {step}"]
    assert outcome.code in (143, -signal.SIGTERM)
    assert outcome.out == ""
    assert outcome.left == []


def test_an_agent_can_interrupt_what_it_starts(folder: Path) -> None:
    """A shell starts what runs in the background with INT ignored; with coreutils' `env` that is undone."""
    if subprocess.run(["env", "--default-signal=INT", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("env has no --default-signal here")
    argv = ["/bin/sh", "-c", SHELL_LINE, "sandbox", "grep SigIgn /proc/self/status"]
    status = subprocess.run(argv, capture_output=True, text=True, check=True, start_new_session=True).stdout
    assert int(status.split()[1], 16) & (1 << (signal.SIGINT - 1) | 1 << (signal.SIGQUIT - 1)) == 0


@pytest.mark.parametrize(
    "text", ["$(A) $$ `x` \\ 'q' \"d\" ; | & # * ~ ! %s", "a\nb\n", " lead", "ä 名 \u2060", "$ä", "-n"]
)
def test_a_text_through_kubernetes_and_the_shell(text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    spec = read_sandbox(
        {"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}, "command": f"printf '[%s]' {quoted}"}
    )
    argv = [expand(one, {"A": "expanded"}) for one in first_process(spec)["command"]]
    found = subprocess.run(argv, capture_output=True, check=True, start_new_session=True)
    assert found.stdout.decode() == f"[{text}]"
