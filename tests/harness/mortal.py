"""Children that end with the tests, however these end: the kernel sees to it, because nobody else is left to do so."""

from __future__ import annotations

import signal


def with_us(number: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return what a command line begins with, to get a signal when the thread that starts it is gone.

    Not by a function between fork and exec: with other threads beside, Python warns of those.

    Args:
        number: SIGINT for what has children of its own to end, as the engine has.
    """
    return ["setpriv", "--pdeathsig", number.name.removeprefix("SIG"), "--"]
