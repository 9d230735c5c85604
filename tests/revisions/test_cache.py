"""What is kept on disk of a history: for the user alone, without secrets, and never a reason to fail."""

from __future__ import annotations

import os
import stat
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sandbox_components.revisions import cache as module
from sandbox_components.revisions.cache import HistoryCache, default_folder
from sandbox_components.revisions.model import Checkpoint, Entry, SandboxState

ENTRY = Entry(
    id="17",
    kind="update",
    result="failed",
    started_at=datetime(2026, 11, 29, 19, 28, 40, tzinfo=UTC),
    ended_at=datetime(2026, 11, 29, 19, 28, 44, tzinfo=UTC),
    message="zwei 🚀",
    environment={"git.head": "0fbc"},
    changes={"update": 1},
    pins={"one": {"id": "16", "spec": {"v": 1}}},
)
CHECKPOINT = Checkpoint({"one": SandboxState('{"v":1}', True, "2026-11-29T19:28:44.1Z"), "two": SandboxState("")})


def filled(folder: Path, subject: str = "file:///state\nagents\ntest") -> HistoryCache:
    cache = HistoryCache(subject, folder)
    cache.add_entry("a.history.json", "1", ENTRY)
    cache.add_entry("b.history.json", "1", replace(ENTRY, id="18", changes=None, pins={}, environment={}))
    cache.add_checkpoint("a.checkpoint.json", "1", CHECKPOINT)
    cache.add_checkpoint("b.checkpoint.json", "1", Checkpoint({}))
    cache.save(["a.history.json", "b.history.json", "a.checkpoint.json", "b.checkpoint.json"])
    return cache


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    subject = filled(tmp_path / "new" / "folder").subject
    again = HistoryCache(subject, tmp_path / "new" / "folder")
    assert again.entry("a.history.json", "1") == ENTRY
    assert again.entry("b.history.json", "1") == replace(ENTRY, id="18", changes=None, pins={}, environment={})
    assert again.checkpoint("a.checkpoint.json", "1") == CHECKPOINT
    assert again.checkpoint("b.checkpoint.json", "1") == Checkpoint({})
    assert again.entry("c.history.json", "1") is None


def test_another_mark_or_subject_is_unread(tmp_path: Path) -> None:
    filled(tmp_path)
    again = HistoryCache("file:///state\nagents\ntest", tmp_path)
    assert again.entry("a.history.json", "2") is None
    assert again.checkpoint("a.checkpoint.json", "2") is None
    assert HistoryCache("file:///state\nagents\nother", tmp_path).entry("a.history.json", "1") is None
    stolen = HistoryCache("file:///state\nagents\nother", tmp_path)
    stolen.file.write_bytes(again.file.read_bytes())
    assert HistoryCache(stolen.subject, tmp_path).entry("a.history.json", "1") is None


def test_it_is_the_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir(mode=0o755)
    cache = filled(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache.file.stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [cache.file.name]


def test_what_could_not_be_read_is_not_kept(tmp_path: Path) -> None:
    cache = HistoryCache("x", tmp_path)
    cache.add_checkpoint("a", "1", Checkpoint({}, "is missing"))
    cache.save(["a"])
    assert list(tmp_path.iterdir()) == []


def test_objects_that_are_gone_are_dropped(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    cache.add_entry("c.history.json", "1", ENTRY)
    cache.save(["c.history.json"])
    again = HistoryCache(cache.subject, tmp_path)
    assert again.entry("c.history.json", "1") == ENTRY
    assert again.entry("a.history.json", "1") is None
    assert again.checkpoint("a.checkpoint.json", "1") is None


def test_files_of_long_ago_go(tmp_path: Path) -> None:
    old, recent = filled(tmp_path, "old").file, filled(tmp_path, "recent").file
    draft = tmp_path / "x.draft"
    draft.write_text("")
    for path, days in ((old, 91), (draft, 91), (recent, 89)):
        os.utime(path, (time.time() - days * 86400,) * 2)
    new = filled(tmp_path, "new").file
    assert set(tmp_path.iterdir()) == {recent, new}


@pytest.mark.parametrize("damage", ["empty", "cut", "noise", "folder", "flipped", "older"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = filled(tmp_path)
    whole = cache.file.read_bytes()
    if damage == "older":
        monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    elif damage == "folder":
        cache.file.unlink()
        cache.file.mkdir()
    elif damage != "flipped":
        cache.file.write_bytes({"empty": b"", "cut": whole[:-3], "noise": os.urandom(300)}[damage])
    for place in range(0, len(whole), 7) if damage == "flipped" else [0]:
        if damage == "flipped":
            cache.file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        again = HistoryCache(cache.subject, tmp_path)
        assert again.entry("a.history.json", "1") is None
        assert again.checkpoint("a.checkpoint.json", "1") is None
        again.add_entry("a.history.json", "2", ENTRY)
        again.save(["a.history.json"])
        assert again.entry("a.history.json", "2") == ENTRY


def test_a_folder_that_can_not_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = filled(tmp_path / "file" / "below")
    assert cache.entry("a.history.json", "1") == ENTRY


def test_several_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    workers = [threading.Thread(target=filled, args=(tmp_path,)) for _ in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    cache = HistoryCache("file:///state\nagents\ntest", tmp_path)
    assert cache.entry("a.history.json", "1") == ENTRY
    assert [path.name for path in tmp_path.iterdir()] == [cache.file.name]


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "sandbox-components" / "history"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert default_folder() == tmp_path / "home" / ".cache" / "sandbox-components" / "history"
