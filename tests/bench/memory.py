"""Peak memory of a process and what it starts, by what each of them is."""

from __future__ import annotations

import threading
import time
from pathlib import Path

_EVERY_SECONDS = 0.05


class PeakMemory:
    """Watches a process tree until `stop`; a tree's processes come and go, so their own peaks are read all along."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._peaks: dict[int, tuple[str, int]] = {}
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """Return role → KiB that its largest process had at its peak."""
        self._is_done.set()
        self._thread.join()
        found: dict[str, int] = {}
        for role, peak in self._peaks.values():
            found[role] = max(found.get(role, 0), peak)
        return found

    def _watch(self) -> None:
        while not self._is_done.is_set():
            for pid in _tree(self._root):
                role, peak = _role(pid), _peak(pid)
                if role and peak:
                    self._peaks[pid] = (role, max(peak, self._peaks.get(pid, ("", 0))[1]))
            time.sleep(_EVERY_SECONDS)


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            text = _read(path / "stat")
            if text:
                children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(path.name))
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += children.get(pid, [])
    return found


def _role(pid: int) -> str:
    words = _read(Path("/proc", str(pid), "cmdline")).split("\0")
    program = Path(words[0]).name if words[0] else ""
    line = " ".join(words)
    if program == "pulumi":
        return "engine"
    if program == "pulumi-resource-kubernetes":
        return "provider"
    if "language_host" in line or "pulumi-language-python" in line:
        return "program" if "launcher" in line or "programs/" in line else "language host"
    if program.startswith("python"):
        return "command" if "sandbox_components" in line else "program"
    return ""


def _peak(pid: int) -> int:
    for line in _read(Path("/proc", str(pid), "status")).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
