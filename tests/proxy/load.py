"""Many calls at once, of all kinds and sizes, and what the ledger's tables say of them afterwards."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from sqlalchemy import Connection, Engine, create_engine, text

from sandbox_components.spec.inference_key import make_key
from tests.proxy.calls import BY_PATH, WAYS
from tests.proxy.place import SIGNING_KEY

PARALLEL = 64


@dataclass
class Load:
    """Calls of some sandboxes through some proxies.

    Args:
        urls: gives the proxies' addresses; asked before every call, as they may change.
        sandboxes: whose keys are used.
        seed: of all that is random.
        parallel: how many at once.
        is_patient: a proxy that can't be reached is tried again, and what happens to a call doesn't matter.
    """

    urls: Callable[[], Sequence[str]]
    sandboxes: Sequence[str]
    seed: int
    is_patient: bool = False
    parallel: int = PARALLEL
    statuses: Counter[int] = field(default_factory=Counter)
    is_over: bool = False

    def run(self, count: int) -> None:
        """Make so many calls, or fewer when `is_over` is set, and wait for their end."""
        asyncio.run(self._run(count))

    async def _run(self, count: int) -> None:
        numbers = iter(range(count))
        keys = {one: make_key(SIGNING_KEY.encode(), one, 1) for one in self.sandboxes}
        limits = httpx2.Limits(max_connections=PARALLEL, max_keepalive_connections=PARALLEL)
        async with httpx2.AsyncClient(limits=limits, trust_env=False, timeout=60) as client:

            async def work(at: int) -> None:
                rng = random.Random(f"{self.seed} {at}")
                for _ in numbers:
                    if self.is_over:
                        return
                    await self._call(client, keys, rng)

            async with asyncio.TaskGroup() as group:
                for at in range(self.parallel):
                    group.create_task(work(at))

    async def _call(self, client: httpx2.AsyncClient, keys: dict[str, str], rng: random.Random) -> None:
        kind, stream = rng.choice(WAYS)
        most = rng.randint(1, 200)
        body = kind.body(
            stream=stream,
            most=most,
            input=rng.randint(1, 100),
            output=rng.randint(1, most),
            events=rng.randint(1, 8),
            delay=rng.choice([0, 0, 0.01, 0.05]),
            gap=rng.choice([0, 0.003]),
            size=rng.choice([0, 0, 2000]),
        )
        key = keys[rng.choice(self.sandboxes)]
        for _ in range(500):
            try:
                url = rng.choice(self.urls())
                answer = await client.post(url + kind.path, json=body, headers={"authorization": f"Bearer {key}"})
            except (httpx2.TransportError, IndexError):
                if not self.is_patient:
                    raise
                await asyncio.sleep(0.2)
                if self.is_over:
                    return
                continue
            self.statuses[answer.status_code] += 1
            if answer.headers.get("x-should-retry") != "true":
                return
            await asyncio.sleep(0.05)


_NOTE_BEYOND = """
    INSERT INTO beyond SELECT NEW.actor_id, NEW.spent_nanos + NEW.held_nanos, limits.limit_nanos
    FROM limits WHERE limits.actor_type = NEW.actor_type AND limits.actor_id = NEW.actor_id
    AND NEW.period_key LIKE limits.period || ':' || limits.time_zone || ':%'
    AND NEW.spent_nanos + NEW.held_nanos > limits.limit_nanos
"""
_SQLITE = [
    "CREATE TABLE beyond (actor_id TEXT, amount BIGINT, allowed BIGINT)",
    *(
        f"""CREATE TRIGGER watch_{event.lower()} AFTER {event} ON counters WHEN NEW.held_nanos > {before} BEGIN
        {_NOTE_BEYOND}; END"""
        for event, before in (("INSERT", "0"), ("UPDATE", "OLD.held_nanos"))
    ),
]
_POSTGRES = [
    "CREATE TABLE beyond (actor_id TEXT, amount BIGINT, allowed BIGINT)",
    f"""CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    {_NOTE_BEYOND}; RETURN NULL; END $$""",
    "CREATE TRIGGER of_new AFTER INSERT ON counters FOR EACH ROW WHEN (NEW.held_nanos > 0) EXECUTE FUNCTION watch()",
    """CREATE TRIGGER of_changed AFTER UPDATE ON counters FOR EACH ROW WHEN (NEW.held_nanos > OLD.held_nanos)
    EXECUTE FUNCTION watch()""",
]


@dataclass
class Tables:
    """The ledger's tables, read beside the proxy."""

    engine: Engine

    @classmethod
    def of(cls, url: str) -> Tables:
        """Open a data base by the URL that the proxy has."""
        return cls(create_engine(url.replace("postgresql://", "postgresql+psycopg://")))

    def watch(self) -> None:
        """Have the data base itself write down every commit that holds more than a limit in force allows."""
        with self.engine.begin() as connection:
            for statement in _SQLITE if self.engine.dialect.name == "sqlite" else _POSTGRES:
                connection.execute(text(statement))

    def hold_too_much(self) -> None:
        """Do what must not be, to see that it is noticed."""
        with self.engine.begin() as connection:
            connection.execute(text("UPDATE counters SET held_nanos = 1000000000000000"))

    def beyond(self) -> list[Any]:
        """Commits that held too much."""
        return self._all("SELECT * FROM beyond")

    def holds(self) -> int:
        """Holds there are."""
        return int(self._all("SELECT count(*) FROM holds")[0][0])

    def age_holds(self) -> None:
        """Let the lease of every hold have ended a second ago."""
        with self.engine.begin() as connection:
            connection.execute(text("UPDATE holds SET expires_at = held_at - 1000000"))

    def entries(self) -> list[Any]:
        """Rows of calls that have ended: request id, nano-dollars, whether estimated, state."""
        return self._all("SELECT request_id, nanos, is_estimated, state FROM entries")

    def counted(self) -> dict[tuple[str, str], int]:
        """What counters say was spent, by actor."""
        rows = self._all("SELECT actor_type, actor_id, spent_nanos FROM counters")
        return {(kind, name): nanos for kind, name, nanos in rows}

    def summed(self, kind: str) -> dict[tuple[str, str], int]:
        """What rows say was spent, by actor of a type."""
        rows = self._all(f"SELECT {kind}_id, sum(nanos) FROM entries WHERE {kind}_id IS NOT NULL GROUP BY {kind}_id")
        return {(kind, name): int(nanos) for name, nanos in rows}

    def _all(self, query: str) -> list[Any]:
        with self.engine.connect() as connection:
            return _rows(connection, query)


def _rows(connection: Connection, query: str) -> list[Any]:
    return [tuple(row) for row in connection.execute(text(query))]


def costs(served: Sequence[dict[str, Any]]) -> dict[str, int]:
    """What the double's calls cost, by the proxy's request id."""
    return {one["headers"]["x-client-request-id"]: BY_PATH[one["path"]].cost(one) for one in served}
