"""Numbers, causes, results and gaps of one sandbox's revisions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.revisions.timeline import Timeline, timeline
from tests.revisions.told import Told, spec


def causes(line: Timeline) -> list[tuple[int, str]]:
    return [(one.number, one.cause) for one in line.revisions]


def test_a_change_of_any_group_is_a_revision_and_nothing_else_is() -> None:
    told = Told()
    told.put().entry()
    groups = spec("a:2")
    told.put("one", groups).entry()
    told.entry()  # labels, egress: the annotation stays
    told.entry("refresh", changes={"same": 3})
    for key, value in {
        "secretEnv": {"names": ["TOKEN"], "secret": "one-env-1"},
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        "healthCheck": {"type": "http", "http": {"path": "/", "port": 80}},
        "ports": [{"port": 80, "name": "http", "protocol": "TCP"}],
        "command": {"command": "run"},
    }.items():
        groups = {**groups, key: value}
        told.put("one", groups).put("other", spec("z")).entry()
    line = timeline(told, "one")
    assert [(one.number, one.cause, one.changed) for one in line.revisions] == [
        (1, "created", ()),
        (2, "update", ("image",)),
        (3, "update", ("env",)),
        (4, "update", ("resources",)),
        (5, "update", ("healthCheck",)),
        (6, "update", ("ports",)),
        (7, "update", ("command",)),
    ]
    assert line.is_whole
    assert line.problems == ()
    assert [one.is_current for one in line.revisions] == [False] * 6 + [True]
    assert line.current() == line.revisions[-1]
    assert line.revisions[-1].spec == groups
    assert [one.number for one in timeline(told, "other").revisions] == [1]


def test_a_sandbox_that_never_was_has_no_revisions() -> None:
    told = Told()
    told.put().entry()
    line = timeline(told, "nobody")
    assert line.revisions == ()
    assert line.current() is None
    with pytest.raises(NotFound, match="it has none"):
        line.find("1")
    assert timeline(Told(), "one").is_whole


def test_an_update_that_only_counts_same_can_show_a_revision() -> None:
    """An update that was killed leaves no entry; the next one finds its change already done."""
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry(changes={"same": 6})
    assert [one.number for one in timeline(told, "one").revisions] == [1, 2]


def test_equal_groups_in_another_text_are_no_revision() -> None:
    told = Told()
    told.put("one", '{"v":1,"image":{"uri":"a"}}').entry()
    told.put("one", '{ "image": {"uri": "a"}, "v": 1 }').entry("refresh")
    told.put("one", '{"v":1,"image":{"uri":"a"}}').entry()
    assert len(timeline(told, "one").revisions) == 1


def test_a_change_of_the_clusters_that_a_refresh_took_in() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("by-hand")).entry("refresh")
    assert causes(timeline(told, "one"))[1] == (2, "refresh")


def test_rollback_unpin_and_update_below_a_pin() -> None:
    told = Told()
    first = told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.pins["one"] = {"id": first.id, "revision": 1}
    told.put("one", spec()).entry()  # rollback
    told.entry()  # a label, pinned still
    told.put("one", spec(secretEnv={"names": ["T"], "secret": "n-2"})).entry()  # its Secret was lost and made anew
    del told.pins["one"]
    told.put("one", spec("a:2")).entry()  # unpin
    told.put("one", spec("a:3")).entry()
    told.pins["one"] = {"id": first.id, "revision": 1}
    told.put("one", spec()).entry()  # rollback once more
    line = timeline(told, "one")
    assert [one.cause for one in line.revisions] == [
        "created",
        "update",
        "rollback",
        "update",
        "unpin",
        "update",
        "rollback",
    ]
    assert [(one.to, one.to_number) for one in line.revisions if one.cause == "rollback"] == [(first.id, 1)] * 2


def test_our_own_update_of_a_pinned_sandbox_is_an_update() -> None:
    told = Told()
    first = told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.pins["one"] = {"id": first.id}
    told.put().entry()
    del told.pins["one"]
    told.put("one", spec("a:3")).entry(message="sandbox update one")
    assert causes(timeline(told, "one"))[2:] == [(3, "rollback"), (4, "update")]


def test_a_rollback_from_one_pin_to_another() -> None:
    told = Told()
    ids = []
    for number in (1, 2, 3):
        ids.append(told.put("one", spec(f"a:{number}")).entry().id)
    for number in (1, 2):
        told.pins["one"] = {"id": ids[number - 1]}
        told.put("one", spec(f"a:{number}")).entry()
    line = timeline(told, "one")
    assert [(one.cause, one.to_number) for one in line.revisions[3:]] == [("rollback", 1), ("rollback", 2)]


def test_a_rollback_whose_first_try_did_not_reach_the_sandbox() -> None:
    told = Told()
    first = told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.pins["one"] = {"id": first.id}
    told.entry(result="failed")
    told.put("one", spec()).entry()
    assert causes(timeline(told, "one"))[2] == (3, "rollback")


def test_a_pin_to_what_runs_anyway_is_no_revision_but_its_end_is_an_unpin() -> None:
    told = Told()
    first = told.put().entry()
    told.pins["one"] = {"id": first.id}
    told.entry()
    del told.pins["one"]
    told.put("one", spec("a:2")).entry()
    assert causes(timeline(told, "one")) == [(1, "created"), (2, "unpin")]


def test_a_rollback_to_a_revision_that_is_no_longer_there_has_its_id() -> None:
    told = Told()
    first = told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.pins["one"] = {"id": first.id}
    told.put().entry()
    last = timeline(told.forget(1), "one").revisions[-1]
    assert (last.cause, last.to, last.to_number) == ("rollback", first.id, None)


def test_failed_is_only_what_failed_here() -> None:
    told = Told()
    told.put().put("other").entry()
    told.put("one", spec("missing"), failed=True).entry(result="failed")
    told.put("one", spec("a:3")).put("other", spec("missing"), failed=True).entry(result="failed")
    told.put("one", spec("a:4")).entry()
    results = [one.result for one in timeline(told, "one").revisions]
    assert results == ["succeeded", "failed", "failed elsewhere", "succeeded"]


def test_delete_and_recreate_goes_on_counting() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry()
    gone = told.drop().entry("destroy", changes={"delete": 9})
    line = timeline(told, "one")
    assert line.current() is None
    assert not line.revisions[-1].is_current
    assert line.lives[0].ended == gone
    told.put("one", spec("a:2")).entry()  # the same again
    line = timeline(told, "one")
    assert causes(line) == [(1, "created"), (2, "update"), (3, "created")]
    assert [(life.first, life.ended) for life in line.lives] == [(1, gone), (3, None)]


def test_delete_and_recreate_in_one_entry() -> None:
    told = Told()
    told.put().entry()
    told.drop().put().entry()
    assert causes(timeline(told, "one")) == [(1, "created"), (2, "created")]


def test_a_change_in_an_unreadable_checkpoint_shows_in_the_next() -> None:
    told = Told()
    told.put().entry()
    lost = told.put("one", spec("a:2")).entry(problem="it isn't there")
    shown = told.entry()
    line = timeline(told, "one")
    assert [one.id for one in line.revisions][1:] == [shown.id]
    assert line.is_whole
    assert line.problems == (f"without the checkpoint of {lost.id}, a revision made there shows in the next entry",)
    assert line.is_current_sure
    told.entry(problem="it isn't there")
    assert not timeline(told, "one").is_current_sure


def test_many_unreadable_checkpoints_are_told_in_one_line() -> None:
    told = Told()
    told.put().entry()
    first, *_ = [told.entry(problem="it isn't there") for _ in range(5)]
    told.problems = ["what the reader says"]
    line = timeline(told, "one")
    assert line.problems[0] == "what the reader says"
    assert f"{first.id} and 4 more" in line.problems[1]


def test_an_unreadable_last_checkpoint_leaves_the_last_known_current() -> None:
    told = Told()
    told.put().entry()
    told.drop().entry(problem="version 9")
    line = timeline(told, "one")
    assert line.current() is not None
    assert line.problems


def test_a_spec_of_a_newer_package_is_a_revision_that_cant_be_read() -> None:
    told = Told()
    told.put().entry()
    told.put("one", '{"v":2}').entry()
    told.put().entry()
    line = timeline(told, "one")
    assert [dict(one.spec) == {} for one in line.revisions] == [False, True, False]
    assert [one.changed for one in line.revisions] == [(), (), ()]
    assert "revision 2" in line.problems[0]


def test_what_is_still_running_is_no_revision_yet() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry(result="in-progress")
    assert len(timeline(told, "one").revisions) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_removed_beginning_is_noticed(count: int) -> None:
    told = Told()
    told.put("other").entry()
    told.put().entry()
    told.put("one", spec("a:2")).entry()
    told.drop().entry()
    told.put().entry()
    told.put("one", spec("a:3")).entry()
    whole = timeline(told, "one")
    assert whole.is_whole
    rest = timeline(told.forget(count), "one")
    assert not rest.is_whole
    assert [one.id for one in rest.revisions] == [one.id for one in whole.revisions][-len(rest.revisions) :]


def test_a_sandbox_that_was_there_before_has_an_unknown_cause() -> None:
    told = Told()
    told.put().entry()
    told.put("one", spec("a:2")).entry()
    assert causes(timeline(told.forget(1), "one")) == [(1, "unknown")]


def test_where_changes_are_not_recorded_the_time_of_creation_tells() -> None:
    told = Told()
    told.put().entry()
    told._entries[0] = replace(told._entries[0], changes=None)
    line = timeline(told, "one")
    assert (line.is_whole, line.revisions[0].cause) == (True, "created")
    late = told._entries[0].started_at + timedelta(hours=1)
    told._entries[0] = replace(told._entries[0], started_at=late, ended_at=late)
    line = timeline(told, "one")
    assert (line.is_whole, line.revisions[0].cause) == (False, "unknown")


def test_entries_that_count_nothing_leave_it_to_the_next() -> None:
    """An update that fails before it does anything is recorded without a count."""
    told = Told()
    told.entry(result="failed", changes={})
    told.put().entry(changes={"create": 7})
    assert timeline(told, "one").is_whole
    told = Told()
    told.entry(result="failed", changes={})
    told.put().entry(changes={"create": 7, "same": 3})
    line = timeline(told, "one")
    assert (line.is_whole, line.revisions[0].cause) == (False, "created")


@pytest.mark.parametrize("created", [None, "yesterday", "2026-03-02T12:01:00"])
def test_a_time_of_creation_that_says_nothing_proves_nothing(created: str | None) -> None:
    told = Told()
    told.put()
    told.sandboxes["one"] = replace(told.sandboxes["one"], created_at=created)
    told.entry(changes={"same": 1})
    assert timeline(told, "one").revisions[0].cause == "unknown"


def three() -> Told:
    told = Told()
    for number in (1, 2, 3):
        told.put("one", spec(f"a:{number}")).entry()
    return told


def test_a_revision_is_found_by_number_or_id() -> None:
    line = timeline(three(), "one")
    second = line.revisions[1]
    assert line.find("2") == line.find("r2") == line.find(" R2 ") == line.find(second.id) == second
    assert line.before(second) == line.revisions[0]
    assert line.before(line.revisions[0]) is None
    for wanted in ("0", "4", "17", "1764442800123456789"):
        with pytest.raises(NotFound, match="there are 1 to 3"):
            line.find(wanted)
    for wanted in ("", "r", "two", "-1", "1.0", "²"):
        with pytest.raises(InvalidInput, match="neither a number"):
            line.find(wanted)


def test_numbers_that_are_not_sure_are_asked_for_by_id() -> None:
    line = timeline(three().forget(1), "one")
    first = line.revisions[0]
    assert line.find(first.id) == first
    with pytest.raises(InvalidInput) as raised:
        line.find("1")
    assert first.id in " ".join(raised.value.suggestions)
    with pytest.raises(NotFound):
        line.find("9")
