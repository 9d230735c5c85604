"""The admin port: metrics and probes for the cluster, and spend queries for who holds the read key.

    GET /metrics, /livez, /readyz
    GET /v1/spend?actorType=sandbox&actorId=PROJECT/STACK/NAME&period=month&timeZone=UTC&by=total|model|day
    GET /v1/limits

Money is whole nano-dollars. Errors are `{"error": {"code", "message"}}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sandbox_components.errors import InvalidInput, SandboxError
from sandbox_components.ledger.model import ACTOR_TYPES, TOKENS, Scope, Standing, StoreDown, Usage
from sandbox_components.ledger.report import By
from sandbox_components.proxy import metrics
from sandbox_components.proxy.directory import Directory
from sandbox_components.spec.inference_key import is_read_key
from sandbox_components.spec.period import DEFAULT_ZONE, Period, check_period, check_zone, period_at
from sandbox_components.spec.shown import show

KEY_HEADER = "x-sandbox-admin-key"
_BY: tuple[By, ...] = ("total", "model", "day")
_FIELDS = {"actorType", "actorId", "period", "timeZone", "by", "at"}

Handler = Callable[[Request], Awaitable[Response]]


class Books(Protocol):
    """The part of the ledger that is read here."""

    async def check(self) -> None:
        """See whether it answers."""

    async def standings(self, now: datetime, scopes: Sequence[Scope] | None = None) -> list[Standing]:
        """How far limits are used."""

    async def usage(
        self, scope: Scope | None, begins_at: datetime, ends_at: datetime, by: By = "total", time_zone: str = "UTC"
    ) -> list[Usage]:
        """What calls cost."""


class Admin:
    """What the admin port answers.

    Args:
        books: the ledger.
        directory: knows who pays for a sandbox, and whether calls may pass.
        told: the metrics.
        signing_key: the read key is derived from it.
    """

    def __init__(self, books: Books, directory: Directory, told: metrics.Metrics, signing_key: bytes) -> None:
        self._books = books
        self._directory = directory
        self._told = told
        self._signing_key = signing_key
        self.is_ending = False

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/metrics", self._metrics),
            Route("/livez", self._livez),
            Route("/readyz", self._readyz),
            Route("/v1/spend", self._guarded(self._spend)),
            Route("/v1/limits", self._guarded(self._limits)),
        ]
        return Starlette(routes=routes)

    async def _metrics(self, request: Request) -> Response:
        return Response(self._told.text(), media_type=metrics.CONTENT_TYPE)

    async def _livez(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _readyz(self, request: Request) -> Response:
        trouble = "the proxy is ending" if self.is_ending else self._directory.trouble()
        if trouble is None:
            try:
                await self._books.check()
            except StoreDown as error:
                trouble = error.message
        return PlainTextResponse(f"{trouble}\n", 503) if trouble else PlainTextResponse("ok\n")

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if not is_read_key(request.headers.get(KEY_HEADER, ""), self._signing_key):
                return _error(401, "access_denied", f"the header {KEY_HEADER} holds no read key of this proxy")
            try:
                return await handler(request)
            except InvalidInput as error:
                return _error(400, error.code, error.message)
            except SandboxError as error:
                return _error(503, error.code, error.message)

        return guarded

    async def _limits(self, request: Request) -> Response:
        standings = await self._books.standings(datetime.now(UTC))
        return JSONResponse({"schemaVersion": 1, "kind": "Limits", "limits": [_standing(one) for one in standings]})

    async def _spend(self, request: Request) -> Response:
        asked = request.query_params
        if unknown := sorted(set(asked) - _FIELDS):
            raise InvalidInput(unknown[0][:60], f"is not known: accepted are {', '.join(sorted(_FIELDS))}")
        scope = _scope(asked.get("actorType"), asked.get("actorId"))
        zone = check_zone(asked.get("timeZone", DEFAULT_ZONE))
        period = period_at(check_period(asked.get("period", "month")), zone, _instant(asked.get("at")))
        by = next((one for one in _BY if one == asked.get("by", "total")), None)
        if by is None:
            raise InvalidInput("by", f"{show(asked.get('by'))} is none of {', '.join(_BY)}")
        found = await self._books.usage(scope, period.begins_at, period.ends_at, by, zone)
        rows = [] if by == "total" else found
        standings = await self._books.standings(datetime.now(UTC), self._payers(scope))
        told = {
            "schemaVersion": 1,
            "kind": "Spend",
            "actorType": scope.actor_type,
            "actorId": scope.actor_id,
            "period": _period(period, zone),
            "total": _usage(_total(found)),
            "by": by,
            "rows": [{"key": one.key, **_usage(one)} for one in rows],
            "limits": [_standing(one) for one in standings],
        }
        return JSONResponse(told)

    def _payers(self, scope: Scope) -> list[Scope]:
        """Return the scope, and for a sandbox all others whose limits bind it."""
        identity = self._directory.find(scope.actor_id) if scope.actor_type == "sandbox" else None
        return [Scope(kind, name) for kind, name in identity.payers()] if identity else [scope]


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)


def _scope(actor_type: str | None, actor_id: str | None) -> Scope:
    if actor_type not in ACTOR_TYPES:
        raise InvalidInput("actorType", f"{show(actor_type)} is none of {', '.join(ACTOR_TYPES)}")
    try:
        return Scope(str(actor_type), actor_id or "")
    except ValueError as error:
        raise InvalidInput("actorId", str(error)) from None


def _instant(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        at = datetime.fromisoformat(text)
        if at.utcoffset() is None or not 2000 <= at.year < 2200:
            raise ValueError
    except ValueError:
        raise InvalidInput("at", f"{show(text)} is not an instant such as 2026-11-29T20:00:00Z") from None
    return at


def _period(period: Period, zone: str) -> dict[str, Any]:
    ends = {"beginsAt": _text(period.begins_at), "endsAt": _text(period.ends_at)}
    return {"key": period.key, "timeZone": zone, **ends}


def _total(rows: Sequence[Usage]) -> Usage:
    """Add up rows, rather than ask anew: calls that end meanwhile would be in the one and not in the others."""
    return Usage(
        "",
        sum(one.calls for one in rows),
        sum(one.nanos for one in rows),
        sum(one.estimated_nanos for one in rows),
        sum(one.overrun_nanos for one in rows),
        {name: sum(one.tokens[name] for one in rows) for name in TOKENS},
    )


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "nanos": usage.nanos,
        "estimatedNanos": usage.estimated_nanos,
        "overrunNanos": usage.overrun_nanos,
        "inputTokens": usage.tokens["input_tokens"],
        "cachedInputTokens": usage.tokens["cached_input_tokens"],
        "cacheWriteTokens": usage.tokens["cache_write_tokens"],
        "outputTokens": usage.tokens["output_tokens"],
        "reasoningTokens": usage.tokens["reasoning_tokens"],
    }


def _standing(standing: Standing) -> dict[str, Any]:
    limit = standing.limit
    return {
        "id": limit.id,
        "actorType": limit.scope.actor_type,
        "actorId": limit.scope.actor_id,
        "period": limit.period,
        "timeZone": limit.time_zone,
        "source": limit.source,
        "limitNanos": limit.limit_nanos,
        "usedNanos": standing.used_nanos,
        "heldNanos": standing.held_nanos,
        "beginsAt": _text(standing.begins_at),
        "endsAt": _text(standing.ends_at),
    }


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
