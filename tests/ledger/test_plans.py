"""What every call waits for reads rows by an index: a ledger of years must not make calls slower."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from sandbox_components.ledger import counter, limit_table, transaction
from sandbox_components.ledger.database import Database
from sandbox_components.ledger.migrating import migrate
from sandbox_components.ledger.model import LEASE, Cost, Hold
from sandbox_components.ledger.operation import Admission, Expiry, Operation, Release, Renewal, Settlement
from sandbox_components.ledger.schema import SCOPE_COLUMNS
from tests.ledger.ground import NOON, ORG, OTHER, SANDBOX, call, limit

pytestmark = pytest.mark.server


def plans(connection: Connection, said: list[str]) -> list[str]:
    """How SQLite would carry out what was said."""
    return [row[-1] for one in said for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {one}")]


def test_no_statement_of_a_call_reads_a_whole_table(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/ledger.db")
    database.write(migrate)
    limits = [limit(10**6), limit(10**6, ORG), limit(10**6, ORG, "day")]
    database.write(lambda connection: limit_table.replace(connection, limits, NOON))
    said: list[str] = []

    def traced(connection: Connection, operations: list[Operation]) -> list[Any]:
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.set_trace_callback(said.append)  # type: ignore[attr-defined]
        answers: list[Any] = transaction.apply(connection, operations)
        driver.set_trace_callback(None)  # type: ignore[attr-defined]
        return answers

    def apply(*operations: Operation) -> list[Any]:
        return database.write(lambda connection: traced(connection, list(operations)))

    held = apply(*(Admission(key, call(10, SANDBOX, ORG), NOON) for key in "abc"))
    assert all(isinstance(one, Hold) for one in held)
    apply(Admission("d", call(10, OTHER), NOON))
    apply(Renewal(("a", "b"), NOON + timedelta(seconds=20)), Settlement("a", Cost(5), NOON), Release("b", NOON))
    apply(Expiry(NOON + LEASE))
    apply(Settlement("c", Cost(7), NOON))

    assert {one.split()[0] for one in said} == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    found = database.read(lambda connection: plans(connection, said))
    assert [one for one in found if one.startswith("SCAN")] == []
    database.close()


@pytest.mark.parametrize("kind", SCOPE_COLUMNS)
def test_a_new_limit_is_summed_up_from_an_index_alone(kind: str, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/ledger.db")
    database.write(migrate)
    statement = counter._SPENT[kind].compile(compile_kwargs={"render_postcompile": True})
    values = {**statement.params, "actor_id": "a", "begins_at": 0, "ends_at": 1}
    explain = text(f"EXPLAIN QUERY PLAN {statement}")
    [plan] = database.read(lambda connection: [row[-1] for row in connection.execute(explain, values)])
    assert plan.startswith(f"SEARCH entries USING COVERING INDEX ix_entries_{kind}_id_held_at_nanos")
    database.close()
