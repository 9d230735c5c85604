"""What a sandbox was at a moment: which revision, between which two, not there yet, or deleted.

A revision counts from the end of the update that made it; while that runs, the answer is "between". Pauses are no part
of a stack's history: what ran is what would have run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sandbox_components.revisions.moment import Moment
from sandbox_components.revisions.timeline import UNKNOWN, Revision, Timeline


class Stage(StrEnum):
    """Where in a sandbox's life a moment lies."""

    LIVE = "live"
    CREATING = "creating"
    UPDATING = "updating"
    DELETING = "deleting"
    BEFORE = "before"
    DELETED = "deleted"
    UNKNOWN = "unknown"
    """Before the readable history begins."""


@dataclass(frozen=True, slots=True)
class Past:
    """The answer.

    Attributes:
        moment: the question.
        stage: where it lies; of a stretch of time `live` where there is any revision in it.
        revisions: oldest first. Live: those in the moment. Updating: the two it lies between. Creating, before and
            unknown: the next one. Deleting and deleted: the last one.
        began_at: when the update that the moment lies in began; of deleted, the deletion.
        ended_at: when that ended.
    """

    moment: Moment
    stage: Stage
    revisions: Sequence[Revision]
    began_at: datetime | None = None
    ended_at: datetime | None = None


def what_ran(timeline: Timeline, moment: Moment) -> Past:
    """Return what the sandbox was at a moment, or all that it was in a stretch of time."""
    turns = _turns(timeline)
    if moment.end is not None:
        live = tuple(_live_in(turns, moment.begin, moment.end))
        if live:
            return Past(moment, Stage.LIVE, live)
    return _at(timeline, turns, moment)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One update that changed what the sandbox is; None stands for its absence."""

    begin: datetime
    end: datetime
    old: Revision | None
    new: Revision | None

    @property
    def is_known(self) -> bool:
        return self.new is None or self.new.cause != UNKNOWN


def _turns(timeline: Timeline) -> list[_Turn]:
    turns: list[_Turn] = []
    lives = [*timeline.lives]
    old: Revision | None = None
    for revision in timeline.revisions:
        if len(lives) > 1 and revision.number == lives[1].first:
            ended = lives.pop(0)
            if ended.ended is not None and ended.ended.id != revision.entry.id:
                turns.append(_Turn(ended.ending_at or ended.ended.started_at, ended.ended.ended_at, old, None))
                old = None
        entry = revision.entry
        turns.append(_Turn(revision.began_at or entry.started_at, entry.ended_at, old, revision))
        old = revision
    if lives and lives[0].ended is not None:
        turns.append(_Turn(lives[0].ending_at or lives[0].ended.started_at, lives[0].ended.ended_at, old, None))
    return turns


def _live_in(turns: Sequence[_Turn], begin: datetime, end: datetime) -> Iterator[Revision]:
    """Yield every revision that ran, or was coming or going, between two times."""
    for number, turn in enumerate(turns, 1):
        following = turns[number] if number < len(turns) else None
        since = turn.begin if turn.is_known else turn.end
        if turn.new is not None and since < end and (following is None or begin < following.end):
            yield turn.new


def _at(timeline: Timeline, turns: Sequence[_Turn], moment: Moment) -> Past:
    at = moment.begin
    last = None
    for turn in turns:
        if turn.end <= at:
            last = turn
        elif turn.begin < at and turn.is_known:
            stage = Stage.DELETING if turn.new is None else Stage.CREATING if turn.old is None else Stage.UPDATING
            both = tuple(one for one in (turn.old, turn.new) if one is not None)
            return Past(moment, stage, both, turn.begin, turn.end)
    if last is None:
        is_lost = not timeline.is_whole and bool(timeline.entries) and at < timeline.entries[0].ended_at
        is_lost = is_lost or (bool(turns) and not turns[0].is_known)
        return Past(moment, Stage.UNKNOWN if is_lost else Stage.BEFORE, timeline.revisions[:1])
    if last.new is None:
        return Past(moment, Stage.DELETED, () if last.old is None else (last.old,), last.begin, last.end)
    return Past(moment, Stage.LIVE, (last.new,))
