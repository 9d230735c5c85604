"""Many at once: no commit of either store shows more than a limit allows, whoever spends and from how many processes.

The watch over it is the data base's own: a trigger that refuses to raise a counter's holds above a limit in force.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from sandbox_components.ledger import schema
from sandbox_components.ledger.database import Database
from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.migrating import migrate
from sandbox_components.ledger.model import LEASE, Cost, Hold, Refusal
from tests.harness.postgres import Postgres
from tests.ledger.ground import NOON, ORG, OTHER, SANDBOX, call, limit, opened, sums

pytestmark = pytest.mark.server

TOP = Path(__file__).parents[2]

_TOO_MUCH = """EXISTS (SELECT 1 FROM limits WHERE limits.actor_type = new.actor_type AND limits.actor_id = new.actor_id
  AND new.period_key LIKE limits.period || ':' || limits.time_zone || ':%'
  AND new.spent_nanos + new.held_nanos > limits.limit_nanos)"""
_ON_SQLITE = f"""CREATE TRIGGER watch AFTER UPDATE ON counters WHEN new.held_nanos > old.held_nanos AND {_TOO_MUCH}
  BEGIN SELECT RAISE(ABORT, 'above the limit'); END"""
_ON_POSTGRES = (
    f"""CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF new.held_nanos > old.held_nanos AND {_TOO_MUCH} THEN RAISE 'above the limit'; END IF; RETURN new; END $$""",
    "CREATE TRIGGER watch AFTER UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION watch()",
)


def watched(url: str) -> Database:
    """Make a new ledger whose data base watches the limits itself."""

    def work(connection: Connection) -> None:
        migrate(connection)
        for line in (_ON_SQLITE,) if url.startswith("sqlite") else _ON_POSTGRES:
            connection.exec_driver_sql(line.replace("%", "%%") if "postgres" in url else line)

    database = Database(url)
    database.write(work)
    return database


def test_64_at_once_get_exactly_what_there_is(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(10_000), limit(7_000, ORG)) as ledger:
            answers = await asyncio.gather(*(ledger.hold(call(500, SANDBOX, ORG), NOON) for _ in range(64)))
            held = [one for one in answers if isinstance(one, Hold)]
            assert len(held) == 14
            assert {one.limit.scope for one in answers if isinstance(one, Refusal)} == {ORG}
            assert await sums(ledger) == {"sandbox-month": (0, 7000), "org-month": (0, 7000)}
            await asyncio.gather(*(ledger.settle(one.id, Cost(100), NOON) for one in held for _ in range(2)))
            assert await sums(ledger) == {"sandbox-month": (1400, 0), "org-month": (1400, 0)}

    watched(url).close()
    asyncio.run(scenario())


def test_64_spend_while_limits_change(url: str) -> None:
    async def spend(ledger: Ledger, number: int, admitted: list[int]) -> None:
        for nanos in range(number, number + 6):
            answer = await ledger.hold(call(nanos, (SANDBOX, OTHER)[nanos % 2], ORG), NOON)
            if isinstance(answer, Hold):
                await asyncio.sleep(0)
                await ledger.settle(answer.id, Cost(nanos // 2), NOON)
                admitted.append(nanos // 2)

    async def change(ledger: Ledger) -> None:
        for step in range(30):
            nanos = (3000, 200, 5000, 0, 2500)[step % 5]
            zone = ("UTC", "Asia/Tokyo")[step % 2]
            await ledger.replace_limits([limit(nanos, ORG, zone=zone), limit(2 * nanos, SANDBOX)], NOON)
            await asyncio.sleep(0.002)

    async def scenario() -> None:
        async with opened(url, limit(3000, ORG)) as ledger:
            admitted: list[int] = []
            await asyncio.gather(change(ledger), *(spend(ledger, number, admitted) for number in range(1, 65)))
            await ledger.replace_limits([limit(10**9, ORG)], NOON)
            assert await sums(ledger) == {"org-month": (sum(admitted), 0)}
            assert admitted

    watched(url).close()
    asyncio.run(scenario())


def test_two_processes_on_one_postgres(postgres_server: Postgres) -> None:
    url = postgres_server.new_database()
    database = watched(url)
    cap = 1_000_000

    async def begin() -> None:
        ledger = await Ledger.open(url)
        await ledger.replace_limits([limit(cap, ORG), limit(cap * 2 // 3, SANDBOX)], datetime.now(UTC))
        await ledger.close()

    asyncio.run(begin())
    command = [sys.executable, "-m", "tests.ledger.spender", url, "32", "12"]
    started = [subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=100)[0].splitlines() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    settled = [int(line.split()[2]) for lines in said for line in lines if line.startswith("settled")]
    assert all(any(line.startswith("settled") for line in lines) for lines in said)
    assert any(line.startswith("refused") for lines in said for line in lines)

    async def end() -> None:
        ledger = await Ledger.open(url)
        [org, _] = await ledger.standings(datetime.now(UTC))
        assert (org.used_nanos, org.held_nanos) == (sum(settled), 0)
        assert org.used_nanos <= cap
        assert await ledger.audit() == []
        [usage] = await ledger.usage(ORG, org.begins_at, org.ends_at)
        assert (usage.calls, usage.nanos, usage.overrun_nanos) == (len(settled), sum(settled), 0)
        await ledger.close()

    asyncio.run(end())
    database.close()


def test_killed_at_any_moment(url: str) -> None:
    """What was served is in the ledger: settled, or charged in full when its lease ends; nothing twice, none left."""
    database = watched(url)
    kept: dict[str, int] = {}
    served: dict[str, int] = {}
    held: dict[str, int] = {}
    gone: set[str] = set()
    for lines_before_the_kill in (3, 40, 150):
        command = [sys.executable, "-m", "tests.ledger.spender", url, "16", "1000000"]
        with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(lines_before_the_kill)]
            process.kill()
            lines += process.stdout.readlines()
        for word, *rest in (line.split() for line in lines if line.endswith("\n")):
            if word in ("held", "served", "settled"):
                {"held": held, "served": served, "settled": kept}[word][rest[0]] = int(rest[1])
            elif word == "released":
                gone.add(rest[0])

    async def scenario() -> None:
        ledger = await Ledger.open(url)
        now = datetime.now(UTC)
        await ledger.expire(now + LEASE)
        await ledger.replace_limits([limit(10**12, ORG)], now)
        [org] = await ledger.standings(now)
        assert org.held_nanos == 0
        assert await ledger.audit() == []
        await ledger.close()

    asyncio.run(scenario())
    entries = {row.hold_id: row for row in database.read(lambda c: c.execute(select(schema.entries)).all())}
    assert database.read(lambda connection: connection.execute(select(schema.holds)).all()) == []
    assert served.keys() - entries.keys() == set()
    assert held.keys() - gone - entries.keys() <= held.keys() - served.keys()
    for hold_id, row in entries.items():
        assert row.nanos == kept.get(hold_id, row.nanos)
        if row.state == "settled" and hold_id in served:
            assert (row.nanos, row.is_estimated) == (served[hold_id], False)
        elif row.state == "expired":
            assert (row.nanos, row.is_estimated) == (row.worst_case_nanos, True)
            assert hold_id not in kept
    assert any(row.state == "expired" for row in entries.values())
    database.close()
