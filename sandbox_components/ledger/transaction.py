"""One transaction for all operations that wait: load what they concern, apply them in the book, write what changed.

However many operations there are, the statements stay about six, so a store that is slow to answer is asked no more
often when many calls are in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from sandbox_components.ledger import counter, limit_table
from sandbox_components.ledger.book import Book, scopes_of
from sandbox_components.ledger.model import Limit
from sandbox_components.ledger.operation import Admission, Answer, Expiry, Operation, Release, Renewal, Settlement
from sandbox_components.ledger.prepared import Prepared, Session
from sandbox_components.ledger.schema import entries, holds, to_column
from sandbox_components.spec.period import period_at

_HOLDS = Prepared(select(holds).where(holds.c.id.in_(bindparam("ids", expanding=True))))
_OVERDUE = Prepared(select(holds).where(holds.c.expires_at <= bindparam("at")))
_ENTRIES = Prepared(select(entries).where(entries.c.hold_id.in_(bindparam("ids", expanding=True))))
_DELETE_HOLD = Prepared(delete(holds).where(holds.c.id == bindparam("this")))
_DELETE_ENTRY = Prepared(delete(entries).where(entries.c.hold_id == bindparam("this")))
_RENEW = Prepared(update(holds).where(holds.c.id == bindparam("this")).values(expires_at=bindparam("until")))
_INSERT_HOLDS = Prepared(insert(holds))
_INSERT_ENTRIES = Prepared(insert(entries))
_HOLD_COLUMNS = tuple(column.name for column in holds.columns)
_ENTRY_COLUMNS = tuple(column.name for column in entries.columns)

Rows = dict[str, dict[str, Any]]


def apply(connection: Connection, operations: Sequence[Operation]) -> list[Answer]:
    """Do the operations in their order and return their answers."""
    session = Session(connection)
    found = _load_holds(session, operations)
    ended = _load_entries(session, operations, found)
    admissions = [one for one in operations if isinstance(one, Admission)]
    limits = limit_table.of_scopes(connection, {scope for one in admissions for scope in one.call.scopes})
    counters = _load_counters(connection, admissions, limits, [*found.values(), *ended.values()])
    book = Book(limits, counters, found, ended)
    answers = [book.apply(operation) for operation in operations]
    _save(session, book)
    counter.save(connection, counters)
    return answers


def _load_holds(session: Session, operations: Iterable[Operation]) -> Rows:
    ids: set[str] = set()
    rows: list[tuple[Any, ...]] = []
    for one in operations:
        if isinstance(one, Settlement | Release):
            ids.add(one.hold_id)
        elif isinstance(one, Renewal):
            ids.update(one.hold_ids)
        elif isinstance(one, Expiry):
            rows += session.select(_OVERDUE, at=to_column(one.at))
    if ids:
        rows += session.select(_HOLDS, ids=sorted(ids))
    return {row[0]: dict(zip(_HOLD_COLUMNS, row, strict=True)) for row in rows}


def _load_entries(session: Session, operations: Iterable[Operation], found: Rows) -> Rows:
    """The entries of holds that have ended already."""
    ids = {one.hold_id for one in operations if isinstance(one, Settlement | Release)} - found.keys()
    if not ids:
        return {}
    rows = session.select(_ENTRIES, ids=sorted(ids))
    return {row[0]: dict(zip(_ENTRY_COLUMNS, row, strict=True)) for row in rows}


def _load_counters(
    connection: Connection, admissions: Sequence[Admission], limits: Sequence[Limit], rows: Sequence[dict[str, Any]]
) -> list[counter.Counter]:
    scopes = {scope for one in admissions for scope in one.call.scopes} | {
        scope for row in rows for scope in scopes_of(row)
    }
    instants = {to_column(one.at) for one in admissions} | {row["held_at"] for row in rows}
    if not instants:
        return []
    found = counter.load(connection, scopes, min(instants), max(instants))
    wanted = {
        (limit.scope, period_at(limit.period, limit.time_zone, one.at))
        for one in admissions
        for limit in limits
        if limit.scope in one.call.scopes
    }
    counter.ensure(connection, found, sorted(wanted, key=lambda pair: (pair[0], pair[1].key)))
    return found


def _save(session: Session, book: Book) -> None:
    session.run_each(_DELETE_HOLD, [{"this": hold_id} for hold_id in sorted(book.gone_holds)])
    renewed = sorted(book.renewed_holds.items())
    session.run_each(_RENEW, [{"this": hold_id, "until": until} for hold_id, until in renewed])
    session.run_each(_INSERT_HOLDS, list(book.new_holds.values()))
    session.run_each(_DELETE_ENTRY, [{"this": hold_id} for hold_id in sorted(book.changed_entries)])
    session.run_each(_INSERT_ENTRIES, [*book.new_entries.values(), *book.changed_entries.values()])
