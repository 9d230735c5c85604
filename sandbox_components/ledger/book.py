"""The ledger's arithmetic on the rows that one transaction has loaded: no SQL, and no clock of its own.

Operations are applied one after the other, each seeing what those before it did. Every change of a row goes into all
counters of its scopes that cover the instant of its hold, so that counters stay the sums of their rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_components.errors import NotFound
from sandbox_components.ledger.admission import judge, refuse
from sandbox_components.ledger.counter import Counter
from sandbox_components.ledger.model import (
    LEASE,
    TOKENS,
    Call,
    Cost,
    Hold,
    Limit,
    LimitMissing,
    Refusal,
    Scope,
    Standing,
)
from sandbox_components.ledger.operation import Admission, Answer, Expiry, Operation, Release, Renewal, Settlement
from sandbox_components.ledger.schema import CALL_COLUMNS, SCOPE_COLUMNS, to_column
from sandbox_components.spec.period import period_at

Row = dict[str, Any]

UNREPORTED = "hold"
"""The price source of what was charged at a lease's end."""


class Book:
    """Rows of one transaction, and what became of them.

    Args:
        limits: of all scopes that want a hold.
        counters: all of the scopes concerned, for the instants concerned; of those limits also the missing ones.
        holds: rows by id.
        entries: rows by hold id.

    Attributes:
        new_holds: rows to insert.
        gone_holds: ids to delete.
        renewed_holds: id → new end of the lease.
        new_entries: rows to insert.
        changed_entries: rows to write anew.
    """

    def __init__(
        self,
        limits: Iterable[Limit],
        counters: Iterable[Counter],
        holds: Mapping[str, Row],
        entries: Mapping[str, Row],
    ) -> None:
        self._limits: defaultdict[Scope, list[Limit]] = defaultdict(list)
        for limit in limits:
            self._limits[limit.scope].append(limit)
        self._counters: defaultdict[Scope, list[Counter]] = defaultdict(list)
        for counter in counters:
            self._counters[counter.scope].append(counter)
        self._holds = dict(holds)
        self._entries = dict(entries)
        self.new_holds: dict[str, Row] = {}
        self.gone_holds: set[str] = set()
        self.renewed_holds: dict[str, int] = {}
        self.new_entries: dict[str, Row] = {}
        self.changed_entries: dict[str, Row] = {}

    def apply(self, operation: Operation) -> Answer:
        """Apply one operation and return its answer."""
        match operation:
            case Admission():
                return self._hold(operation)
            case Settlement(hold_id, cost, at):
                return self._settle(hold_id, cost, to_column(at), "settled")
            case Release():
                self._release(operation)
            case Renewal():
                self._renew(operation)
            case Expiry():
                return self._expire(operation)
        return None

    def _hold(self, wanted: Admission) -> Hold | Refusal | LimitMissing:
        call = wanted.call
        limits = [limit for scope in call.scopes for limit in self._limits[scope]]
        if call.requires_limit and not limits:
            return LimitMissing(
                f"no limit is loaded for {call.scopes[0].actor_type} {call.scopes[0].actor_id}, which must have one"
            )
        refusals = (judge(self._standing(limit, wanted), call.worst_case_nanos) for limit in limits)
        refused = refuse(refusal for refusal in refusals if refusal is not None)
        if refused is not None:
            return refused
        expires_at = wanted.at + LEASE
        row = _row(call, to_column(wanted.at)) | {"id": wanted.hold_id, "expires_at": to_column(expires_at)}
        self._holds[wanted.hold_id] = self.new_holds[wanted.hold_id] = row
        self._count(row, held=call.worst_case_nanos)
        return Hold(wanted.hold_id, expires_at)

    def _standing(self, limit: Limit, wanted: Admission) -> Standing:
        period = period_at(limit.period, limit.time_zone, wanted.at)
        counter = next(one for one in self._counters[limit.scope] if one.period_key == period.key)
        return Standing(limit, counter.spent_nanos, counter.held_nanos, period.begins_at, period.ends_at)

    def _settle(self, hold_id: str, cost: Cost, at: int, state: str) -> NotFound | None:
        hold = self._holds.get(hold_id)
        if hold is not None:
            self._drop(hold)
            self._write_entry(hold, cost, at, state)
            self._count(hold, spent=cost.nanos, held=-hold["worst_case_nanos"])
            return None
        entry = self._entries.get(hold_id)
        if entry is None:
            return NotFound(f'there is no hold "{hold_id}"')
        if entry["state"] == "expired":
            self._write_entry(entry, cost, at, state)
            self._count(entry, spent=cost.nanos - entry["nanos"])
        return None

    def _release(self, wanted: Release) -> None:
        hold = self._holds.get(wanted.hold_id)
        if hold is not None:
            self._drop(hold)
            self._count(hold, held=-hold["worst_case_nanos"])
        elif wanted.hold_id in self._entries:
            self._settle(wanted.hold_id, Cost(0), to_column(wanted.at), "released")

    def _renew(self, wanted: Renewal) -> None:
        expires_at = to_column(wanted.at + LEASE)
        for hold_id in wanted.hold_ids:
            hold = self._holds.get(hold_id)
            if hold is not None and hold["expires_at"] < expires_at:
                hold["expires_at"] = self.renewed_holds[hold_id] = expires_at

    def _expire(self, wanted: Expiry) -> int:
        at = to_column(wanted.at)
        overdue = sorted(hold_id for hold_id, hold in self._holds.items() if hold["expires_at"] <= at)
        for hold_id in overdue:
            cost = Cost(self._holds[hold_id]["worst_case_nanos"], price_source=UNREPORTED, is_estimated=True)
            self._settle(hold_id, cost, at, "expired")
        return len(overdue)

    def _drop(self, hold: Row) -> None:
        del self._holds[hold["id"]]
        self.renewed_holds.pop(hold["id"], None)
        if self.new_holds.pop(hold["id"], None) is None:
            self.gone_holds.add(hold["id"])

    def _write_entry(self, source: Row, cost: Cost, at: int, state: str) -> None:
        """Make the entry of a hold, or write one anew that has the state `expired`."""
        hold_id = source.get("hold_id") or source["id"]
        entry = {column: source[column] for column in CALL_COLUMNS} | {
            "hold_id": hold_id,
            "settled_at": at,
            "nanos": cost.nanos,
            "overrun_nanos": max(0, cost.nanos - source["worst_case_nanos"]),
            **{name: getattr(cost, name) for name in TOKENS},
            "price_source": cost.price_source,
            "price_version": cost.price_version,
            "is_estimated": cost.is_estimated,
            "state": state,
        }
        is_stored = hold_id in self._entries and hold_id not in self.new_entries
        (self.changed_entries if is_stored else self.new_entries)[hold_id] = entry
        self._entries[hold_id] = entry

    def _count(self, row: Row, *, spent: int = 0, held: int = 0) -> None:
        for actor_type, column in SCOPE_COLUMNS.items():
            if row[column] is not None:
                for counter in self._counters[Scope(actor_type, row[column])]:
                    if counter.covers(row["held_at"]):
                        counter.add(spent=spent, held=held)


def _row(call: Call, held_at: int) -> Row:
    ids = {scope.actor_type: scope.actor_id for scope in call.scopes}
    return {
        "request_id": call.request_id,
        **{column: ids.get(actor_type) for actor_type, column in SCOPE_COLUMNS.items()},
        "model": call.model,
        "upstream": call.upstream,
        "endpoint": call.endpoint,
        "worst_case_nanos": call.worst_case_nanos,
        "held_at": held_at,
    }


def scopes_of(row: Row) -> list[Scope]:
    """Return who pays for the call of a hold's or entry's row."""
    return [Scope(kind, row[column]) for kind, column in SCOPE_COLUMNS.items() if row[column] is not None]
