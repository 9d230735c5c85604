"""Short words for tests of the ledger."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.model import Call, Hold, Limit, Refusal, Scope, Standing

SANDBOX = Scope("sandbox", "proj/prod/nightly")
OTHER = Scope("sandbox", "proj/prod/other")
ORG = Scope("org", "acme")
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)

_numbers = itertools.count(1)


def at(text: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def limit(nanos: int, scope: Scope = SANDBOX, period: str = "month", zone: str = "UTC", name: str = "") -> Limit:
    """A limit; its id says what it is for, if no other is given."""
    return Limit(name or f"{scope.actor_type}-{period}", scope, period, nanos, zone, "a test")


def call(nanos: int, *scopes: Scope, requires_limit: bool = False, model: str = "gpt-test") -> Call:
    """A call that may cost `nanos`."""
    who = scopes or (SANDBOX,)
    return Call(f"req-{next(_numbers)}", who, model, "openai", "chat.completions", nanos, requires_limit)


@asynccontextmanager
async def opened(url: str, *limits: Limit, now: datetime = NOON) -> AsyncIterator[Ledger]:
    """Have a ledger with limits; at its end no counter may differ from its rows."""
    ledger = await Ledger.open(url)
    try:
        await ledger.replace_limits(limits, now)
        yield ledger
        assert await ledger.audit() == []
    finally:
        await ledger.close()


async def held(ledger: Ledger, nanos: int, *scopes: Scope, now: datetime = NOON) -> str:
    """Hold, which must succeed, and return the id."""
    answer = await ledger.hold(call(nanos, *scopes), now)
    assert isinstance(answer, Hold), answer
    return answer.id


async def refused(ledger: Ledger, nanos: int, *scopes: Scope, now: datetime = NOON) -> Refusal:
    """Hold, which must be refused, and return how."""
    answer = await ledger.hold(call(nanos, *scopes), now)
    assert isinstance(answer, Refusal), answer
    return answer


async def sums(ledger: Ledger, now: datetime = NOON) -> dict[str, tuple[int, int]]:
    """Limit id → used and held."""
    standings: list[Standing] = await ledger.standings(now)
    return {one.limit.id: (one.used_nanos, one.held_nanos) for one in standings}
