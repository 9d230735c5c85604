"""The stack config's `spendingLimits`: limits that `sandbox set-limit` wrote, over those that the program declares.

    sandbox-components:spendingLimits:
      nightly: {month: {limitCents: 5000}}
      org/acme: {day: {limitCents: 100000, timeZone: Asia/Tokyo}}

A sandbox stands under its name, an org, user or agent under `TYPE/NAME`: the two can't be confused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.identity import check_payer
from sandbox_components.spec.money import cents
from sandbox_components.spec.period import DEFAULT_ZONE, check_period, check_zone
from sandbox_components.spec.reading import unknown_key
from sandbox_components.spec.shown import show
from sandbox_components.spec.spending import ACTOR_TYPES, DeclaredLimit

Overrides = Mapping[str, Mapping[str, "Override"]]
"""Key of the actor → period → what was set."""

_KEYS = ("limitCents", "timeZone")


@dataclass(frozen=True, slots=True)
class Override:
    """What was set for one actor and period.

    Attributes:
        limit_cents: US cents; 0 blocks all calls.
        time_zone: None leaves the declared limit's, and is UTC where none is declared.
    """

    limit_cents: int
    time_zone: str | None = None


def actor_key(actor_type: str, name: str) -> str:
    """Return the key of an actor: a sandbox's own name, or `TYPE/NAME`."""
    return name if actor_type == "sandbox" else f"{actor_type}/{name}"


def actor_of(key: str, field: str) -> tuple[str, str]:
    """Return type and name of the actor that a key stands for.

    Raises:
        InvalidInput: it is neither a sandbox's name nor `TYPE/NAME`.
    """
    kind, slash, name = key.partition("/")
    if not slash:
        return "sandbox", naming.check_name(key, field)
    if kind not in ACTOR_TYPES or kind == "sandbox":
        raise InvalidInput(
            field, f"{show(key)} is neither a sandbox's name nor one of agent/NAME, user/NAME and org/NAME"
        )
    return kind, check_payer(name, field)


def read_overrides(data: object, field: str) -> Overrides:
    """Read the whole key.

    Raises:
        InvalidInput: for the first thing that is wrong, with its path below `field`.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput(field, "is not a mapping of sandbox names (or org/NAME, user/NAME, agent/NAME) to limits")
    return {key: _periods(key, periods, field) for key, periods in data.items()}


def _periods(key: object, periods: object, field: str) -> Mapping[str, Override]:
    if not isinstance(key, str):
        raise InvalidInput(field, f"the key {show(key)} is not a string")
    actor_of(key, field)
    if not isinstance(periods, Mapping):
        raise InvalidInput(f"{field}.{key}", "is not a mapping of day, week or month to a limit")
    found = {}
    for period, one in periods.items():
        place = f"{field}.{key}.{show(period)}".replace('"', "")
        check_period(period, f"{field}.{key}")
        if not isinstance(one, Mapping):
            raise InvalidInput(place, "is not a mapping of limitCents and timeZone")
        for name in one:
            if name not in _KEYS:
                raise unknown_key(str(name), list(_KEYS), place)
        if one.get("limitCents") is None:
            raise InvalidInput(f"{place}.limitCents", "is missing: for example 5000, which is $50")
        zone = one.get("timeZone")
        found[period] = Override(
            cents(one["limitCents"], f"{place}.limitCents"),
            None if zone is None else check_zone(zone, f"{place}.timeZone"),
        )
    return found


def overridden(declared: DeclaredLimit, overrides: Overrides, name: str) -> DeclaredLimit:
    """Return a declared limit with what was set over it.

    Args:
        declared: by the program.
        overrides: of the stack.
        name: of the actor, as it stands in the config: for a sandbox without project and stack.
    """
    one = overrides.get(actor_key(declared.actor_type, name), {}).get(declared.period)
    if one is None:
        return declared
    return replace(declared, limit_cents=one.limit_cents, time_zone=one.time_zone or declared.time_zone)


def added(
    actor_type: str, name: str, actor_id: str, declared: Sequence[DeclaredLimit], overrides: Overrides, source: str
) -> list[DeclaredLimit]:
    """Return the limits of an actor that were set and that the program doesn't declare."""
    there = {one.period for one in declared if (one.actor_type, one.actor_id) == (actor_type, actor_id)}
    return [
        DeclaredLimit(actor_type, actor_id, period, one.limit_cents, one.time_zone or DEFAULT_ZONE, source)
        for period, one in sorted(overrides.get(actor_key(actor_type, name), {}).items())
        if period not in there
    ]
