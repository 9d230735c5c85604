"""What an update does to one sandbox: the verdict that an operator reads before it.

It is read from what the engine says of the pod template, the Services and the Secret, never from the recorded
revision's text alone, which the engine may not know before the update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sandbox_components.manifests.reading import UNKNOWN, read_workload
from sandbox_components.operations.disk_plan import Disk, disk_plan
from sandbox_components.operations.field_changes import FieldChange, beginnings, differences
from sandbox_components.operations.object_words import SECRET, mapping
from sandbox_components.operations.plan import COMPONENT, STATEFUL_SET, Step
from sandbox_components.spec import naming

NEW, REMOVED, REPLACED, CHANGED, SAME = "new", "removed", "replaced", "changed", "unchanged"


class Restart(Enum):
    """Whether the agent of a running sandbox is stopped and started anew; a paused one notices at its resume."""

    YES = "yes"
    NO = "no"
    MAYBE = "maybe"
    """Only the update will tell: a value of the pod template isn't known before."""


@dataclass(frozen=True)
class Refusal:
    """Why the update can't be done, and the ways on."""

    reason: str
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True)
class SandboxPlan:
    """What an update does to one sandbox.

    Attributes:
        outcome: new, removed, replaced (its StatefulSet is deleted and made anew), changed or unchanged.
        is_revision: whether a new revision is recorded; None where only the update will tell.
        changes: fields, by group.
        disk: what becomes of it.
        refusals: why it can't be done; empty where it can.
        notes: what the program says to mind, such as a pin that wins over what is declared.
    """

    name: str
    namespace: str | None
    outcome: str
    restart: Restart
    is_revision: bool | None
    changes: tuple[FieldChange, ...]
    disk: Disk
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_pinned(self) -> bool:
        """Whether a rollback's pin decides what it is, so that an edit may change nothing."""
        return any(" is pinned to " in note for note in self.notes)

    @property
    def verdict(self) -> str:
        """What happens to the agent, in words that stay."""
        if self.outcome in (NEW, REMOVED, SAME):
            return self.outcome
        if self.outcome == REPLACED:
            return "replaced: restarts"
        if self.restart is Restart.MAYBE:
            return "may restart: known after the update"
        if self.restart is Restart.NO:
            return "does not restart"
        if self.is_revision is not False:
            return "restarts"
        if any(one.group for one in self.changes):
            return "restarts: a change of the cluster is undone, no revision"
        return "restarts: platform change, no revision"


def sandbox_plan(name: str, own: Sequence[Step], *, is_refused: bool = False) -> SandboxPlan:
    """Return what the given steps, all of one sandbox, do to it.

    Args:
        name: of the sandbox.
        own: its component's steps and those of all below it.
        is_refused: the engine has said that it won't do it, because the disk is protected.
    """
    workload = next((step for step in own if step.type == STATEFUL_SET), None)
    old, new = (workload.old, workload.new) if workload is not None else ({}, {})
    before, after = (read_workload(side) if side else None for side in (old, new))
    outcome = _outcome(own, workload)
    changes: tuple[FieldChange, ...] = ()
    if outcome == NEW:
        changes = beginnings(own)
    elif outcome in (REPLACED, CHANGED):
        changes = differences(own)
    restart = Restart.YES if outcome == REPLACED else Restart.NO
    is_revision: bool | None = outcome in (NEW, REPLACED)
    if outcome == CHANGED and workload is None:  # the preview broke off before it
        restart, is_revision = Restart.MAYBE, None
    elif outcome == CHANGED and workload is not None:
        restart = _restart(own, workload) if workload.restarts else Restart.NO
        is_revision = _is_revision(old, new, changes, restart)
    place = mapping(new.get("metadata") or old.get("metadata")).get("namespace")
    disk = disk_plan(own, before, after, is_refused=is_refused)
    return SandboxPlan(name, place, outcome, restart, is_revision, changes, disk)


def _outcome(own: Sequence[Step], workload: Step | None) -> str:
    if not any(step.changes for step in own):
        return SAME
    component = next((step for step in own if step.type == COMPONENT), None)
    decisive = workload or component
    if decisive is None:
        return CHANGED
    if decisive.operation == "create":
        return NEW
    if decisive.operation == "delete":
        return REMOVED
    # Of a StatefulSet whose whole spec isn't known yet the engine says that it is replaced; the update then sees that
    # it needn't be.
    is_known = decisive.new.get("spec") != UNKNOWN
    return REPLACED if "replace" in decisive.operation and is_known else CHANGED


def _restart(own: Sequence[Step], workload: Step) -> Restart:
    """Tell whether a template that differs does so for certain: a Secret made anew always has another name."""
    if any(step.type == SECRET and (step.operation == "create" or "replace" in step.operation) for step in own):
        return Restart.YES
    if workload.new.get("spec") == UNKNOWN:
        return Restart.MAYBE
    template = [mapping(side.get("spec")).get("template") for side in (workload.old, workload.new)]
    pairs = list(_differing(*template))
    return Restart.MAYBE if pairs and all(new == UNKNOWN for _, new in pairs) else Restart.YES


def _differing(old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the differing leaves of two trees."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {*old, *new}:
            yield from _differing(old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from _differing(one, other)
    elif old != new:
        yield old, new


def _is_revision(
    old: Mapping[str, Any], new: Mapping[str, Any], changes: Sequence[FieldChange], restart: Restart
) -> bool | None:
    """Compare the recorded texts, where both are known; else go by the groups that differ."""
    texts = [
        mapping(mapping(side.get("metadata")).get("annotations")).get(naming.SPEC_ANNOTATION) for side in (old, new)
    ]
    if texts[1] != UNKNOWN:
        return bool(texts[0] != texts[1])
    if any(one.group and not one.is_known_later for one in changes):
        return True
    return None if restart is Restart.MAYBE or any(one.is_known_later for one in changes) else False
