"""Standard streams that are closed, full or read by nobody: the verb's own work and exit code don't depend on them."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from sandbox_components.errors import SandboxError

UNREAD = 141
"""Exit code when nobody reads the answer any more, as of a program that dies of SIGPIPE."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Unread(Exception):
    """A pipe was closed by its reader; not an OSError, because Click would end with 1 on one and say nothing."""


def open_missing() -> None:
    """Open /dev/null in the place of a standard stream that our caller has closed, such as by `2>&-`."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def say(text: str, *, color: bool | None = None) -> None:
    """Print to stderr; where that is gone, the exit code has to tell."""
    import click

    with contextlib.suppress(OSError):
        click.echo(text, err=True, color=color)


def fault(error: OSError) -> SandboxError | None:
    """Return what a failed write means, where it is a full disk or a quota; None of other faults."""
    if error.errno not in _FULL:
        return None
    where = f"{error.filename} " if error.filename else ""
    return SandboxError(f"{where}can't be written: {error.strerror}".strip(), suggestions=["df -h"], code="no_space")


def leave_unread() -> None:
    """Let what is still to be flushed go nowhere, so that Python's own end says nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
