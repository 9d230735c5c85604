"""^C ends a run of the tests, whatever the test that it meets makes of it.

Much of what is tested here takes an interrupt for a user's: the command, run in this process, ends with 130, and the
test that ran it fails or even passes. So each interrupt is noted, and the run ends after such a test.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WATCHED = (signal.SIGINT, signal.SIGTERM)

_taken: list[int] = []


def hear() -> None:
    """Be interrupted by ^C, also where a shell that started us in the background has it ignored."""
    signal.signal(signal.SIGINT, _take)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def raise_if_taken() -> None:
    """Interrupt again, if somebody has taken an interrupt for their own."""
    if _taken:
        raise KeyboardInterrupt


@contextmanager
def same_handlers() -> Iterator[None]:
    """Check that a block leaves the handlers as they were, and put them back if not."""
    before = {number: signal.getsignal(number) for number in WATCHED}
    yield
    changed = [number.name for number in WATCHED if signal.getsignal(number) != before[number]]
    for number, handler in before.items():
        signal.signal(number, handler)
    assert not changed, f"the test has left handlers of its own: {', '.join(changed)}"


def _take(number: int, frame: FrameType | None) -> None:
    _taken.append(number)
    raise KeyboardInterrupt
