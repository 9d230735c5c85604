"""What was read of a stack's history, kept on disk: its objects never change, so each is read once.

One file a stack, replaced in one step. It holds what entries and checkpoints say in our words and so no secret; the
folder is the user's alone all the same. A file that is of another version, damaged or not writable is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sandbox_components.revisions.model import Checkpoint, Entry, SandboxState

FORMAT = 2
DIGEST = 16
"""Bytes of the content's digest, which stands before it."""
KEPT_SECONDS = 90 * 24 * 3600
"""A file that nothing was added to for so long goes: its stack may be gone too."""
T = TypeVar("T")


class _Entry(msgspec.Struct, array_like=True):
    """An entry; its environment and its pins, mostly those of the entry before, stand in the table of texts."""

    mark: str
    id: str
    kind: str
    result: str
    started: int
    ended: int
    message: str
    environment: int
    changes: dict[str, int] | None
    pins: int


class _State(msgspec.Struct, array_like=True, frozen=True):
    name: str
    spec: str
    has_failed: bool
    created_at: str | None


class _Checkpoint(msgspec.Struct, array_like=True):
    mark: str
    states: list[int]


class _File(msgspec.Struct, array_like=True):
    format: int
    subject: str
    texts: list[bytes]
    states: list[_State]
    entries: dict[str, _Entry]
    checkpoints: dict[str, _Checkpoint]


_FILE = msgspec.msgpack.Decoder(_File)


class HistoryCache:
    """The entries and checkpoints read so far, by the objects' names; those of another mark count as unread.

    Args:
        subject: what it is about: backend, project and stack.
        folder: of all caches; None for the user's own.
    """

    def __init__(self, subject: str, folder: Path | None = None) -> None:
        self.subject = subject
        self.folder = folder or default_folder()
        self.file = self.folder / f"{hashlib.sha256(subject.encode()).hexdigest()[:32]}.msgpack"
        self._entries: dict[str, tuple[str, Entry]] = {}
        self._checkpoints: dict[str, tuple[str, Checkpoint]] = {}
        self._is_new = False
        try:
            data = self.file.read_bytes()
            if data[:DIGEST] == _digest(data[DIGEST:]):
                self._take(_FILE.decode(data[DIGEST:]))
        except (OSError, ValueError, LookupError, OverflowError):
            self._entries, self._checkpoints = {}, {}

    def entry(self, name: str, mark: str) -> Entry | None:
        """Return the entry of an object, if it was read."""
        return _of_mark(self._entries.get(name), mark)

    def checkpoint(self, name: str, mark: str) -> Checkpoint | None:
        """Return the checkpoint of an object, if it was read."""
        return _of_mark(self._checkpoints.get(name), mark)

    def add_entry(self, name: str, mark: str, entry: Entry) -> None:
        """Keep an entry."""
        self._entries[name], self._is_new = (mark, entry), True

    def add_checkpoint(self, name: str, mark: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, unless it could not be read: a newer version of this package may read it."""
        if checkpoint.problem is None:
            self._checkpoints[name], self._is_new = (mark, checkpoint), True

    def save(self, names: Collection[str]) -> None:
        """Write what is new, without objects that are gone; `names` are those that are there."""
        if not self._is_new:
            return
        for kept in (self._entries, self._checkpoints):
            for name in kept.keys() - set(names):
                del kept[name]
        with contextlib.suppress(OSError):
            content = msgspec.msgpack.encode(self._content())
            self._write(_digest(content) + content)
            self._is_new = False

    def _write(self, data: bytes) -> None:
        import tempfile

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        handle, draft = tempfile.mkstemp(dir=self.folder, prefix=self.file.stem, suffix=".draft")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(draft).replace(self.file)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        for other in self.folder.iterdir():
            if other.stat().st_mtime < time.time() - KEPT_SECONDS:
                other.unlink(missing_ok=True)

    def _take(self, file: _File) -> None:
        if file.format != FORMAT or file.subject != self.subject:
            return
        texts: list[Mapping[str, Any]] = [msgspec.json.decode(text, type=dict) for text in file.texts]
        states = [(row.name, SandboxState(row.spec, row.has_failed, row.created_at)) for row in file.states]
        for name, row in file.entries.items():
            entry = Entry(
                row.id,
                row.kind,
                row.result,
                datetime.fromtimestamp(row.started, UTC),
                datetime.fromtimestamp(row.ended, UTC),
                row.message,
                texts[row.environment],
                row.changes,
                texts[row.pins],
            )
            self._entries[name] = row.mark, entry
        for name, found in file.checkpoints.items():
            self._checkpoints[name] = found.mark, Checkpoint(dict(states[index] for index in found.states))

    def _content(self) -> _File:
        texts: dict[bytes, int] = {}
        states: dict[_State, int] = {}

        def text(value: Mapping[str, Any]) -> int:
            return texts.setdefault(msgspec.json.encode(value), len(texts))

        def state(name: str, value: SandboxState) -> int:
            return states.setdefault(_State(name, value.spec, value.has_failed, value.created_at), len(states))

        entries = {
            name: _Entry(
                mark,
                entry.id,
                entry.kind,
                entry.result,
                int(entry.started_at.timestamp()),
                int(entry.ended_at.timestamp()),
                entry.message,
                text(entry.environment),
                dict(entry.changes) if entry.changes is not None else None,
                text(entry.pins),
            )
            for name, (mark, entry) in self._entries.items()
        }
        checkpoints = {
            name: _Checkpoint(mark, [state(sandbox, value) for sandbox, value in checkpoint.sandboxes.items()])
            for name, (mark, checkpoint) in self._checkpoints.items()
        }
        return _File(FORMAT, self.subject, list(texts), list(states), entries, checkpoints)


def default_folder() -> Path:
    """The user's folder of caches: below XDG_CACHE_HOME, else `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return home / "sandbox-components" / "history"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()


def _of_mark(kept: tuple[str, T] | None, mark: str) -> T | None:
    return kept[1] if kept is not None and kept[0] == mark else None
