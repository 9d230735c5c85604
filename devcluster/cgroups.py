"""The cluster's control groups: the one thing that outlives its processes, so made and removed by name.

Under version 1 every controller is a tree of its own; under version 2 there is one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from devcluster.errors import ClusterError

ROOT = Path("/sys/fs/cgroup")
PREFIX = "sandbox-components-"


def group_name(cluster: str) -> str:
    """The name of the group that holds all pods of a cluster."""
    return PREFIX + cluster


def is_version_2() -> bool:
    """Whether the machine has the single tree of cgroup version 2."""
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """The mount points of the trees; controllers mounted together appear once."""
    if is_version_2():
        return [ROOT]
    if not ROOT.is_dir():
        return []
    found: dict[tuple[int, int], Path] = {}
    for path in sorted(ROOT.iterdir()):
        # tmpfs entries that aren't mounts have the parent's device number and hold no group files.
        if (path / "cgroup.procs").exists():
            status = path.stat()
            found.setdefault((status.st_dev, status.st_ino), path)
    return list(found.values())


def make(cluster: str) -> None:
    """Make the cluster's group in every tree."""
    name = group_name(cluster)
    if is_version_2():
        controllers = (ROOT / "cgroup.controllers").read_text().split()
        for controller in controllers:
            try:
                (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
            except OSError:
                continue  # a controller that can't be delegated isn't needed by every pod
        (ROOT / name).mkdir(exist_ok=True)
        return
    for tree in hierarchies():
        group = tree / name
        group.mkdir(exist_ok=True)
        # A new cpuset is empty, and nothing can run in it until it is given processors and memory.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (tree / file).exists():
                (group / file).write_text((tree / file).read_text())


def abandoned() -> set[str]:
    """Names of clusters that have left groups on this machine.

    Groups that hold a process aren't among them: their cluster runs, and if nothing else of it is known here, it is
    another user's, or of another cache.
    """
    found, busy = set(), set()
    for tree in hierarchies():
        for path in tree.glob(PREFIX + "*"):
            found.add(path.name.removeprefix(PREFIX))
            if _holds_a_process(path):
                busy.add(path.name.removeprefix(PREFIX))
    return found - busy


def _holds_a_process(top: Path) -> bool:
    for folder, _, _ in os.walk(top):
        try:
            if Path(folder, "cgroup.procs").read_text():
                return True
        except OSError:
            continue  # it goes just now, or (version 2) can hold threads alone
    return False


def remove(cluster: str, *, timeout_seconds: float = 10.0) -> None:
    """Remove the cluster's groups, children first; the processes in them must be gone.

    Raises:
        ClusterError: a group was still busy after `timeout_seconds`.
    """
    deadline = time.monotonic() + timeout_seconds
    for tree in hierarchies():
        top = tree / group_name(cluster)
        while top.exists():
            busy = _remove_tree(top)
            if busy is None:
                break
            if time.monotonic() > deadline:
                raise ClusterError(f"control group {busy} can't be removed: a process is still in it")
            time.sleep(0.05)


def _remove_tree(top: Path) -> Path | None:
    busy = None
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            Path(folder).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            busy = Path(folder)
    return busy
