"""Limits that change while calls are in flight, and periods that end."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from sqlalchemy import update

from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.model import Cost, OtherSource
from sandbox_components.ledger.schema import counters, to_column
from tests.ledger.ground import NOON, ORG, OTHER, SANDBOX, at, held, limit, opened, refused, sums

pytestmark = pytest.mark.server


def test_a_changed_limit_binds_the_next_call(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            first = await held(ledger, 800)
            assert await ledger.replace_limits([limit(500)], NOON)
            assert not await ledger.replace_limits([limit(500)], NOON)
            assert (await refused(ledger, 1)).kind == "busy"
            await ledger.settle(first, Cost(700), NOON)
            assert (await refused(ledger, 1)).kind == "spent"
            assert await ledger.replace_limits([limit(701)], NOON)
            await held(ledger, 1)
            assert await ledger.replace_limits([], NOON)
            assert await sums(ledger) == {}
            await held(ledger, 10**9)
            assert await ledger.replace_limits([limit(1000)], NOON)
            assert await sums(ledger) == {"sandbox-month": (700, 10**9 + 1)}

    asyncio.run(scenario())


def test_a_limit_made_in_the_middle_of_a_month_counts_that_month(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, now=at("2026-10-31T00:00")) as ledger:
            for day, nanos in (("10-31", 1), ("11-01", 20), ("11-29", 300)):
                now = at(f"2026-{day}T12:00")
                await ledger.settle(await held(ledger, 1000, SANDBOX, ORG, now=now), Cost(nanos), now)
                await ledger.settle(await held(ledger, 1000, OTHER, ORG, now=now), Cost(nanos), now)
            in_flight = await held(ledger, 5000)
            limits = [limit(10**6), limit(10**6, ORG), limit(10**6, period="day"), limit(10**6, OTHER, name="other")]
            assert await ledger.replace_limits(limits, NOON)
            before = {
                "sandbox-month": (320, 5000), "org-month": (640, 0), "sandbox-day": (300, 5000), "other": (320, 0),
            }  # fmt: skip
            assert await sums(ledger) == before
            await ledger.settle(in_flight, Cost(4000), NOON)
            after = before | {"sandbox-month": (4320, 0), "sandbox-day": (4300, 0)}
            assert await sums(ledger) == after

    asyncio.run(scenario())


def test_another_zone_is_another_period_and_filled_from_the_rows(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000), now=at("2026-10-31T00:00")) as ledger:
            for hour, nanos in ((14, 1), (15, 20), (23, 300)):
                now = at(f"2026-10-31T{hour}:30")
                await ledger.settle(await held(ledger, 400, now=now), Cost(nanos), now)
            assert await sums(ledger) == {"sandbox-month": (0, 0)}
            await ledger.replace_limits([limit(1000, zone="Asia/Tokyo")], NOON)
            assert await sums(ledger) == {"sandbox-month": (320, 0)}
            await ledger.replace_limits([limit(1000, zone="America/New_York")], NOON + timedelta(seconds=1))
            assert await sums(ledger) == {"sandbox-month": (0, 0)}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("zone", "period", "last"),
    [
        ("UTC", "month", "2026-11-30T23:59:59.999999"),
        ("Asia/Tokyo", "month", "2026-11-30T14:59:59.999999"),
        ("America/New_York", "month", "2026-11-01T03:59:59.999999"),
        ("America/New_York", "day", "2026-11-02T04:59:59.999999"),
        ("America/New_York", "day", "2026-03-09T03:59:59.999999"),
        ("America/New_York", "week", "2026-11-02T04:59:59.999999"),
        ("UTC", "week", "2026-11-29T23:59:59.999999"),
        ("Asia/Tokyo", "week", "2026-11-29T14:59:59.999999"),
    ],
)
def test_counting_begins_anew_at_the_end_and_a_call_belongs_to_its_holds_period(
    url: str, zone: str, period: str, last: str
) -> None:
    async def scenario() -> None:
        before = at(last)
        after = before + timedelta(microseconds=1)
        async with opened(url, limit(1000, period=period, zone=zone, name="x"), now=before) as ledger:
            over_the_end = await held(ledger, 700, now=before)
            await ledger.settle(await held(ledger, 300, now=before), Cost(300), before)
            assert (await refused(ledger, 1, now=before)).ends_at == after
            assert await sums(ledger, after) == {"x": (0, 0)}
            await held(ledger, 1000, now=after)
            await ledger.settle(over_the_end, Cost(600), after)
            assert await sums(ledger, before) == {"x": (900, 0)}
            assert await sums(ledger, after) == {"x": (0, 1000)}

    asyncio.run(scenario())


def test_a_zone_whose_clock_changes_were_decided_anew(url: str) -> None:
    """A counter was made with the ends that an older time zone data base gave."""

    async def scenario() -> None:
        async with opened(url, limit(1000, zone="Asia/Tokyo")) as ledger:
            for instant, nanos in (("11-01T00:30", 20), ("10-31T15:30", 300)):
                now = at(f"2026-{instant}")
                await ledger.settle(await held(ledger, 400, now=now), Cost(nanos), now)
            older = update(counters).values(begins_at=to_column(at("2026-11-01")), spent_nanos=20)
            ledger._database.write(lambda connection: connection.execute(older))
            assert await ledger.audit() == []
            await held(ledger, 5)
            assert await sums(ledger) == {"sandbox-month": (320, 5)}

    asyncio.run(scenario())


def test_a_list_that_was_overtaken_changes_nothing(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger, opened(url, limit(500)) as other:
            late = NOON - timedelta(seconds=1)
            assert not await other.replace_limits([limit(1000)], late)
            assert (await refused(ledger, 501)).limit.limit_nanos == 500
            assert await other.replace_limits([limit(1000)], NOON - timedelta(hours=1))
            await held(ledger, 1000)

    asyncio.run(scenario())


def test_two_proxies_of_two_namespaces_on_one_data_base(url: str) -> None:
    """Each would take the other's limits away, and let calls through that have none."""

    async def scenario() -> None:
        first, replica, other = [await Ledger.open(url, source=one) for one in ("namespace a", "namespace a", "b")]
        await first.replace_limits([limit(1000)], NOON)
        await replica.replace_limits([limit(500)], NOON + timedelta(seconds=1))
        for seconds in (0, 1, 60):
            with pytest.raises(OtherSource, match="has the limits of namespace a, and those of b"):
                await other.replace_limits([], NOON + timedelta(seconds=seconds))
        assert (await refused(first, 501)).limit.limit_nanos == 500
        await other.replace_limits([limit(7)], NOON + timedelta(seconds=61))
        with pytest.raises(OtherSource):
            await first.replace_limits([limit(1000)], NOON + timedelta(seconds=75))
        assert (await refused(other, 8)).limit == limit(7)
        for one in (first, replica, other):
            await one.close()

    asyncio.run(scenario())


