"""Progress on stderr: one changing line on a terminal, plain lines elsewhere, nothing with -q."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Self

import click

from sandbox_components.cli.output import harmless


class Progress:
    """Tells what a verb waits for. Use as a context manager; call it with a sandbox's name and a line of news."""

    def __init__(self, *, is_quiet: bool = False, is_single: bool = True) -> None:
        self._is_quiet = is_quiet
        self._is_single = is_single
        self._is_terminal = sys.stderr.isatty()
        self._begun = time.monotonic()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._wipe()

    def __call__(self, name: str, message: str) -> None:
        """Show the newest news; where nobody reads them any more, the verb goes on without."""
        if self._is_quiet:
            return
        try:
            self._show(name, message)
        except OSError:
            self._is_quiet, self._width = True, 0

    def _show(self, name: str, message: str) -> None:
        seconds = time.monotonic() - self._begun
        line = harmless(f"{name}: {message} ({seconds:.1f}s)")
        if not self._is_terminal:
            click.echo(line, err=True)
            return
        if not self._is_single:
            self._wipe()
            click.echo(line, err=True)
            return
        columns = _columns()
        line = line if len(line) < columns else line[: columns - 2] + "…"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Take the changing line away, before something else is printed."""
        self._wipe()

    def _wipe(self) -> None:
        if self._width:
            with contextlib.suppress(OSError):
                sys.stderr.write("\r" + " " * self._width + "\r")
                sys.stderr.flush()
            self._width = 0


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns
