"""Lets a child process end in its own good order when we are interrupted, instead of dying of a closed pipe.

At a terminal ^C goes to the child as well, while `kill` goes to us alone, and the two can't be told apart. So the
signal is passed on only where the child hasn't said soon that it got it: a second one would make the engine break off
at once, which leaves its lock and operations pending.
"""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from types import FrameType
from typing import Any, Self

SILENCE_SECONDS = 1.0
"""How long the child may take to say that it got the signal."""

_GOT_IT = re.compile(r"(\^C|SIGTERM) received; ")
"""What the engine writes for each interrupt, `cancelling` and then `terminating`."""


class Interrupts:
    """Holds SIGINT and SIGTERM off while a child runs. Use as a context manager, around the child's start too.

    Outside the main thread, where Python gives no signals, and for signals that are ignored, it does nothing.

    Args:
        silence_seconds: after which a signal is passed on.

    Attributes:
        asked: how many signals came.
    """

    def __init__(self, silence_seconds: float = SILENCE_SECONDS) -> None:
        self.asked = 0
        self._heard = 0
        self._silence_seconds = silence_seconds
        self._process: subprocess.Popen[str] | None = None
        self._before: dict[int, Any] = {}
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for timer in self._timers:
            timer.cancel()

    def watch(self, process: subprocess.Popen[str]) -> None:
        """Say which child it is."""
        self._process = process

    def heard(self, line: str) -> bool:
        """Tell whether a line of the child says that it got a signal, and remember it."""
        is_that = _GOT_IT.search(line) is not None
        self._heard += is_that
        return is_that

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        timer = threading.Timer(self._silence_seconds, self._pass_on, [number])
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _pass_on(self, number: int) -> None:
        if self._process is not None and self._heard < self.asked:
            self._process.send_signal(number)
