"""Starting and reaping processes as process 1, which inherits every orphan of the node.

`subprocess` can't be used beside a process that reaps everything: it would lose exit codes. So all of the
supervisor's own children are started here, and one loop reaps them and the strangers.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path


class Child:
    """A started process of ours."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        self._ended = threading.Event()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the end; whether it came. Then `exit_code` is set, negative for a signal."""
        return self._ended.wait(timeout_seconds)

    def end(self, exit_code: int) -> None:
        """Record the end; called by the reaper."""
        self.exit_code = exit_code
        self._ended.set()

    def signal(self, number: int) -> None:
        """Send a signal, if the process is still there."""
        if not self._ended.is_set():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return


class Reaper:
    """The children by number, and the one place that waits for them."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._children: dict[int, Child] = {}
        self._lock = threading.Lock()

    def start(self, command: tuple[str, ...], output: Path) -> Child:
        """Start a command in its own session, its output appended to `output`.

        Raises:
            FileNotFoundError: there is no such program on the components' PATH.
        """
        program = shutil.which(command[0], path=self._environment["PATH"])
        if program is None:
            raise FileNotFoundError(f"no program {command[0]}")
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        # The lock covers start and entry, or a short-lived child could be reaped as a stranger in between.
        with self._lock:
            pid = os.posix_spawn(
                program,
                command,
                self._environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(output), append, 0o644),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE],
            )
            child = self._children[pid] = Child(pid)
        return child

    def reap(self) -> None:
        """Take in all that has ended."""
        while True:
            with self._lock:
                try:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                except ChildProcessError:
                    return
                if pid == 0:
                    return
                child = self._children.pop(pid, None)
            if child is not None:
                child.end(os.waitstatus_to_exitcode(status))
