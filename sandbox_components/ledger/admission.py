"""The one rule of the cap: a call may be held if spent + held + its worst case is at most the limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sandbox_components.ledger.model import Refusal, Standing

_WEIGHTS: dict[Literal["spent", "too_large", "busy"], int] = {"spent": 2, "too_large": 1, "busy": 0}


def judge(standing: Standing, worst_case_nanos: int) -> Refusal | None:
    """Return why a limit refuses a call, or None. What costs nothing passes a spent limit, but not one of 0."""
    limit, used, held = standing.limit, standing.used_nanos, standing.held_nanos
    if worst_case_nanos == 0 and limit.limit_nanos > 0:
        return None
    kind: Literal["spent", "too_large", "busy"]
    if used >= limit.limit_nanos:
        kind = "spent"
    elif used + worst_case_nanos > limit.limit_nanos:
        kind = "too_large"
    elif used + held + worst_case_nanos > limit.limit_nanos:
        kind = "busy"
    else:
        return None
    return Refusal(kind, limit, used, held, standing.ends_at)


def refuse(refusals: Iterable[Refusal]) -> Refusal | None:
    """Return the refusal that binds longest: spent before too large before busy, then the latest end, then the id."""
    return max(refusals, key=_rank, default=None)


def _rank(refusal: Refusal) -> tuple[int, float, str]:
    return _WEIGHTS[refusal.kind], refusal.ends_at.timestamp(), refusal.limit.id
