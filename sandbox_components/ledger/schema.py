"""The tables. Instants are whole microseconds since 1970 in UTC, money is whole nano-dollars: exact on every store.

A counter is the sum of the rows of its scope whose hold began in its period: `spent_nanos` of the entries, `held_nanos`
of the holds. Every transaction that changes a row changes all counters that it is in.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, MetaData, Table, Text

from sandbox_components.ledger.model import ACTOR_TYPES, TOKENS

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s", "ck": "ck_%(table_name)s_%(constraint_name)s"}
)

SCOPE_COLUMNS = {actor_type: f"{actor_type}_id" for actor_type in ACTOR_TYPES}


def _text(name: str, *, key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=nullable)


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _of_a_call() -> list[Column[str] | Column[int]]:
    return [
        _text("request_id"),
        *(_text(column, nullable=True) for column in SCOPE_COLUMNS.values()),
        *(_text(name) for name in ("model", "upstream", "endpoint")),
        _number("worst_case_nanos"),
        _number("held_at"),
    ]


limits = Table(
    "limits",
    metadata,
    _text("id", key=True),
    *(_text(name) for name in ("actor_type", "actor_id", "period", "time_zone")),
    _number("limit_nanos"),
    _text("source"),
    Index(None, "actor_id"),
)
"""All limits in force, as loaded from the cluster."""

limits_list = Table(
    "limits_list",
    metadata,
    Column("id", BigInteger, primary_key=True),
    _number("listed_at"),
    _text("source", nullable=True),
)
"""One row: when the list was begun that the limits are from, and where they come from, if that is known."""

counters = Table(
    "counters",
    metadata,
    *(_text(name, key=True) for name in ("actor_type", "actor_id", "period_key")),
    *(_number(name) for name in ("begins_at", "ends_at", "spent_nanos", "held_nanos")),
    CheckConstraint("spent_nanos >= 0", name="spent"),
    CheckConstraint("held_nanos >= 0", name="held"),
    Index(None, "actor_id", "ends_at"),
)
"""Those of past periods stay; every call asks for the few that cover it. By id alone, as for limits: for pairs of type
and id SQLite would use no index, and read the whole table."""

holds = Table("holds", metadata, _text("id", key=True), *_of_a_call(), _number("expires_at"), Index(None, "expires_at"))
"""Calls in flight."""

entries = Table(
    "entries",
    metadata,
    _text("hold_id", key=True),
    *_of_a_call(),
    _number("settled_at"),
    _number("nanos"),
    _number("overrun_nanos"),
    *(_number(name) for name in TOKENS),
    _text("price_source"),
    _text("price_version"),
    Column("is_estimated", Boolean, nullable=False),
    _text("state"),
    *(Index(None, column, "held_at", "nanos") for column in SCOPE_COLUMNS.values()),
    Index(None, "held_at"),
)
"""Calls that have ended. Their `state`: `settled`; `expired`, while only the lease's end is known; `released`, if it
was known only after the lease's end that the upstream never got the call.

The sums of counters are read from indexes alone: for a new limit's, all calls wait."""

CALL_COLUMNS = tuple(column.name for column in _of_a_call())

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_column(instant: datetime) -> int:
    """Return an aware instant as a column holds it."""
    return (instant - _EPOCH) // _MICROSECOND


def from_column(microseconds: int) -> datetime:
    """Return the instant that a column holds."""
    return _EPOCH + microseconds * _MICROSECOND
