"""What stacks tell an inference proxy about limits, and where: annotations of ConfigMaps in the proxy's namespace.

There are two kinds of ConfigMap: who a sandbox is (`spec.identity`), and what an actor may spend (here). Both stand in
annotations, because a changed annotation is an update in place, while Pulumi replaces a ConfigMap whose data changes:
for a moment there would be no cap. The components write them, the proxy reads them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.identity import check_payer
from sandbox_components.spec.inference_key import check_sandbox_id
from sandbox_components.spec.money import cents
from sandbox_components.spec.naming import PREFIX
from sandbox_components.spec.period import DEFAULT_ZONE, check_period, check_zone
from sandbox_components.spec.shown import show

INFERENCE_LABEL = PREFIX + "inference"
"""On each of these ConfigMaps, with one of the two values below. The proxy lists by it."""
IDENTITY = "identity"
LIMIT = "limit"
LIMIT_ANNOTATION = PREFIX + "spending-limit"

ALERT_REASONS = {80: "SpendingLimitNear", 100: "SpendingLimitReached"}
"""Percent spent of a limit → reason of the Event that the proxy makes on the limit's ConfigMap."""

ACTOR_TYPES = ("sandbox", "agent", "user", "org")
_VERSION = 1
_FIELDS = {"v", "actorType", "actorId", "period", "timeZone", "limitCents", "source"}


def config_map_name(name: str, identifier: str, kind: str) -> str:
    """Return the ConfigMap's name: same-named sandboxes or limits of two stacks must not collide.

    Args:
        name: the sandbox's or limit's own.
        identifier: `PROJECT/STACK/NAME` of it.
        kind: `IDENTITY` or `LIMIT`.
    """
    return f"{name}-{hashlib.sha256(f'{kind} {identifier}'.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class DeclaredLimit:
    """What an actor may spend in a period.

    Attributes:
        actor_type: one of `ACTOR_TYPES`.
        actor_id: `PROJECT/STACK/NAME` for a sandbox, a name for the others.
        period: day, week or month.
        limit_cents: US cents; 0 blocks all.
        time_zone: IANA name in whose midnight the period ends.
        source: the stack that declared it, `PROJECT/STACK`.
    """

    actor_type: str
    actor_id: str
    period: str
    limit_cents: int
    time_zone: str = DEFAULT_ZONE
    source: str = ""


def print_limit(limit: DeclaredLimit) -> str:
    """Return the annotation's text; equal limits print the same bytes."""
    document = {
        "v": _VERSION,
        "actorType": limit.actor_type,
        "actorId": limit.actor_id,
        "period": limit.period,
        "timeZone": limit.time_zone,
        "limitCents": limit.limit_cents,
        "source": limit.source,
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def parse_limit(text: str) -> DeclaredLimit:
    """Read the annotation's text.

    Raises:
        InvalidInput: it isn't what `print_limit` writes; a newer version's limit is not half understood.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(LIMIT_ANNOTATION, "is not JSON") from None
    if not isinstance(document, Mapping) or document.get("v") != _VERSION:
        raise InvalidInput(LIMIT_ANNOTATION, f"has not version {_VERSION}, the one that this release reads")
    if unknown := sorted(set(document) - _FIELDS):
        raise InvalidInput(LIMIT_ANNOTATION, f"has unknown fields: {', '.join(map(show, unknown))}")
    kind = document.get("actorType")
    if not isinstance(kind, str) or kind not in ACTOR_TYPES:
        raise InvalidInput("actorType", f"{show(kind)} is none of {', '.join(ACTOR_TYPES)}")
    actor = _text(document, "actorId")
    check_sandbox_id(actor, "actorId") if kind == "sandbox" else check_payer(actor, "actorId")
    period = check_period(document.get("period"))
    zone = check_zone(document.get("timeZone", DEFAULT_ZONE))
    amount = document.get("limitCents")
    if not isinstance(amount, int):
        raise InvalidInput("limitCents", f"{show(amount)} is not a whole number of cents")
    source = _text(document, "source") if document.get("source") else ""
    return DeclaredLimit(kind, actor, period, cents(amount, "limitCents"), zone, source)


def _text(document: Mapping[str, Any], field: str) -> str:
    value = document.get(field)
    if not isinstance(value, str) or not value.isprintable() or len(value) > 400:
        raise InvalidInput(field, f"{show(value)} is not a printable text of at most 400 characters")
    return value