def test_two_limits_of_one_id(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(7)) as ledger:
            with pytest.raises(ValueError, match="one id"):
                await ledger.replace_limits([limit(1), limit(2)], NOON)
            assert (await refused(ledger, 8)).limit == limit(7)

    asyncio.run(scenario())


def test_usage_by_model_and_by_day_of_a_zone_whose_clocks_change(url: str) -> None:
    async def spend(ledger: Ledger, now: datetime, nanos: int) -> None:
        hold_id = await held(ledger, 2 * nanos, SANDBOX, ORG, now=now)
        await ledger.settle(hold_id, Cost(nanos, input_tokens=nanos, output_tokens=1), now)

    async def scenario() -> None:
        begins, ends = at("2026-10-31T04:00"), at("2026-11-03T05:00")
        async with opened(url, now=begins) as ledger:
            for instant, nanos in (
                ("10-31T03:59:59.999999", 1),
                ("10-31T04:00", 10),
                ("11-01T03:59:59", 100),
                ("11-01T04:00", 1000),
                ("11-02T04:59:59", 10_000),
                ("11-02T05:00", 100_000),
                ("11-03T05:00", 1_000_000),
            ):
                await spend(ledger, at(f"2026-{instant}"), nanos)
            days = await ledger.usage(ORG, begins, ends, "day", "America/New_York")
            found = {one.key: (one.calls, one.nanos, one.tokens["input_tokens"]) for one in days}
            assert found == {
                "2026-10-31": (2, 110, 110), "2026-11-01": (2, 11_000, 11_000), "2026-11-02": (1, 100_000, 100_000),
            }  # fmt: skip
            [model] = await ledger.usage(SANDBOX, begins, ends, "model")
            [total] = await ledger.usage(SANDBOX, begins, ends)
            assert (model.key, model.nanos, model.calls, model.tokens) == (
                "gpt-test", total.nanos, total.calls, total.tokens,
            )  # fmt: skip
            assert (total.key, total.nanos, total.tokens["output_tokens"]) == ("", 111_110, 5)
            assert await ledger.usage(OTHER, begins, ends, "day") == []

    asyncio.run(scenario())
