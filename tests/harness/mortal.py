"""Children that end with the tests, however these end: the kernel sees to it, because nobody else is left to do so."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def with_us(number: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return what a command line begins with, to get a signal when the thread that starts it is gone.

    Not by a function between fork and exec: with other threads beside, Python warns of those.

    Args:
        number: SIGINT for what has children of its own to end, as the engine has.
    """
    return ["setpriv", "--pdeathsig", number.name.removeprefix("SIG"), "--"]


def end_all_with(variable: str, value: str) -> None:
    """`kill -9` whatever has the variable in its environment: plugins outlive an engine that was killed."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if f"{variable}={value}".encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
