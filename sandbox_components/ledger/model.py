"""The words of the ledger: who pays, limits, calls, holds and costs. All money is in nano-dollars (`spec.money`).

A call's worst case is *held* before it is sent and becomes a cost when it has ended; both count against every limit of
every one of its scopes. A call belongs to the period in which its hold began.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sandbox_components.errors import SandboxError
from sandbox_components.spec.period import DEFAULT_ZONE, check_period, check_zone

ACTOR_TYPES = ("sandbox", "agent", "user", "org")
LEASE = timedelta(seconds=60)
"""How long a hold lives without being renewed; renew it every third of that."""

_MOST_NANOS = 2**62
_LONGEST_TEXT = 512


class StoreDown(SandboxError):
    """The ledger's data base doesn't answer, or not in time: nothing may be spent until it does.

    Args:
        message: which store, and what its driver says.
        may_be_done: it broke off in a commit, which may have been done all the same.
    """

    code = "store_down"

    def __init__(self, message: str, *, may_be_done: bool = False) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


class LimitMissing(SandboxError):
    """The sandbox must have a limit, and none of the call's scopes has one: none is loaded yet, so nothing is sent."""

    code = "limit_missing"


class NewerSchema(SandboxError):
    """The data base was written by a newer release of this package, which this one must not touch."""

    code = "newer_schema"


class OtherSource(SandboxError):
    """The limits in the data base are those of another proxy, which is alive: two would take each other's away."""

    code = "other_source"


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """Who pays.

    Attributes:
        actor_type: sandbox, agent, user or org.
        actor_id: PROJECT/STACK/NAME for a sandbox, else a free name.
    """

    actor_type: str
    actor_id: str

    def __post_init__(self) -> None:
        if self.actor_type not in ACTOR_TYPES:
            raise ValueError(f"not a type of actor: {self.actor_type!r}")
        _check_text("actor_id", self.actor_id)


@dataclass(frozen=True, slots=True)
class Limit:
    """What a scope may spend in each period.

    Attributes:
        id: unique among all limits, such as the ConfigMap's name; limits of equal scope and period all bind.
        scope: whose spending it caps.
        period: day, week or month.
        time_zone: an IANA name; the period's ends are midnights there.
        limit_nanos: 0 blocks everything, also what costs nothing.
        source: where it was set, for people: such as `stack proj/prod`.

    Raises:
        InvalidInput: there is no such period or zone.
    """

    id: str
    scope: Scope
    period: str
    limit_nanos: int
    time_zone: str = DEFAULT_ZONE
    source: str = ""

    def __post_init__(self) -> None:
        _check_text("id", self.id)
        _check_text("source", self.source, empty=True)
        _check_amount("limit_nanos", self.limit_nanos)
        check_period(self.period)
        check_zone(self.time_zone)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that wants to be sent.

    Attributes:
        request_id: ours, as it stands in the answer's headers.
        scopes: all that pay for it, at most one of each type; the sandbox always.
        model: as the price list names it.
        upstream: the configured upstream's name.
        endpoint: such as `chat.completions`.
        worst_case_nanos: no answer to it can cost more.
        requires_limit: it must not be sent unless one of its scopes has a limit.
    """

    request_id: str
    scopes: tuple[Scope, ...]
    model: str
    upstream: str
    endpoint: str
    worst_case_nanos: int
    requires_limit: bool = False

    def __post_init__(self) -> None:
        types = [scope.actor_type for scope in self.scopes]
        if len(set(types)) != len(types) or not types:
            raise ValueError(f"a call needs one scope or more, each of another type: {types}")
        for name in ("request_id", "model", "upstream", "endpoint"):
            _check_text(name, getattr(self, name))
        _check_amount("worst_case_nanos", self.worst_case_nanos)


@dataclass(frozen=True, slots=True)
class Hold:
    """The call may be sent now. From here on it must be settled or released.

    Attributes:
        id: what `settle`, `release` and `renew` want.
        expires_at: without a renewal until then, the worst case is charged.
    """

    id: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call must not be sent.

    Attributes:
        kind: `spent`: the limit is used up; `too_large`: this call can cost more than what is left; `busy`: it would
            fit but for calls in flight.
        limit: the one that refuses; of several the one that lasts longest.
        used_nanos: spent in this period.
        held_nanos: held by calls in flight.
        ends_at: the period's end, when counting begins anew.
    """

    kind: Literal["spent", "too_large", "busy"]
    limit: Limit
    used_nanos: int
    held_nanos: int
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call cost, in the end.

    Attributes:
        nanos: the price; may be above the hold, which the ledger records as `overrun`.
        input_tokens: all of the input, cached and cache writes included.
        cached_input_tokens: of these, read from the provider's cache.
        cache_write_tokens: of these, written to it.
        output_tokens: all of the output, reasoning included.
        reasoning_tokens: of these, reasoning.
        price_source: whose price list.
        price_version: which edition of it.
        is_estimated: not what the upstream reported, but what we had to assume.
    """

    nanos: int
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    price_source: str = ""
    price_version: str = ""
    is_estimated: bool = False

    def __post_init__(self) -> None:
        for name in ("nanos", *TOKENS):
            _check_amount(name, getattr(self, name))
        for name in ("price_source", "price_version"):
            _check_text(name, getattr(self, name), empty=True)


TOKENS = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a limit is used in the period of now.

    Attributes:
        limit: the limit.
        used_nanos: spent in this period.
        held_nanos: held by calls in flight.
        begins_at: when the period began.
        ends_at: when counting begins anew.
    """

    limit: Limit
    used_nanos: int
    held_nanos: int
    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost together; only calls that have ended.

    Attributes:
        key: the model, or the day as `2026-11-29`; empty for all together.
        calls: how many.
        nanos: the sum.
        estimated_nanos: of it, what was assumed and not reported.
        overrun_nanos: of it, what went above the holds.
        tokens: sums by the names of `TOKENS`.
    """

    key: str
    calls: int
    nanos: int
    estimated_nanos: int
    overrun_nanos: int
    tokens: dict[str, int]


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """A counter that isn't the sum of its rows: a fault of ours, to be told loudly.

    Attributes:
        scope: whose.
        period_key: of which period.
        counted: spent and held by the counter.
        summed: spent and held by the rows.
    """

    scope: Scope
    period_key: str
    counted: tuple[int, int]
    summed: tuple[int, int]


def _check_text(name: str, text: str, *, empty: bool = False) -> None:
    """Refuse what a column can't take: one bad call must not fail those that share its transaction."""
    if not text and not empty:
        raise ValueError(f"{name} is empty")
    if len(text) > _LONGEST_TEXT or not text.isprintable():
        raise ValueError(f"{name} is over {_LONGEST_TEXT} characters or not printable")


def _check_amount(name: str, amount: int) -> None:
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= _MOST_NANOS:
        raise ValueError(f"{name} is not an amount: {amount!r}")
