"""What `--at` means, and what a sandbox was then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.revisions.moment import Moment, read_moment
from sandbox_components.revisions.past import Past, Stage, what_ran
from sandbox_components.revisions.timeline import timeline
from tests.revisions.told import BEGIN, LENGTH, STEP, Told, spec

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 29, 19, 30, tzinfo=UTC)  # a Sunday, 20:30 in Berlin


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-11-29T19:30"),
        ("2026-03-04 10:00", "2026-03-04T09:00"),
        ("2026-07-04 10:00", "2026-07-04T08:00"),
        ("2026-03-04T10:00:07", "2026-03-04T09:00:07"),
        ("2026-03-04T10:00Z", "2026-03-04T10:00"),
        ("2026-03-04 10:00 UTC", "2026-03-04T10:00"),
        ("2026-03-04 10:00:05 -05:00", "2026-03-04T15:00:05"),
        ("2026-10-25 02:30+01:00", "2026-10-25T01:30"),
        ("3 March 2026 10:00", "2026-03-03T09:00"),
        ("10:00", "2026-11-29T09:00"),
        ("23:00", "2026-11-28T22:00"),  # the last one that was
        ("noon", "2026-11-29T11:00"),
        ("yesterday 10:00", "2026-11-28T09:00"),
        ("friday  10:00", "2026-11-27T09:00"),
        ("2 hours ago", "2026-11-29T17:30"),
        ("90m ago", "2026-11-29T18:00"),
        ("an hour ago", "2026-11-29T18:30"),
        ("2h", "2026-11-29T17:30"),
    ],
)
def test_instants(text: str, expected: str) -> None:
    assert read_moment(text, now=NOW, zone=BERLIN) == Moment(utc(expected))


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-03-04", "2026-03-03T23:00", "2026-03-04T23:00"),
        ("2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00"),  # 25 hours
        ("13/04/2026", "2026-04-12T22:00", "2026-04-13T22:00"),
        ("3 March", "2026-03-02T23:00", "2026-03-03T23:00"),
        ("today", "2026-11-28T23:00", "2026-11-29T23:00"),
        ("yesterday", "2026-11-27T23:00", "2026-11-28T23:00"),
        ("2 days ago", "2026-11-26T23:00", "2026-11-27T23:00"),
        ("friday", "2026-11-26T23:00", "2026-11-27T23:00"),
        ("last week", "2026-11-15T23:00", "2026-11-22T23:00"),
        ("March", "2026-02-28T23:00", "2026-03-31T22:00"),
        ("2026-11", "2026-10-31T23:00", "2026-11-30T23:00"),
        ("2025", "2024-12-31T23:00", "2025-12-31T23:00"),
    ],
)
def test_stretches(text: str, begin: str, end: str) -> None:
    assert read_moment(text, now=NOW, zone=BERLIN) == Moment(utc(begin), utc(end))


def test_hours_back_from_now_are_hours_also_over_the_change_of_the_clocks() -> None:
    now = utc("2026-10-25T05:00")
    assert read_moment("6 hours ago", now=now, zone=BERLIN) == Moment(now - timedelta(hours=6))


def test_in_utc() -> None:
    assert read_moment("2026-03-04 10:00", now=NOW, zone=UTC) == Moment(utc("2026-03-04T10:00"))
    assert read_moment("2026-10-25 02:30", now=NOW, zone=UTC) == Moment(utc("2026-10-25T02:30"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("03/04/2026", "two ways: 2026-03-04 or 2026-04-03"),
        ("04.03.26", "two ways"),
        ("2026-10-25 02:30", "change of the clocks"),  # twice
        ("2026-03-29 02:30", "change of the clocks"),  # never
        ("tomorrow", "still to come"),
        ("in 2 days", "still to come"),
        ("2027-01-01", "still to come"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("12", "is a number"),
        ("-1", "is a number"),
        ("1764442800123456789", "is a number"),
        ("foo", "is not a time"),
        ("r3", "is not a time"),
        ("this morning", "is not a time"),
        ("2026-02-30", "is not a time"),
        ("2026-11-28 25:00", "is not a time"),
        ("2026-11-28T", "is not a time"),
        ("0001-01-01", "is not a time"),
        ("9999", "is not a time"),
        ("\x00", "is not a time"),
        ("\x1b[31mred", "is not a time"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as raised:
        read_moment(text, now=NOW, zone=BERLIN)
    assert raised.value.field == "--at"
    assert "\x1b" not in raised.value.message


PARTS = [
    *("ago", "in", "last", "2", "99999999999", "-", "/", ":", "10:00", "2026", "Z", "+25:00", "pm", "friday", "feb"),
    *("31", "days", "h", ".", "²", "now", "\x00"),
]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PARTS), max_size=5), st.sampled_from(["", " "]))
def test_any_text_is_read_or_refused(words: list[str], joint: str) -> None:
    try:
        found = read_moment(joint.join(words), now=NOW, zone=BERLIN)
    except InvalidInput:
        return
    assert found.begin <= NOW + timedelta(minutes=1)
    assert found.end is None or found.begin < found.end


def test_refused_hours_come_with_spellings_that_are_read() -> None:
    with pytest.raises(InvalidInput) as raised:
        read_moment("2026-10-25 02:30", now=NOW, zone=BERLIN)
    found = [read_moment(one, now=NOW, zone=BERLIN).begin for one in raised.value.suggestions]
    assert found == [utc("2026-10-25T00:30"), utc("2026-10-25T01:30")]


def story() -> Told:
    """Entries 0 to 7: other, r1, r2, a label, deleted, nothing, r3, r4."""
    told = Told()
    told.put("other").entry()
    told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.entry()
    told.drop().entry()
    told.entry()
    told.put("one", spec("a:2")).entry()
    told.put("one", spec("a:3")).entry()
    return told


def asked(told: Told, at: datetime, end: datetime | None = None) -> Past:
    return what_ran(timeline(told, "one"), Moment(at, end))


def started(entry: int) -> datetime:
    return BEGIN + STEP * entry


def ended(entry: int) -> datetime:
    return started(entry) + LENGTH


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("at", "stage", "numbers"),
    [
        (started(0) - STEP, Stage.BEFORE, [1]),
        (ended(0), Stage.BEFORE, [1]),
        (started(1), Stage.BEFORE, [1]),
        (started(1) + SECOND, Stage.CREATING, [1]),
        (ended(1), Stage.LIVE, [1]),
        (started(2), Stage.LIVE, [1]),
        (started(2) + SECOND, Stage.UPDATING, [1, 2]),
        (ended(2) - SECOND, Stage.UPDATING, [1, 2]),
        (ended(2), Stage.LIVE, [2]),
        (started(3) + SECOND, Stage.LIVE, [2]),
        (started(4) + SECOND, Stage.DELETING, [2]),
        (ended(4), Stage.DELETED, [2]),
        (started(5) + SECOND, Stage.DELETED, [2]),
        (started(6) + SECOND, Stage.CREATING, [3]),
        (ended(6), Stage.LIVE, [3]),
        (started(7) + SECOND, Stage.UPDATING, [3, 4]),
        (ended(7) + STEP * 1000, Stage.LIVE, [4]),
    ],
)
def test_what_ran_at_an_instant(at: datetime, stage: Stage, numbers: list[int]) -> None:
    past = asked(story(), at)
    assert (past.stage, [one.number for one in past.revisions]) == (stage, numbers)
    if stage in (Stage.UPDATING, Stage.CREATING, Stage.DELETING):
        assert past.began_at is not None
        assert past.ended_at is not None
        assert past.began_at < at < past.ended_at
    elif stage is Stage.DELETED:
        assert past.ended_at == ended(4)
    else:
        assert past.began_at is None


@pytest.mark.parametrize(
    ("begin", "end", "stage", "numbers"),
    [
        (started(0) - STEP, started(1), Stage.BEFORE, [1]),
        (started(0), started(8), Stage.LIVE, [1, 2, 3, 4]),
        (started(1), ended(1), Stage.LIVE, [1]),
        (ended(2), started(3), Stage.LIVE, [2]),
        (ended(1), ended(2), Stage.LIVE, [1, 2]),
        (ended(4), started(6), Stage.DELETED, [2]),
        (started(4) + SECOND, ended(5), Stage.LIVE, [2]),
        (ended(3), ended(6), Stage.LIVE, [2, 3]),
        (started(20), started(30), Stage.LIVE, [4]),
    ],
)
def test_what_ran_in_a_stretch(begin: datetime, end: datetime, stage: Stage, numbers: list[int]) -> None:
    past = asked(story(), begin, end)
    assert (past.stage, [one.number for one in past.revisions]) == (stage, numbers)


def test_delete_and_recreate_in_one_entry_lies_between_two() -> None:
    told = Told()
    told.put().entry()
    told.drop().put().entry()
    past = asked(told, started(1) + SECOND)
    assert (past.stage, [one.number for one in past.revisions]) == (Stage.UPDATING, [1, 2])


def test_before_the_readable_history_nothing_is_known() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.entry()
    rest = told.forget(1)
    for at in (started(0), started(1) + SECOND):
        assert asked(rest, at).stage is Stage.UNKNOWN
    assert asked(rest, started(0), started(1)).stage is Stage.UNKNOWN
    assert asked(rest, ended(1)).stage is Stage.LIVE


def test_an_unreadable_checkpoint_makes_the_time_between_longer() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry(problem="it isn't there")
    told.entry()
    for at in (started(1) + SECOND, ended(1), ended(2) - SECOND):
        past = asked(told, at)
        assert (past.stage, past.began_at, past.ended_at) == (Stage.UPDATING, started(1), ended(2))


def test_a_sandbox_that_never_was() -> None:
    past = asked(Told(), started(0))
    assert (past.stage, past.revisions) == (Stage.BEFORE, ())
    assert asked(Told(), started(0), started(1)).stage is Stage.BEFORE
