"""Our own Python language host for the Pulumi engine, for machines that don't have the official one.

The engine finds `pulumi-language-python` on PATH, starts it with its own address as the last argument, reads a
port from its standard output and speaks the LanguageRuntime protocol to it. `server` is that process, `launcher`
the fresh child process in which one program or plugin runs. Importing this package loads neither Pulumi nor gRPC.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import threading
from pathlib import Path

from devcluster import cache

NAME = "pulumi-language-python"


def official() -> Path | None:
    """The official host: on PATH (outside our cache), or beside the real pulumi program, where the engine looks."""
    own = str(cache.cache_root())
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if not part.startswith(own))
    if found := shutil.which(NAME, path=path):
        return Path(found)
    if pulumi := shutil.which("pulumi", path=path):
        beside = Path(pulumi).resolve().with_name(NAME)
        if beside.is_file() and os.access(beside, os.X_OK):
            return beside
    return None


def install(folder: Path, interpreter: str | None = None) -> Path:
    """Put the host's executable into a folder, or take it away where the official host is; return the host in use.

    Args:
        folder: a folder that comes on PATH.
        interpreter: a Python that has the Pulumi SDK; default: ``$SANDBOX_LANGUAGE_HOST_PYTHON``, else the one
            that runs this.
    """
    target = folder / NAME
    if found := official():
        target.unlink(missing_ok=True)
        return found
    python = interpreter or os.environ.get("SANDBOX_LANGUAGE_HOST_PYTHON") or sys.executable
    server = Path(__file__).with_name("server.py")
    # The process must be the interpreter itself, not a child of a shell: the engine signals it and watches it.
    text = f'#!/bin/sh\nexec {shlex.quote(python)} {shlex.quote(str(server))} "$@"\n'
    if not target.is_file() or target.read_text() != text:
        fresh = folder / f".{NAME}.{os.getpid()}.{threading.get_ident()}"
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(target)
    return target
