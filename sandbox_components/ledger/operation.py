"""What can be asked of the ledger's one writer, as values: so that many can wait, and go into one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sandbox_components.errors import NotFound
from sandbox_components.ledger.model import Call, Cost, Hold, LimitMissing, Refusal


@dataclass(frozen=True, slots=True)
class Admission:
    """Hold a call's worst case, if every limit has room for it."""

    hold_id: str
    call: Call
    at: datetime


@dataclass(frozen=True, slots=True)
class Settlement:
    """Turn a hold into its true cost."""

    hold_id: str
    cost: Cost
    at: datetime


@dataclass(frozen=True, slots=True)
class Release:
    """Let a hold go: nothing was sent."""

    hold_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Renewal:
    """Let holds live on for a lease from `at`."""

    hold_ids: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Expiry:
    """Charge holds in full whose lease has ended at `at`."""

    at: datetime


Operation = Admission | Settlement | Release | Renewal | Expiry
Answer = Hold | Refusal | LimitMissing | NotFound | int | None
"""Of an admission a hold or why there is none, of an expiry the number of holds; NotFound where a hold is unknown."""
