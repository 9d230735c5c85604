"""A history that a test tells, one entry after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox_components.errors import NotFound
from sandbox_components.revisions.model import Checkpoint, Entry, SandboxState
from sandbox_components.spec.revision import canonical

BEGIN = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
STEP = timedelta(minutes=10)
LENGTH = timedelta(minutes=2)
Spec = dict[str, Any]


def spec(image: str = "a:1", **groups: Any) -> Spec:
    """The groups of an annotation."""
    return {
        "v": 1,
        "image": {"uri": image},
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        **groups,
    }


class Told:
    """A stack's history in memory: `sandboxes` is what the stack holds, each `entry` freezes it."""

    def __init__(self, begin: datetime = BEGIN) -> None:
        self.sandboxes: dict[str, SandboxState] = {}
        self.pins: dict[str, Mapping[str, Any]] = {}
        self._entries: list[Entry] = []
        self._checkpoints: list[Checkpoint] = []
        self._begin = begin
        self.problems: Sequence[str] = ()
        self.read = 0
        """How many checkpoints were asked for."""

    def put(self, name: str = "one", groups: Spec | str | None = None, *, failed: bool = False) -> Told:
        """Declare a sandbox, or change it."""
        text = groups if isinstance(groups, str) else canonical(groups or spec())
        old = self.sandboxes.get(name)
        created = old.created_at if old is not None else (self._now() + LENGTH / 2).isoformat()
        self.sandboxes[name] = SandboxState(text, failed, created)
        return self

    def drop(self, name: str = "one") -> Told:
        """Delete a sandbox."""
        self.sandboxes.pop(name, None)
        return self

    def entry(
        self,
        kind: str = "update",
        result: str = "succeeded",
        *,
        changes: Mapping[str, int] | None = None,
        problem: str | None = None,
        **more: Any,
    ) -> Entry:
        """End an update of the stack."""
        if changes is None:
            changes = {"create": 3} if not self._entries else {"same": 2, "update": 1}
        began = self._now()
        ended = began + LENGTH
        made = Entry(
            id=str(int(ended.timestamp()) * 1_000_000_000 + len(self._entries)),
            kind=kind,
            result=result,
            started_at=began,
            ended_at=ended,
            changes=changes,
            pins=dict(self.pins),
            **more,
        )
        self._entries.append(made)
        self._checkpoints.append(Checkpoint({} if problem else dict(self.sandboxes), problem))
        return made

    def forget(self, count: int) -> Told:
        """Return the history without its first entries, as a lifecycle rule leaves it."""
        rest = Told(self._begin)
        rest._entries, rest._checkpoints = self._entries[count:], self._checkpoints[count:]
        return rest

    def until(self, count: int) -> Told:
        """Return the history as it was after `count` entries."""
        rest = Told(self._begin)
        rest._entries, rest._checkpoints = self._entries[:count], self._checkpoints[:count]
        return rest

    def entries(self) -> Sequence[Entry]:
        """All entries."""
        return list(self._entries)

    def checkpoints(self, entries: Sequence[Entry]) -> Sequence[Checkpoint]:
        """What these entries left."""
        by_id = {entry.id: found for entry, found in zip(self._entries, self._checkpoints, strict=True)}
        self.read += len(entries)
        return [by_id[entry.id] for entry in entries]

    def raw_checkpoint(self, entry: Entry) -> bytes:
        """A checkpoint's text, as far as it is told here."""
        if entry not in self._entries:
            raise NotFound(f"there is no entry {entry.id}")
        return json.dumps({"version": 3}).encode()

    def _now(self) -> datetime:
        return self._begin + STEP * len(self._entries)
