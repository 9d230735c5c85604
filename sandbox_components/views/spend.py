"""The answer of `spend` for machines: a document, or rows of comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sandbox_components.errors import SandboxError
from sandbox_components.operations.spend import TOKENS, Amounts, Spend, Standing
from sandbox_components.spec.money import NANOS_PER_DOLLAR
from sandbox_components.views.wire import envelope, stamp


def dollars(nanos: int) -> str:
    """Return nano-dollars as a decimal number of dollars, exact: `0.0543`."""
    return f"{Decimal(nanos) / NANOS_PER_DOLLAR:.9f}".rstrip("0").rstrip(".")


def spend_document(found: Spend) -> dict[str, Any]:
    """Return all of an answer."""
    return envelope(
        "Spend",
        {
            "actorType": found.actor.actor_type,
            "actorId": found.actor.actor_id,
            "period": {
                "key": found.period,
                "timeZone": found.time_zone,
                "beginsAt": stamp(found.begins_at),
                "endsAt": stamp(found.ends_at),
            },
            "total": _amounts(found.total),
            "by": found.by,
            "rows": [{"key": row.key, **_amounts(row.amounts)} for row in found.rows],
            "limits": [limit_document(one) for one in found.limits],
        },
    )


def limit_document(one: Standing) -> dict[str, Any]:
    """Return a limit and how far it is used."""
    return {
        "id": one.id,
        "actorType": one.actor_type,
        "actorId": one.actor_id,
        "period": one.period,
        "timeZone": one.time_zone,
        "source": one.source,
        "limitNanos": one.limit_nanos,
        "usedNanos": one.used_nanos,
        "heldNanos": one.held_nanos,
        "limitDollars": dollars(one.limit_nanos),
        "usedDollars": dollars(one.used_nanos),
        "endsAt": stamp(one.ends_at),
    }


def spending_part(limits: Sequence[Standing] | SandboxError) -> dict[str, Any]:
    """Return what a sandbox's document has of its limits; where they aren't known, why."""
    if isinstance(limits, SandboxError):
        return {"spendingLimits": None, "spendingProblem": limits.message}
    return {"spendingLimits": [limit_document(one) for one in limits], "spendingProblem": None}


def spend_rows(found: Spend) -> str:
    """Return the rows, or the total where nothing else was asked for, as comma-separated values with a head."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["actorType", "actorId", "period", found.by, "dollars", *_AMOUNTS])
    rows = [(row.key, row.amounts) for row in found.rows] if found.by != "total" else [("total", found.total)]
    for key, amounts in rows:
        values = _amounts(amounts)
        lead = [found.actor.actor_type, found.actor.actor_id, found.period, key]
        table.writerow([*map(_inert, lead), values["dollars"], *(values[name] for name in _AMOUNTS)])
    return out.getvalue()


_AMOUNTS = ("calls", "nanos", "estimatedNanos", "overrunNanos", *TOKENS)


def _inert(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: agents choose the names of models."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _amounts(found: Amounts) -> dict[str, Any]:
    return {
        "calls": found.calls,
        "nanos": found.nanos,
        "dollars": dollars(found.nanos),
        "estimatedNanos": found.estimated_nanos,
        "overrunNanos": found.overrun_nanos,
        **found.tokens,
    }
