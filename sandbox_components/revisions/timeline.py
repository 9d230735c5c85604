"""One sandbox's revisions, read out of the stack's history.

A revision is a change of the annotation `sandbox-components/spec` between two entries of any kind. Nothing is stored:
numbers and causes come out the same each time, and more history only adds to them. What can't be told is said: a
beginning that was removed, a checkpoint that can't be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.revisions.counting import GROUPS, UNKNOWN, Count, Life, Revision, changed_groups, was_made_in
from sandbox_components.revisions.model import Checkpoint, Entry, History

__all__ = ["GROUPS", "UNKNOWN", "Life", "Revision", "Timeline", "changed_groups", "timeline"]

IN_PROGRESS = "in-progress"
_BEGINNING = frozenset({"create", "import", "read"})
"""What a stack's first entry can count; anything else was there before."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """All revisions of one sandbox.

    Attributes:
        name: the sandbox's.
        revisions: oldest first.
        is_whole: False where the stack's history has lost its beginning: then numbers are not sure.
        problems: what could not be read, one line each.
        is_current_sure: False where the newest checkpoint can't be read: the stack may have something else now.
        lives: oldest first.
        entries: the stack's whole history, oldest first.
    """

    name: str
    revisions: Sequence[Revision]
    is_whole: bool = True
    problems: Sequence[str] = ()
    is_current_sure: bool = True
    lives: Sequence[Life] = ()
    entries: Sequence[Entry] = ()

    def find(self, wanted: str, field: str = "revision", others: str = "") -> Revision:
        """Return the revision that is meant by `3`, `r3` or an id.

        Args:
            wanted: the word.
            field: what errors call it.
            others: what errors say is accepted there too.

        Raises:
            NotFound: there is none such; with what there is.
            InvalidInput: it is neither, or a number where numbers are not sure.
        """
        word = wanted.strip()
        number = word[1:] if word[:1] in ("r", "R") else word
        if not number.isascii() or not number.isdigit():
            raise InvalidInput(
                field,
                f'"{wanted}" is neither a number, such as 3 or r3, nor an id{others}',
                suggestions=[f"sandbox revisions {self.name} -o wide"],
            )
        by_id = next((one for one in self.revisions if one.id == word), None)
        by_number = next((one for one in self.revisions if str(one.number) == number.lstrip("0")), None)
        if self.is_whole and by_number is not None:
            return by_number
        if by_id is not None:
            return by_id
        if by_number is not None:
            raise InvalidInput(
                field,
                f"the history of {self.name} has lost its beginning, so that number {number} is not sure: name the id",
                suggestions=[
                    f"sandbox revisions {self.name} -o wide",
                    f"{by_number.id} (what is number {number} now)",
                ],
            )
        raise NotFound(
            f'{self.name} has no revision "{wanted}", {self._what_there_is()}',
            suggestions=[f"sandbox revisions {self.name}"],
        )

    def current(self) -> Revision | None:
        """Return the revision that the stack has now, or None after deletion."""
        return next((one for one in self.revisions if one.is_current), None)

    def before(self, revision: Revision) -> Revision | None:
        """Return the revision before, or None."""
        return next((one for one in self.revisions if one.number == revision.number - 1), None)

    def _what_there_is(self) -> str:
        if not self.revisions:
            return "it has none"
        first, last = self.revisions[0].number, self.revisions[-1].number
        return f"there is {first}" if first == last else f"there are {first} to {last}"


def timeline(history: History, name: str) -> Timeline:
    """Count the revisions of the sandbox `name`.

    Every checkpoint is looked at: also an entry that counts nothing but `same` can show a change, which an update that
    was killed before it or a `pulumi stack import` had made without an entry of their own.
    """
    entries = [entry for entry in history.entries() if entry.result != IN_PROGRESS]
    checkpoints = history.checkpoints(entries)
    count = Count(name)
    unread = []
    is_beginning = _is_beginning(entries) is True
    gap_began_at = None
    for entry, checkpoint in zip(entries, checkpoints, strict=True):
        if checkpoint.problem is not None:
            unread.append(entry.id)
            gap_began_at = gap_began_at or entry.started_at
            continue
        state = checkpoint.sandboxes.get(name)
        count.take(entry, state, gap_began_at or entry.started_at, is_beginning and not count.was_read)
        gap_began_at = None
    problems = [f"revision {one.number}: {one.problem}" for one in count.revisions if one.problem is not None]
    if unread:
        several = f"{unread[0]} and {len(unread) - 1} more" if len(unread) > 1 else unread[0]
        problems.append(f"without the checkpoint of {several}, a revision made there shows in the next entry")
    revisions = count.revisions
    if count.state is not None and revisions:
        revisions[-1] = replace(revisions[-1], is_current=True)
    return Timeline(
        name=name,
        revisions=tuple(revisions),
        is_whole=_is_whole(entries, checkpoints, name),
        problems=(*history.problems, *problems),
        is_current_sure=gap_began_at is None,
        lives=tuple(count.lives),
        entries=tuple(entries),
    )


def _is_whole(entries: Sequence[Entry], checkpoints: Sequence[Checkpoint], name: str) -> bool:
    """Tell whether no revision can be older than the first entry.

    Whether the sandbox is in the first checkpoint doesn't decide: an earlier life of it could have been before.
    """
    is_beginning = _is_beginning(entries)
    if is_beginning is not None:
        return is_beginning
    for entry, checkpoint in zip(entries, checkpoints, strict=True):
        if checkpoint.problem is None:
            state = checkpoint.sandboxes.get(name)
            return state is None or was_made_in(replace(entry, started_at=entries[0].started_at), state)
    return True


def _is_beginning(entries: Sequence[Entry]) -> bool | None:
    """Tell whether the stack held nothing before these entries; None where no entry counts anything.

    One that did nothing, or failed before it did, counts nothing, also of what was there.
    """
    for entry in entries:
        counted = {operation for operation, count in (entry.changes or {}).items() if count}
        if counted:
            return counted <= _BEGINNING
    return None
