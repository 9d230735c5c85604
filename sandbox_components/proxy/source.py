"""Where the proxy learns who its sandboxes are and what they may spend: the interface, and a file as the plain case."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sandbox_components.errors import InvalidInput, SandboxError
from sandbox_components.ledger.model import Limit, Scope
from sandbox_components.proxy.settings import document
from sandbox_components.spec.identity import Identity, parse_identity
from sandbox_components.spec.money import from_cents
from sandbox_components.spec.spending import DeclaredLimit, parse_limit

T = TypeVar("T")

LIST_SECONDS = 15.0
"""A source tells all it knows at least this often, changed or not."""
_PAUSES = 8
"""Looks at a file that are left out after one that went wrong."""


@dataclass(frozen=True)
class Loaded:
    """All that a source knows at one moment.

    Attributes:
        identities: by sandbox id.
        limits: the full set.
        problems: limits that can't be read. Nobody may spend while there is one: it could be anybody's cap.
        ignored: identities that can't be read: their keys open nothing.
        listed_at: when reading them began.
    """

    identities: Mapping[str, Identity] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    problems: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    listed_at: datetime = field(default_factory=lambda: datetime.now(UTC))


Take = Callable[[Loaded], Awaitable[None]]
Complain = Callable[[Exception], None]


class Source(Protocol):
    """What the proxy wants of a source."""

    async def follow(self, take: Take, complain: Complain) -> None:
        """Hand over all that is known, at every change and every `LIST_SECONDS`; never ends. Faults are told."""

    async def read_one(self, sandbox_id: str) -> Identity | None:
        """Look up one sandbox now, None when there is none.

        Raises:
            SandboxError: the source doesn't answer.
        """


def limit_of(declared: DeclaredLimit, key: str) -> Limit:
    """Return the ledger's word for a declared limit; `key` is unique among all."""
    scope = Scope(declared.actor_type, declared.actor_id)
    amount = from_cents(declared.limit_cents)
    return Limit(key, scope, declared.period, amount, declared.time_zone, declared.source)


class FileSource:
    """Identities and limits out of one YAML file: `identities: [...]` and `limits: [...]` in the annotations' words.

    Args:
        path: the file; replace it as a whole (write a new one and rename it).
        poll_seconds: how often to look whether it changed.
    """

    def __init__(self, path: Path, poll_seconds: float = 0.25) -> None:
        self._path = path
        self._poll_seconds = poll_seconds

    async def follow(self, take: Take, complain: Complain) -> None:
        """Read the file again when it has changed."""
        loop = asyncio.get_running_loop()
        seen, told_at = None, 0.0
        while True:
            stamp = self._stamp()
            if stamp != seen or loop.time() - told_at >= LIST_SECONDS:
                try:
                    await take(self._load())
                    seen, told_at = stamp, loop.time()
                except SandboxError as error:
                    complain(error)
                    await asyncio.sleep(_PAUSES * self._poll_seconds)
            await asyncio.sleep(self._poll_seconds)

    async def read_one(self, sandbox_id: str) -> Identity | None:
        """Look the sandbox up in the file as it is now."""
        return self._load().identities.get(sandbox_id)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _load(self) -> Loaded:
        now = datetime.now(UTC)
        read = document(self._path)
        if not isinstance(read, dict) or not read.keys() <= {"identities", "limits"}:
            raise InvalidInput(str(self._path), "is not a mapping of identities and limits")
        identities, limits = ([*_items(read, key)] for key in ("identities", "limits"))
        known = [_named(parse_identity, words, f"identities[{at}]") for at, words in enumerate(identities)]
        declared = [_named(parse_limit, words, f"limits[{at}]") for at, words in enumerate(limits)]
        keyed = {f"{one.source}/{one.actor_type}/{one.actor_id}/{one.period}": one for one in declared}
        if len(keyed) != len(declared):
            raise InvalidInput("limits", "two of the same source, actor and period")
        return Loaded(
            {one.sandbox_id: one for one in known},
            tuple(limit_of(one, _short(key)) for key, one in keyed.items()),
            listed_at=now,
        )


def _short(key: str) -> str:
    """Return the key, or a digest of it where the ledger's column is too short for it."""
    return key if len(key) <= 500 else hashlib.sha256(key.encode()).hexdigest()


def _named(parse: Callable[[str], T], words: Mapping[str, Any], field: str) -> T:
    try:
        return parse(json.dumps({"v": 1, **words}))
    except InvalidInput as error:
        raise error.within(field) from None
    except TypeError:
        raise InvalidInput(field, "holds something that isn't JSON") from None


def _items(read: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = read.get(key) or []
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise InvalidInput(key, "is not a list of mappings")
    return items
