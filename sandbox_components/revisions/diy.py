"""A stack's history in a backend that keeps plain files: `.pulumi/history/PROJECT/STACK/`.

One listing; entries and checkpoints are read when they are asked for, several at once, and each only once ever. No
checkpoint is left out for what its entry says: one whose changes are all `same` can be the first to show what an `up`
that was killed, or an edit of the state, has left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import yaml

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound, SandboxError, Unreachable
from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.revisions.compression import BrokenFile, plain
from sandbox_components.revisions.entry_file import read_entry
from sandbox_components.revisions.model import Checkpoint, Entry, SandboxState
from sandbox_components.revisions.problems import Problems
from sandbox_components.revisions.store import Store, Stored

T = TypeVar("T")
_NAME = re.compile(r"(?P<stack>.+)-(?P<stamp>\d+)\.(?P<part>history|checkpoint)\.json(?:\.gz|\.zst)?")
_ENTRY_LIKE = re.compile(r".*\.history\.json(?:\.gz|\.zst)?")
LAYOUT = 1
"""Of `.pulumi/meta.yaml`; version 0 had no folders for projects."""


class DiyHistory:
    """Reads the history of one stack.

    Args:
        store: the backend.
        project: its name.
        stack: its name, without organisation and project.
        cache: what was read before.
    """

    def __init__(self, store: Store, project: str, stack: str, cache: HistoryCache) -> None:
        self.store, self.project, self.stack = store, project, stack
        self.folder = f".pulumi/history/{project}/{stack}"
        self._cache = cache
        self._problems = Problems()
        self._states: dict[SandboxState, SandboxState] = {}
        self._texts: dict[bytes, Mapping[str, Any]] = {}

    def entries(self) -> Sequence[Entry]:
        """Return all entries, oldest first; see `History`."""
        return self._entries

    def checkpoints(self, entries: Sequence[Entry]) -> Sequence[Checkpoint]:
        """Return what each of the given entries left; see `History`."""
        found: dict[str, Checkpoint] = {}
        unread = []
        for entry in entries:
            stored = self._objects["checkpoint"].get(entry.id)
            known = self._cache.checkpoint(stored.name, stored.mark) if stored else Checkpoint({}, "is missing")
            if known is not None:
                found[entry.id] = known
            elif stored is not None:
                unread.append((entry.id, stored))
        for (entry_id, stored), read in self._read(unread, lambda _, data: self._checkpoint(data)):
            found[entry_id] = Checkpoint({}, read) if isinstance(read, str) else read
            self._cache.add_checkpoint(stored.name, stored.mark, found[entry_id])
        self._save()
        for entry in entries:
            problem = found[entry.id].problem
            if problem is not None:
                self._problems.add(f"checkpoint of {entry.id}", problem)
        return [found[entry.id] for entry in entries]

    def raw_checkpoint(self, entry: Entry) -> bytes:
        """Return the checkpoint's JSON text; see `History`."""
        stored = self._objects["checkpoint"].get(entry.id)
        if stored is None:
            raise NotFound(f"the checkpoint of {entry.id} is missing in {self.store.url}")
        try:
            return plain(self.store.read(f"{self.folder}/{stored.name}"))
        except Unreachable:
            raise
        except (SandboxError, BrokenFile) as error:
            raise NotFound(f"the checkpoint of {entry.id} can't be read: {error}") from None

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read; see `History`."""
        return self._problems.lines()

    @cached_property
    def _objects(self) -> dict[str, dict[str, Stored]]:
        """The listing: part → stamp → object."""
        self._check_layout()
        found: dict[str, dict[str, Stored]] = {"history": {}, "checkpoint": {}}
        for stored in sorted(self.store.list(self.folder), key=lambda stored: stored.name):
            name = _NAME.fullmatch(stored.name)
            if name is not None:
                found[name["part"]][name["stamp"]] = stored
            elif _ENTRY_LIKE.fullmatch(stored.name):
                self._problems.add(stored.name, "is not named as Pulumi names an entry: STACK-NANOSECONDS.history.json")
        if not found["history"]:
            self._check_stack()
        for stamp in found["checkpoint"].keys() - found["history"].keys():
            self._problems.add(f"entry {stamp}", "is missing: only its checkpoint is there")
        return found

    @cached_property
    def _entries(self) -> Sequence[Entry]:
        found: dict[str, Entry] = {}
        unread = []
        for stamp, stored in self._objects["history"].items():
            known = self._cache.entry(stored.name, stored.mark)
            if known is None:
                unread.append((stamp, stored))
            else:
                found[stamp] = known
        for (stamp, stored), read in self._read(unread, self._entry):
            if isinstance(read, str):
                self._problems.add(f"entry {stamp}", read)
            else:
                found[stamp] = read
                self._cache.add_entry(stored.name, stored.mark, read)
        self._save()
        return [found[stamp] for stamp in sorted(found, key=int)]

    def _read(
        self, wanted: Sequence[tuple[str, Stored]], parse: Callable[[str, bytes], T]
    ) -> Iterable[tuple[tuple[str, Stored], T | str]]:
        """Yield what each object holds, or why it can't be read."""

        def one(pair: tuple[str, Stored]) -> T | str:
            try:
                return parse(pair[0], self.store.read(f"{self.folder}/{pair[1].name}"))
            except NotFound:
                return "is missing"
            except AccessDenied:
                return "may not be read"
            except BrokenFile as error:
                return str(error)

        if not wanted:
            return
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(max(1, min(self.store.lanes, len(wanted))))
        try:
            yield from zip(wanted, pool.map(one, wanted), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)

    def _entry(self, entry_id: str, data: bytes) -> Entry:
        """Read an entry; its environment and pins, mostly those of others too, are one object with theirs."""
        found = read_entry(entry_id, data)
        environment, pins = (
            self._texts.setdefault(msgspec.json.encode(value), value) for value in (found.environment, found.pins)
        )
        return replace(found, environment=environment, pins=pins)

    def _checkpoint(self, data: bytes) -> Checkpoint:
        """Read a checkpoint; equal states are one object, or a thousand checkpoints would not fit in memory."""
        found = read_checkpoint(data)
        shared = {name: self._states.setdefault(state, state) for name, state in found.sandboxes.items()}
        return Checkpoint(shared, found.problem)

    def _save(self) -> None:
        self._cache.save({stored.name for part in self._objects.values() for stored in part.values()})

    def _check_layout(self) -> None:
        """Refuse a layout that a newer Pulumi has made."""
        try:
            meta = yaml.safe_load(self.store.read(".pulumi/meta.yaml"))
        except NotFound:
            return
        except (UnicodeDecodeError, yaml.YAMLError):
            meta = None
        version = meta.get("version") if isinstance(meta, dict) else None
        if not isinstance(version, int):
            raise InvalidInput(f"{self.store.url}/.pulumi/meta.yaml", "has no version: the state backend is damaged")
        if version > LAYOUT:
            raise InvalidInput(
                f"{self.store.url}/.pulumi/meta.yaml",
                f"is of version {version}, known is up to {LAYOUT}: a newer Pulumi made this state backend",
            )

    def _check_stack(self) -> None:
        """Tell a stack that was never updated from one that isn't there, or is there in the layout of old."""
        files = {self.stack + ending for ending in (".json", ".json.gz", ".json.zst")}
        if any(stored.name in files for stored in self.store.list(f".pulumi/stacks/{self.project}")):
            return
        if any(stored.name in files for stored in self.store.list(".pulumi/stacks")):
            raise InvalidInput(
                self.store.url,
                f"keeps stack {self.stack} in the layout of before Pulumi 3.61, without a folder for its project",
                suggestions=["pulumi state upgrade"],
            )
        raise NotFound(
            f'there is no stack "{self.stack}" of project {self.project} in {self.store.url}',
            suggestions=["pulumi stack ls", f"pulumi stack init {self.stack}"],
        )
