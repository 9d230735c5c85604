"""A stack's history on Pulumi Cloud, through the command `pulumi`: experimental.

Made after the JSON that the command prints, which is public; never run against the service.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cached_property

import msgspec

from sandbox_components.errors import NotFound, SandboxError
from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.revisions.entry_file import PINS, environment, pins
from sandbox_components.revisions.model import Checkpoint, Entry
from sandbox_components.revisions.problems import Problems

PAGE = 100
LANES = 4
Read = Callable[..., str]
"""Runs `pulumi` with the arguments on the stack, and returns what it prints."""


class _Value(msgspec.Struct, rename="camel"):
    object_value: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    secret: bool = False


class _Config(msgspec.Struct):
    pins: _Value | None = msgspec.field(name=PINS, default=None)


class _Update(msgspec.Struct, rename="camel"):
    version: int
    kind: str
    start_time: datetime
    message: str = ""
    environment: dict[str, str] | None = None
    config: _Config | None = None
    result: str = ""
    end_time: datetime | None = None
    resource_changes: dict[str, int] | None = None


class _Exported(msgspec.Struct):
    version: int
    deployment: msgspec.Raw
    features: list[str] | None = None


_PAGE = msgspec.json.Decoder(list[_Update])
_EXPORTED = msgspec.json.Decoder(_Exported)


class CloudHistory:
    """Reads the history of one stack.

    Args:
        read: runs the command.
        stack: the stack's name.
        cache: checkpoints that were read before; what an update's version left never changes.
    """

    def __init__(self, read: Read, stack: str, cache: HistoryCache) -> None:
        self.stack = stack
        self._read, self._cache = read, cache
        self._problems = Problems()

    def entries(self) -> Sequence[Entry]:
        """Return all entries, oldest first; see `History`."""
        return self._entries

    def checkpoints(self, entries: Sequence[Entry]) -> Sequence[Checkpoint]:
        """Return what each of the given entries left, one `pulumi stack export` each; see `History`."""
        found = {entry.id: self._cache.checkpoint(entry.id, _mark(entry)) for entry in entries}
        unread = [entry for entry in entries if found[entry.id] is None]
        pool = ThreadPoolExecutor(LANES)
        try:
            for entry, checkpoint in zip(unread, pool.map(self._checkpoint, unread), strict=True):
                found[entry.id] = checkpoint
                self._cache.add_checkpoint(entry.id, _mark(entry), checkpoint)
        finally:
            pool.shutdown(cancel_futures=True)
        self._cache.save([entry.id for entry in self._entries])
        answer = []
        for entry in entries:
            checkpoint = found[entry.id] or Checkpoint({}, "is missing")
            if checkpoint.problem is not None:
                self._problems.add(f"checkpoint of {entry.id}", checkpoint.problem)
            answer.append(checkpoint)
        return answer

    def raw_checkpoint(self, entry: Entry) -> bytes:
        """Return the checkpoint's JSON text, in the form of backends that keep files; see `History`."""
        try:
            found = _EXPORTED.decode(self._export(entry))
        except ValueError:
            raise NotFound(f"the checkpoint of {entry.id} can't be read: pulumi stack export gave no JSON") from None
        except SandboxError as error:
            raise NotFound(f"the checkpoint of {entry.id} can't be read: {error.message}") from None
        checkpoint = {"stack": self.stack, "latest": found.deployment}
        return msgspec.json.encode(
            {"version": found.version, "features": found.features or [], "checkpoint": checkpoint}
        )

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read; see `History`."""
        return self._problems.lines()

    @cached_property
    def _entries(self) -> Sequence[Entry]:
        found: dict[int, Entry] = {}
        page = 1
        while True:
            updates = self._page(page)
            found |= {update.version: _entry(update) for update in updates}
            if len(updates) < PAGE:
                return [found[version] for version in sorted(found)]
            page += 1

    def _page(self, page: int) -> list[_Update]:
        arguments = ["stack", "history", "--json", "--full-dates", "--page-size", str(PAGE), "--page", str(page)]
        try:
            return _PAGE.decode(self._read(*arguments))
        except ValueError:
            raise SandboxError(
                "pulumi stack history printed JSON of a form that isn't known here", code="history_unreadable"
            ) from None

    def _checkpoint(self, entry: Entry) -> Checkpoint:
        try:
            return read_checkpoint(self._export(entry).encode())
        except SandboxError as error:
            return Checkpoint({}, error.message)

    def _export(self, entry: Entry) -> str:
        return self._read("stack", "export", "--version", entry.id)


def _entry(update: _Update) -> Entry:
    value = update.config.pins if update.config is not None else None
    given = msgspec.json.decode(value.object_value) if value is not None and value.object_value else None
    return Entry(
        id=str(update.version),
        kind=update.kind,
        result=update.result,
        started_at=update.start_time.replace(microsecond=0),
        ended_at=(update.end_time or update.start_time).replace(microsecond=0),
        message=update.message,
        environment=environment(update.environment or {}),
        changes=update.resource_changes,
        pins=pins(given),
    )


def _mark(entry: Entry) -> str:
    return f"{entry.result}-{int(entry.ended_at.timestamp())}"
