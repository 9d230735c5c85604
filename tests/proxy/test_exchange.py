"""A call's hold ends once and only once, wherever the call is cut off; a refused one gives it back at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import cast

import pytest

from sandbox_components.ledger.model import Call, Cost, Hold, Refusal
from sandbox_components.proxy.exchange import Exchange, Order
from sandbox_components.proxy.incoming import Message
from sandbox_components.proxy.leases import Leases
from sandbox_components.proxy.settings import Timeouts
from sandbox_components.proxy.upstream import Upstream
from sandbox_components.proxy.usage import UsageReader
from tests.proxy import streams

FULL, TRUE = Cost(900, is_estimated=True), Cost(7)


class Table:
    """A ledger that keeps what it is told, and takes its time."""

    def __init__(self) -> None:
        self.ended: list[Cost | None] = []

    async def hold(self, call: Call, now: datetime) -> Hold | Refusal:
        raise NotImplementedError

    async def renew(self, hold_ids: Iterable[str], now: datetime) -> None:
        raise NotImplementedError

    async def settle(self, hold_id: str, cost: Cost, now: datetime) -> None:
        self.ended.append(cost)
        await asyncio.sleep(0)

    async def release(self, hold_id: str, now: datetime) -> None:
        self.ended.append(None)
        await asyncio.sleep(0)

    async def expire(self, now: datetime) -> int:
        raise NotImplementedError


class Provider:
    """A provider, and its one answer, that takes its time between any two pieces."""

    key = "sk-of-the-proxy"
    name = "double"
    length = None
    encoding = b"identity"

    def __init__(self, table: Table, status: int, *pieces: bytes) -> None:
        self._table = table
        self.status = status
        self.headers = [(b"content-type", b"text/event-stream")]
        self._pieces = pieces
        self.ended_before_the_body: bool | None = None

    async def send(self, method: bytes, path: bytes, headers: object, body: bytes) -> Provider:
        await asyncio.sleep(0)
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        self.ended_before_the_body = bool(self._table.ended)
        for piece in self._pieces:
            await asyncio.sleep(0)
            yield piece

    def close(self) -> None:
        pass


async def receive() -> Message:
    await asyncio.sleep(3600)
    raise AssertionError


async def send(message: Message) -> None:
    await asyncio.sleep(0)


def exchange(table: Table, provider: Provider) -> Exchange:
    reader = UsageReader("chat.completions")
    order = Order("req_1", cast("Upstream", provider), b"POST", b"/v1/x", [], b"{}", reader, lambda _: TRUE, FULL)
    return Exchange(order, Hold("h1", datetime.now(UTC)), Leases(table, pytest.fail), Timeouts(), 2**20)


def test_a_refused_call_holds_nothing_while_its_answer_comes_in() -> None:
    async def main() -> None:
        table = Table()
        provider = Provider(table, 400, b'{"error"', b": {}}")
        await exchange(table, provider).run(receive, send)
        assert provider.ended_before_the_body
        assert table.ended == [None]

    asyncio.run(main())


@pytest.mark.parametrize("status", [200, 400, 401])
def test_a_hold_ends_once_wherever_a_call_is_cut_off(status: int) -> None:
    body = streams.CHAT.body
    pieces = [body[at : at + 200] for at in range(0, len(body), 200)]

    async def cut_after(turns: int) -> bool:
        table = Table()
        task = asyncio.create_task(exchange(table, Provider(table, status, *pieces)).run(receive, send))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        (end,) = await asyncio.gather(task, return_exceptions=True)
        assert len(table.ended) == 1
        return isinstance(end, asyncio.CancelledError)

    async def main() -> None:
        turns = 1
        while await cut_after(turns):
            turns += 1
        assert turns > 3

    asyncio.run(main())
