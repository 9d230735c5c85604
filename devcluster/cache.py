"""Where caches live, and the locks that keep two runs from making the same thing at once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def cache_root() -> Path:
    """The folder of all build caches: ``sandbox-components`` in ``$XDG_CACHE_HOME``, else in ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sandbox-components"


@contextlib.contextmanager
def locked(path: Path, waiting_for: str) -> Iterator[None]:
    """Hold an exclusive lock on a lock file; say once on standard error when another run holds it.

    The lock ends with the process that holds it, however it ends. The file stays: removing it would race.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run: {waiting_for}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts: str | bytes | Path) -> str:
    """A 16 hex digit key of texts, bytes and the contents of files, in this order."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                inner = hashlib.file_digest(file, "sha256").digest()
        else:
            inner = hashlib.sha256(part.encode() if isinstance(part, str) else part).digest()
        total.update(inner)
    return total.hexdigest()[:16]
