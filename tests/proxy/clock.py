"""The command with the clock of a test: `python -m tests.proxy.clock FILE ...`; FILE holds the instant it is.

Only our own modules see that instant, each time anew; waiting and timeouts go by the real clock.
"""

from __future__ import annotations

import sys
from datetime import datetime, tzinfo
from importlib import import_module
from pathlib import Path


class Clock(datetime):
    """The time is what stands in the file."""

    file: Path

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Clock:
        """Return the file's instant."""
        return cls.fromisoformat(cls.file.read_text()).astimezone(tz)


def main() -> None:
    """Put the clock into all modules of the proxy and run the command."""
    Clock.file = Path(sys.argv.pop(1))
    import_module("sandbox_components.proxy.running")
    for name, module in list(sys.modules.items()):
        if name.startswith("sandbox_components.") and getattr(module, "datetime", None) is datetime:
            module.datetime = Clock  # type: ignore[attr-defined]
    from sandbox_components.cli import app

    app.main()


if __name__ == "__main__":
    main()
