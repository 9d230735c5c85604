"""The command `sandbox`, run as its users do: a process of its own beside a stack."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from tests.harness.mortal import with_us
from tests.harness.stack import Stack


@dataclass(frozen=True)
class Said:
    """How a run of the command ended."""

    arguments: tuple[str, ...]
    exit_code: int
    output: str
    errors: str
    seconds: float

    def ok(self) -> Said:
        """Return itself.

        Raises:
            AssertionError: with all that was said, when the run failed.
        """
        assert self.exit_code == 0, f"sandbox {' '.join(self.arguments)} ended with {self.exit_code}:\n{self.text}"
        return self

    @property
    def text(self) -> str:
        """Everything that was said."""
        return self.output + self.errors


def sandbox(stack: Stack, *arguments: str, given: str = "", env: Mapping[str, str] | None = None) -> Said:
    """Run `sandbox ARGUMENTS` in the stack's folder to its end."""
    began = time.monotonic()
    done = subprocess.run(
        [*with_us(signal.SIGINT), sys.executable, "-m", "sandbox_components", *arguments],
        cwd=stack.folder,
        env={**stack.env, "SANDBOX_STACK": stack.name, "SANDBOX_NAMESPACE": stack.namespace, **(env or {})},
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Said(arguments, done.returncode, done.stdout, done.stderr, time.monotonic() - began)
