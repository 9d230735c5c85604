"""What a stack's history says, in our words: one entry for each update, and what it left of each sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """One update, refresh, destroy or import of the stack.

    Attributes:
        id: the writer's clock at its end in nanoseconds, which names its files; on Pulumi Cloud the update's version.
            It never changes, whatever is pruned or added.
        kind: `update`, `refresh`, `destroy` or `resource-import`.
        result: `succeeded`, `failed` or `in-progress`.
        started_at: in UTC, to the second.
        ended_at: in UTC, to the second.
        message: as given by `--message`, or the commit's title.
        environment: `git.*`, `ci.*`, `exec.*`, `pulumi.*`.
        changes: operation → how many resources (`same`, `create`, `update`, `delete`, ...); None where not recorded.
        pins: sandbox name → its pin, from the config that the entry was made with.
    """

    id: str
    kind: str
    result: str
    started_at: datetime
    ended_at: datetime
    message: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, int] | None = None
    pins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SandboxState:
    """What a checkpoint holds of one sandbox.

    Attributes:
        spec: text of the annotation `sandbox-components/spec` among the StatefulSet's inputs.
        has_failed: the StatefulSet has init errors: it was sent, and did not become ready.
        created_at: the engine's time of the StatefulSet's creation, where the state has it; a new one is a new life.
    """

    spec: str
    has_failed: bool = False
    created_at: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All sandboxes of a stack after one entry.

    Attributes:
        sandboxes: name → state, only of those that exist.
        problem: why it can't be read (missing, of an unknown version, broken); then `sandboxes` is empty and means
            nothing.
    """

    sandboxes: Mapping[str, SandboxState]
    problem: str | None = None


class History(Protocol):
    """A stack's history, oldest entry first. Reading never changes anything of it."""

    def entries(self) -> Sequence[Entry]:
        """Return all entries, oldest first. An unreadable one is left out and told in `problems`."""

    def checkpoints(self, entries: Sequence[Entry]) -> Sequence[Checkpoint]:
        """Return what each of the given entries left, in the same order."""

    def raw_checkpoint(self, entry: Entry) -> bytes:
        """Return the checkpoint's JSON text, decompressed, with its encrypted secrets.

        Raises:
            NotFound: it isn't there or can't be read.
        """

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read, one line each."""
