"""One call from its hold to its cost: sent to the provider, passed on byte for byte, and settled in every case.

What is charged:
- the provider couldn't be reached, or answered with an error: nothing;
- it got the request and never answered: the whole hold, as estimated;
- it answered: what `bill` makes of its report, also where the answer broke off;
- the client hung up: the same, because the rest of the answer is still read, up to a bound in time.

The cost is in the ledger before the client has the last bytes of a whole answer, so that an agent which calls again at
once finds nothing held of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from sandbox_components.ledger.model import Cost, Hold
from sandbox_components.proxy.fault import Fault, UpstreamDown, UpstreamSlow
from sandbox_components.proxy.incoming import Message, Receive, Send
from sandbox_components.proxy.leases import Leases
from sandbox_components.proxy.settings import Timeouts
from sandbox_components.proxy.upstream import Answer, Lost, NotSent, Upstream
from sandbox_components.proxy.usage import UsageReader

_ERROR_BYTES = 2**20
_SSE = b"text/event-stream"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be sent, and how it is charged.

    Attributes:
        request_id: ours.
        upstream: where to.
        method: GET or POST.
        target: path and query.
        headers: the client's that pass.
        body: all of it.
        reader: reads usage, and takes out what the client didn't ask for.
        bill: the cost by what the reader has seen, which may be less than all.
        full: the whole hold, charged where nobody knows better.
    """

    request_id: str
    upstream: Upstream
    method: bytes
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    reader: UsageReader
    bill: Callable[[UsageReader], Cost]
    full: Cost


@dataclass(slots=True)
class Result:
    """What became of a call, for the log and the metrics."""

    status: int = 0
    outcome: str = ""
    cost: Cost | None = None
    """None: it was released, nothing is charged."""
    first_byte_seconds: float | None = None
    bytes_out: int = 0
    client_gone: bool = False
    is_begun: bool = False
    """The client has (or gets) the head of an answer."""


@dataclass
class Exchange:
    """A call that holds its worst case. Use `run` once.

    Args:
        order: what to send.
        hold: what it holds.
        leases: where it ends.
        timeouts: how long to wait for whom.
        most_bytes: of the answer.
    """

    order: Order
    hold: Hold
    leases: Leases
    timeouts: Timeouts
    most_bytes: int
    result: Result = field(default_factory=Result)
    _is_ended: bool = False
    """The client has (or gets) its last byte."""
    _is_closed: bool = False
    """The hold is settled or released."""

    async def run(self, receive: Receive, send: Send) -> Result:
        """Send, pass on, settle.

        Raises:
            Fault: nothing has been passed on yet; the client is to get this in the words of its API.
        """
        try:
            async with asyncio.timeout(None) as bound:
                gone = asyncio.create_task(self._watch(receive, bound))
                try:
                    await self._converse(send)
                finally:
                    gone.cancel()
        except TimeoutError:
            self.result.outcome = "abandoned"
            await self._settle(is_broken=True)
        except NotSent as error:
            self.result.outcome = "upstream_unreachable"
            await self._release()
            raise UpstreamDown(f"{error}: nothing was sent") from error
        except Lost as error:
            self.result.outcome = "upstream_timeout" if error.is_slow else "upstream_lost"
            await self._settle(is_broken=True)
            if not self.result.is_begun:
                kind = UpstreamSlow if error.is_slow else UpstreamDown
                raise kind(f"{error}; it may have served the call, so the most it can cost was charged") from error
        except Fault:
            raise
        except BaseException:
            self.result.outcome = self.result.outcome or "aborted"
            await self._settle(is_broken=True)
            raise
        return self.result

    async def _watch(self, receive: Receive, bound: asyncio.Timeout) -> None:
        """When the client hangs up, give the provider a little longer to tell what the call cost."""
        while (await receive())["type"] != "http.disconnect":
            pass
        if not self._is_ended:
            self.result.client_gone = True
            bound.reschedule(asyncio.get_running_loop().time() + self.timeouts.drain)

    async def _converse(self, send: Send) -> None:
        order, begun = self.order, time.monotonic()
        answer = await order.upstream.send(order.method, order.target, order.headers, order.body)
        self.result.first_byte_seconds = time.monotonic() - begun
        try:
            if 200 <= answer.status < 300:
                await self._pass_on(answer, send)
            else:
                await self._pass_error(answer, send)
        finally:
            answer.close()

    async def _pass_error(self, answer: Answer, send: Send) -> None:
        """Pass on that the provider refused. It charges nothing for that, so neither do we, whatever comes after."""
        await self._release()
        body = bytearray()
        with contextlib.suppress(Lost):
            async for chunk in answer.chunks():
                body += chunk
                if len(body) > _ERROR_BYTES:
                    break
        self.result.outcome = "upstream_error"
        if answer.status == 401 or self.order.upstream.key.encode() in body:
            self.result.outcome = "upstream_key_refused"
            raise UpstreamDown(
                f'the upstream "{self.order.upstream.name}" does not accept the proxy\'s own key: '
                "who runs the proxy must replace it",
                code="upstream_key_refused",
            )
        await self._begin(answer, send, len(body))
        await self._give(send, bytes(body), more=False)

    async def _pass_on(self, answer: Answer, send: Send) -> None:
        reader, pieces = self.order.reader, self._read(answer)
        is_stream = dict(answer.headers).get(b"content-type", b"").lower().startswith(_SSE)
        last = b""
        if is_stream:
            await self._begin(answer, send, None)
            async for chunk in pieces:
                out = reader.feed(chunk)
                if reader.ended and not self._is_closed:
                    out += reader.rest()
                    await self._settle()
                if out:
                    await self._give(send, out)
        else:
            # One piece behind, so that the last goes out together with the head where it is the only one.
            self.result.status = answer.status
            async for chunk in pieces:
                if last:
                    await self._begin(answer, send, answer.length)
                    await self._give(send, last)
                last = reader.feed(chunk)
        last += reader.rest()
        await self._settle()
        self.result.outcome = "served"
        await self._begin(answer, send, answer.length)
        await self._give(send, last, more=False)

    async def _read(self, answer: Answer) -> AsyncIterator[bytes]:
        async for chunk in answer.chunks():
            self.result.bytes_out += len(chunk)
            if self.result.bytes_out > self.most_bytes:
                raise Lost("the provider's answer is too large", is_slow=False)
            yield chunk

    async def _begin(self, answer: Answer, send: Send, length: int | None) -> None:
        if self.result.is_begun:
            return
        self.result.is_begun = True
        headers = [*answer.headers, (b"x-sandbox-request-id", self.order.request_id.encode())]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        if answer.encoding != b"identity":
            headers.append((b"content-encoding", answer.encoding))
        self.result.status = answer.status
        await self._tell(send, {"type": "http.response.start", "status": answer.status, "headers": headers})

    async def _give(self, send: Send, chunk: bytes, *, more: bool = True) -> None:
        if not more:
            self._is_ended = True
        await self._tell(send, {"type": "http.response.body", "body": chunk, "more_body": more})

    async def _tell(self, send: Send, message: Message) -> None:
        """Pass a message to the client, unless it is gone; the server hangs up on one that doesn't read for long."""
        if not self.result.client_gone:
            await send(message)

    async def _settle(self, *, is_broken: bool = False) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        is_unheard = is_broken and not self.result.status
        self.result.cost = self.order.full if is_unheard else self.order.bill(self.order.reader)
        await self.leases.settle(self.hold.id, self.result.cost)

    async def _release(self) -> None:
        self._is_closed = True
        await self.leases.release(self.hold.id)
