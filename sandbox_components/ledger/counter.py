"""Counters: found by scope and instant, and made out of the rows where there is none yet.

A counter is made when a limit first needs it: for a new limit, a changed zone, or the first call of a new period. It
is the sum of the rows already there, so a limit set in the middle of a month counts that month.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from sandbox_components.ledger.model import Scope
from sandbox_components.ledger.prepared import Prepared, Session
from sandbox_components.ledger.schema import SCOPE_COLUMNS, counters, entries, holds, to_column
from sandbox_components.spec.period import Period


@dataclass(slots=True)
class Counter:
    """A counter while a transaction works on it."""

    scope: Scope
    period_key: str
    begins_at: int
    ends_at: int
    spent_nanos: int
    held_nanos: int
    is_changed: bool = False

    def covers(self, instant: int) -> bool:
        """Whether a call held at that instant counts here."""
        return self.begins_at <= instant < self.ends_at

    def add(self, *, spent: int, held: int) -> None:
        """Add to both sums."""
        self.spent_nanos += spent
        self.held_nanos += held
        self.is_changed = True


_SELECT = Prepared(
    select(counters).where(
        counters.c.actor_id.in_(bindparam("actors", expanding=True)),
        counters.c.begins_at <= bindparam("last"),
        counters.c.ends_at > bindparam("first"),
    )
)
_IS_THIS = (
    (counters.c.actor_type == bindparam("of_type"))
    & (counters.c.actor_id == bindparam("of_id"))
    & (counters.c.period_key == bindparam("of_period"))
)
_UPDATE = Prepared(
    update(counters)
    .where(_IS_THIS)
    .values(spent_nanos=bindparam("new_spent_nanos"), held_nanos=bindparam("new_held_nanos"))
)
_DELETE = delete(counters).where(_IS_THIS)
_SPENT = {
    actor_type: select(func.coalesce(func.sum(entries.c.nanos), 0)).where(
        entries.c[column] == bindparam("actor_id"),
        entries.c.held_at >= bindparam("begins_at"),
        entries.c.held_at < bindparam("ends_at"),
    )
    for actor_type, column in SCOPE_COLUMNS.items()
}
_HELD = {
    actor_type: select(func.coalesce(func.sum(holds.c.worst_case_nanos), 0)).where(
        holds.c[column] == bindparam("actor_id"),
        holds.c.held_at >= bindparam("begins_at"),
        holds.c.held_at < bindparam("ends_at"),
    )
    for actor_type, column in SCOPE_COLUMNS.items()
}


def load(connection: Connection, scopes: Collection[Scope], first: int, last: int) -> list[Counter]:
    """Return all counters of the scopes whose period touches `first` to `last`."""
    if not scopes:
        return []
    actors = sorted({scope.actor_id for scope in scopes})
    rows = Session(connection).select(_SELECT, actors=actors, first=first, last=last)
    found = [Counter(Scope(*row[:2]), *row[2:]) for row in rows]
    return [one for one in found if one.scope in scopes]


def ensure(connection: Connection, found: list[Counter], wanted: Iterable[tuple[Scope, Period]]) -> None:
    """Add to `found`, and to the table, the counters wanted that aren't there, or have other ends than the zone now."""
    there = {(counter.scope, counter.period_key): counter for counter in found}
    for scope, period in wanted:
        old = there.get((scope, period.key))
        new = sum_up(connection, scope, period) if old is None or (old.begins_at, old.ends_at) != _ends(period) else old
        if new is old:
            continue
        if old is not None:
            found.remove(old)
        connection.execute(_DELETE, _key(new))
        connection.execute(
            insert(counters),
            {
                "actor_type": scope.actor_type,
                "actor_id": scope.actor_id,
                "period_key": period.key,
                "begins_at": new.begins_at,
                "ends_at": new.ends_at,
                "spent_nanos": new.spent_nanos,
                "held_nanos": new.held_nanos,
            },
        )
        there[scope, period.key] = new
        found.append(new)


def sum_up(connection: Connection, scope: Scope, period: Period) -> Counter:
    """Return what a counter must be, by the rows."""
    begins_at, ends_at = _ends(period)
    spent, held = sums(connection, scope, begins_at, ends_at)
    return Counter(scope, period.key, begins_at, ends_at, spent, held)


def sums(connection: Connection, scope: Scope, begins_at: int, ends_at: int) -> tuple[int, int]:
    """Return spent and held of a scope's rows between two instants."""
    values = {"actor_id": scope.actor_id, "begins_at": begins_at, "ends_at": ends_at}
    spent = connection.execute(_SPENT[scope.actor_type], values).scalar_one()
    held = connection.execute(_HELD[scope.actor_type], values).scalar_one()
    return int(spent), int(held)


def save(connection: Connection, changed: Iterable[Counter]) -> None:
    """Write the sums of those that have changed."""
    rows = [
        {**_key(counter), "new_spent_nanos": counter.spent_nanos, "new_held_nanos": counter.held_nanos}
        for counter in changed
        if counter.is_changed
    ]
    Session(connection).run_each(_UPDATE, rows)


def _key(counter: Counter) -> dict[str, str]:
    return {
        "of_type": counter.scope.actor_type,
        "of_id": counter.scope.actor_id,
        "of_period": counter.period_key,
    }


def _ends(period: Period) -> tuple[int, int]:
    return to_column(period.begins_at), to_column(period.ends_at)
