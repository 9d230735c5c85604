"""The limits table: a copy of the limits that the cluster holds, read by every hold in its own transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from sandbox_components.ledger import counter
from sandbox_components.ledger.model import Limit, OtherSource, Scope
from sandbox_components.ledger.prepared import Prepared, Session
from sandbox_components.ledger.schema import limits, limits_list, to_column
from sandbox_components.spec.period import period_at

_SELECT_OF = Prepared(select(limits).where(limits.c.actor_id.in_(bindparam("actors", expanding=True))))
_OLDER_BY_MICROSECONDS = 60_000_000
"""A list that was begun up to this much before the one in force is late, not right: another replica knows better. One
that is older still means that a clock was wrong."""
_GONE_AFTER_MICROSECONDS = 60_000_000
"""Four times what passes between two lists of a proxy that lives."""


def of_scopes(connection: Connection, scopes: Collection[Scope]) -> list[Limit]:
    """Return all limits of the scopes."""
    if not scopes:
        return []
    actors = sorted({scope.actor_id for scope in scopes})
    found = [_limit(row) for row in Session(connection).select(_SELECT_OF, actors=actors)]
    return [one for one in found if one.scope in scopes]


def everything(connection: Connection) -> list[Limit]:
    """Return all limits, by id."""
    return [_limit(tuple(row)) for row in connection.execute(select(limits).order_by(limits.c.id))]


def list_began(connection: Connection) -> int | None:
    """Return when the list was begun that the limits are from, as a column holds it; None before the first one."""
    return connection.execute(select(limits_list.c.listed_at)).scalar()


def replace(connection: Connection, wanted: Sequence[Limit], listed_at: datetime, source: str = "") -> bool:
    """Make the table equal to the limits wanted, with counters for the new ones; whether anything changed.

    Args:
        connection: in a transaction.
        wanted: all limits.
        listed_at: when the list was begun.
        source: where the list is from, empty if nothing else can list.

    Raises:
        ValueError: two limits have one id.
        OtherSource: lists of another source were put in force within the last minute.
    """
    by_id = {limit.id: limit for limit in wanted}
    if len(by_id) != len(wanted):
        raise ValueError("two limits have one id")
    at = to_column(listed_at)
    last = connection.execute(select(limits_list.c.listed_at, limits_list.c.source)).one_or_none()
    before, other = (None, None) if last is None else last
    if before is not None and other and source and other != source and at < before + _GONE_AFTER_MICROSECONDS:
        raise OtherSource(
            f"the ledger has the limits of {other}, and those of {source} would take them away: it is for one proxy",
            suggestions=["give each InferenceProxy a data base of its own"],
        )
    if before is not None and before - _OLDER_BY_MICROSECONDS < at < before:
        return False
    if last is None or last != (at, source):
        connection.execute(delete(limits_list))
        connection.execute(insert(limits_list), {"id": 1, "listed_at": at, "source": source})
    stored = {limit.id: limit for limit in everything(connection)}
    gone = [key for key, limit in stored.items() if by_id.get(key) != limit]
    new = [limit for key, limit in by_id.items() if stored.get(key) != limit]
    for key in gone:
        connection.execute(delete(limits).where(limits.c.id == key))
    if new:
        connection.execute(insert(limits), [_values(limit) for limit in new])
        ensure_counters(connection, new, listed_at)
    return bool(gone or new)


def ensure_counters(connection: Connection, of: Collection[Limit], at: datetime) -> None:
    """Make the counters of limits that are missing for the periods of an instant."""
    instant = to_column(at)
    found = counter.load(connection, {limit.scope for limit in of}, instant, instant)
    counter.ensure(connection, found, [(one.scope, period_at(one.period, one.time_zone, at)) for one in of])


def _limit(row: tuple[Any, ...]) -> Limit:
    key, actor_type, actor_id, period, time_zone, limit_nanos, source = row
    return Limit(key, Scope(actor_type, actor_id), period, limit_nanos, time_zone, source)


def _values(limit: Limit) -> dict[str, object]:
    return {
        "id": limit.id,
        "actor_type": limit.scope.actor_type,
        "actor_id": limit.scope.actor_id,
        "period": limit.period,
        "time_zone": limit.time_zone,
        "limit_nanos": limit.limit_nanos,
        "source": limit.source,
    }
