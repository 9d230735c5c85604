"""Periods as agents meet them: a running proxy and its ledger on the last and the first instant of days that matter."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx2
import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.proxy.calls import MESSAGES
from tests.proxy.place import Double, Place, running

pytestmark = pytest.mark.server

COST = 200 * 15_000 + 11 * 3_000
"""Of a call here, in nano-dollars: two of them leave too little of a cent for a third."""


@dataclass(frozen=True)
class End:
    """A period's end, in local words and in UTC."""

    period: str
    zone: str
    at: str
    local: str

    @property
    def instant(self) -> datetime:
        return datetime.fromisoformat(self.at).replace(tzinfo=UTC)

    @property
    def sandbox(self) -> str:
        return f"proj/{self.period}/{self.zone.replace('/', '-').lower().replace('_', '-')}-{self.at[5:10]}"


ENDS = [
    # Sunday, 8 March: New York's clocks went forward. Sunday, 1 November: they went back, and the month began.
    End("day", "America/New_York", "2026-03-09T04:00", "2026-03-09 00:00"),
    End("week", "America/New_York", "2026-03-09T04:00", "2026-03-09 00:00"),
    End("month", "America/New_York", "2026-04-01T04:00", "2026-04-01 00:00"),
    End("month", "America/New_York", "2026-11-01T04:00", "2026-11-01 00:00"),
    End("day", "America/New_York", "2026-11-02T05:00", "2026-11-02 00:00"),
    End("week", "America/New_York", "2026-11-02T05:00", "2026-11-02 00:00"),
    End("week", "Asia/Tokyo", "2026-11-29T15:00", "2026-11-30 00:00"),
    End("week", "UTC", "2026-11-30T00:00", "2026-11-30 00:00"),
    End("month", "Asia/Tokyo", "2026-11-30T15:00", "2026-12-01 00:00"),
    End("month", "UTC", "2026-12-01T00:00", "2026-12-01 00:00"),
    End("month", "America/New_York", "2026-12-01T05:00", "2026-12-01 00:00"),
]
MIDDLE = ("UTC", "Asia/Tokyo", "America/New_York")
OVER = "proj/over/end"


@dataclass
class Timed:
    """A proxy whose clock stands still until a test sets it."""

    place: Place
    clock: Path
    client: httpx2.Client

    def set(self, instant: datetime) -> None:
        new = self.clock.with_suffix(".new")
        new.write_text(instant.isoformat())
        new.rename(self.clock)

    def call(self, sandbox: str) -> httpx2.Response:
        body, key = MESSAGES.body(most=200, output=200), {"x-api-key": self.place.key(sandbox)}
        return self.client.post(self.place.url + MESSAGES.path, json=body, headers=key)


def identities() -> list[Identity]:
    return [Identity(one) for one in [*(end.sandbox for end in ENDS), *map(middle_of, MIDDLE), OVER]]


def limits() -> list[DeclaredLimit]:
    return [DeclaredLimit("sandbox", end.sandbox, end.period, 1, end.zone) for end in ENDS]


def middle_of(zone: str) -> str:
    return f"proj/middle/{zone.rpartition('/')[2].lower().replace('_', '-')}"


@pytest.fixture(scope="module")
def timed(provider: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timed]:
    folder = tmp_path_factory.mktemp("periods")
    clock = folder / "clock"
    command = (sys.executable, "-m", "tests.proxy.clock", str(clock), "serve", "proxy", "--config")
    with httpx2.Client(trust_env=False, timeout=60) as client:
        one = Timed(Place(folder, provider.url, command=command), clock, client)
        one.set(ENDS[0].instant - timedelta(days=1))
        one.place.know(identities(), limits())
        with running(one.place):
            yield one


def sums(told: dict[str, Any]) -> tuple[int, int]:
    """Calls and nano-dollars of an answer."""
    return told["total"]["calls"], told["total"]["nanos"]


def test_counting_begins_anew_at_the_zones_midnight_and_not_before(timed: Timed) -> None:
    for end in ENDS:
        sandbox, zone = end.sandbox, {"period": end.period, "timeZone": end.zone}
        timed.set(end.instant - timedelta(hours=2))
        assert [timed.call(sandbox).status_code for _ in range(2)] == [200, 200]
        refused = timed.call(sandbox)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "7200")
        assert f"resets at {end.local} {end.zone}" in refused.json()["error"]["message"]
        timed.set(end.instant - timedelta(microseconds=1))
        assert timed.call(sandbox).status_code == 429
        last = timed.clock.read_text()

        timed.set(end.instant)
        assert timed.call(sandbox).status_code == 200
        told = timed.place.spend(sandbox, **zone)
        assert (sums(told), told["period"]["beginsAt"]) == ((1, COST), f"{end.at}:00Z")
        [standing] = told["limits"]
        assert (standing["usedNanos"], standing["beginsAt"]) == (COST, f"{end.at}:00Z")
        told = timed.place.spend(sandbox, **zone, at=last)
        assert (sums(told), told["period"]["endsAt"]) == ((2, 2 * COST), f"{end.at}:00Z")
        midnight = end.instant.astimezone(ZoneInfo(end.zone))
        assert f"{midnight:%Y-%m-%d %H:%M}" == end.local


def test_a_limit_made_in_the_middle_of_a_month_counts_that_month_in_its_zone(timed: Timed) -> None:
    """The first call is on 31 October, but in Tokyo, where it is November."""
    for instant in ("2027-10-31T20:00", "2027-11-01T03:30", "2027-11-14T12:00"):
        timed.set(datetime.fromisoformat(instant).replace(tzinfo=UTC))
        for zone in MIDDLE:
            assert timed.call(middle_of(zone)).status_code == 200
    timed.set(datetime(2027, 11, 15, 12, tzinfo=UTC))
    made = [DeclaredLimit("sandbox", middle_of(zone), "month", 5, zone) for zone in MIDDLE]
    timed.place.know(identities(), [*limits(), *made])
    counted = {"UTC": 2 * COST, "Asia/Tokyo": 3 * COST, "America/New_York": COST}
    for zone in MIDDLE:
        until(lambda: bool(timed.place.spend(middle_of(zone))["limits"]))  # noqa: B023
        [standing] = timed.place.spend(middle_of(zone))["limits"]
        assert standing["usedNanos"] == counted[zone]
    made = [DeclaredLimit("sandbox", middle_of(zone), "month", 1, zone) for zone in MIDDLE]
    timed.place.know(identities(), [*limits(), *made])
    for zone in MIDDLE:
        until(lambda: timed.place.spend(middle_of(zone))["limits"][0]["limitNanos"] == 10**7)  # noqa: B023
    assert {zone: timed.call(middle_of(zone)).status_code for zone in MIDDLE} == {
        "UTC": 429,
        "Asia/Tokyo": 429,
        "America/New_York": 200,
    }


def test_a_call_over_the_end_belongs_to_the_period_in_which_it_began(timed: Timed) -> None:
    end = datetime(2028, 1, 1, tzinfo=UTC)
    timed.set(end - timedelta(microseconds=1))
    with timed.place.client(OVER) as client:
        body = MESSAGES.body(most=200, output=200, stream=True, events=20, gap=0.05)
        with client.stream("POST", MESSAGES.path, json=body) as answer:
            chunks = answer.iter_raw()
            next(chunks)
            timed.set(end + timedelta(seconds=1))
            assert b"message_stop" in b"".join(chunks)
    assert sums(timed.place.spend(OVER)) == (0, 0)
    assert sums(timed.place.spend(OVER, at="2027-12-31T23:59:59Z")) == (1, COST)


def until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
