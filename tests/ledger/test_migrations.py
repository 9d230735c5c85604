"""The schema: what the migrations make is what the tables say, and what is newer stays untouched."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, inspect, select
from sqlalchemy.exc import IntegrityError

from sandbox_components.errors import InvalidInput
from sandbox_components.ledger import schema
from sandbox_components.ledger.database import Database, _set_up_sqlite
from sandbox_components.ledger.ledger import Ledger
from sandbox_components.ledger.migrating import FOLDER, migrate
from sandbox_components.ledger.model import NewerSchema, StoreDown
from tests.harness.postgres import Postgres
from tests.ledger.ground import limit, opened, sums

pytestmark = pytest.mark.server

TOP = Path(__file__).parents[2]


def test_migrations_make_what_the_tables_say(url: str) -> None:
    database = Database(url)
    database.write(migrate)

    def difference(connection: Connection) -> list[object]:
        options = {"compare_type": True, "compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata))

    def checks(connection: Connection) -> set[str | None]:  # which Alembic doesn't compare
        return {one["name"] for one in inspect(connection).get_check_constraints("counters")}

    assert database.read(difference) == []
    assert database.read(checks) == {"ck_counters_spent", "ck_counters_held"}
    database.close()


def test_opening_again_keeps_what_is_there(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, limit(1000)) as ledger:
            assert await sums(ledger) == {"sandbox-month": (0, 0)}
        again = await Ledger.open(url)
        assert await sums(again) == {"sandbox-month": (0, 0)}
        await again.close()

    asyncio.run(scenario())


def test_two_may_open_a_new_ledger_at_once(url: str) -> None:
    code = (
        "import asyncio, sys; from sandbox_components.ledger.ledger import Ledger; "
        "asyncio.run(Ledger.open(sys.argv[1]))"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, url], cwd=TOP) for _ in range(2)]
    assert [process.wait(60) for process in started] == [0, 0]


class Crossed(sqlite3.Connection):
    """A connection that meets another one at the same statement: SQLite refuses one of the two without waiting."""

    refusals = 2

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        if "journal_mode" in sql and self.refusals:
            self.refusals -= 1
            raise sqlite3.OperationalError("database is locked")
        return super().execute(sql, *rest)


def test_who_meets_another_one_at_a_new_file_tries_again(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db", factory=Crossed)
    _set_up_sqlite(connection, None)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_newer_schema_is_refused_and_untouched(url: str) -> None:
    database = Database(url)
    database.write(migrate)
    database.write(lambda connection: connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerSchema, match="version 9999"):
        asyncio.run(Ledger.open(url))
    version = database.read(lambda connection: connection.exec_driver_sql("SELECT * FROM alembic_version").scalar())
    assert version == "9999"
    database.close()


def test_a_step_on_a_large_table_may_take_longer_than_a_call(postgres_server: Postgres) -> None:
    def shown(connection: Connection) -> object:
        return connection.exec_driver_sql("SHOW statement_timeout").scalar()

    def migrated(connection: Connection) -> object:
        migrate(connection)
        return shown(connection)

    database = Database(postgres_server.new_database())
    assert database.write(shown) == "5s"
    assert database.write(migrated) == "0"
    assert database.write(migrated) == "5s"
    database.close()


def test_a_migration_that_fails_leaves_nothing(url: str) -> None:
    def half(connection: Connection) -> None:
        migrate(connection)
        raise RuntimeError("power cut")

    database = Database(url)
    with pytest.raises(RuntimeError, match="power cut"):
        database.write(half)
    assert database.read(lambda connection: inspect(connection).get_table_names()) == []
    database.write(migrate)
    database.close()


def test_the_store_itself_refuses_negative_sums(url: str) -> None:
    database = Database(url)
    database.write(migrate)
    row = {"actor_type": "org", "actor_id": "a", "period_key": "k", "begins_at": 0, "ends_at": 1}
    for sums_ in ({"spent_nanos": -1, "held_nanos": 0}, {"spent_nanos": 0, "held_nanos": -1}):
        with pytest.raises(StoreDown) as caught:
            database.write(lambda connection, values=row | sums_: connection.execute(insert(schema.counters), values))
        assert isinstance(caught.value.__cause__, IntegrityError)
    assert database.read(lambda connection: connection.execute(select(schema.counters)).all()) == []
    database.close()


def test_every_step_has_one_before_it() -> None:
    steps = sorted(path.stem for path in (FOLDER / "versions").glob("r*.py"))
    assert [step[1:5] for step in steps] == [f"{number:04d}" for number in range(1, len(steps) + 1)]


@pytest.mark.parametrize(
    "url", ["", "ledger.db", "sqlite://", "sqlite:///:memory:", "mysql://a/b", "postgresql+asyncpg://a/b", "redis://a"]
)
def test_no_url_of_a_ledger(url: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:////folder/file"):
        Database(url)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/ledger.db"):
            files = {(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
            assert files == {("ledger.db", 0o600), ("ledger.db-wal", 0o600), ("ledger.db-shm", 0o600)}

    before = os.umask(0)
    try:
        asyncio.run(scenario())
    finally:
        os.umask(before)
