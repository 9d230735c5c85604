"""Holds of calls in flight: renewed while the call lasts, so that only those of a killed proxy are charged unserved.

The ledger itself remembers settlements that its store didn't take; here is only what has to happen again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Protocol

from sandbox_components.ledger.model import LEASE, Call, Cost, Hold, Refusal

RENEW_SECONDS = LEASE.total_seconds() / 3
_RETRY_SECONDS = 2.0


class HoldTable(Protocol):
    """The part of the ledger that knows holds."""

    async def hold(self, call: Call, now: datetime) -> Hold | Refusal:
        """Hold a call's worst case, or say which limit refuses it."""

    async def renew(self, hold_ids: Iterable[str], now: datetime) -> None:
        """Put off the expiry of these."""

    async def settle(self, hold_id: str, cost: Cost, now: datetime) -> None:
        """Turn a hold into a cost; again is the same as once."""

    async def release(self, hold_id: str, now: datetime) -> None:
        """Give a hold back; nothing is charged."""

    async def expire(self, now: datetime) -> int:
        """Charge what nobody renewed, and say how many."""


class Leases:
    """All holds of this process.

    Args:
        ledger: where they are rows.
        complain: gets what goes wrong, for the log.
        expired: gets the number of holds that were charged because nobody renewed them.
        renew_seconds: between two renewals.
    """

    def __init__(
        self,
        ledger: HoldTable,
        complain: Callable[[Exception], None],
        expired: Callable[[int], None] = lambda count: None,
        renew_seconds: float = RENEW_SECONDS,
    ) -> None:
        self._ledger = ledger
        self._complain = complain
        self._expired = expired
        self._renew_seconds = renew_seconds
        self._held: set[str] = set()

    async def hold(self, call: Call) -> Hold | Refusal:
        """Hold a call's worst case. What is held must be settled or released.

        Raises:
            StoreDown: nothing may be sent.
            LimitMissing: the call's sandbox must have a limit, and none is loaded.
        """
        outcome = await self._ledger.hold(call, datetime.now(UTC))
        if isinstance(outcome, Hold):
            self._held.add(outcome.id)
        return outcome

    async def settle(self, hold_id: str, cost: Cost) -> None:
        """Charge a call. Never fails: what the store doesn't take now, the ledger gives it later."""
        self._held.discard(hold_id)
        try:
            await self._ledger.settle(hold_id, cost, datetime.now(UTC))
        except Exception as error:
            self._complain(error)

    async def release(self, hold_id: str) -> None:
        """Charge nothing for a call. Never fails, as `settle`."""
        self._held.discard(hold_id)
        try:
            await self._ledger.release(hold_id, datetime.now(UTC))
        except Exception as error:
            self._complain(error)

    async def keep(self) -> None:
        """Renew our holds, and charge what others left behind; never ends."""
        while True:
            pause = self._renew_seconds
            try:
                if self._held:
                    await self._ledger.renew(sorted(self._held), datetime.now(UTC))
                if count := await self._ledger.expire(datetime.now(UTC)):
                    self._expired(count)
            except Exception as error:
                self._complain(error)
                pause = min(_RETRY_SECONDS, pause)
            await asyncio.sleep(pause)

    @property
    def held(self) -> int:
        """How many calls hold something now."""
        return len(self._held)
