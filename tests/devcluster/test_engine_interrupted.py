"""^C while the engine works for the local cluster: it gets one interrupt, and ends in its own good order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.stack import CHECKOUT

pytestmark = pytest.mark.server

ENGINE = """\
import pathlib, signal, sys, time
asked = []
def cancel(number, frame):
    asked.append(number)
    print("^C received; " + ("terminating" if asked[1:] else "cancelling"), flush=True)
signal.signal(signal.SIGINT, cancel)
print("working", flush=True)
while not asked:
    time.sleep(0.02)
until = time.monotonic() + 2
while time.monotonic() < until:
    time.sleep(0.02)
    print("ending", flush=True)
pathlib.Path("ended").write_text(str(len(asked)))
sys.exit(1)
"""
"""A stand-in: it dies of a closed pipe, and what it writes last is how many interrupts it got."""
MAIN = """\
import os, pathlib, sys
from devcluster import __main__, engine_output
def demo(arguments):
    command = [sys.executable, "engine.py"]
    for line in engine_output.stream(command, cwd=pathlib.Path("."), env=os.environ):
        print(line, end="", flush=True)
    return 0
__main__.VERBS["demo"] = demo
sys.argv[1:] = ["demo"]
sys.exit(__main__.main())
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command line, once its engine works."""
    (tmp_path / "engine.py").write_text(ENGINE)
    with subprocess.Popen(
        [sys.executable, "-c", MAIN],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        yield process
        process.kill()


@pytest.mark.parametrize("is_for_all", [True, False])
def test_an_interrupt_reaches_the_engine_once(is_for_all: bool, running: subprocess.Popen[str], tmp_path: Path) -> None:
    (os.killpg if is_for_all else os.kill)(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130, err
    assert err == "interrupted; the same command goes on from here\n"
    assert out.startswith("^C received; cancelling\nending\n")
    assert (tmp_path / "ended").read_text() == "1"


def test_a_reader_that_went_away_does_not_end_the_engine(running: subprocess.Popen[str], tmp_path: Path) -> None:
    assert running.stdout is not None
    running.stdout.close()
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    assert running.wait(20) != 0
    assert (tmp_path / "ended").read_text() == "1"
