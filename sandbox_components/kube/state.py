"""The one place where Kubernetes' words become the product's: state, exit status, error reason, probe.

Pure: a snapshot and the time in, an observation out. The order of the questions matters and is the order below:
is it wanted at all, is there a pod, is that pod going away, is it placed, does its container run, is it healthy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from sandbox_components.kube import probes, record
from sandbox_components.kube.creation import diagnose_creation
from sandbox_components.kube.exits import diagnose_exit, exit_status, so_far
from sandbox_components.kube.images import PULL_REASONS, diagnose_waiting
from sandbox_components.kube.objects import Json, condition, dig, items, moment, named, text, uid
from sandbox_components.kube.observation import Diagnosis, ExitStatus, Observation, Probe, ProbeStatus, State
from sandbox_components.kube.portrait import portray
from sandbox_components.kube.scheduling import diagnose_claim, diagnose_unscheduled
from sandbox_components.kube.snapshot import SandboxSnapshot, agent_container, claim_of
from sandbox_components.spec.naming import CONTAINER, pod_name

_RECENT = timedelta(minutes=10)
"""After ten minutes without a crash the kubelet forgets its back-off: so long a past exit explains a restart."""
_SLACK = timedelta(seconds=5)
_RESUME_WINDOW = timedelta(minutes=10)
_OVERDUE = timedelta(seconds=15)
_VOLUME_TROUBLE = {"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"}
_DIGEST = re.compile(r"@([a-z0-9]+:[0-9a-f]{32,})$")


@dataclass(frozen=True)
class _Verdict:
    state: State
    since: datetime | None
    diagnosis: Diagnosis | None = None


def observe(snapshot: SandboxSnapshot, now: datetime, *, last_log_at: datetime | None = None) -> Observation:
    """Tell what a sandbox is doing.

    Args:
        snapshot: its objects.
        now: the cluster's time.
        last_log_at: time of the agent's last log line, where it was asked for.
    """
    return _Observer(snapshot, now).observation(last_log_at)


class _Observer:
    """The facts that several questions share, read once."""

    def __init__(self, snapshot: SandboxSnapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.now = now
        self.name = snapshot.name
        self.pod = snapshot.pod
        self.record = record.read(snapshot.statefulset)
        replicas = dig(snapshot.statefulset, "spec", "replicas")
        self.is_wanted = replicas != 0
        self.container = agent_container(dig(self.pod, "spec") or snapshot.pod_template)
        statuses = items(self.pod, "status", "containerStatuses")
        self.status = named(statuses, CONTAINER) or (statuses[0] if len(statuses) == 1 else None)
        self.pod_events = snapshot.events_of(self.pod)
        self.restarts = int(dig(self.status, "restartCount") or 0)

    def observation(self, last_log_at: datetime | None) -> Observation:
        verdict = self._judge()
        is_paused = verdict.state is State.PAUSED
        noted = self.record if is_paused and self.record and self.record.mode == "Paused" else None
        running = dig(self.status, "state", "running")
        started = moment(dig(running, "startedAt")) or moment(dig(self._terminated(), "startedAt"))
        activity = max((t for t in (started, last_log_at) if t), default=None)
        return portray(
            self.snapshot,
            state=verdict.state,
            since=verdict.since,
            operating_mode="Running" if self.is_wanted else "Paused",
            diagnosis=verdict.diagnosis,
            pause=self.record if self.record and self.record.mode == "Paused" and not self.is_wanted else None,
            agent_running=running is not None,
            exit_status=noted.exit_status if noted else self._exit(),
            image_digest=noted.image_digest if noted else self._digest(),
            started_at=noted.started_at if noted else started,
            last_activity_at=noted.last_activity_at if noted else activity,
            probe=self._probe(noted),
        )

    def _judge(self) -> _Verdict:
        if not self.is_wanted:
            return self._going_down()
        if self.pod is None:
            return self._without_pod()
        if dig(self.pod, "metadata", "deletionTimestamp"):
            return self._being_replaced(self.pod)
        if text(self.pod, "status", "phase") == "Failed":
            return self._failed(self.pod)
        return self._with_pod(self.pod)

    def _going_down(self) -> _Verdict:
        """Answer for replicas 0: paused only when the pod is gone and the controller can't make one any more."""
        noted = self.record if self.record and self.record.mode == "Paused" else None
        since = noted.at if noted else None
        statefulset = self.snapshot.statefulset
        seen = dig(statefulset, "status", "observedGeneration") or 0
        is_unseen = seen < (dig(statefulset, "metadata", "generation") or 0)
        if self.pod is None and not (is_unseen and dig(statefulset, "status", "replicas")):
            return _Verdict(State.PAUSED, since)
        return _Verdict(State.PAUSING, since or self._deletion_asked(), self._overdue())

    def _without_pod(self) -> _Verdict:
        created = moment(dig(self.snapshot.statefulset, "metadata", "creationTimestamp"))
        since = self.record.at if self.record and self.record.at else created
        events = self.snapshot.events_of(self.snapshot.statefulset)
        # A refusal from before the last pause or resume says nothing about now.
        events = [e for e in events if not self.record or self._is_after(probes.event_time(e), self.record.at)]
        refused = diagnose_creation(events, name=self.name, namespace=self.snapshot.namespace)
        if refused is not None:
            return _Verdict(State.ERROR, probes.event_time(events[-1]), refused)
        return _Verdict(self._beginning(), since)

    def _being_replaced(self, pod: Json) -> _Verdict:
        asked = self._deletion_asked()
        is_resume = self.record is not None and self.record.at is not None and self._is_after(self.record.at, asked)
        if is_resume:
            return _Verdict(State.RESUMING, asked, self._overdue())
        disruption = condition(pod, "DisruptionTarget")
        said = text(disruption, "message") if dig(disruption, "status") == "True" else ""
        cause = Diagnosis(f"its pod is being moved: {said}") if said else None
        return _Verdict(State.PENDING, asked, self._overdue() or cause)

    def _failed(self, pod: Json) -> _Verdict:
        """A failed pod is deleted and made anew by the StatefulSet controller; until then it says why."""
        reason, said = text(pod, "status", "reason"), " ".join(text(pod, "status", "message").split())
        finished = moment(dig(self._terminated(), "finishedAt"))
        if reason == "Evicted":
            node = text(pod, "spec", "nodeName")
            cause = f"its pod was evicted from node {node or '<unknown>'}: {said or reason}"
            step = "Kubernetes makes a new one; what was written outside the workspace is gone"
            return _Verdict(State.ERROR, finished, Diagnosis(cause, step, is_error=True))
        if reason or said:
            cause = f"its pod failed: {': '.join(part for part in (reason, said) if part)}"
            return _Verdict(State.ERROR, finished, Diagnosis(cause, "Kubernetes makes a new one", is_error=True))
        terminated = dig(self.status, "state", "terminated")
        diagnosis = self._exit_diagnosis(terminated) if terminated else Diagnosis("its pod failed", is_error=True)
        return _Verdict(State.ERROR, finished, diagnosis)

    def _with_pod(self, pod: Json) -> _Verdict:
        created = moment(dig(pod, "metadata", "creationTimestamp"))
        wanted = claim_of(dig(pod, "spec") or {})
        claim = self.snapshot.claim
        trouble = None
        if claim is not None or not self.snapshot.is_partial:
            events = self.snapshot.events_of(claim)
            trouble = diagnose_claim(claim, wanted, self.snapshot.storage_classes, events)
        if not text(pod, "spec", "nodeName"):
            found = diagnose_unscheduled(pod, name=self.name, claim=trouble) or trouble
            return self._beginning_or_error(created, found)
        running = dig(self.status, "state", "running")
        if running is not None:
            return self._up(pod, moment(dig(running, "startedAt")))
        terminated = dig(self.status, "state", "terminated")
        if terminated is not None:
            return _Verdict(State.ERROR, moment(dig(terminated, "finishedAt")), self._exit_diagnosis(terminated))
        return self._waiting(pod, created, trouble)

    def _waiting(self, pod: Json, created: datetime | None, claim_trouble: Diagnosis | None) -> _Verdict:
        reason = text(self.status, "state", "waiting", "reason")
        message = text(self.status, "state", "waiting", "message")
        last = dig(self.status, "lastState", "terminated")
        if reason == "CrashLoopBackOff" or (reason == "RunContainerError" and last):
            since = moment(dig(last, "finishedAt")) or created
            fallback = Diagnosis(f"the agent ends again and again: {message or reason}", is_error=True)
            diagnosis = self._exit_diagnosis(last) if last else fallback
            is_hopeless = diagnosis.is_hopeless or self.restarts >= 3
            return _Verdict(State.ERROR, since, Diagnosis(diagnosis.cause, diagnosis.next_step, True, is_hopeless))
        found = self._init_trouble(pod) or diagnose_waiting(
            reason, message, name=self.name, image=text(self.container, "image"), pull_error=self._pull_error()
        )
        return self._beginning_or_error(created, found or claim_trouble or self._node_trouble())

    def _up(self, pod: Json, started: datetime | None) -> _Verdict:
        """Answer for a running container, whose health may not be known yet, or be bad."""
        status = self._probe(None).status
        if dig(self.status, "ready"):
            if dig(condition(pod, "Ready"), "status") != "True" and not dig(pod, "spec", "readinessGates"):
                node = text(pod, "spec", "nodeName")
                cause = f"node {node} has stopped reporting: whether the agent runs is not known"
                return _Verdict(State.RUNNING, started, Diagnosis(cause, f"see `kubectl get node {node}`"))
            return _Verdict(State.RUNNING, started, self._past_crash())
        if status is ProbeStatus.NONE:
            return _Verdict(self._beginning(), started)
        check = probes.health_check(self.container)
        patience = check.initial_delay_seconds + check.interval_seconds if check else 0
        is_starting = started is not None and self.now - started <= timedelta(seconds=patience)
        if is_starting and self.restarts == 0:
            return _Verdict(self._beginning(), started)
        if status is not ProbeStatus.FAILING:
            return _Verdict(State.RUNNING, started, self._past_crash())
        error = probes.error_of(probes.last_unhealthy(self.pod_events))
        cause = f"its health check fails: {error or 'it is not ready'}{so_far(self.restarts)}"
        where = f"the check asks port {check.port} for {check.path}" if check else ""
        return _Verdict(State.RUNNING, started, Diagnosis(cause, f"{where}; see `sandbox logs {self.name}`"))

    def _beginning_or_error(self, since: datetime | None, found: Diagnosis | None) -> _Verdict:
        state = State.ERROR if found and found.is_error else self._beginning()
        return _Verdict(state, since, found or self._past_eviction("a new pod starts, because the one before"))

    def _beginning(self) -> State:
        """Resuming if this start is the one that a resume asked for, else Pending."""
        noted = self.record
        if noted is None or noted.at is None:
            return State.PENDING
        began = moment(dig(self.pod, "metadata", "creationTimestamp")) or self.now
        if not self._is_after(began, noted.at):
            return State.PENDING
        if noted.mode == "Paused":  # scaled up by other means than the command
            return State.RESUMING
        generation = dig(self.snapshot.statefulset, "metadata", "generation")
        is_changed = noted.generation is not None and generation is not None and generation != noted.generation
        return State.PENDING if is_changed or began > noted.at + _RESUME_WINDOW else State.RESUMING

    def _past_crash(self) -> Diagnosis | None:
        """Explain a restart of the last minutes, which a running agent doesn't show any more."""
        last = dig(self.status, "lastState", "terminated")
        finished = moment(dig(last, "finishedAt"))
        if last is None or finished is None or self.now - finished > _RECENT:
            return self._past_eviction("it runs again, but before its pod")
        past = self._exit_diagnosis(last)
        return Diagnosis(f"it runs again, but before {past.cause}", past.next_step)

    def _past_eviction(self, lead: str) -> Diagnosis | None:
        """Explain a pod of the last minutes that was evicted: its successor has no memory of it, only events have."""
        for event in reversed(self.snapshot.events):
            involved = dig(event, "involvedObject") or {}
            at = probes.event_time(event)
            is_ours = involved.get("kind") == "Pod" and involved.get("name") == pod_name(self.name)
            if text(event, "reason") != "Evicted" or not is_ours or involved.get("uid") == uid(self.pod) or at is None:
                continue
            if self.now - at > _RECENT or (self.record and self.record.at and at < self.record.at):
                return None
            said = " ".join(text(event, "message").split())
            return Diagnosis(f"{lead} was evicted: {said}", "what was written outside the workspace is gone")
        return None

    def _exit_diagnosis(self, terminated: Json) -> Diagnosis:
        finished = moment(dig(terminated, "finishedAt"))
        return diagnose_exit(
            terminated,
            name=self.name,
            restarts=self.restarts,
            memory_limit=text(self.container, "resources", "limits", "memory") or None,
            probe_error=probes.killed_by_probe(self.pod_events, finished),
        )

    def _init_trouble(self, pod: Json) -> Diagnosis | None:
        """A container that something else put in front of ours may be what doesn't start."""
        for status in items(pod, "status", "initContainerStatuses"):
            reason = text(status, "state", "waiting", "reason")
            if reason in ("", "PodInitializing", "ContainerCreating"):
                continue
            message = text(status, "state", "waiting", "message")
            name = text(status, "name")
            return Diagnosis(
                f'the init container "{name}" does not start: {reason}: {" ".join(message.split())}'.rstrip(": "),
                f"see `kubectl logs {text(pod, 'metadata', 'name')} -c {name}`",
                is_error=True,
            )
        return None

    def _pull_error(self) -> str | None:
        failed = [e for e in self.pod_events if text(e, "reason") in ("Failed", *PULL_REASONS)]
        said = [text(e, "message") for e in failed if "pull" in text(e, "message")]
        return next((m for m in reversed(said) if m != "Error: ErrImagePull" and "Back-off" not in m), None)

    def _node_trouble(self) -> Diagnosis | None:
        """A volume that can't be mounted or a network that can't be set up, as the newest warning says."""
        last = next((e for e in reversed(self.pod_events) if text(e, "type") == "Warning"), None)
        if last is None or text(last, "reason") not in _VOLUME_TROUBLE:
            return None
        said = " ".join(text(last, "message").split())
        if "Multi-Attach" in said:
            return Diagnosis(f"its volume is still attached elsewhere: {said}", "it goes on once that node lets go")
        return Diagnosis(f"the node can't set up the pod: {text(last, 'reason')}: {said}")

    def _overdue(self) -> Diagnosis | None:
        due = moment(dig(self.pod, "metadata", "deletionTimestamp"))
        if due is None or self.now <= due + _OVERDUE:
            return None
        node = text(self.pod, "spec", "nodeName")
        cause = f"its pod was to be gone at {due.isoformat()}, but node {node} has not confirmed it"
        return Diagnosis(cause, f"see `kubectl get node {node}`")

    def _deletion_asked(self) -> datetime | None:
        due = moment(dig(self.pod, "metadata", "deletionTimestamp"))
        grace = dig(self.pod, "metadata", "deletionGracePeriodSeconds") or 0
        return due - timedelta(seconds=grace) if due else None

    def _is_after(self, event: datetime | None, start: datetime | None) -> bool:
        """Whether `event` is not before `start`, as far as clocks and whole seconds can tell."""
        return event is not None and (start is None or event >= start - _SLACK)

    def _terminated(self) -> Json | None:
        found = dig(self.status, "state", "terminated") or dig(self.status, "lastState", "terminated")
        return found if isinstance(found, dict) else None

    def _exit(self) -> ExitStatus | None:
        return exit_status(self._terminated())

    def _digest(self) -> str | None:
        """The digest of what runs; an image that never came from a registry has none."""
        match = _DIGEST.search(text(self.status, "imageID"))
        return match.group(1) if match else None

    def _probe(self, noted: record.Record | None) -> Probe:
        if noted is not None or self.pod is None:
            configured = probes.health_check(self.container) is not None
            status = ProbeStatus.UNKNOWN if configured else ProbeStatus.NONE
            return Probe(status, noted.restart_count if noted else 0, noted.last_error if noted else None)
        return Probe(
            probes.probe_status(self.pod, self.container, self.status, self.pod_events, self.now),
            self.restarts,
            probes.error_of(probes.last_unhealthy(self.pod_events)),
        )
