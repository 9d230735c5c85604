"""^C ends the tests, also where the code under test takes it for its user's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.interrupts import same_handlers
from tests.harness.stack import CHECKOUT

pytestmark = pytest.mark.server

IN_BACKGROUND = ("env", "--ignore-signal=INT,QUIT")
"""As a shell starts what it puts there."""
TESTS = """
import signal, time
from pathlib import Path

def test_takes_an_interrupt_for_its_own():
    Path({told!r}).write_text("first")
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass

def test_that_is_not_to_come():
    Path({told!r}).write_text("second")
"""


def test_an_interrupt_that_a_test_takes_for_its_own_ends_the_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    (tmp_path / "test_two.py").write_text(TESTS.format(told=str(told)))
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", str(tmp_path)]
    with subprocess.Popen(
        [*IN_BACKGROUND, sys.executable, "-m", "pytest", *arguments, "-c", "/dev/null", str(tmp_path / "test_two.py")],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as tests:
        while not (told.exists() and told.read_text()):
            assert tests.poll() is None, tests.stdout and tests.stdout.read()
            time.sleep(0.05)
        tests.send_signal(signal.SIGINT)
        said, _ = tests.communicate(timeout=60)
    assert tests.returncode == pytest.ExitCode.INTERRUPTED, said
    assert told.read_text() == "first"


def test_a_handler_that_stays_is_told_of_and_taken_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(AssertionError, match="handlers of its own: SIGTERM"), same_handlers():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) == before
