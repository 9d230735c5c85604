"""Whether a file is committed: what a rollback writes into the config is lost with the next checkout if it isn't."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path


def commit_line(file: Path, message: str, base: Path) -> str | None:
    """Return the command that commits `file`, or None if it is committed, ignored or in no checkout.

    Args:
        file: that was edited.
        message: for the commit.
        base: the folder that the command is to be typed in.
    """
    try:
        done = subprocess.run(
            ["git", "-C", str(file.parent), "status", "--porcelain", "--", file.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or not done.stdout.strip():
        return None
    path = file.relative_to(base) if file.is_relative_to(base) else file
    return f"git add {shlex.quote(str(path))} && git commit -m {shlex.quote(message)}"
