"""The store fails in the middle: nothing is admitted, nothing is lost, and it goes on by itself."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from sandbox_components.errors import InvalidInput
from sandbox_components.ledger import ledger as ledger_module
from sandbox_components.ledger.database import Database
from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.model import LEASE, Cost, StoreDown
from tests.harness import postgres
from tests.harness.postgres import Postgres
from tests.ledger.ground import NOON, ORG, SANDBOX, call, held, limit, opened, sums

pytestmark = pytest.mark.server

PATIENCE_SECONDS = 0.7


@pytest.fixture(scope="module")
def own_server() -> Iterator[Postgres]:
    """A server that these tests stop and start."""
    with postgres.server() as server:
        yield server


async def until_paid(ledger: Ledger, wanted: tuple[int, int]) -> None:
    """Wait until the ledger has done by itself what it owes."""
    deadline = time.monotonic() + 30
    while (await sums(ledger))["org-month"] != wanted:
        assert time.monotonic() < deadline, await sums(ledger)
        await asyncio.sleep(0.05)


def test_a_server_that_stops_and_comes_back(own_server: Postgres) -> None:
    async def scenario() -> None:
        async with opened(own_server.new_database(), limit(1000, ORG)) as ledger:
            settled, released, kept = [await held(ledger, 100, SANDBOX, ORG) for _ in range(3)]
            own_server.stop()
            for attempt in (
                ledger.hold(call(100, SANDBOX, ORG), NOON),
                ledger.settle(settled, Cost(70), NOON),
                ledger.release(released, NOON),
                ledger.renew([kept], NOON),
                ledger.expire(NOON),
                ledger.replace_limits([], NOON),
                ledger.standings(NOON),
                ledger.usage(None, NOON, NOON),
                ledger.audit(),
            ):
                with pytest.raises(StoreDown, match="postgresql") as caught:
                    await attempt
                assert "SELECT" not in str(caught.value)
            own_server.start()
            await until_paid(ledger, (70, 100))
            await held(ledger, 830, SANDBOX, ORG)
            assert await ledger.expire(NOON + LEASE) == 2

    asyncio.run(scenario())


def test_a_server_that_was_restarted_between_two_calls_is_not_noticed(own_server: Postgres) -> None:
    async def scenario() -> None:
        async with opened(own_server.new_database(), limit(1000, ORG)) as ledger:
            hold_id = await held(ledger, 100, ORG)
            await sums(ledger)
            own_server.stop()
            own_server.start()
            await held(ledger, 100, ORG)
            assert await sums(ledger) == {"org-month": (0, 200)}
            own_server.stop()
            own_server.start()
            assert await sums(ledger) == {"org-month": (0, 200)}
            await ledger.settle(hold_id, Cost(1), NOON)

    asyncio.run(scenario())


def test_a_server_that_does_not_answer(own_server: Postgres) -> None:
    async def scenario() -> None:
        async with opened(own_server.new_database(), limit(1000, ORG)) as ledger:
            ledger._patience_seconds = PATIENCE_SECONDS
            settled = await held(ledger, 100, ORG)
            with own_server.frozen():
                wanted = [ledger.hold(call(100, ORG), NOON) for _ in range(20)]
                answers = await asyncio.gather(*wanted, ledger.settle(settled, Cost(70), NOON), return_exceptions=True)
                assert {type(one) for one in answers} == {StoreDown}
            ledger._patience_seconds = 20
            await until_paid(ledger, (70, 0))
            await held(ledger, 930, ORG)

    asyncio.run(scenario())


def test_a_server_that_stops_while_64_spend(own_server: Postgres) -> None:
    async def spend(ledger: Ledger, settled: list[int], failed: list[str]) -> None:
        while not failed or len(settled) < 10:
            try:
                hold_id = await held(ledger, 100, SANDBOX, ORG)
            except StoreDown:
                failed.append("hold")
                return
            settled.append(1)
            try:
                await ledger.settle(hold_id, Cost(1), NOON)
            except StoreDown:
                failed.append("settle")

    async def scenario() -> None:
        async with opened(own_server.new_database(), limit(10**9, ORG)) as ledger:
            settled: list[int] = []
            failed: list[str] = []
            spending = asyncio.gather(*(spend(ledger, settled, failed) for _ in range(64)))
            while len(settled) < 200:
                await asyncio.sleep(0.005)
            await asyncio.to_thread(own_server.stop)
            await spending
            assert failed
            await asyncio.to_thread(own_server.start)
            await until_paid(ledger, (len(settled), 0))
            assert await ledger.expire(NOON + LEASE) == 0

    asyncio.run(scenario())


def test_a_locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_components.ledger.database.WAIT_SECONDS", 0.1)

    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/ledger.db", limit(1000, ORG)) as ledger:
            settled = await held(ledger, 100, ORG)
            other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for attempt in (ledger.hold(call(100, ORG), NOON), ledger.settle(settled, Cost(70), NOON)):
                with pytest.raises(StoreDown, match="locked"):
                    await attempt
            assert await sums(ledger) == {"org-month": (0, 100)}
            other.execute("ROLLBACK")
            other.close()
            await until_paid(ledger, (70, 0))

    asyncio.run(scenario())


def test_a_full_disk(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/ledger.db", limit(10**6, ORG)) as ledger:
            pages = ledger._database.read(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar_one())
            ledger._database.write(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}"))
            ids = []

            async def until_full() -> None:
                while True:
                    ids.append(await held(ledger, 1, SANDBOX, ORG))

            with pytest.raises(StoreDown, match="full"):
                await until_full()
            ledger._database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 100000"))
            await until_paid(ledger, (0, len(ids)))

    asyncio.run(scenario())


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_whose_answer_is_lost(url: str, monkeypatch: pytest.MonkeyPatch, is_done: bool) -> None:
    """Whether the commit was done nobody knows: either way no hold stays, and no settlement is lost or done twice."""

    async def scenario() -> None:
        async with opened(url, limit(1000, ORG)) as ledger:
            settled, released = await held(ledger, 100, ORG), await held(ledger, 100, ORG)
            write = ledger._database.write

            def lost(work: Callable[[Connection], object]) -> object:
                if is_done:
                    write(work)
                raise StoreDown("the line broke", may_be_done=True)

            monkeypatch.setattr(ledger._database, "write", lost)
            for attempt in (
                ledger.hold(call(100, ORG), NOON),
                ledger.settle(settled, Cost(70), NOON),
                ledger.release(released, NOON),
            ):
                with pytest.raises(StoreDown):
                    await attempt
            monkeypatch.undo()
            assert (await sums(ledger))["org-month"] == ((70, 100) if is_done else (0, 200))
            await until_paid(ledger, (70, 0))

    asyncio.run(scenario())


def test_who_gives_up_waiting_leaves_no_hold(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000, ORG)) as ledger:
            for turns in range(6):
                waiting = [asyncio.create_task(ledger.hold(call(10, ORG), NOON)) for _ in range(10)]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for one in waiting:
                    one.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            hold_id = await held(ledger, 100, ORG)
            settling = asyncio.create_task(ledger.settle(hold_id, Cost(7), NOON))
            await asyncio.sleep(0)
            settling.cancel()
            await until_paid(ledger, (7, 0))

    asyncio.run(scenario())


def test_opening_takes_the_time_it_needs(url: str) -> None:
    """A busy machine, or a large table that gets a new column, must not keep the proxy from ever starting."""

    async def scenario() -> None:
        ledger = await Ledger.open(url, patience_seconds=0)
        await ledger.close()

    asyncio.run(scenario())


def test_long_reports_are_broken_off_and_hold_up_nobody(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = "SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000"
    endless = f"WITH RECURSIVE n(x) AS ({counting}) SELECT max(x) FROM n"

    def report(connection: Connection) -> object:
        return connection.exec_driver_sql(endless).scalar()

    async def scenario() -> None:
        async with opened(url, limit(1000, ORG)) as ledger:
            monkeypatch.setattr(ledger_module, "REPORT_SECONDS", 2.0)
            reports = [asyncio.create_task(ledger._report(report)) for _ in range(2)]
            await asyncio.sleep(0.1)
            await ledger.check()
            assert [one.limit.id for one in await ledger.standings(NOON)] == ["org-month"]
            await held(ledger, 100, ORG)
            assert not any(one.done() for one in reports)
            for one in reports:
                with pytest.raises(StoreDown):
                    await one
            monkeypatch.undo()
            assert len(await ledger.usage(ORG, NOON, NOON)) == 1

    asyncio.run(scenario())


def test_what_is_owed_does_not_pile_up_while_the_store_is_slow_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_MOST_AT_ONCE", 2)
    for name in ("_FIRST_RETRY_SECONDS", "_LAST_RETRY_SECONDS"):
        monkeypatch.setattr(ledger_module, name, 0.01)

    def slow(self: Database, work: object) -> None:
        time.sleep(0.02)
        raise StoreDown("slow")

    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/ledger.db", limit(1000, ORG)) as ledger:
            holds = [await held(ledger, 10, ORG) for _ in range(12)]
            with monkeypatch.context() as patched:
                patched.setattr(Database, "write", slow)
                settling = [asyncio.create_task(ledger.settle(one, Cost(5), NOON)) for one in holds]
                for _ in range(50):
                    await asyncio.sleep(0.02)
                    assert len(ledger._queue) <= len(holds)
            await until_paid(ledger, (60, 0))
            await asyncio.gather(*settling, return_exceptions=True)

    asyncio.run(scenario())


def test_what_waits_is_done_before_it_closes(url: str) -> None:
    async def scenario() -> None:
        ledger = await Ledger.open(url)
        await ledger.replace_limits([limit(1000, ORG)], NOON)
        hold_id = await held(ledger, 100, ORG)
        settling = asyncio.create_task(ledger.settle(hold_id, Cost(7), NOON))
        await asyncio.sleep(0)
        await ledger.close()
        await settling
        async with opened(url, limit(1000, ORG)) as again:
            assert await sums(again) == {"org-month": (7, 0)}

    asyncio.run(scenario())


def test_no_password_in_what_is_said() -> None:
    with pytest.raises(StoreDown) as caught:
        asyncio.run(Ledger.open("postgresql://me:hunter2@127.0.0.1:1/ledger"))
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1:1" in str(caught.value)
    assert "hunter2" not in Database("postgresql://me:hunter2@127.0.0.1:1/ledger").name
    in_query = Database("postgresql://me@127.0.0.1:1/ledger?password=hunter2&connect_timeout=1")
    assert "hunter2" not in in_query.name
    for url in ("postgresql://me:hun@ter2@127.0.0.1:1/ledger", "postgresql://me:h@un/ter2@127.0.0.1:1/ledger"):
        with pytest.raises(InvalidInput, match="written %40") as refused:
            Database(url)
        assert "ter2" not in str(refused.value)
