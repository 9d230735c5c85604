"""Refusals in the caller's own error format, so that an agent's SDK raises what it would raise for the provider.

A spent limit is 429 with the one pair of headers that makes the SDKs give up at once, where others would sleep until
the period ends or call again dozens of times: `Retry-After` above a minute, and `x-should-retry: false`. What can work
in a moment says so. The text is for the agent's log and its people: whose limit, how much, until when, what to do, and
that the sandbox keeps running. Figures of a limit that others share are not told to a sandbox beyond the limit itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sandbox_components.errors import SandboxError
from sandbox_components.ledger.model import LimitMissing, Refusal, StoreDown
from sandbox_components.proxy.fault import Fault
from sandbox_components.spec.money import print_dollars

SHORTEST_WAIT = 61
"""Seconds. From here on clients which obey `Retry-After` give up instead of waiting."""
BUSY_WAIT = 2

_CODEX_TEXT = "x-codex-promo-message"
"""The only text of a 429 that Codex shows, in the middle of a sentence: `..., or try again at` and the reset."""
_GOES_ON = "The sandbox keeps running"
_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal as it goes to the client.

    Attributes:
        status: HTTP status.
        headers: with names in lower case, content type and length included.
        body: JSON.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


def answer_for(
    refused: Refusal | BaseException,
    api: str,
    now: datetime,
    *,
    request_id: str = "",
    worst_nanos: int | None = None,
    limit_field: str = "max_tokens",
    is_codex: bool = False,
) -> Answer:
    """Return the answer that tells why a call wasn't passed on.

    Args:
        refused: the ledger's refusal, or what was raised.
        api: `openai` or `anthropic`: whose format.
        now: an aware instant.
        request_id: ours; it stands in the header where the SDKs look for it.
        worst_nanos: what the call could have cost.
        limit_field: the request's field that bounds the output.
        is_codex: the client is Codex, which shows our text only for an error type and in a header of its own.
    """
    headers: dict[str, str] = {}
    extra: dict[str, Any] = {}
    if isinstance(refused, Refusal):
        status, param = 429, limit_field if refused.kind == "too_large" else None
        message = _limit_text(refused, worst_nanos, limit_field)
        if refused.kind == "busy":
            kind, code, anthropic_code = "requests", "rate_limit_exceeded", None
            headers = {"retry-after": str(BUSY_WAIT), "x-should-retry": "true"}
        else:
            whose = "organization" if refused.limit.scope.actor_type == "org" else "project"
            kind, code = "insufficient_quota", f"{whose}_spend_limit_exceeded"
            anthropic_code = "enforced_spend_limit_reached"
            wait = max(SHORTEST_WAIT, -int(-(refused.ends_at - now).total_seconds() // 1))
            headers = {"retry-after": str(wait), "x-should-retry": "false"}
            extra = {"resets_at": int(refused.ends_at.timestamp())}
            if is_codex:
                kind = "usage_limit_reached"
                if message.isascii() and message.isprintable():
                    headers[_CODEX_TEXT] = message.rstrip(".")
    else:
        status, message, code, param, wait_seconds = _fault(refused)
        kind, anthropic_code = "server_error" if status >= 500 else "invalid_request_error", None
        if wait_seconds is not None:
            headers = {"retry-after": str(wait_seconds)}
    if api == "anthropic":
        document = _anthropic(status, message, anthropic_code or code, request_id)
        id_header = "request-id"
    else:
        document = {"error": {"message": message, "type": kind, "param": param, "code": code, **extra}}
        id_header = "x-request-id"
    if request_id:
        headers[id_header] = request_id
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    headers |= {"content-type": "application/json", "content-length": str(len(body))}
    return Answer(status, tuple((name.encode(), value.encode()) for name, value in headers.items()), body)


def _anthropic(status: int, message: str, code: str, request_id: str) -> Mapping[str, Any]:
    kind = _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error = {"type": kind, "message": message, "details": {"error_code": code}}
    return {"type": "error", "error": error, "request_id": request_id or None}


def _fault(refused: BaseException) -> tuple[int, str, str, str | None, int | None]:
    """Return status, text, code, field and seconds to wait. What isn't meant for the client isn't told."""
    if isinstance(refused, Fault):
        return refused.status, refused.message, refused.code, refused.param, refused.retry_after
    if isinstance(refused, StoreDown):
        text = "the ledger of spending is out of reach, so nothing may be spent now; nothing was sent. "
        return 503, f"{text}{_GOES_ON}.", refused.code, None, 2
    if isinstance(refused, LimitMissing):
        text = "this sandbox must have a spending limit, and none is loaded (yet); nothing was sent. "
        return 503, f"{text}{_GOES_ON}.", refused.code, None, 5
    code = refused.code if isinstance(refused, SandboxError) else "internal_error"
    return 500, "the inference proxy failed; its log tells why", code, None, None


def _limit_text(refusal: Refusal, worst_nanos: int | None, limit_field: str) -> str:
    limit = refusal.limit
    whose = f"the spending limit of {limit.scope.actor_type} {limit.scope.actor_id}"
    amount = f"{print_dollars(limit.limit_nanos)} per {limit.period}"
    zone = ZoneInfo(limit.time_zone)
    until = f"{refusal.ends_at.astimezone(zone):%Y-%m-%d %H:%M} {limit.time_zone}"
    if zone.key != "UTC":
        until += f" ({refusal.ends_at.astimezone(UTC):%Y-%m-%dT%H:%MZ})"
    is_own = limit.scope.actor_type == "sandbox"
    used = f", {print_dollars(refusal.used_nanos)} used" if is_own else ""
    if limit.limit_nanos == 0:
        return f"{_capital(whose)} is {amount}, which blocks all calls to models. {_GOES_ON}."
    if refusal.kind == "spent":
        return (
            f"{_capital(whose)} is used up: {amount}{used}. It resets at {until}. {_GOES_ON}; calls to models are "
            "refused until then, or until the limit is raised."
        )
    if refusal.kind == "busy":
        return (
            f"Calls in flight hold what is left of {whose}: {amount}{used}. Try again when one of them has ended. "
            f"{_GOES_ON}."
        )
    left = f"the {print_dollars(max(0, limit.limit_nanos - refusal.used_nanos))}" if is_own else "what is"
    cost = f"can cost up to {print_dollars(worst_nanos)}" if worst_nanos is not None else "can cost"
    advice = f"set {limit_field} lower, or send less input" if limit_field else "send less input"
    return (
        f"This call {cost}, more than {left} left of {whose}: {amount}{used}; it resets at {until}. To make it fit, "
        f"{advice}. {_GOES_ON}."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
