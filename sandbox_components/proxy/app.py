"""The proxy as an ASGI application: every request is told apart, identified, bounded, held, and only then passed on.

The order matters. Nothing is read of a body before its sender is known, nothing is sent before the ledger holds the
most that it can cost, and whatever fails before that costs nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

from sandbox_components.ledger.model import Call, Cost, Hold, Refusal, Scope
from sandbox_components.proxy.bill import bill, full
from sandbox_components.proxy.directory import Directory
from sandbox_components.proxy.endpoint import Endpoint, find_endpoint
from sandbox_components.proxy.exchange import Exchange, Order
from sandbox_components.proxy.fault import BadRequest, Fault, NotReady, NotServed
from sandbox_components.proxy.incoming import (
    ClientGone,
    Desk,
    Message,
    Receive,
    Send,
    check_content,
    check_headers,
    linger,
    skip_body,
)
from sandbox_components.proxy.key import claims_of
from sandbox_components.proxy.leases import Leases
from sandbox_components.proxy.log import Log
from sandbox_components.proxy.metrics import Metrics
from sandbox_components.proxy.prices import Prices
from sandbox_components.proxy.rates import ModelPrices
from sandbox_components.proxy.refusal import answer_for
from sandbox_components.proxy.request import Plan, read_request
from sandbox_components.proxy.settings import Bounds, Timeouts
from sandbox_components.proxy.upstream import Upstream, choose
from sandbox_components.proxy.usage import UsageReader
from sandbox_components.proxy.visit import Visit
from sandbox_components.proxy.worst_case import WorstCase, worst_case

_PASSED_HEADERS = {b"accept", b"user-agent", b"anthropic-version", b"anthropic-beta"}
_NO_MODEL = "-"
_CLOSE = (b"connection", b"close")


class Proxy:
    """The application; see the module.

    Args:
        signing_key: of the sandboxes' keys.
        directory: knows the sandboxes.
        leases: hold and settle.
        desk: reads bodies within bounds.
        upstreams: the providers, in the order of preference.
        prices: what models cost.
        bounds: what clients may ask of us.
        timeouts: how long to wait for whom.
        metrics: counts.
        log: one line a call.
    """

    def __init__(
        self,
        signing_key: bytes,
        directory: Directory,
        leases: Leases,
        desk: Desk,
        upstreams: Sequence[Upstream],
        prices: Prices,
        bounds: Bounds,
        timeouts: Timeouts,
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._signing_key = signing_key
        self._directory = directory
        self._leases = leases
        self._desk = desk
        self._upstreams = upstreams
        self._prices = prices
        self._bounds = bounds
        self._timeouts = timeouts
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        visit = Visit(
            f"req_{secrets.token_hex(12)}",
            scope["method"],
            scope["raw_path"],
            scope["query_string"],
            list(scope["headers"]),  # trailers would be added to the server's own list
            time.monotonic(),
        )
        try:
            with ExitStack() as undo:
                if scope["http_version"] not in ("1.0", "1.1"):
                    raise BadRequest("only HTTP/1.1 is spoken here", status=505, code="http_version")
                refused = await self._serve(visit, undo, receive, send)
        except ClientGone:
            self._tell(visit, 0, "client_gone")
        except Exception as error:
            if not isinstance(error, Fault):
                self._log.fault(error)
                self._metrics.fault(getattr(error, "code", "bug"))
            await self._refuse(visit, error, getattr(error, "code", "bug"), receive, send)
        else:
            if refused is not None:
                await self._refuse(visit, refused, refused.kind, receive, send)
            elif visit.result is not None:
                self._tell(visit, visit.result.status, visit.result.outcome)

    async def _serve(self, visit: Visit, undo: ExitStack, receive: Receive, send: Send) -> Refusal | None:
        check_headers(visit.headers, self._bounds.header_bytes)
        names = {name for name, _ in visit.headers}
        is_anthropic = b"anthropic-version" in names
        endpoint = find_endpoint(visit.method, visit.path, visit.query, is_anthropic=is_anthropic)
        visit.endpoint = endpoint
        claims = claims_of(visit.headers, self._signing_key)
        if trouble := self._directory.trouble():
            raise NotReady(f"no call passes now: {trouble}")
        identity = visit.identity = await self._directory.identify(claims)
        undo.enter_context(self._desk.place(identity.sandbox_id))
        body = await self._desk.read(identity.sandbox_id, visit.headers, receive)
        visit.is_body_read = True
        undo.callback(self._desk.forget, identity.sandbox_id, len(body))
        async with self._desk.turn(len(body)):
            plan, prices, most = self._plan(visit, endpoint, body)
        del body  # what is sent may be another, and one copy of it is enough
        visit.most_nanos = most.nanos
        upstream = choose(self._upstreams, endpoint.api, plan.model if plan else None)
        if upstream is None:
            what = f"the model {plan.model}" if plan else endpoint.name
            raise NotServed(f"{what} is served by no upstream of this proxy", param="model", code="model_not_found")
        visit.upstream = upstream
        call = Call(
            visit.id,
            tuple(Scope(kind, name) for kind, name in identity.payers()),
            plan.model if plan else _NO_MODEL,
            upstream.name,
            endpoint.name,
            most.nanos,
            identity.limit_required,
        )
        begun = time.monotonic()
        outcome = await self._leases.hold(call)
        self._metrics.held_for(time.monotonic() - begun)
        if isinstance(outcome, Refusal):
            return outcome
        await self._pass_on(visit, plan, prices, most, outcome, receive, send)
        return None

    def _plan(self, visit: Visit, endpoint: Endpoint, body: bytes) -> tuple[Plan | None, ModelPrices | None, WorstCase]:
        """Read what is asked for, and what it can cost at most; a GET asks for nothing that costs."""
        if endpoint.method == "GET":
            if body:
                raise BadRequest("a GET has no body here")
            return None, None, WorstCase(0)
        check_content(visit.headers)
        plan = visit.plan = read_request(endpoint, body)
        if not endpoint.is_billed:
            return plan, None, WorstCase(0)
        prices = self._prices.of(endpoint.api, plan.model, datetime.now(UTC))
        return plan, prices, worst_case(plan, prices)

    async def _pass_on(
        self,
        visit: Visit,
        plan: Plan | None,
        prices: ModelPrices | None,
        most: WorstCase,
        hold: Hold,
        receive: Receive,
        send: Send,
    ) -> None:
        endpoint, upstream = visit.endpoint, visit.upstream
        assert endpoint is not None
        assert upstream is not None
        charge: Callable[[UsageReader], Cost] = lambda reader: Cost(0)  # noqa: E731
        most_cost = Cost(0)
        if plan is not None and prices is not None:
            charge, most_cost = partial(bill, plan, most, prices), full(most, prices)
        headers = [(name, value) for name, value in visit.headers if name in _PASSED_HEADERS]
        headers.append((b"x-client-request-id", visit.id.encode()))
        if plan is not None:
            headers.append((b"content-type", b"application/json"))
        order = Order(
            visit.id,
            upstream,
            endpoint.method.encode(),
            visit.path + (b"?" + visit.query if visit.query else b""),
            headers,
            plan.body if plan else b"",
            UsageReader(endpoint.name, plan.adds_usage if plan else False),
            charge,
            most_cost,
        )
        exchange = Exchange(order, hold, self._leases, self._timeouts, self._bounds.answer_bytes)
        visit.result = exchange.result
        try:
            await exchange.run(receive, send)
        finally:
            if exchange.result.outcome == "upstream_key_refused":
                self._metrics.key_refused(upstream.name)

    async def _refuse(self, visit: Visit, why: Exception | Refusal, outcome: str, receive: Receive, send: Send) -> None:
        """Tell the client why not, in the words of its API, unless an answer has begun already."""
        fields = visit.endpoint.limit_fields if visit.endpoint else ()
        answer = answer_for(
            why,
            visit.api,
            datetime.now(UTC),
            request_id=visit.id,
            worst_nanos=visit.most_nanos,
            limit_field=visit.plan.limit_field if visit.plan else "".join(fields[:1]),
            is_codex=any(name == b"originator" and value.startswith(b"codex") for name, value in visit.headers),
        )
        self._tell(visit, answer.status, outcome)
        if visit.result is not None and visit.result.is_begun:
            return
        headers = list(answer.headers)
        is_late = answer.status == HTTPStatus.REQUEST_TIMEOUT
        can_go_on = visit.is_body_read or (not is_late and await skip_body(visit.headers, receive))
        if not can_go_on:
            headers.append(_CLOSE)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": not can_go_on})
        if not can_go_on:  # who is still sending hears nothing before it has sent all
            if not is_late:
                await linger(receive)
            await send({"type": "http.response.body", "body": b""})

    def _tell(self, visit: Visit, status: int, outcome: str) -> None:
        """Count a call and log it; of what the client wrote only what the provider has confirmed."""
        endpoint = visit.endpoint.name if visit.endpoint else "unknown"
        upstream = visit.upstream.name if visit.upstream else ""
        result, cost = visit.result, visit.result.cost if visit.result else None
        is_served = outcome == "served"
        self._metrics.call(endpoint, upstream, outcome)
        if result is not None and result.first_byte_seconds is not None:
            self._metrics.first_byte_after(upstream, result.first_byte_seconds)
        model = visit.plan.model if visit.plan and is_served else None
        if cost is not None:
            self._metrics.spent(endpoint, upstream, model or "", cost.nanos, is_estimated=cost.is_estimated)
        overrun = max(0, cost.nanos - (visit.most_nanos or 0)) if cost is not None else 0
        if overrun:
            self._metrics.overrun(upstream, model or "", overrun)
        self._log.line(
            "call",
            id=visit.id,
            sandbox=visit.identity.sandbox_id if visit.identity else None,
            endpoint=endpoint,
            upstream=upstream or None,
            model=model,
            stream=visit.plan.stream if visit.plan else None,
            status=status,
            outcome=outcome,
            clientGone=True if result and result.client_gone else None,
            nanos=cost.nanos if cost else None,
            overrunNanos=overrun or None,
            estimated=True if cost and cost.is_estimated else None,
            inputTokens=cost.input_tokens if cost else None,
            outputTokens=cost.output_tokens if cost else None,
            seconds=round(time.monotonic() - visit.begun_at, 4),
        )
