"""The proxy's log: one JSON object a line on standard error, about calls, never of what was said in them.

A line holds names, numbers and codes that the proxy itself has checked or made. No header, body, key or text of an
answer comes here, and no exception's message that could quote one.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import IO

from sandbox_components.errors import SandboxError


class Log:
    """Writes lines.

    Args:
        out: where to; default standard error.
    """

    def __init__(self, out: IO[str] | None = None) -> None:
        self._out = out

    def line(self, event: str, **fields: object) -> None:
        """Write one line; fields that are None are left out."""
        told = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event}
        told |= {name: value for name, value in fields.items() if value is not None}  # type: ignore[misc]
        try:
            print(json.dumps(told, ensure_ascii=False), file=self._out or sys.stderr, flush=True)
        except OSError:
            return  # nobody reads it: no reason to stop serving

    def fault(self, error: Exception) -> None:
        """Tell what went wrong in the background: our own errors in their words, others by kind and place only."""
        if isinstance(error, SandboxError):
            self.line("fault", code=error.code, message=error.message)
            return
        frames = traceback.extract_tb(error.__traceback__)
        self.line("bug", kind=type(error).__name__, at=[f"{frame.name}:{frame.lineno}" for frame in frames[-6:]])


class Handler(logging.Handler):
    """Takes what libraries log and keeps only level, logger and the kind of exception; of our own modules the text."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            self._log.fault(error)
        elif record.name.startswith("sandbox_components."):
            self._log.line("notice", level=record.levelname, message=record.getMessage())
        elif record.name != "uvicorn.error":  # it tells of each malformed request and each broken answer
            self._log.line("library", level=record.levelname, logger=record.name)
