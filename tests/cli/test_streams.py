"""Standard streams that are closed, full or read by nobody."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.cli import app, progress, streams
from tests.cli.in_process import Command, Project

PINS = ("pins", "-o", "json")


def sandbox(project: Project, *words: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox_components", *words, "-C", str(project.root), "-s", "dev"],
        **{"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams},
        text=True,
        check=False,
    )


@pytest.fixture
def unread() -> Any:
    """The end of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def test_an_answer_that_nobody_reads(project: Project, unread: int) -> None:
    done = sandbox(project, *PINS, stdout=unread)
    assert (done.returncode, done.stderr) == (streams.UNREAD, "")


def test_a_fault_keeps_its_exit_code_where_nobody_reads_it(project: Project, unread: int) -> None:
    words = ("revisions", "Nightly")
    assert sandbox(project, *words, stdout=unread, stderr=unread).returncode == 2
    assert sandbox(project, *words, "-o", "json", stdout=unread, stderr=unread).returncode == 2
    assert sandbox(project, "revisions", "--nope", stdout=unread, stderr=unread).returncode == 2


def test_a_full_disk_is_no_bug(project: Project) -> None:
    with Path("/dev/full").open("w") as full:
        done = sandbox(project, *PINS, stdout=full)
        silent = sandbox(project, "revisions", "Nightly", stdout=full, stderr=full)
    assert done.returncode == 1
    error = json.loads(done.stderr)["error"]
    assert (error["code"], error["message"]) == ("no_space", "can't be written: No space left on device")
    assert silent.returncode == 2


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]])
def test_closed_streams(closed: list[int], project: Project) -> None:
    def close() -> None:
        for one in closed:
            os.close(one)

    done = sandbox(project, *PINS, stdout=subprocess.PIPE, preexec_fn=close)
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout == "") == (1 in closed)


def test_a_full_disk_of_a_file() -> None:
    full = streams.fault(OSError(errno.ENOSPC, "No space left on device", "/tmp/x"))
    assert full is not None
    assert full.message == "/tmp/x can't be written: No space left on device"
    assert streams.fault(OSError(errno.ENOENT, "No such file or directory")) is None


def test_progress_that_nobody_reads_stops_nothing(monkeypatch: pytest.MonkeyPatch, unread: int) -> None:
    for is_terminal in (False, True):
        with os.fdopen(os.dup(unread), "w", buffering=1) as stderr:
            monkeypatch.setattr(stderr, "isatty", lambda is_terminal=is_terminal: is_terminal)
            monkeypatch.setattr(sys, "stderr", stderr)
            with progress.Progress() as told:
                told("nightly", "planning")
                told("nightly", "ready")
                told.clear()
            monkeypatch.undo()
            with pytest.raises(BrokenPipeError):
                stderr.close()


def test_a_bug_stays_one(monkeypatch: pytest.MonkeyPatch, command: Command, project: Project) -> None:
    def broken(*words: object, **more: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "x")

    monkeypatch.setattr(app.sandbox, "main", broken)
    answer = command("pins")
    assert answer.code == app.BUG
    assert "this is a bug in sandbox: FileNotFoundError" in answer.err
