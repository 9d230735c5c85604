"""Children that end with the tests, however these end: the kernel sees to it, because nobody else is left to do so."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable

_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def with_us(number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return the `preexec_fn` of a child that gets a signal when the thread that starts it is gone.

    Args:
        number: SIGINT for what has children of its own to end, as the engine has.
    """
    parent = os.getpid()

    def bind() -> None:
        _LIBC.prctl(_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # gone before the kernel was asked
            os.kill(os.getpid(), signal.SIGKILL)

    return bind
