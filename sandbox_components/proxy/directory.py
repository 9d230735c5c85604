"""What the proxy knows of its sandboxes at this moment, and whether it may still believe it.

Limits are only passed on to the ledger, which reads them in the transaction of each hold: nothing is decided here by
a copy that could be old. A source that has been silent for a minute stops all calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from sandbox_components.errors import InvalidInput, SandboxError
from sandbox_components.ledger.model import Limit
from sandbox_components.proxy.fault import BadKey, NotReady
from sandbox_components.proxy.source import Loaded, Source
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.inference_key import KeyClaims

SILENCE_SECONDS = 60.0
_ASK_AGAIN_SECONDS = 2.0
_MOST_UNKNOWN = 10_000


class LimitTable(Protocol):
    """The part of the ledger that takes limits."""

    async def replace_limits(self, limits: Sequence[Limit], now: datetime) -> object:
        """Make these the limits in force."""


class Directory:
    """Identities in memory, limits in the ledger, and how fresh both are.

    Args:
        source: where both come from.
        ledger: takes the limits.
        complain: gets what goes wrong, for the log.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        source: Source,
        ledger: LimitTable,
        complain: Callable[[Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._ledger = ledger
        self._complain = complain
        self._clock = clock
        self._identities: Mapping[str, Identity] = {}
        self._problems: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._heard_at: float | None = None
        self._unknown: dict[KeyClaims, float] = {}
        self._asking = asyncio.Lock()

    async def follow(self) -> None:
        """Keep up with the source; never ends."""
        await self._source.follow(self._take, self._complain)

    async def _take(self, loaded: Loaded) -> None:
        if not loaded.problems:
            await self._ledger.replace_limits(loaded.limits, loaded.listed_at)
        for text in (*loaded.problems, *loaded.ignored):
            if text not in self._told:
                self._complain(InvalidInput("", text))
        self._told = {*loaded.problems, *loaded.ignored}
        self._identities, self._problems = loaded.identities, loaded.problems
        self._heard_at = self._clock()
        self._unknown.clear()

    def trouble(self) -> str | None:
        """Why no call may pass now, None when all is well."""
        if self._heard_at is None:
            return "identities and limits are not loaded yet"
        if self._problems:
            return f"a spending limit can't be read: {self._problems[0]}"
        silent = self._clock() - self._heard_at
        if silent >= SILENCE_SECONDS:
            return f"no word on identities and limits for {silent:.0f} s"
        return None

    def find(self, sandbox_id: str) -> Identity | None:
        """Return what is known of a sandbox now."""
        return self._identities.get(sandbox_id)

    async def identify(self, claims: KeyClaims) -> Identity:
        """Return the sandbox whose key this is.

        An id or generation that isn't known yet is looked up once in the source: the sandbox may be younger than the
        last word from there.

        Raises:
            BadKey: the key is not, or no longer, good.
            NotReady: the sandbox isn't known, and the source doesn't answer.
        """
        known = self._identities.get(claims.sandbox_id)
        if known is None or known.generation < claims.generation:
            async with self._asking:
                known = self._identities.get(claims.sandbox_id)
                if (known is None or known.generation < claims.generation) and self._may_ask(claims):
                    known = await self._ask(claims)
        if known is None or known.generation < claims.generation:
            raise BadKey("the key is of a sandbox that this proxy doesn't know (any more)")
        if known.generation > claims.generation:
            raise BadKey("the key was replaced by a newer one: restart the agent, so that it reads the new one")
        return known

    def _may_ask(self, claims: KeyClaims) -> bool:
        if len(self._unknown) >= _MOST_UNKNOWN:
            self._unknown.clear()
        return self._clock() >= self._unknown.get(claims, 0.0)

    async def _ask(self, claims: KeyClaims) -> Identity | None:
        try:
            found = await self._source.read_one(claims.sandbox_id)
        except SandboxError as error:
            self._complain(error)
            raise NotReady("the sandbox of this key can't be looked up now: try again in a moment") from error
        if found is None or found.generation < claims.generation:
            self._unknown[claims] = self._clock() + _ASK_AGAIN_SECONDS
        if found is not None:
            self._identities = {**self._identities, found.sandbox_id: found}
        return found

    def __len__(self) -> int:
        return len(self._identities)
