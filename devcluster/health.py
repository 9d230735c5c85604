"""How a cluster's components are, as seen by the driver, and waiting until all are well."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from devcluster import control, processes
from devcluster.errors import ClusterError
from devcluster.paths import ClusterFolder

RESTART_LIMIT = 5
LOG_LINES = 12
POLL_SECONDS = 0.3
REPORT_SECONDS = 5.0

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ComponentState:
    """How one component is.

    Attributes:
        name: such as `kubelet`.
        pid: its process number inside the cluster; None when it isn't running.
        restarts: how often it ended without being asked to.
        problem: why it isn't healthy; empty when it is.
    """

    name: str
    pid: int | None
    restarts: int
    problem: str


def components(files: ClusterFolder) -> dict[str, ComponentState]:
    """How every component is, by name.

    Raises:
        ClusterError: the cluster isn't running or doesn't answer.
    """
    answer = control.ask(files.control_socket, {"do": "status"})
    return {
        name: ComponentState(name, state["pid"], state["restarts"], state["problem"])
        for name, state in answer["components"].items()
    }


def wait(files: ClusterFolder, timeout_seconds: float, progress: Progress) -> None:
    """Wait until every component is healthy.

    Args:
        files: the cluster's.
        timeout_seconds: how long to wait.
        progress: told every five seconds which components are awaited.

    Raises:
        ClusterError: the cluster ended, a component kept ending, or one still wasn't healthy. The text names
            the first such component and shows its log's last lines.
    """
    deadline = time.monotonic() + timeout_seconds
    next_report = time.monotonic() + REPORT_SECONDS
    restarts: dict[str, int] = {}
    while True:
        ill: list[ComponentState] = []
        try:
            states = components(files)
        except ClusterError as error:
            text = str(error)
            if processes.find(files.root).inner is None:
                raise ClusterError(f"cluster {files.name} ended:\n{log_end(files, 'supervisor')}") from error
        else:
            ill = [state for state in states.values() if state.problem]
            if not ill:
                return
            restarts = restarts or {name: state.restarts for name, state in states.items()}
            for one in ill:
                if one.restarts - restarts[one.name] >= RESTART_LIMIT:
                    raise ClusterError(_describe(files, one, "keeps ending"))
            text = ", ".join(state.name for state in ill)
        if time.monotonic() > deadline:
            what = f"isn't healthy after {timeout_seconds:.0f} s"
            raise ClusterError(_describe(files, ill[0], what) if ill else text)
        if time.monotonic() > next_report:
            progress(f"cluster {files.name}: waiting for {text}")
            next_report += REPORT_SECONDS
        time.sleep(POLL_SECONDS)


def _describe(files: ClusterFolder, state: ComponentState, what: str) -> str:
    return (
        f"cluster {files.name}: {state.name} {what} ({state.problem}). "
        f"The end of {files.logs / state.name}.log:\n{log_end(files, state.name)}"
    )


def log_end(files: ClusterFolder, name: str) -> str:
    """The last lines of a component's log, or of the supervisor's, indented."""
    try:
        lines = (files.logs / f"{name}.log").read_text(errors="replace").splitlines()
    except OSError:
        return "  (no log)"
    return "\n".join("  " + line[:300] for line in lines[-LOG_LINES:]) or "  (empty)"
