"""Nothing that the tests have started outlives tests that are killed: kwok, the engine, the engine's plugins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.harness.api import eventually
from tests.harness.stack import CHECKOUT

pytestmark = pytest.mark.server

MARK = "TESTS_ORPHANS_OF"
TESTS = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from tests.harness import kwok
from tests.harness.stack import Stack

folder = Path(sys.argv[1])
ready = {"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
api = SimpleNamespace(
    list=lambda *a, **k: [], create=lambda a: None, find=lambda *a: ready, delete=lambda *a: None
)
with kwok.node(folder / "kwok", folder / "kubeconfig", api, folder / "kwok.log"):
    stack = Stack(folder / "stack", tools=folder, kubeconfig=folder / "kubeconfig", home=folder / "home")
    with stack.start("up"):
        print("started", flush=True)
        time.sleep(600)
"""
ENGINE = """#!/bin/sh
[ "$1" = up ] || exit 0
sleep infinity &
trap 'kill $!; exit 1' INT
wait
"""


def processes_of(mark: str) -> list[str]:
    """Command lines of all that has the mark in its environment, as children get it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_tests_have_started_ends_with_them(number: int, tmp_path: Path) -> None:
    for name, script in (("kwok", "#!/bin/sh\nexec sleep infinity\n"), ("pulumi", ENGINE)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        [sys.executable, "-c", TESTS, str(tmp_path)],
        cwd=CHECKOUT,
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        text=True,
    ) as tests:
        assert tests.stdout is not None
        assert tests.stdout.readline() == "started\n"
        eventually(lambda: processes_of(mark).count("sleep infinity") == 2, "kwok and the engine's plugin run")
        assert len(processes_of(mark)) == 4
        tests.send_signal(number)
    eventually(lambda: not processes_of(mark), "nothing of it is left", 20)
