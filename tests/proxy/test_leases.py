"""Holds are renewed while calls last, and no fault of the store ends that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from sandbox_components.ledger.model import LEASE, Call, Cost, Hold, LimitMissing, Refusal, Scope, StoreDown
from sandbox_components.proxy.leases import RENEW_SECONDS, Leases

CALL = Call("req_1", (Scope("sandbox", "p/s/n"),), "m", "u", "e", 5)


class Table:
    """A ledger that remembers what it was asked."""

    def __init__(self) -> None:
        self.renewed: list[list[str]] = []
        self.ended: list[str] = []
        self.left_behind = 2
        self.fault: Exception | None = None
        self._number = 0

    async def hold(self, call: Call, now: datetime) -> Hold | Refusal:
        self._check()
        self._number += 1
        return Hold(f"h{self._number}", now + LEASE)

    async def renew(self, hold_ids: Iterable[str], now: datetime) -> None:
        self._check()
        self.renewed.append(list(hold_ids))

    async def settle(self, hold_id: str, cost: Cost, now: datetime) -> None:
        self._check()
        self.ended.append(f"settled {hold_id} {cost.nanos}")

    async def release(self, hold_id: str, now: datetime) -> None:
        self._check()
        self.ended.append(f"released {hold_id}")

    async def expire(self, now: datetime) -> int:
        assert now.tzinfo is UTC
        self._check()
        count, self.left_behind = self.left_behind, 0
        return count

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault


def test_holds_are_renewed_until_they_end() -> None:
    async def main() -> None:
        table, faults, expired = Table(), [], []  # type: ignore[var-annotated]
        leases = Leases(table, faults.append, expired.append, renew_seconds=0.01)
        keeping = asyncio.create_task(leases.keep())

        async def renewed() -> list[str]:
            table.renewed.clear()
            while len(table.renewed) < 2:
                await asyncio.sleep(0.005)
            return table.renewed[-1]

        for _ in range(3):
            await leases.hold(CALL)
        assert await renewed() == ["h1", "h2", "h3"]
        assert expired == [2]
        await leases.settle("h2", Cost(7))
        await leases.release("h3")
        assert table.ended == ["settled h2 7", "released h3"]
        assert (await renewed(), leases.held) == (["h1"], 1)
        table.fault = StoreDown("away")
        while len(faults) < 3:
            await asyncio.sleep(0.005)
        await leases.settle("h1", Cost(1))  # the ledger remembers it; the client's answer must not fail
        with pytest.raises(StoreDown):
            await leases.hold(CALL)
        table.fault = ValueError("a bug")
        await asyncio.sleep(0.05)
        table.fault = None
        await leases.hold(CALL)
        assert await renewed() == ["h4"]
        table.fault = LimitMissing("none")
        with pytest.raises(LimitMissing):
            await leases.hold(CALL)
        keeping.cancel()

    asyncio.run(main())


def test_a_lease_outlives_two_missed_renewals() -> None:
    assert LEASE.total_seconds() / RENEW_SECONDS >= 3
