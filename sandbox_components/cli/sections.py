"""The text of `sandbox describe`: sections, every line filled in, and the command that helps next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from sandbox_components.cli.output import NONE, UNKNOWN, age, harmless, print_table, shown
from sandbox_components.errors import SandboxError
from sandbox_components.kube.observation import Observation, State
from sandbox_components.manifests.process import read_process
from sandbox_components.spec.naming import CONTAINER, pod_name

if TYPE_CHECKING:
    from sandbox_components.operations.spend import Standing

_LABEL_WIDTH = 15
_COMMAND_LENGTH = 160
Lines = list[tuple[str, str]]


def print_sections(
    seen: Observation,
    now: datetime,
    *,
    with_events: bool = True,
    limits: Sequence[Standing] | SandboxError | None = None,
) -> None:
    """Print one sandbox for reading.

    Args:
        seen: the sandbox.
        now: the cluster's time.
        with_events: show them.
        limits: of spending, or why they aren't known; None for a sandbox without inference.
    """
    _print_section("Sandbox", _sandbox(seen, now))
    _print_section("Container", _container(seen))
    _print_section("Health", _health(seen, now))
    _print_section("Workspace", _workspace(seen))
    _print_section("Ports", _ports(seen))
    if seen.proxy is not None:
        _print_section("Spending", _spending(seen, limits))
    if with_events:
        _print_events(seen, now)
    for label, step in next_steps(seen):
        click.echo(f"{label}: {harmless(step)}")


def next_steps(seen: Observation) -> Lines:
    """Return the commands that help next with a sandbox in this state."""
    where = f"{seen.name} -n {seen.namespace}"
    steps: Lines = []
    if seen.pod_name and seen.agent_running and seen.workspace.mount_path:
        source = f"{seen.namespace}/{pod_name(seen.name)}:{seen.workspace.mount_path}"
        steps.append(("copy", f"kubectl cp -c {CONTAINER} {source} ./{seen.name}"))
    match seen.state:
        case State.PAUSED | State.PAUSING:
            steps.append(("resume", f"sandbox resume {where}"))
        case State.ERROR:
            previous = " -p" if seen.probe.restart_count else ""
            steps.append(("logs", f"sandbox logs {where}{previous}"))
        case State.PENDING | State.RESUMING:
            steps.append(("watch", f"sandbox list -w -n {seen.namespace}"))
        case State.RUNNING:
            steps.append(("logs", f"sandbox logs {where} -f"))
    return steps


def _sandbox(seen: Observation, now: datetime) -> Lines:
    lines = [
        ("Name", seen.name),
        ("Namespace", seen.namespace),
        ("Stack", "/".join(part for part in (seen.project, seen.stack) if part) or NONE),
        ("State", seen.state.value),
        ("Since", _at(seen.since, now)),
        ("Created", _at(seen.created_at, now)),
    ]
    if seen.diagnosis is not None:
        lines.append(("Reason", seen.diagnosis.cause))
        if seen.diagnosis.next_step:
            lines.append(("Next", seen.diagnosis.next_step))
    if seen.pause is not None:
        lines.append(("Paused by", seen.pause.by or UNKNOWN))
        lines.append(("Paused at", _at(seen.pause.at, now)))
        lines.append(("Pause reason", shown(seen.pause.reason)))
    lines.append(("Labels", ", ".join(f"{k}={v}" for k, v in sorted(seen.labels.items())) or NONE))
    return lines


def _container(seen: Observation) -> Lines:
    return [
        ("Image", shown(seen.image)),
        ("Digest", seen.image_digest or UNKNOWN),
        ("Command", _command(seen.command)),
        ("Limits", _quantities(seen.resource_limits)),
        ("Requests", _quantities(seen.resource_requests)),
        ("Node", shown(seen.node)),
        ("Pod IP", shown(seen.pod_ip)),
    ]


def _command(words: tuple[str, ...]) -> str:
    """Return the command on one line, as it was declared; a whole script in it is cut, `-o json` has it all."""
    if not words:
        return "<the image's>"
    process = read_process(list(words))
    line = (process["command"] if "command" in process else shlex.join(process["entrypoint"])).replace("\n", "\\n")
    return line if len(line) <= _COMMAND_LENGTH else line[: _COMMAND_LENGTH - 1] + "…"


def _health(seen: Observation, now: datetime) -> Lines:
    check, status = seen.health_check, seen.exit_status
    configured = NONE
    if check:
        configured = (
            f"http {check.path} on port {check.port} every {check.interval_seconds}s, from "
            f"{check.initial_delay_seconds}s, timeout {check.timeout_seconds}s, {check.failure_threshold} failures"
        )
    ended = NONE
    if status:
        ended = f"code {status.code}" + (f", {status.signal}" if status.signal else "")
    return [
        ("Agent running", "yes" if seen.agent_running else "no"),
        ("Started", _last(seen.started_at, now)),
        ("Last activity", _denied(seen, "lastActivityAt") or _last(seen.last_activity_at, now)),
        ("Probe", seen.probe.status.value),
        ("Health check", configured),
        ("Restarts", str(seen.probe.restart_count)),
        ("Last error", shown(seen.probe.last_error)),
        ("Exit status", ended),
    ]


def _workspace(seen: Observation) -> Lines:
    disk = seen.workspace
    if not disk.persistent:
        path = shown(disk.mount_path)
        return [("Mount path", path), ("Claim", "<none> (ephemeral: nothing is kept over a pause or restart)")]
    denied = _denied(seen, "workspace")
    size = shown(disk.size)
    if disk.capacity and disk.capacity != disk.size:
        size += f" (provisioned: {disk.capacity})"
    return [
        ("Mount path", f"{shown(disk.mount_path)} (kept; everything else is scratch)"),
        ("Claim", shown(disk.claim_name)),
        ("Phase", denied or disk.phase or UNKNOWN),
        ("Size", denied or size),
        ("Class", denied or shown(disk.storage_class)),
    ]


def _ports(seen: Observation) -> Lines:
    lines = [
        (port.name or "port", f"{port.port}/{port.protocol} at {seen.name}.{seen.namespace}.svc:{port.port}")
        for port in seen.ports
    ]
    denied = _denied(seen, "service")
    return [*(lines or [("Exposed", NONE)]), *([("Service", denied)] if denied else [])]


def _spending(seen: Observation, limits: Sequence[Standing] | SandboxError | None) -> Lines:
    lines = [("Proxy", shown(seen.proxy))]
    if isinstance(limits, SandboxError):
        denied = _denied(seen, "spendingLimits")
        return [*lines, ("Limits", denied or f"{UNKNOWN} ({limits.message})")]
    from sandbox_components.cli.spend_text import limit_lines

    return [*lines, *(limit_lines(limits or ()) or [("Limits", NONE)])]


def _print_section(title: str, lines: Iterable[tuple[str, str]]) -> None:
    click.echo(click.style(title, bold=True))
    for label, value in lines:
        click.echo(f"  {(label + ':').ljust(_LABEL_WIDTH)} {harmless(value)}")
    click.echo()


def _print_events(seen: Observation, now: datetime) -> None:
    click.echo(click.style("Events", bold=True))
    denied = _denied(seen, "events")
    if seen.events:
        rows = [
            [f"  {age(e.at, now)}", e.type, e.reason, e.kind, e.message + (f" (x{e.count})" if e.count > 1 else "")]
            for e in seen.events
        ]
        print_table(["  AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"], rows)
    if denied or not seen.events:
        click.echo(f"  {denied or NONE}")
    click.echo()


def _denied(seen: Observation, part: str) -> str | None:
    """Return what stands in the place of a part that we may not read, None where we may."""
    return f"not allowed: {seen.denied[part]}" if part in seen.denied else None


def _last(moment: datetime | None, now: datetime) -> str:
    return _at(moment, now) if moment else NONE


def _at(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return UNKNOWN
    return f"{moment.isoformat(timespec='seconds').replace('+00:00', 'Z')} ({age(moment, now)} ago)"


def _quantities(resources: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(resources.items())) or NONE
