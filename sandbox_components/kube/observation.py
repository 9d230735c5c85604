"""What is known about one sandbox at one moment, in the words of the product.

Frozen data between the layers: `state` makes it out of Kubernetes' objects, every surface shows it. Attribute names
are the seeds' wire names in snake_case; times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """The observed state, one word."""

    PENDING = "Pending"
    RUNNING = "Running"
    PAUSING = "Pausing"
    PAUSED = "Paused"
    RESUMING = "Resuming"
    ERROR = "Error"


class ProbeStatus(StrEnum):
    """Result of the most recent health check; `none` when no check is configured."""

    PASSING = "passing"
    FAILING = "failing"
    UNKNOWN = "unknown"
    NONE = "none"


@dataclass(frozen=True)
class ExitStatus:
    """How the agent's process ended last."""

    code: int
    signal: str | None = None
    """Such as `SIGKILL`, when a signal ended it."""


@dataclass(frozen=True)
class Probe:
    """The health check's latest news."""

    status: ProbeStatus
    restart_count: int = 0
    last_error: str | None = None


@dataclass(frozen=True)
class HealthCheck:
    """The health check as configured."""

    path: str
    port: int | str
    interval_seconds: int
    initial_delay_seconds: int
    timeout_seconds: int
    failure_threshold: int


@dataclass(frozen=True)
class Workspace:
    """The disk at the mount path; an ephemeral one has no claim."""

    mount_path: str | None
    claim_name: str | None = None
    claim_uid: str | None = None
    phase: str | None = None
    """Bound, Pending, Lost, or None when the claim is missing or there is none."""
    size: str | None = None
    """Size asked for."""
    capacity: str | None = None
    """Size that was provisioned."""
    storage_class: str | None = None

    @property
    def persistent(self) -> bool:
        """Whether files at the mount path survive a pause."""
        return self.claim_name is not None


@dataclass(frozen=True)
class Port:
    """An exposed port of the sandbox's Service."""

    port: int
    name: str | None = None
    protocol: str = "TCP"


@dataclass(frozen=True)
class PauseNote:
    """Who paused the sandbox, when and why; None where nobody said (a plain `kubectl scale`)."""

    by: str | None = None
    at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Event:
    """One event of the sandbox's pod, StatefulSet or claim."""

    at: datetime | None
    kind: str
    """Kind of the object it is about."""
    type: str
    """Normal or Warning."""
    reason: str
    message: str
    count: int = 1


@dataclass(frozen=True)
class Diagnosis:
    """Why a sandbox isn't running as it should, and what to do about it."""

    cause: str
    next_step: str | None = None
    is_error: bool = False
    """It will not come right without a change, or the agent is down: the state is Error rather than Pending."""
    is_hopeless: bool = False
    """Waiting longer can't help."""

    @property
    def text(self) -> str:
        """Cause and next step, as `errorReason` shows them."""
        return f"{self.cause.rstrip('.')}; {self.next_step}" if self.next_step else self.cause


@dataclass(frozen=True)
class Observation:
    """One sandbox, as seen at one moment."""

    name: str
    namespace: str
    state: State
    since: datetime | None
    created_at: datetime | None
    project: str | None
    stack: str | None
    operating_mode: str
    """Running or Paused: what is wanted."""
    image: str | None
    image_digest: str | None
    command: tuple[str, ...]
    resource_limits: Mapping[str, str]
    resource_requests: Mapping[str, str]
    agent_running: bool
    started_at: datetime | None
    last_activity_at: datetime | None
    exit_status: ExitStatus | None
    diagnosis: Diagnosis | None
    probe: Probe
    health_check: HealthCheck | None
    workspace: Workspace
    pause: PauseNote | None
    node: str | None = None
    pod_name: str | None = None
    pod_uid: str | None = None
    pod_ip: str | None = None
    cluster_ip: str | None = None
    service_type: str | None = None
    ports: tuple[Port, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    proxy: str | None = None
    """The inference proxy that it talks to, as NAMESPACE/NAME."""
    grace_seconds: int = 30
    """Time that the agent gets to stop."""
    denied: Mapping[str, str] = field(default_factory=dict)
    """`events`, `lastActivityAt`, `service`, `spendingLimits` or `workspace` → the right that is missing to read it."""

    @property
    def error_reason(self) -> str | None:
        """Cause and next step in one sentence, None when all is well."""
        return self.diagnosis.text if self.diagnosis else None

    @property
    def is_ready(self) -> bool:
        """Whether it runs and nothing is known to be wrong with its health."""
        return self.state is State.RUNNING and self.probe.status in (ProbeStatus.PASSING, ProbeStatus.NONE)
