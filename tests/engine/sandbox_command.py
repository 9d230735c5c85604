"""The command as a program of its own, on a stack of the harness."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.mortal import with_us
from tests.harness.stack import Stack

SECONDS = 240


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    def ok(self) -> Done:
        """Return itself.

        Raises:
            AssertionError: with all it said, when it failed.
        """
        assert self.code == 0, f"sandbox {' '.join(self.words)} ended with {self.code}:\n{self.out}{self.err}"
        return self

    @property
    def document(self) -> dict[str, Any]:
        """What `-o json` printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("error:")]

    @property
    def tries(self) -> list[str]:
        """What it says to type next."""
        return [line.removeprefix("  try: ") for line in self.err.splitlines() if line.startswith("  try: ")]


@dataclass
class Started:
    """A run that goes on, in a process group of its own."""

    words: tuple[str, ...]
    process: subprocess.Popen[str]
    told: Path

    def kill(self) -> None:
        """`kill -9` the command and everything below it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def said(self, text: str, seconds: float = 120) -> None:
        """Wait until it has said that on stderr."""
        deadline = time.monotonic() + seconds
        while text not in self.told.read_text():
            assert self.process.poll() is None, f"ended before it said {text!r}:\n{self.told.read_text()}"
            assert time.monotonic() < deadline, f"has not said {text!r}:\n{self.told.read_text()}"
            time.sleep(0.02)

    def wait(self) -> Done:
        out, _ = self.process.communicate(timeout=SECONDS)
        return Done(self.words, self.process.returncode, out, self.told.read_text())


class SandboxCommand:
    """Runs `sandbox WORDS` on one stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.env = {**stack.env, "SANDBOX_STACK": stack.name}
        self._runs = 0

    def __call__(self, *words: str, given: str = "", env: Mapping[str, str] | None = None) -> Done:
        done = subprocess.run(
            self._command(words),
            cwd=self.stack.folder,
            env={**self.env, **(env or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Done(words, done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> Started:
        """Start it in the background."""
        self._runs += 1
        told = self.stack.folder / f"told-{self._runs}.txt"
        with told.open("w") as file:
            process = subprocess.Popen(
                self._command(words),
                cwd=self.stack.folder,
                env={**self.env, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        return Started(words, process, told)

    def at_terminal(self, *words: str, answer: str, prompt: str = "go on?") -> Done:
        """Run it at a terminal and type `answer` when it asks."""
        main, other = pty.openpty()
        process = subprocess.Popen(
            self._command(words),
            cwd=self.stack.folder,
            env={**self.env, "TERM": "xterm", "COLUMNS": "120"},
            stdin=other,
            stdout=subprocess.PIPE,
            stderr=other,
            text=True,
            start_new_session=True,
        )
        os.close(other)
        seen, is_answered = "", False
        while True:
            try:
                seen += os.read(main, 4096).decode(errors="replace")
            except OSError:
                break
            if prompt in seen and not is_answered:
                is_answered = True
                os.write(main, answer.encode())
        os.close(main)
        out, _ = process.communicate(timeout=SECONDS)
        return Done(words, process.returncode, out, seen.replace("\r\n", "\n"))

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [*with_us(signal.SIGINT), sys.executable, "-m", "sandbox_components", *words]
