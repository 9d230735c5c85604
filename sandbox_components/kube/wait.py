"""Waiting for a pod of the wanted revision to be Ready: news from real events, an early end when it can't come right.

What create, update and resume promise. What pause promises is in `departure`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sandbox_components.errors import NotFound, Refused, SandboxError, TimedOut, Unreachable
from sandbox_components.kube import paths, probes
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.departure import wait_gone
from sandbox_components.kube.news import Report, headline, silent, spoken
from sandbox_components.kube.objects import Json, dig, name_of, text, uid
from sandbox_components.kube.observation import Observation, State
from sandbox_components.kube.snapshot import SandboxSnapshot, agent_container, in_order, read_around, read_statefulset
from sandbox_components.kube.state import observe
from sandbox_components.kube.watching import Change, Feed, Source, applied, outlast, pods_of
from sandbox_components.spec.naming import pod_name

__all__ = ["Report", "silent", "wait_gone", "wait_ready"]

_PATIENCE_SECONDS = 30.0
_TICK_SECONDS = 1.0
_REREAD_SECONDS = 5.0
_SETTLE_SECONDS = 0.2
_STEADY = timedelta(seconds=10)


@dataclass
class _Candidate:
    """One sandbox that is waited for."""

    snapshot: SandboxSnapshot
    old_uid: str = ""
    told: set[str] = field(default_factory=set)
    read_at: float = 0.0


def wait_ready(
    cluster: Cluster,
    namespace: str,
    names: Iterable[str],
    *,
    timeout: timedelta | None = None,
    since: datetime | None = None,
    old_uids: Mapping[str, str] | None = None,
    report: Report = silent,
) -> dict[str, Observation]:
    """Wait until each sandbox has a Ready pod of the StatefulSet's newest revision.

    Args:
        cluster: where.
        namespace: in which namespace.
        names: the sandboxes.
        timeout: for all together; by default 5 minutes and what the slowest health check needs.
        since: what refused a pod before this moment is forgotten; by default now.
        old_uids: UIDs of pods that must be replaced, by sandbox.
        report: gets the news.

    Raises:
        NotFound: one of them isn't there.
        Refused: one of them can't come right; says why.
        TimedOut: it takes longer; goes on without us.
    """
    begun = since or cluster.now()
    waiting: dict[str, _Candidate] = {}
    for name in dict.fromkeys(names):
        read = functools.partial(read_statefulset, cluster, namespace, name)
        statefulset = outlast(read, time.monotonic() + _PATIENCE_SECONDS)
        waiting[name] = _Candidate(SandboxSnapshot(statefulset, is_partial=True), (old_uids or {}).get(name, ""))
    if timeout is None:
        waits = [probes.default_wait(_template_container(c.snapshot)) for c in waiting.values()]
        timeout = max(waits, default=timedelta(minutes=5))
    return _Ready(cluster, namespace, waiting, begun, timeout, report).run()


class _Ready:
    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        waiting: dict[str, _Candidate],
        begun: datetime,
        timeout: timedelta,
        report: Report,
    ) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.waiting = waiting
        self.begun = begun
        self.timeout = timeout
        self.report = report
        self.done: dict[str, Observation] = {}
        self.failed: dict[str, SandboxError] = {}
        self.pods: dict[str, Json] = {}
        self.events: dict[str, Json] = {}
        self.is_settling = False

    def run(self) -> dict[str, Observation]:
        deadline = time.monotonic() + self.timeout.total_seconds()
        sources = [
            pods_of(self.namespace, self.waiting),
            Source("events", paths.events(self.namespace), skip_old=True),
        ]
        with Feed(self.cluster, sources, until=deadline) as feed:
            while self.waiting:
                tick = _SETTLE_SECONDS if self.is_settling else _TICK_SECONDS
                change = feed.next(min(tick, deadline - time.monotonic()))
                touched = list(self.waiting)
                if change is not None:
                    touched = self._take(change)
                for name in touched:
                    self._look(name, is_tick=change is None)
                if self.waiting and time.monotonic() >= deadline:
                    self._time_out()
        if self.failed:
            raise _joined(list(self.failed.values()))
        return self.done

    def _take(self, change: Change) -> list[str]:
        """Note a change; return the names that it may matter to."""
        if change.key == "pods":
            self.pods = applied(change, self.pods)
            return [n for n in self.waiting if change.whole or any(name_of(o) == pod_name(n) for o in change.objects)]
        touched = []
        for event in change.objects:
            self.events[uid(event)] = event
            involved = text(event, "involvedObject", "name")
            touched += [n for n in self.waiting if involved == n or involved.startswith(f"{n}-")]
        return list(dict.fromkeys(touched))

    def _look(self, name: str, *, is_tick: bool) -> None:
        candidate = self.waiting[name]
        try:
            if is_tick and time.monotonic() - candidate.read_at > _REREAD_SECONDS:
                self._reread(name)
            observation = self._observe(name)
            self._tell(name, observation)
            is_stuck = observation.diagnosis is not None and observation.diagnosis.is_hopeless
            if not is_stuck and not self._seems_ready(name, observation):
                return
            # Decide only on what the StatefulSet itself says now: the pod may be one that is about to be replaced.
            self._reread(name) if is_stuck else self._reread_statefulset(name)
            observation = self._observe(name)
            if not self._is_fresh(name):
                return
            if self._seems_ready(name, observation):
                self.report(name, "ready")
                self.done[name] = observation
                del self.waiting[name]
            elif observation.diagnosis is not None and observation.diagnosis.is_hopeless:
                self._give_up(name, observation)
        except NotFound as error:
            self.failed[name] = error
            del self.waiting[name]
        except Unreachable as error:  # a moment's absence of the API server ends no wait
            candidate.read_at = time.monotonic()
            if error.message not in candidate.told:
                candidate.told.add(error.message)
                self.report(name, f"{error.message}; trying again")

    def _give_up(self, name: str, observation: Observation) -> None:
        assert observation.diagnosis is not None
        suggestions = [f"sandbox describe {name} -n {self.namespace}"]
        if observation.diagnosis.next_step:
            suggestions.insert(0, observation.diagnosis.next_step)
        self.failed[name] = Refused(
            f"{name} can't become ready: {observation.diagnosis.cause}", suggestions=suggestions, code="sandbox_error"
        )
        del self.waiting[name]

    def _observe(self, name: str) -> Observation:
        snapshot = self.waiting[name].snapshot
        known = {uid(event): event for event in snapshot.events}
        known |= {
            key: event
            for key, event in self.events.items()
            if text(event, "involvedObject", "name") in (name, pod_name(name), name_of(snapshot.claim))
        }
        current = [e for e in known.values() if text(e, "reason") != "FailedCreate" or self._is_current(e)]
        pod = self.pods.get(pod_name(name))
        return observe(replace(snapshot, pod=pod, events=in_order(current)), self.cluster.now())

    def _is_current(self, event: Json) -> bool:
        at = probes.event_time(event)
        return at is None or at >= self.begun - timedelta(seconds=2)

    def _seems_ready(self, name: str, observation: Observation) -> bool:
        """Whether it is Ready; who has crashed has to run for a while, for who always crashes runs for a moment too."""
        if not observation.is_ready or observation.pod_uid == self.waiting[name].old_uid:
            return False
        begun = observation.started_at
        is_new = begun is not None and abs(self.cluster.now() - begun) < _STEADY  # the node's clock may be ahead
        return not (observation.probe.restart_count and is_new)

    def _is_fresh(self, name: str) -> bool:
        """Whether the StatefulSet has been seen by its controller, and the pod is of its newest revision."""
        candidate = self.waiting[name]
        statefulset = candidate.snapshot.statefulset
        seen = dig(statefulset, "status", "observedGeneration") or 0
        pod = self.pods.get(pod_name(name))
        revision = text(pod, "metadata", "labels", "controller-revision-hash")
        wanted = text(statefulset, "status", "updateRevision")
        is_seen = seen >= (dig(statefulset, "metadata", "generation") or 0)
        is_new = pod is None or (uid(pod) != candidate.old_uid and (not wanted or not revision or revision == wanted))
        self.is_settling = not (is_seen and is_new)
        return is_seen and is_new

    def _reread(self, name: str) -> None:
        candidate = self.waiting[name]
        statefulset = read_statefulset(self.cluster, self.namespace, name)
        candidate.snapshot = read_around(self.cluster, statefulset)
        candidate.read_at = time.monotonic()
        if candidate.snapshot.pod is not None:
            self.pods[pod_name(name)] = candidate.snapshot.pod
        else:
            self.pods.pop(pod_name(name), None)

    def _reread_statefulset(self, name: str) -> None:
        candidate = self.waiting[name]
        statefulset = read_statefulset(self.cluster, self.namespace, name)
        candidate.snapshot = replace(candidate.snapshot, statefulset=statefulset)

    def _tell(self, name: str, observation: Observation) -> None:
        """Report each piece of news once."""
        candidate = self.waiting[name]
        pod = self.pods.get(pod_name(name))
        about = {uid(pod), uid(candidate.snapshot.statefulset), uid(candidate.snapshot.claim)} - {""}
        news = [
            headline(event)
            for event in in_order(self.events.values())
            if text(event, "involvedObject", "uid") in about
            or text(event, "involvedObject", "name") == observation.workspace.claim_name
        ]
        if observation.state is State.PAUSED:
            news.append("it is paused, and waits for `sandbox resume`")
        if observation.diagnosis is not None and observation.pod_uid != candidate.old_uid:
            news.append(observation.diagnosis.cause)
        for line in news:
            if line is not None and line not in candidate.told:
                candidate.told.add(line)
                self.report(name, line)

    def _time_out(self) -> None:
        for name in list(self.waiting):
            observation = self._observe(name)
            cause = f": {observation.diagnosis.cause.rstrip('.')}" if observation.diagnosis else ""
            if observation.is_ready and observation.probe.restart_count:
                cause = f": it has crashed, and hasn't run for {_STEADY.seconds} s since"
            self.failed[name] = TimedOut(
                f"{name} is not ready after {spoken(self.timeout)} (state {observation.state}){cause}; it goes on",
                suggestions=[f"sandbox describe {name} -n {self.namespace}"],
            )
            del self.waiting[name]


def _joined(errors: list[SandboxError]) -> SandboxError:
    """One error for several sandboxes: the first one's kind and exit code, all messages."""
    first = errors[0]
    if len(errors) > 1:
        first.message = "\n  ".join(error.message for error in errors)
        first.suggestions = tuple(dict.fromkeys(step for error in errors for step in error.suggestions))
    return first


def _template_container(snapshot: SandboxSnapshot) -> Json | None:
    return agent_container(snapshot.pod_template)
