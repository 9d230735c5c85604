"""A stack's history in a backend that keeps files: what belongs together, and what is told of all else."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox_components.errors import InvalidInput, NotFound, Unreachable
from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.diy import DiyHistory
from sandbox_components.revisions.entry_file import PINS
from sandbox_components.revisions.folder_store import FolderStore
from sandbox_components.revisions.store import Stored
from sandbox_components.spec.revision import canonical
from tests.revisions.told import spec
from tests.revisions.written import Written, checkpoint, packed, stateful_set


class Counting:
    """A store that counts what it is asked for."""

    def __init__(self, root: Path) -> None:
        self.inner = FolderStore(root)
        self.url, self.lanes = self.inner.url, 8
        self.listed: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self.is_away = False

    def list(self, folder: str) -> Sequence[Stored]:
        self.listed[folder] += 1
        return self.inner.list(folder)

    def read(self, path: str) -> bytes:
        if self.is_away:
            raise Unreachable("the backend is away")
        self.reads[path] += 1
        return self.inner.read(path)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "backend")


@pytest.fixture
def caches(tmp_path: Path) -> Path:
    return tmp_path / "caches"


@pytest.fixture
def store(written: Written) -> Counting:
    return Counting(written.root)


def opened(store: Counting, caches: Path, stack: str = "test") -> DiyHistory:
    return DiyHistory(store, "agents", stack, HistoryCache(store.url + stack, caches))


def specs(history: DiyHistory) -> list[dict[str, str] | str | None]:
    found = history.checkpoints(history.entries())
    return [one.problem or {name: state.spec for name, state in one.sandboxes.items()} for one in found]


def test_mixed_compression_and_endings_that_lie(written: Written, store: Counting, caches: Path) -> None:
    expected = []
    for number, (compression, ending) in enumerate(
        [("plain", ""), ("gzip", ".gz"), ("zstd", ".zst"), ("gzip", ""), ("plain", ".gz"), ("zstd", ".gz")]
    ):
        written.entry({"one": spec(f"a:{number}")}, compression=compression, ending=ending, version=number % 5)
        expected.append({"one": canonical(spec(f"a:{number}"))})
    history = opened(store, caches)
    assert specs(history) == expected
    assert [entry.message for entry in history.entries()] == [f"number {number}" for number in range(1, 7)]
    assert history.problems == []
    assert store.listed[history.folder] == 1
    assert sum(store.reads.values()) == 1 + 2 * 6


def test_pairs_by_the_stamp_behind_the_last_dash_and_nothing_else_counts(tmp_path: Path, caches: Path) -> None:
    written = Written(tmp_path / "dashes", stack="a-1-b")
    stamp = written.entry({"one": spec()})
    for name in (
        f"a-1-b-{stamp}.history.json.attrs",
        f"a-1-b-{stamp}.checkpoint.json.attrs",
        "fileblob123456",
        "notes.txt",
        ".DS_Store",
    ):
        (written.folder / name).write_text("{")
    (written.folder / "a-1-b-5.history.json").mkdir()
    history = opened(Counting(written.root), caches, "a-1-b")
    assert [entry.id for entry in history.entries()] == [stamp]
    assert specs(history) == [{"one": canonical(spec())}]
    assert history.problems == []


def test_the_order_is_the_stamps_as_numbers(written: Written, store: Counting, caches: Path) -> None:
    first, second = written.entry({"one": spec("a:1")}), written.entry({"one": spec("a:2")})
    for part in ("history", "checkpoint"):
        written.path(part, first).rename(written.path(part, "9"))
        written.path(part, second).rename(written.path(part, "10"))
    assert [entry.id for entry in opened(store, caches).entries()] == ["9", "10"]


def test_checkpoints_of_some_entries_read_only_those(written: Written, store: Counting, caches: Path) -> None:
    for number in range(10):
        written.entry({"one": spec(f"a:{number}")})
    history = opened(store, caches)
    entries = history.entries()
    chosen = [entries[7], entries[2], entries[7]]
    found = [one.sandboxes["one"].spec for one in history.checkpoints(chosen)]
    assert found == [canonical(spec("a:7")), canonical(spec("a:2")), canonical(spec("a:7"))]
    assert sum("checkpoint" in path for path in store.reads) == 2
    assert history.checkpoints([]) == []


def test_everything_is_read_once_ever(written: Written, store: Counting, caches: Path) -> None:
    for number in range(5):
        written.entry({"one": spec(f"a:{number}"), "two": spec()}, config={PINS: {"one": {"id": "1", "revision": 1}}})
    first = opened(store, caches)
    answer = first.entries(), first.checkpoints(first.entries())
    store.reads.clear()
    again = opened(store, caches)
    assert (again.entries(), again.checkpoints(again.entries())) == answer
    assert list(store.reads) == [".pulumi/meta.yaml"]
    stamp = written.entry({"one": spec("new")})
    store.reads.clear()
    assert specs(opened(store, caches))[-1] == {"one": canonical(spec("new"))}
    assert {path for path in store.reads if "history/" in path} == {
        f".pulumi/history/agents/test/test-{stamp}.{part}.json" for part in ("history", "checkpoint")
    }


def test_a_file_that_changed_after_all_is_read_again(written: Written, store: Counting, caches: Path) -> None:
    stamp = written.entry({"one": spec("a:1")})
    assert specs(opened(store, caches)) == [{"one": canonical(spec("a:1"))}]
    path = written.path("checkpoint", stamp)
    path.write_bytes(path.read_bytes().replace(b"a:1", b"a:2"))
    os.utime(path, ns=(time.time_ns(), time.time_ns() + 1_000_000_000))
    assert specs(opened(store, caches)) == [{"one": canonical(spec("a:2"))}]


def test_problems_are_told_and_the_rest_is_read(written: Written, store: Counting, caches: Path) -> None:
    good = written.entry({"one": spec("a:1")})
    cut = written.entry({"one": spec("a:2")})
    written.path("history", cut).write_bytes(written.path("history", cut).read_bytes()[:40])
    lost = written.entry({"one": spec("a:3")})
    written.path("checkpoint", lost).unlink()
    newer = written.entry(state={"version": 7, "checkpoint": {}})
    broken = written.entry(state=packed(b"{" * 50, "gzip")[:-4], ending=".gz")
    orphan = written.entry({"one": spec("a:6")})
    written.path("history", orphan).unlink()
    (written.folder / "test-yesterday.history.json").write_text("{}")
    history = opened(store, caches)
    assert [entry.id for entry in history.entries()] == [good, lost, newer, broken]
    assert specs(history) == [
        {"one": canonical(spec("a:1"))},
        "is missing",
        "of version 7, which isn't known here: a newer Pulumi wrote it",
        "broken: its gzip stream is cut off or damaged",
    ]
    assert history.problems == [
        f"checkpoint of {lost}: is missing",
        f"checkpoint of {newer}: of version 7, which isn't known here: a newer Pulumi wrote it",
        f"checkpoint of {broken}: broken: its gzip stream is cut off or damaged",
        f"entry {cut}: broken: not the JSON of a history entry",
        f"entry {orphan}: is missing: only its checkpoint is there",
        "test-yesterday.history.json: is not named as Pulumi names an entry: STACK-NANOSECONDS.history.json",
    ]
    for entry in history.entries()[1:]:
        if entry.id != newer:
            with pytest.raises(NotFound, match=entry.id):
                history.raw_checkpoint(entry)


def test_a_broken_checkpoint_is_not_kept_as_broken(written: Written, store: Counting, caches: Path) -> None:
    stamp = written.entry({"one": spec()})
    path = written.path("checkpoint", stamp)
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    os.utime(path, ns=(1, 1))
    assert specs(opened(store, caches)) == ["broken: not the JSON of a checkpoint"]
    path.write_bytes(whole)
    os.utime(path, ns=(1, 1))
    assert specs(opened(store, caches)) == [{"one": canonical(spec())}]


def test_the_same_problem_of_many_is_one_line(written: Written, store: Counting, caches: Path) -> None:
    stamps = [written.entry({"one": spec()}) for _ in range(200)]
    for stamp in stamps:
        written.path("checkpoint", stamp).unlink()
    history = opened(store, caches)
    history.checkpoints(history.entries())
    assert history.problems == [f"checkpoint of {stamps[0]} and 199 more: is missing"]


def test_files_that_may_not_be_read(
    written: Written, store: Counting, caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, locked = written.entry({"one": spec()}), written.entry({"one": spec()})
    read = Path.read_bytes

    def guarded(path: Path) -> bytes:
        if locked in path.name:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", guarded)
    history = opened(store, caches)
    assert [entry.id for entry in history.entries()] == [good]
    assert history.problems == [f"entry {locked}: may not be read"]


def test_a_file_that_goes_between_listing_and_reading(written: Written, store: Counting, caches: Path) -> None:
    stamp = written.entry({"one": spec()})
    history = opened(store, caches)
    entries = history.entries()
    written.path("checkpoint", stamp).unlink()
    assert [one.problem for one in history.checkpoints(entries)] == ["is missing"]


def test_a_backend_that_goes_away_is_an_error_and_no_list_of_problems(
    written: Written, store: Counting, caches: Path
) -> None:
    for _ in range(20):
        written.entry({"one": spec()})
    history = opened(store, caches)
    entries = history.entries()
    store.is_away = True
    with pytest.raises(Unreachable, match="away"):
        history.checkpoints(entries)
    store.is_away = False
    assert len(history.checkpoints(entries)) == 20


def test_the_raw_checkpoint(written: Written, store: Counting, caches: Path) -> None:
    for compression in ("plain", "gzip", "zstd"):
        written.entry({"one": spec()}, compression=compression)
    history = opened(store, caches)
    texts = {history.raw_checkpoint(entry) for entry in history.entries()}
    assert len(texts) == 1
    assert texts.pop().startswith(b'{"version": 3')


def test_a_stack_that_was_never_updated_has_no_entries(written: Written, store: Counting, caches: Path) -> None:
    assert opened(store, caches).entries() == []


def test_a_stack_that_is_not_there(written: Written, store: Counting, caches: Path) -> None:
    with pytest.raises(NotFound, match='there is no stack "tset" of project agents') as caught:
        opened(store, caches, "tset").entries()
    assert "pulumi stack ls" in caught.value.suggestions


def test_an_empty_folder_is_no_backend_with_the_stack(tmp_path: Path, caches: Path) -> None:
    with pytest.raises(NotFound, match="there is no stack"):
        opened(Counting(tmp_path / "nowhere"), caches).entries()


@pytest.mark.parametrize("has_meta", [True, False])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_the_layout_of_old_is_told(tmp_path: Path, caches: Path, has_meta: bool, ending: str) -> None:
    for folder in ("stacks", "history/test"):
        (tmp_path / ".pulumi" / folder).mkdir(parents=True)
    (tmp_path / ".pulumi" / "stacks" / f"test.json{ending}").write_text("{}")
    (tmp_path / ".pulumi" / "history" / "test" / "test-17.history.json").write_text("{}")
    if has_meta:
        (tmp_path / ".pulumi" / "meta.yaml").write_text("version: 0\n")
    with pytest.raises(InvalidInput, match=r"layout of before Pulumi 3\.61") as caught:
        opened(Counting(tmp_path), caches).entries()
    assert caught.value.suggestions == ("pulumi state upgrade",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version: 2\n", "is of version 2, known is up to 1"),
        ("version: [", "has no version"),
        ("{}", "has no version"),
        ("", "has no version"),
    ],
)
def test_a_layout_that_is_not_known(written: Written, store: Counting, caches: Path, text: str, problem: str) -> None:
    written.entry({"one": spec()})
    (written.root / ".pulumi" / "meta.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        opened(store, caches).entries()


def test_equal_states_are_one_object(written: Written, store: Counting, caches: Path) -> None:
    for _ in range(50):
        written.entry({"one": spec(), "two": spec()}, config={PINS: {"one": {"id": "1"}}})
    for history in (opened(store, caches), opened(store, caches)):
        found = history.checkpoints(history.entries())
        assert len({id(state) for one in found for state in one.sandboxes.values()}) <= 2
        assert len({id(entry.pins) for entry in history.entries()}) == 1
        assert len({id(entry.environment) for entry in history.entries()}) == 1


def test_nothing_is_written_into_the_backend(written: Written, store: Counting, caches: Path) -> None:
    written.entry(state=checkpoint(stateful_set("one", spec())))
    before = {path: path.stat().st_mtime_ns for path in written.root.rglob("*")}
    history = opened(store, caches)
    history.checkpoints(history.entries())
    history.raw_checkpoint(history.entries()[0])
    assert {path: path.stat().st_mtime_ns for path in written.root.rglob("*")} == before
