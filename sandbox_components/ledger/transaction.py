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
from sandbox_components.ledger.schema import entries, holds, to_column
from sandbox_components.spec.period import period_at

EXPIRED_AT_ONCE = 500
"""How many holds one expiry charges at most."""

_HOLDS = select(holds).where(holds.c.id.in_(bindparam("ids", expanding=True)))
_OVERDUE = select(holds).where(holds.c.expires_at <= bindparam("at")).order_by(holds.c.id).limit(EXPIRED_AT_ONCE)
_ENTRIES = select(entries).where(entries.c.hold_id.in_(bindparam("ids", expanding=True)))
_DELETE_HOLDS = delete(holds).where(holds.c.id.in_(bindparam("ids", expanding=True)))
_DELETE_ENTRIES = delete(entries).where(entries.c.hold_id.in_(bindparam("ids", expanding=True)))
_RENEW = update(holds).where(holds.c.id == bindparam("this")).values(expires_at=bindparam("until"))

Rows = dict[str, dict[str, Any]]


def apply(connection: Connection, operations: Sequence[Operation]) -> list[Answer]:
    """Do the operations in their order and return their answers."""
    found = _load_holds(connection, operations)
    ended = _load_entries(connection, operations, found)
    admissions = [one for one in operations if isinstance(one, Admission)]
    limits = limit_table.of_scopes(connection, {scope for one in admissions for scope in one.call.scopes})
    counters = _load_counters(connection, admissions, limits, [*found.values(), *ended.values()])
    book = Book(limits, counters, found, ended)
    answers = [book.apply(operation) for operation in operations]
    _save(connection, book)
    counter.save(connection, counters)
    return answers


def _load_holds(connection: Connection, operations: Iterable[Operation]) -> Rows:
    ids: set[str] = set()
    found: Rows = {}
    for one in operations:
        if isinstance(one, Settlement | Release):
            ids.add(one.hold_id)
        elif isinstance(one, Renewal):
            ids.update(one.hold_ids)
        elif isinstance(one, Expiry):
            found |= {
                row["id"]: dict(row) for row in connection.execute(_OVERDUE, {"at": to_column(one.at)}).mappings()
            }
    if ids:
        found |= {row["id"]: dict(row) for row in connection.execute(_HOLDS, {"ids": sorted(ids)}).mappings()}
    return found


def _load_entries(connection: Connection, operations: Iterable[Operation], found: Rows) -> Rows:
    """The entries of holds that have ended already."""
    ids = {one.hold_id for one in operations if isinstance(one, Settlement | Release)} - found.keys()
    if not ids:
        return {}
    return {row["hold_id"]: dict(row) for row in connection.execute(_ENTRIES, {"ids": sorted(ids)}).mappings()}


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


def _save(connection: Connection, book: Book) -> None:
    if book.gone_holds:
        connection.execute(_DELETE_HOLDS, {"ids": sorted(book.gone_holds)})
    if book.renewed_holds:
        rows = [{"this": hold_id, "until": until} for hold_id, until in sorted(book.renewed_holds.items())]
        connection.execute(_RENEW, rows)
    if book.new_holds:
        connection.execute(insert(holds), list(book.new_holds.values()))
    if book.changed_entries:
        connection.execute(_DELETE_ENTRIES, {"ids": sorted(book.changed_entries)})
    written = [*book.new_entries.values(), *book.changed_entries.values()]
    if written:
        connection.execute(insert(entries), written)
