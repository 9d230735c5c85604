"""What can be read from the ledger: how far limits are used, what was spent on what, whether the counters are right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, Select, case, func, select

from sandbox_components.ledger import counter, limit_table
from sandbox_components.ledger.model import TOKENS, Discrepancy, Limit, Scope, Standing, Usage
from sandbox_components.ledger.schema import SCOPE_COLUMNS, counters, entries, from_column, to_column
from sandbox_components.spec.period import Period, period_at

By = Literal["total", "model", "day"]

_QUARTER = 15 * 60 * 1_000_000
"""Days of every zone begin at a quarter of an hour in UTC, so that rows can be added up by quarters before."""
_SUMS = (
    func.count().label("calls"),
    func.sum(entries.c.nanos).label("nanos"),
    func.sum(case((entries.c.is_estimated, entries.c.nanos), else_=0)).label("estimated_nanos"),
    func.sum(entries.c.overrun_nanos).label("overrun_nanos"),
    *(func.sum(entries.c[name]).label(name) for name in TOKENS),
)


def standings(connection: Connection, scopes: Sequence[Scope] | None, at: datetime) -> list[Standing]:
    """Return how far limits are used in the periods of an instant; of all scopes, or of those given."""
    limits = limit_table.everything(connection) if scopes is None else limit_table.of_scopes(connection, set(scopes))
    instant = to_column(at)
    found = counter.load(connection, {limit.scope for limit in limits}, instant, instant)
    there = {(one.scope, one.period_key): one for one in found}
    return [_standing(connection, there, limit, at) for limit in sorted(limits, key=lambda limit: limit.id)]


def _standing(
    connection: Connection, there: dict[tuple[Scope, str], counter.Counter], limit: Limit, at: datetime
) -> Standing:
    period: Period = period_at(limit.period, limit.time_zone, at)
    one = there.get((limit.scope, period.key)) or counter.sum_up(connection, limit.scope, period)
    return Standing(limit, one.spent_nanos, one.held_nanos, period.begins_at, period.ends_at)


def usage(
    connection: Connection, scope: Scope | None, begins_at: datetime, ends_at: datetime, by: By, time_zone: str
) -> list[Usage]:
    """Return what calls cost whose hold began between two instants; by model or day of a zone, in order of the key."""
    group: tuple[Any, ...] = ()
    if by == "model":
        group = (entries.c.model,)
    elif by == "day":
        group = (entries.c.held_at - entries.c.held_at % _QUARTER,)
    query: Select[Any] = select(*group, *_SUMS).where(
        entries.c.held_at >= to_column(begins_at), entries.c.held_at < to_column(ends_at)
    )
    if scope is not None:
        query = query.where(entries.c[SCOPE_COLUMNS[scope.actor_type]] == scope.actor_id)
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(_SUMS))
    for row in connection.execute(query.group_by(*group) if group else query):
        key, values = _key(by, row, time_zone), row[len(group) :]
        sums[key] = [before + int(value or 0) for before, value in zip(sums[key], values, strict=True)]
    return [_usage(key, *values) for key, values in sorted(sums.items())]


def _usage(key: str, calls: int, nanos: int, estimated: int, overrun: int, *tokens: int) -> Usage:
    return Usage(key, calls, nanos, estimated, overrun, dict(zip(TOKENS, tokens, strict=True)))


def _key(by: By, row: Any, time_zone: str) -> str:
    if by == "day":
        return period_at("day", time_zone, from_column(row[0])).key.rsplit(":", 1)[1]
    return str(row[0]) if by == "model" else ""


def counter_keys(connection: Connection, since: datetime | None) -> list[tuple[str, str, str]]:
    """Return actor's type, actor's id and period's key of the counters that end after an instant (default: of all)."""
    key = (counters.c.actor_type, counters.c.actor_id, counters.c.period_key)
    at = to_column(since or datetime(1970, 1, 1, tzinfo=UTC))
    return [(row[0], row[1], row[2]) for row in connection.execute(select(*key).where(counters.c.ends_at > at))]


def discrepancy(connection: Connection, key: tuple[str, str, str]) -> Discrepancy | None:
    """Return how a counter differs from the sums of its rows, None if it doesn't."""
    kind, actor, period = key
    is_this = (counters.c.actor_type == kind, counters.c.actor_id == actor, counters.c.period_key == period)
    row = connection.execute(select(counters).where(*is_this)).one_or_none()
    if row is None:
        return None
    scope = Scope(kind, actor)
    counted, summed = (row.spent_nanos, row.held_nanos), counter.sums(connection, scope, row.begins_at, row.ends_at)
    return None if counted == summed else Discrepancy(scope, period, counted, summed)
