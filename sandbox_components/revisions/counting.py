"""Walks a stack's history and counts one sandbox's revisions: number, cause, result, what changed.

It takes in one checkpoint after the other and looks only back, so that more history never changes what was counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.revisions.model import Entry, SandboxState
from sandbox_components.spec import revision as annotation

GROUPS: Mapping[str, tuple[str, ...]] = {
    "image": ("image",),
    "command": ("command",),
    "resources": ("resources",),
    "env": ("env", "secretEnv"),
    "healthCheck": ("healthCheck",),
    "ports": ("ports",),
}
"""Group -> its keys in the annotation."""
UNKNOWN = "unknown"
_CLOCK = timedelta(seconds=1)
"""Entries know their times to the second."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision of a sandbox.

    Attributes:
        number: counts from 1, and goes on after delete and re-create.
        id: the entry's; it never changes.
        entry: in which it shows first.
        spec: the six groups, as in the annotation; empty where they can't be read.
        cause: `created`, `update`, `rollback`, `unpin`, `refresh` (a change of the cluster's that a refresh took in) or
            `unknown` (it was there when the readable history begins).
        to: id of the revision that a rollback went back to.
        to_number: its number, where it is in this timeline.
        result: `succeeded`, `failed` (this sandbox did not become ready) or `failed elsewhere` (another resource did).
        changed: groups that differ from the revision before.
        is_current: the stack has it now.
        problem: why `spec` can't be read.
        began_at: the earliest time at which its change can have begun: the entry's start, or that of the first
            unreadable entry before it.
    """

    number: int
    id: str
    entry: Entry
    spec: Mapping[str, Any]
    cause: str
    to: str | None = None
    to_number: int | None = None
    result: str = "succeeded"
    changed: tuple[str, ...] = ()
    is_current: bool = False
    problem: str | None = None
    began_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """From a creation of the sandbox to its deletion.

    Attributes:
        first: number of its first revision.
        ended: the entry after which the sandbox was gone; None as long as it is there.
        ending_at: the earliest time at which its deletion can have begun.
    """

    first: int
    ended: Entry | None = None
    ending_at: datetime | None = None


@dataclass
class Count:
    """The walk: give it each entry, oldest first.

    Attributes:
        name: the sandbox's.
        revisions: found so far.
        lives: found so far.
        state: what the last entry left; None where the sandbox isn't there.
        groups: the six groups in it; None where they can't be read.
        was_read: an entry was taken in.
        pin: the one at the last revision's entry.
        was_pinned: that entry or one after it had a pin.
        began_at: of the entry that is taken in.
    """

    name: str
    revisions: list[Revision] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    state: SandboxState | None = None
    groups: Mapping[str, Any] | None = None
    was_read: bool = False
    pin: str | None = None
    was_pinned: bool = False
    began_at: datetime | None = None

    def take(self, entry: Entry, state: SandboxState | None, began_at: datetime, is_beginning: bool) -> None:
        """Take in what one entry left of the sandbox.

        Args:
            entry: the next one.
            state: what its checkpoint holds; None where the sandbox isn't in it.
            began_at: since when a change that it shows can have been under way.
            is_beginning: the stack held nothing before it.
        """
        self.began_at = began_at
        is_new = state is not None and self._is_new_life(state)
        if self.state is not None and (state is None or is_new):
            self.lives[-1] = replace(self.lives[-1], ended=entry, ending_at=began_at)
        if state is None:
            pass
        elif is_new:
            is_made_here = self.was_read or is_beginning or was_made_in(entry, state)
            self._add(entry, state, "created" if is_made_here else UNKNOWN)
            self.lives.append(Life(self.revisions[-1].number))
        elif self.state is not None and not _is_equal(state.spec, self.state.spec, self.groups):
            self._add(entry, state, None)
        self.state, self.was_read = state, True
        self.was_pinned = self.was_pinned or _pin(entry, self.name) is not None

    def _is_new_life(self, state: SandboxState) -> bool:
        if self.state is None:
            return True
        times = (self.state.created_at, state.created_at)
        return None not in times and times[0] != times[1]

    def _add(self, entry: Entry, state: SandboxState, cause: str | None) -> None:
        problem = None
        groups: Mapping[str, Any] = {}
        try:
            groups = annotation.parse(state.spec)
        except InvalidInput as error:
            problem = error.message
        pin = _pin(entry, self.name)
        to = None
        if cause is None:
            # Under a pin our own update makes what is pinned the declaration first: that is no way back.
            if pin is not None and pin != self.pin:
                cause, to = "rollback", pin
            elif pin is None and self.was_pinned and entry.message != f"sandbox update {self.name}":
                cause = "unpin"
            else:
                cause = "refresh" if entry.kind == "refresh" else "update"
        before = self.revisions[-1] if self.revisions else None
        is_comparable = before is not None and before.problem is None and problem is None
        self.revisions.append(
            Revision(
                number=len(self.revisions) + 1,
                id=entry.id,
                entry=entry,
                spec=groups,
                cause=cause,
                to=to,
                to_number=next((one.number for one in self.revisions if one.id == to), None),
                result=_result(entry, state),
                changed=changed_groups(before.spec, groups) if before is not None and is_comparable else (),
                problem=problem,
                began_at=self.began_at,
            )
        )
        self.groups = groups if problem is None else None
        self.pin, self.was_pinned = pin, False


def changed_groups(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the groups in which two annotations differ."""
    return tuple(group for group, keys in GROUPS.items() if any(old.get(key) != new.get(key) for key in keys))


def was_made_in(entry: Entry, state: SandboxState) -> bool:
    """Tell whether the engine made the StatefulSet between the entry's begin and end."""
    if state.created_at is None:
        return False
    try:
        created_at = datetime.fromisoformat(state.created_at)
    except ValueError:
        return False
    if created_at.tzinfo is None:
        return False
    return entry.started_at - _CLOCK <= created_at <= entry.ended_at + _CLOCK


def _is_equal(text: str, old: str, groups: Mapping[str, Any] | None) -> bool:
    if text == old:
        return True
    if groups is None:
        return False
    try:
        return annotation.parse(text) == groups
    except InvalidInput:
        return False


def _pin(entry: Entry, name: str) -> str | None:
    """Return the id of the pin that the entry was made with."""
    pin = entry.pins.get(name)
    return None if pin is None else str(pin.get("id"))


def _result(entry: Entry, state: SandboxState) -> str:
    if state.has_failed:
        return "failed"
    return "succeeded" if entry.result == "succeeded" else "failed elsewhere"
