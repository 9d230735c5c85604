"""Finding and ending a cluster's processes, by what they are and not by a file of numbers.

Every cluster has two known processes: `unshare`, seen by the host, and the supervisor, process 1 inside.
Both carry the cluster's folder as their last argument, so a scan of /proc finds them whatever was killed,
and no recycled process number is ever ended. Killing either one makes the kernel end all the others.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import ClusterError
from devcluster.paths import clusters_folder

SUPERVISOR_MODULE = "devcluster.supervisor"


@dataclass(frozen=True)
class ClusterProcesses:
    """The host's numbers of the outer and inner first process; None where there is none."""

    outer: int | None = None
    inner: int | None = None


def find(folder: Path) -> ClusterProcesses:
    """The first processes of the cluster in `folder`."""
    return _scan().get(str(folder), ClusterProcesses())


def running_clusters() -> set[str]:
    """Names of clusters with a process, also of those whose folder is gone."""
    top = clusters_folder()
    return {Path(folder).name for folder in _scan() if Path(folder).parent == top}


def _scan() -> dict[str, ClusterProcesses]:
    found: dict[str, ClusterProcesses] = {}
    for pid in _numbers():
        arguments = _arguments(pid)
        if len(arguments) < 4 or arguments[-2] != SUPERVISOR_MODULE or arguments[-3] != "-m":
            continue
        known = found.get(arguments[-1], ClusterProcesses())
        if len(arguments) == 4:
            found[arguments[-1]] = ClusterProcesses(known.outer, pid)
        else:
            # Between fork and exec the inner one still looks like its parent: the older is the outer.
            outer = pid if known.outer is None else min(pid, known.outer)
            found[arguments[-1]] = ClusterProcesses(outer, known.inner)
    return found


def _numbers() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def kill(folder: Path, *, timeout_seconds: float = 20.0) -> None:
    """End every process of the cluster at once and wait until the kernel has taken them away.

    Raises:
        ClusterError: a process was still there after `timeout_seconds`.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        processes = find(folder)
        left = [pid for pid in (processes.outer, processes.inner) if pid is not None]
        if not left:
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"process {left[0]} of cluster {folder.name} doesn't end")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)


def host_number(inner_first: int, inside: int) -> int | None:
    """The host's number of the process that has the number `inside` in the cluster of `inner_first`."""
    namespace = Path(f"/proc/{inner_first}/ns/pid").readlink()
    for pid in _numbers():
        try:
            if Path(f"/proc/{pid}/ns/pid").readlink() != namespace:
                continue
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith("NSpid:") and int(line.split()[-1]) == inside:
                return pid
    return None
