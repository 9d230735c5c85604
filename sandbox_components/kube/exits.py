"""How a container's process ended: exit code, signal, and what that says to a person."""

from __future__ import annotations

import signal

from sandbox_components.kube.objects import Json, text
from sandbox_components.kube.observation import Diagnosis, ExitStatus

_HINTS = {
    126: "the command was found but can't be executed: check its mode bits and its first line",
    127: "the command was not found in the image: check the entrypoint and the image",
}
_NO_PROCESS = {"StartError", "ContainerCannotRun"}
"""Reasons with which the runtime says that the command never began: code 128 is then its own and no signal."""


def exit_status(terminated: Json | None) -> ExitStatus | None:
    """Read `state.terminated` of a container status; a code of 128+n is signal n, as shells and runtimes have it."""
    if not terminated or not isinstance(terminated.get("exitCode"), int):
        return None
    code = terminated["exitCode"]
    number = terminated.get("signal") or 0
    if not number and code > 128 and terminated.get("reason") not in _NO_PROCESS:
        number = code - 128
    return ExitStatus(code, signal_name(number))


def signal_name(number: int) -> str | None:
    """Return `SIGKILL` for 9 and so on, None for what is no signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRT{number}" if 32 <= number <= 64 else None


def so_far(restarts: int) -> str:
    """Return how often the container has been restarted, to stand behind a cause; nothing for never."""
    return f" ({restarts} restart{'s' if restarts != 1 else ''} so far)" if restarts else ""


def runtime_cause(message: str) -> str:
    """Cut the layers off a container runtime's message: what is left begins with the command that failed."""
    said = " ".join(message.split()).removesuffix(": unknown")
    return said.rpartition("unable to start container process: ")[2].removeprefix("exec: ")


def diagnose_exit(
    terminated: Json, *, name: str, restarts: int, memory_limit: str | None, probe_error: str | None
) -> Diagnosis:
    """Tell why the agent's process is gone.

    Args:
        terminated: the container status's `terminated`.
        name: the sandbox, for the commands to type.
        restarts: how often Kubernetes has restarted the container.
        memory_limit: as configured, named when memory was the cause.
        probe_error: the failed health check that Kubernetes killed the container for, if that was the cause.
    """
    status = exit_status(terminated)
    code = status.code if status else None
    reason = text(terminated, "reason")
    message = " ".join(text(terminated, "message").split())
    times = so_far(restarts)
    logs = f"see `sandbox logs {name} -p`"
    if reason == "OOMKilled":
        limit = f"its limit of {memory_limit}" if memory_limit else "what the node had"
        return Diagnosis(
            f"the agent was killed for want of memory (OOMKilled, exit code {code}): it used more than {limit}{times}",
            f"give it more with `sandbox update {name} --memory SIZE`, or {logs}",
            is_error=True,
        )
    if probe_error is not None:
        return Diagnosis(
            f"the agent was restarted because its health check failed: {probe_error}{times}",
            f"{logs}; a slow start needs a larger initialDelaySeconds",
            is_error=True,
        )
    if reason in _NO_PROCESS:
        return Diagnosis(
            f"the agent's command can't be started: {runtime_cause(message) or reason}{times}",
            "check the entrypoint and the image",
            is_error=True,
            is_hopeless=True,
        )
    if reason == "Unknown":
        return Diagnosis(
            f"the agent's container was lost when its node or container runtime restarted (exit code {code}){times}",
            logs,
            is_error=True,
        )
    if code == 0:
        return Diagnosis(
            f"the agent's command ended with exit code 0{times}: a sandbox's command has to keep running, "
            "so Kubernetes starts it again",
            f"{logs}; keep a process in the foreground",
            is_error=True,
        )
    if status and status.signal:
        return Diagnosis(f"the agent was ended by {status.signal} (exit code {code}){times}", logs, is_error=True)
    hint = f"{_HINTS[code]}; {logs}" if code in _HINTS else logs
    said = f": {message}" if message else ""
    return Diagnosis(f"the agent's command ended with exit code {code}{times}{said}", hint, is_error=True)
