"""Compares two revisions of a sandbox, or one with what the cluster holds.

Secret values are decrypted and compared in memory, and only where the Secret's name doesn't tell already; what leaves
this module is "changed", "unchanged" or "unknown".
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import Interrupted, InvalidInput, NotFound, SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import items, text
from sandbox_components.kube.snapshot import read_statefulset
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.history import open_history
from sandbox_components.operations.revisions import read_timeline
from sandbox_components.revisions.difference import CHANGED, UNCHANGED, Difference, difference, unsure_secrets
from sandbox_components.revisions.live import live_groups
from sandbox_components.revisions.model import History
from sandbox_components.revisions.timeline import Revision, Timeline

LIVE = "live"
Connect = Callable[[], Cluster]
"""Connects to the cluster that the stack is in."""


@dataclass(frozen=True)
class Side:
    """One of the two that are compared.

    Attributes:
        revision: None for what the cluster holds.
        groups: the six groups.
    """

    revision: Revision | None
    groups: Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Two sides and what differs.

    Attributes:
        name: the sandbox's.
        old: the first side.
        new: the second side.
        difference: from old to new.
        drift: where one side is the cluster: groups in which it differs from the revision that the stack has now.
        current: that revision.
        by: other field managers than the stack's that own parts of the pod template, with their times.
        notes: what could not be told, and why.
        is_whole: False where revisions' numbers are not sure.
    """

    name: str
    old: Side
    new: Side
    difference: Difference
    drift: tuple[str, ...] = ()
    current: Revision | None = None
    by: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_whole: bool = True

    @property
    def is_live(self) -> bool:
        """Whether one side is the cluster."""
        return self.old.revision is None or self.new.revision is None


def compare(engine: Engine, name: str, first: str | None, second: str | None, connect: Connect) -> Comparison:
    """Compare two revisions, or one with the cluster.

    Args:
        engine: of the stack.
        name: of the sandbox.
        first: a number, an id or `live`; None is the revision before the last one.
        second: the same; None is the last one, or where `first` is `live`, the cluster.
        connect: only called for `live`.

    Raises:
        NotFound: there is no such sandbox, revision, or no second one.
        InvalidInput: a revision's number is not sure, or both sides are the cluster.
    """
    history = open_history(engine)
    line = read_timeline(engine, name, history)
    old, new = _chosen(line, first, second)
    notes = list(line.problems)
    if old is not None and new is not None:
        verdicts = _verdicts(engine, history, name, old, new, notes)
        found = difference(_groups(old), _groups(new), verdicts)
        return Comparison(
            name, Side(old, old.spec), Side(new, new.spec), found, notes=tuple(notes), is_whole=line.is_whole
        )
    return _with_cluster(engine, history, line, old, new, connect, notes)


def _chosen(line: Timeline, first: str | None, second: str | None) -> tuple[Revision | None, Revision | None]:
    """Return both sides' revisions; None stands for the cluster."""
    last = line.current() or line.revisions[-1]
    if first == LIVE and second == LIVE:
        raise InvalidInput("TO", "both sides are the cluster: compare it with a revision, or leave TO out")
    if first == LIVE and second is None:
        return last, None
    if first is None:
        before = line.before(last)
        if before is None:
            raise NotFound(
                f"{line.name} has one revision, and none to compare it with",
                suggestions=[
                    f"sandbox revisions {line.name} --revision {last.number}",
                    f"sandbox diff {line.name} live",
                ],
            )
        return before, last
    old = None if first == LIVE else line.find(first, "FROM", f", nor {LIVE}")
    if second is None:
        return old, last
    return old, None if second == LIVE else line.find(second, "TO", f", nor {LIVE}")


def _groups(revision: Revision) -> Mapping[str, Any]:
    if revision.problem is not None:
        raise SandboxError(f"revision {revision.number} ({revision.id}) can't be compared: {revision.problem}")
    return revision.spec


def _verdicts(
    engine: Engine, history: History, name: str, old: Revision, new: Revision, notes: list[str]
) -> dict[str, str]:
    unsure = unsure_secrets(_groups(old), _groups(new))
    if not unsure:
        return {}
    try:
        before, after = (_decrypted(engine, history, name, one) for one in (old, new))
    except Interrupted:
        raise
    except SandboxError as error:
        notes.append(f"whether secret variables changed is unknown: {error.message}")
        return {}
    return {key: _verdict(before.get(key), after.get(key)) for key in unsure}


def _decrypted(engine: Engine, history: History, name: str, revision: Revision) -> Mapping[str, str]:
    from sandbox_components.operations.old_secrets import secret_env_of

    return secret_env_of(engine, history.raw_checkpoint(revision.entry), name)


def _verdict(old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return CHANGED
    return UNCHANGED if hmac.compare_digest(old.encode(), new.encode()) else CHANGED


def _with_cluster(
    engine: Engine,
    history: History,
    line: Timeline,
    old: Revision | None,
    new: Revision | None,
    connect: Connect,
    notes: list[str],
) -> Comparison:
    current = line.current()
    if current is None:
        raise NotFound(
            f"{line.name} is not in stack {engine.stack} any more: there is nothing live to compare",
            suggestions=[f"sandbox revisions {line.name}"],
        )
    declared = _groups(current)
    place = engine.project.default_namespace(engine.stack)
    with connect() as cluster:
        workload = read_statefulset(cluster, place, line.name)
        service = cluster.find(paths.services(place, line.name))
        live = live_groups(workload, service, declared)
        other = old or new
        assert other is not None
        verdicts = _live_verdicts(engine, history, cluster, place, line.name, other, live, notes)
    sides = [Side(one, live if one is None else _groups(one)) for one in (old, new)]
    drift = difference(declared, live, verdicts if other.id == current.id else None).changed
    return Comparison(
        line.name,
        sides[0],
        sides[1],
        difference(sides[0].groups, sides[1].groups, verdicts),
        drift=drift,
        current=current,
        by=_other_managers(workload),
        notes=tuple(notes),
        is_whole=line.is_whole,
    )


def _live_verdicts(
    engine: Engine,
    history: History,
    cluster: Cluster,
    namespace: str,
    name: str,
    revision: Revision,
    live: Mapping[str, Any],
    notes: list[str],
) -> dict[str, str]:
    """Compare a revision's secret variables with the live Secret's: that one can be changed under its name."""
    before, after = (groups.get("secretEnv") or {} for groups in (_groups(revision), live))
    both = sorted(set(before.get("names") or ()) & set(after.get("names") or ()))
    if not both:
        return {}
    try:
        held = (cluster.get(paths.secrets(namespace, str(after.get("secret")))).get("data")) or {}
        values = _decrypted(engine, history, name, revision)
        return {key: _verdict(values.get(key), _decoded(held.get(key))) for key in both}
    except Interrupted:
        raise
    except SandboxError as error:
        notes.append(f"whether secret variables differ is unknown: {error.message}")
        return dict.fromkeys(both, "unknown")


def _decoded(value: object) -> str | None:
    try:
        return base64.b64decode(str(value), validate=True).decode() if isinstance(value, str) else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _other_managers(workload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return who else than the stack owns parts of the pod template: a trace of changes by hand."""
    found = []
    for one in items(workload, "metadata", "managedFields"):
        manager, spec = text(one, "manager"), (one.get("fieldsV1") or {}).get("f:spec") or {}
        if "f:template" in spec and not manager.startswith("pulumi-"):
            found.append(f"{manager} ({text(one, 'time') or 'at an unknown time'})")
    return tuple(sorted(found))
