"""The cap: what is admitted, what is refused and why, and what becomes of a hold."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.ledger.model import LEASE, Call, Cost, Hold, LimitMissing, Refusal, Scope
from tests.ledger.ground import NOON, ORG, OTHER, SANDBOX, at, call, held, limit, opened, refused, sums

pytestmark = pytest.mark.server


def test_exactly_at_the_limit_passes_and_one_more_does_not(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            first = await held(ledger, 400)
            await held(ledger, 600)
            assert await sums(ledger) == {"sandbox-month": (0, 1000)}
            assert await refused(ledger, 1) == Refusal("busy", limit(1000), 0, 1000, at("2026-12-01"))
            await ledger.settle(first, Cost(300), NOON)
            assert await refused(ledger, 101) == Refusal("busy", limit(1000), 300, 600, at("2026-12-01"))
            assert await refused(ledger, 701) == Refusal("too_large", limit(1000), 300, 600, at("2026-12-01"))
            second = await held(ledger, 100)
            await ledger.settle(second, Cost(700), NOON)
            assert await refused(ledger, 1) == Refusal("spent", limit(1000), 1000, 600, at("2026-12-01"))

    asyncio.run(scenario())


def test_a_refusal_in_one_scope_holds_nothing_in_another(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000), limit(500, ORG)) as ledger:
            refusal = await refused(ledger, 600, SANDBOX, ORG)
            assert (refusal.kind, refusal.limit.scope) == ("too_large", ORG)
            assert await sums(ledger) == {"sandbox-month": (0, 0), "org-month": (0, 0)}
            await held(ledger, 500, SANDBOX, ORG)
            assert await sums(ledger) == {"sandbox-month": (0, 500), "org-month": (0, 500)}
            assert (await refused(ledger, 1, OTHER, ORG)).limit.scope == ORG
            await held(ledger, 10**9, OTHER)

    asyncio.run(scenario())


def test_of_several_refusals_the_one_that_lasts_longest(url: str) -> None:
    async def scenario() -> None:
        limits = [
            limit(100, period="day"),
            limit(100, period="month"),
            limit(100, period="week"),
            limit(50, ORG, "day"),
        ]
        async with opened(url, *limits) as ledger:
            hold_id = await held(ledger, 50, SANDBOX, ORG)
            assert (await refused(ledger, 60, SANDBOX, ORG)).limit == limits[3]  # never fits, though its day ends first
            await ledger.settle(hold_id, Cost(50), NOON)
            refusal = await refused(ledger, 60)
            assert (refusal.kind, refusal.limit, refusal.ends_at) == ("too_large", limits[1], at("2026-12-01"))

    asyncio.run(scenario())


def test_the_lowest_of_two_limits_of_one_scope_binds(url: str) -> None:
    async def scenario() -> None:
        limits = [limit(1000, name="stack-a"), limit(300, name="stack-b")]
        async with opened(url, *limits) as ledger:
            assert (await refused(ledger, 400)).limit.id == "stack-b"
            await held(ledger, 300)
            assert await sums(ledger) == {"stack-a": (0, 300), "stack-b": (0, 300)}

    asyncio.run(scenario())


def test_what_costs_nothing_passes_a_spent_limit_but_not_one_of_zero(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(100)) as ledger:
            await ledger.settle(await held(ledger, 100), Cost(100), NOON)
            assert (await refused(ledger, 1)).kind == "spent"
            await ledger.settle(await held(ledger, 0), Cost(0), NOON)
            await ledger.replace_limits([limit(0)], NOON)
            assert (await refused(ledger, 0)).kind == "spent"
            assert (await refused(ledger, 1)).kind == "spent"

    asyncio.run(scenario())


def test_a_required_limit_that_is_not_loaded(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(100, OTHER)) as ledger:
            with pytest.raises(LimitMissing):
                await ledger.hold(call(1, SANDBOX, ORG, requires_limit=True), NOON)
            assert isinstance(await ledger.hold(call(1, OTHER, ORG, requires_limit=True), NOON), Hold)
            await held(ledger, 10**12)

    asyncio.run(scenario())


def test_the_first_settlement_counts(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            hold_id = await held(ledger, 500)
            await ledger.settle(hold_id, Cost(200, input_tokens=10), NOON)
            await ledger.settle(hold_id, Cost(400, input_tokens=20), NOON)
            await ledger.release(hold_id, NOON)
            assert await ledger.expire(NOON + 2 * LEASE) == 0
            assert await sums(ledger) == {"sandbox-month": (200, 0)}
            [usage] = await ledger.usage(SANDBOX, at("2026-11-01"), at("2026-12-01"))
            assert (usage.calls, usage.nanos, usage.tokens["input_tokens"]) == (1, 200, 10)

    asyncio.run(scenario())


def test_a_released_hold_leaves_nothing(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            hold_id = await held(ledger, 500)
            await ledger.release(hold_id, NOON)
            await ledger.release(hold_id, NOON)
            assert await sums(ledger) == {"sandbox-month": (0, 0)}
            assert await ledger.usage(None, at("2026-01-01"), at("2027-01-01"), "model") == []
            with pytest.raises(NotFound):
                await ledger.settle(hold_id, Cost(1), NOON)
            with pytest.raises(NotFound):
                await ledger.settle("never", Cost(1), NOON)
            await ledger.release("never", NOON)
            await ledger.renew(["never"], NOON)

    asyncio.run(scenario())


def test_a_lease_that_ends_is_charged_in_full_and_corrected_later(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            kept, lost, unsent = [await held(ledger, 300) for _ in range(3)]
            await ledger.renew([kept], NOON + LEASE / 3)
            assert await ledger.expire(NOON + LEASE - timedelta(microseconds=1)) == 0
            assert await ledger.expire(NOON + LEASE) == 2
            assert await ledger.expire(NOON + LEASE) == 0
            assert await sums(ledger) == {"sandbox-month": (600, 300)}
            [usage] = await ledger.usage(None, at("2026-11-01"), at("2026-12-01"))
            assert (usage.calls, usage.nanos, usage.estimated_nanos) == (2, 600, 600)
            await ledger.renew([lost], NOON + LEASE)
            await ledger.settle(lost, Cost(120), NOON + LEASE)
            await ledger.settle(lost, Cost(5), NOON + LEASE)
            await ledger.release(unsent, NOON + LEASE)
            await ledger.settle(unsent, Cost(5), NOON + LEASE)
            assert await sums(ledger) == {"sandbox-month": (120, 300)}
            [usage] = await ledger.usage(None, at("2026-11-01"), at("2026-12-01"))
            assert (usage.calls, usage.nanos, usage.estimated_nanos) == (2, 120, 0)
            assert await ledger.expire(NOON + LEASE / 3 + LEASE) == 1

    asyncio.run(scenario())


def test_many_leases_that_end_at_once(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(10**6)) as ledger:
            await asyncio.gather(*(held(ledger, 1) for _ in range(1203)))
            assert await ledger.expire(NOON + LEASE) == 1203
            assert await sums(ledger) == {"sandbox-month": (1203, 0)}

    asyncio.run(scenario())


def test_a_cost_above_the_hold_is_an_overrun(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            await ledger.settle(await held(ledger, 900), Cost(1300), NOON)
            assert await sums(ledger) == {"sandbox-month": (1300, 0)}
            [usage] = await ledger.usage(SANDBOX, at("2026-11-01"), at("2026-12-01"))
            assert (usage.nanos, usage.overrun_nanos) == (1300, 400)
            assert await refused(ledger, 1) == Refusal("spent", limit(1000), 1300, 0, at("2026-12-01"))

    asyncio.run(scenario())


@pytest.mark.parametrize("bad", ["", "a\0b", "a\nb", "\ud800", "x" * 513])
def test_texts_that_no_column_takes_are_refused_before(bad: str) -> None:
    with pytest.raises(ValueError, match="model"):
        Call("req", (SANDBOX,), bad, "openai", "chat", 1)
    with pytest.raises(ValueError, match="actor_id"):
        Scope("sandbox", bad)


def test_amounts_and_scopes_that_are_none() -> None:
    for nanos in (-1, 2**63, 1.5, True, "1"):
        with pytest.raises(ValueError, match="worst_case_nanos"):
            Call("req", (SANDBOX,), "m", "u", "e", nanos)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="nanos"):
            Cost(nanos)  # type: ignore[arg-type]
    for scopes in ((), (SANDBOX, OTHER)):
        with pytest.raises(ValueError, match="scope"):
            Call("req", scopes, "m", "u", "e", 1)
    for period, zone in (("year", "UTC"), ("month", "Mars/Base")):
        with pytest.raises(InvalidInput):
            limit(1, period=period, zone=zone)
    with pytest.raises(ValueError, match="type of actor"):
        Scope("team", "x")
