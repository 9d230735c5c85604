"""What was spent, by whom, on what, and how far limits are used: asked of the inference proxy, which counts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox_components.errors import SandboxError
from sandbox_components.kube import paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.objects import Json, items, moment, text
from sandbox_components.kube.observation import Event
from sandbox_components.kube.portrait import event_of
from sandbox_components.operations.inference import Actor, Proxy, ask_proxy
from sandbox_components.spec.spending import ALERT_REASONS


@dataclass(frozen=True)
class Amounts:
    """What calls cost together; only calls that have ended.

    Attributes:
        calls: how many.
        nanos: what they cost, in nano-dollars.
        estimated_nanos: of it, what was assumed because no report of the provider came.
        overrun_nanos: of it, what went above the amounts held beforehand.
        tokens: sums by kind, in the proxy's words (`inputTokens`).
    """

    calls: int
    nanos: int
    estimated_nanos: int
    overrun_nanos: int
    tokens: Mapping[str, int]


@dataclass(frozen=True)
class Row:
    """One model or day."""

    key: str
    amounts: Amounts


@dataclass(frozen=True)
class Standing:
    """How far a limit is used in its own current period.

    Attributes:
        source: the stack that set it, as PROJECT/STACK.
        held_nanos: held by calls in flight.
        ends_at: when counting begins anew.
    """

    id: str
    actor_type: str
    actor_id: str
    period: str
    time_zone: str
    source: str
    limit_nanos: int
    used_nanos: int
    held_nanos: int
    ends_at: datetime | None

    @property
    def left_nanos(self) -> int:
        """What may still be spent, calls in flight counted at their worst."""
        return max(self.limit_nanos - self.used_nanos - self.held_nanos, 0)


@dataclass(frozen=True)
class Spend:
    """The answer of `sandbox spend`.

    Attributes:
        actor: whose.
        period: key of the period, such as `month:UTC:2026-11`.
        rows: by model or day; empty where only the total was asked for.
        limits: all that bind the actor, for a sandbox those of its org, user and agent too.
    """

    actor: Actor
    period: str
    time_zone: str
    begins_at: datetime | None
    ends_at: datetime | None
    total: Amounts
    by: str
    rows: tuple[Row, ...]
    limits: tuple[Standing, ...]


TOKENS = ("inputTokens", "cachedInputTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens")


def spend(
    cluster: Cluster,
    proxy: Proxy,
    read_key: str,
    actor: Actor,
    *,
    period: str,
    time_zone: str = "UTC",
    by: str = "total",
) -> Spend:
    """Ask what an actor has spent in the current period.

    Raises:
        SandboxError: the proxy refuses, or can't be reached.
    """
    params = {
        "actorType": actor.actor_type,
        "actorId": actor.actor_id,
        "period": period,
        "timeZone": time_zone,
        "by": by,
    }
    found = ask_proxy(cluster, proxy, read_key, "/v1/spend", params)
    if found.get("kind") != "Spend" or found.get("schemaVersion") != 1:
        raise SandboxError("the proxy's answer is of another version than this command reads")
    return Spend(
        actor,
        text(found, "period", "key"),
        text(found, "period", "timeZone"),
        moment(text(found, "period", "beginsAt")),
        moment(text(found, "period", "endsAt")),
        _amounts(found.get("total")),
        by,
        tuple(Row(text(one, "key"), _amounts(one)) for one in items(found, "rows")),
        standings_in(found),
    )


def alerts(cluster: Cluster, proxy: Proxy, limits: Sequence[Standing]) -> tuple[Event, ...]:
    """Return the events that the proxy has made of limits, oldest first; none where they may not be read."""
    ids = {one.id for one in limits}
    try:
        found = cluster.list_all(paths.events(proxy.namespace), {"fieldSelector": "involvedObject.kind=ConfigMap"})
    except SandboxError:
        return ()
    ours = [
        event_of(one)
        for one in found
        if text(one, "involvedObject", "name") in ids and text(one, "reason") in ALERT_REASONS.values()
    ]
    return tuple(sorted(ours, key=lambda one: (one.at is not None, one.at)))


def lower(limits: Sequence[Standing], source: str, actor_type: str, period: str, amount_nanos: int) -> list[Standing]:
    """Return limits of the same actor and period that other stacks set, and that bind before the given amount."""
    return [
        one
        for one in limits
        if (one.actor_type, one.period) == (actor_type, period)
        and one.source != source
        and one.limit_nanos < amount_nanos
    ]


def standings_in(found: Json) -> tuple[Standing, ...]:
    """Return the limits of an answer, the sandbox's own first, then by period."""
    order = ("sandbox", "agent", "user", "org")
    limits = [_standing(one) for one in items(found, "limits")]
    periods = ("day", "week", "month")

    def rank(one: Standing) -> tuple[int, int, str]:
        kind = order.index(one.actor_type) if one.actor_type in order else len(order)
        return kind, periods.index(one.period) if one.period in periods else len(periods), one.id

    return tuple(sorted(limits, key=rank))


def _standing(found: Json) -> Standing:
    return Standing(
        text(found, "id"),
        text(found, "actorType"),
        text(found, "actorId"),
        text(found, "period"),
        text(found, "timeZone"),
        text(found, "source"),
        _whole(found.get("limitNanos")),
        _whole(found.get("usedNanos")),
        _whole(found.get("heldNanos")),
        moment(text(found, "endsAt")),
    )


def _amounts(found: Any) -> Amounts:
    given = found if isinstance(found, Mapping) else {}
    return Amounts(
        _whole(given.get("calls")),
        _whole(given.get("nanos")),
        _whole(given.get("estimatedNanos")),
        _whole(given.get("overrunNanos")),
        {key: _whole(given.get(key)) for key in TOKENS},
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
