"""Whatever happens to a stack: numbers never change as its history grows, and a lost beginning is noticed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.diy import DiyHistory
from sandbox_components.revisions.folder_store import FolderStore
from sandbox_components.revisions.model import SandboxState
from sandbox_components.revisions.moment import Moment
from sandbox_components.revisions.past import Stage, what_ran
from sandbox_components.revisions.timeline import Revision, timeline
from tests.revisions.told import Told, spec
from tests.revisions.written import Written, checkpoint, stateful_set

NAMES = ("one", "two", "three")
EXAMPLES = 1500 if os.environ.get("SANDBOX_SOAK") else 60
WHAT = (
    *("change", "change", "change", "secret", "failed", "elsewhere", "label", "nothing", "refresh", "drift", "killed"),
    *("drop", "recreate", "destroy", "rollback", "unpin"),
)
FROM_FILES = 200 if os.environ.get("SANDBOX_SOAK") else 12


@dataclass(frozen=True)
class Act:
    """One thing that happens to a stack, mostly one update.

    Attributes:
        what: see `Stack.act`.
        name: the sandbox that it is about.
        value: which image, or which of the old revisions.
        is_lost: the copy of the checkpoint failed.
        compression: of its files.
    """

    what: str
    name: str
    value: int
    is_lost: bool
    compression: str


ACTS = st.builds(
    Act,
    what=st.sampled_from(WHAT),
    name=st.sampled_from(NAMES),
    value=st.integers(0, 3),
    is_lost=st.sampled_from([False] * 7 + [True]),
    compression=st.sampled_from(["plain", "gzip", "zstd"]),
)
STORIES = st.lists(ACTS, min_size=1, max_size=25)


class Stack:
    """Lives through acts, tells them, and counts revisions on its own."""

    def __init__(self) -> None:
        self.told = Told()
        self.compressions: list[str] = []
        self.expected: dict[str, list[tuple[str, str]]] = {name: [] for name in NAMES}
        """Per sandbox: the entry in which each revision shows, and what it is."""
        self._life = 0
        self._seen: dict[str, tuple[str, str | None] | None] = dict.fromkeys(NAMES)
        self._held = False

    def act(self, act: Act) -> None:
        told, name = self.told, act.name
        kind, result = "update", "succeeded"
        old = told.sandboxes.get(name)
        match act.what:
            case "change" | "failed" | "elsewhere" | "killed":
                self._put(name, spec(f"a:{act.value}"), failed=act.what == "failed")
                result = "failed" if act.what in ("failed", "elsewhere") else result
            case "secret":
                self._put(name, spec(secretEnv={"names": ["T"], "secret": f"{name}-env-{self._next()}"}))
            case "refresh":
                kind = "refresh"
            case "drift" if old is not None:
                kind = "refresh"
                self._put(name, spec(f"by-hand:{act.value}"))
            case "drop":
                told.drop(name)
            case "recreate" if old is not None:
                told.drop(name)
                self._put(name, old.spec)
            case "destroy":
                kind = "destroy"
                told.sandboxes.clear()
            case "rollback" if old is not None and self.expected[name]:
                to, text = self.expected[name][act.value % len(self.expected[name])]
                told.pins[name] = {"id": to}
                self._put(name, text)
            case "unpin":
                told.pins.pop(name, None)
        if act.what != "killed":
            self._entry(kind, result, act)

    def _next(self) -> int:
        self._life += 1
        return self._life

    def _put(self, name: str, groups: Any, *, failed: bool = False) -> None:
        old = self.told.sandboxes.get(name)
        self.told.put(name, groups, failed=failed)
        if old is None:
            self.told.sandboxes[name] = SandboxState(self.told.sandboxes[name].spec, failed, str(self._next()))

    def _entry(self, kind: str, result: str, act: Act) -> None:
        told = self.told
        changes = {"same": 1} if self._held else {"create": 1 + len(told.sandboxes)}
        if kind == "destroy":
            changes = {"delete": 4} if self._held else {}
        self._held = kind != "destroy"
        entry = told.entry(kind, result, changes=changes, problem="is missing" if act.is_lost else None)
        self.compressions.append(act.compression)
        if act.is_lost:
            return
        for name in NAMES:
            state = told.sandboxes.get(name)
            now = None if state is None else (state.spec, state.created_at)
            if now is not None and now != self._seen[name]:
                self.expected[name].append((entry.id, now[0]))
            self._seen[name] = now


def lived(acts: list[Act]) -> Stack:
    stack = Stack()
    for act in acts:
        stack.act(act)
    return stack


def kept(one: Revision) -> tuple[Any, ...]:
    """All of a revision that must never change."""
    return one.number, one.id, one.cause, one.to, one.to_number, one.result, one.changed, dict(one.spec)


@settings(max_examples=EXAMPLES)
@given(STORIES)
def test_numbers_are_right_and_never_change_as_history_grows(acts: list[Act]) -> None:
    stack = lived(acts)
    told = stack.told
    for name in NAMES:
        whole = timeline(told, name)
        assert [one.id for one in whole.revisions] == [entry for entry, _ in stack.expected[name]]
        assert [one.number for one in whole.revisions] == list(range(1, len(whole.revisions) + 1))
        assert whole.is_whole
        assert (whole.current() is not None) == (stack._seen[name] is not None)
        for count in range(len(told.entries())):
            part = timeline(told.until(count), name)
            assert [kept(one) for one in part.revisions] == [
                kept(one) for one in whole.revisions[: len(part.revisions)]
            ]
            assert part.is_whole


@settings(max_examples=EXAMPLES)
@given(STORIES, st.integers(1, 25))
def test_a_lost_beginning_is_noticed(acts: list[Act], count: int) -> None:
    told = lived(acts).told
    rest = told.forget(count)
    if not rest.entries():
        return
    # Where all that is lost ended with an empty stack, nothing in what follows shows that there was anything.
    counted: set[str] = next((set(entry.changes) for entry in rest.entries() if entry.changes), set())
    is_new_beginning = counted <= {"create"}
    for name in NAMES:
        whole, part = timeline(told, name), timeline(rest, name)
        assert part.is_whole == is_new_beginning
        ids = [one.id for one in whole.revisions]
        later = [one.id for one in part.revisions if one.cause != "unknown"]
        assert ids[len(ids) - len(later) :] == later
        unknown = [one for one in part.revisions if one.cause == "unknown"]
        assert unknown == list(part.revisions[: len(unknown)])
        assert len(unknown) <= 1
        for one in part.revisions:
            assert part.find(one.id) == one


@settings(max_examples=EXAMPLES)
@given(STORIES)
def test_at_any_time_there_is_an_answer_that_fits_both_sides(acts: list[Act]) -> None:
    told = lived(acts).told
    for name in NAMES:
        line = timeline(told, name)
        for entry in told.entries():
            middle = entry.started_at + (entry.ended_at - entry.started_at) / 2
            before, inside, after = (what_ran(line, Moment(at)) for at in (entry.started_at, middle, entry.ended_at))
            if inside.stage is Stage.LIVE:
                assert inside.revisions == before.revisions == after.revisions
            day = what_ran(line, Moment(entry.started_at, entry.ended_at))
            for past in (before, inside):
                if past.stage in (Stage.LIVE, Stage.UPDATING, Stage.CREATING, Stage.DELETING):
                    assert _ids(past) <= _ids(day)


def _ids(past: Any) -> set[str]:
    return {one.id for one in past.revisions}


@settings(max_examples=FROM_FILES)
@given(acts=STORIES, has_new_name=st.booleans())
def test_the_same_from_files_of_any_compression_and_after_a_rename(
    acts: list[Act], has_new_name: bool, tmp_path_factory: Any
) -> None:
    stack = lived(acts)
    root = tmp_path_factory.mktemp("state")
    stamps = write(stack, root)
    name = rename(root, "renamed") if has_new_name else "test"
    folder = tmp_path_factory.mktemp("cache")
    for _ in ("cold", "warm"):
        history = DiyHistory(FolderStore(root), "agents", name, HistoryCache(str(root), folder))
        for sandbox in NAMES:
            found, told = timeline(history, sandbox), timeline(stack.told, sandbox)
            assert [kept(one)[2:3] + kept(one)[4:] for one in found.revisions] == [
                kept(one)[2:3] + kept(one)[4:] for one in told.revisions
            ]
            assert [stamps[one.id] for one in found.revisions] == [one.id for one in told.revisions]
            assert found.is_whole


def write(stack: Stack, root: Path) -> dict[str, str]:
    """Write the history as Pulumi does, and return which stamp is which told entry."""
    files = Written(root)
    told = stack.told
    stamps: dict[str, str] = {}
    for entry, state, compression in zip(
        told.entries(), told.checkpoints(told.entries()), stack.compressions, strict=True
    ):
        pins = {
            name: {**pin, "id": next(k for k, v in stamps.items() if v == pin["id"])}
            for name, pin in entry.pins.items()
        }
        resources = []
        for name, one in state.sandboxes.items():
            live = {"metadata": {"name": name, "annotations": {"sandbox-components/spec": one.spec}}}
            failed = {"initErrors": ["not ready"], "outputs": live} if one.has_failed else {}
            resources.append(stateful_set(name, one.spec, created=one.created_at, **failed))
        stamp = files.entry(
            compression=compression,
            state=checkpoint(*resources),
            config={"sandbox-components:pins": pins},
            kind=entry.kind,
            result=entry.result,
            resourceChanges=dict(entry.changes or {}),
        )
        stamps[stamp] = entry.id
        if state.problem is not None:
            next(files.folder.glob(f"*{stamp}.checkpoint*")).unlink()
    return stamps


def rename(root: Path, new: str) -> str:
    """Do what `pulumi stack rename` does: other names, the same contents."""
    old = root / ".pulumi" / "history" / "agents" / "test"
    for file in old.iterdir():
        file.rename(file.with_name(file.name.replace("test-", f"{new}-", 1)))
    old.rename(old.with_name(new))
    stack = root / ".pulumi" / "stacks" / "agents" / "test.json"
    stack.rename(stack.with_name(f"{new}.json"))
    return new
