"""Bodies as they come in: how much of them one sandbox may have in memory, and that large ones leave others time."""

from __future__ import annotations

import asyncio
import time

import pytest

from sandbox_components.proxy.fault import BadRequest, TooBusy
from sandbox_components.proxy.incoming import ClientGone, Desk, Message, Receive, check_headers, skip_body
from sandbox_components.proxy.settings import Bounds

LARGE = 2**20 + 1


def saying(*messages: Message) -> Receive:
    """A client that sends this and nothing more."""
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.sleep(3600)
        return left.pop(0)

    return receive


def part(size: int, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def desk(seconds: float = 3600) -> Desk:
    return Desk(Bounds(body_bytes=10, buffered_bytes=40), seconds)


def test_one_sandbox_leaves_room_for_the_others() -> None:
    async def main() -> None:
        one = desk()
        for _ in range(2):
            assert len(await one.read("a", [], saying(part(5, more=True), part(5)))) == 10
        with pytest.raises(TooBusy, match="this sandbox"):
            await one.read("a", [], saying(part(1)))
        with pytest.raises(TooBusy, match="this sandbox"):
            await one.read("a", [(b"content-length", b"1")], saying())
        for _ in range(2):
            await one.read("b", [], saying(part(10)))
        with pytest.raises(TooBusy, match="the proxy has"):
            await one.read("c", [], saying(part(1)))
        assert one.buffered == 40
        one.forget("a", 10)
        await one.read("a", [], saying(part(5)))
        for sandbox, length in (("a", 15), ("b", 20)):
            one.forget(sandbox, length)
        assert one.buffered == 0

    asyncio.run(main())


def test_what_does_not_come_in_whole_is_forgotten() -> None:
    async def main() -> None:
        one = desk(0.05)
        with pytest.raises(BadRequest, match="did not come in whole"):
            await one.read("a", [], saying(part(3, more=True)))
        with pytest.raises(ClientGone):
            await one.read("a", [], saying(part(3, more=True), {"type": "http.disconnect"}))
        with pytest.raises(BadRequest, match="more than 10 bytes"):
            await one.read("a", [], saying(part(11)))
        task = asyncio.create_task(one.read("a", [], saying(part(3, more=True))))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert one.buffered == 0

    asyncio.run(main())


def test_large_bodies_are_made_out_one_by_one_and_leave_others_time() -> None:
    async def main() -> None:
        one, turns, seen = desk(), 0, []

        async def make_out() -> None:
            async with one.turn(LARGE):
                seen.append(turns)
                time.sleep(0.02)  # as reading a body does it
                raise BadRequest("no")

        tasks = [asyncio.create_task(make_out()) for _ in range(3)]
        while not all(task.done() for task in tasks):
            turns += 1
            await asyncio.sleep(0)
        for task in tasks:
            assert isinstance(task.exception(), BadRequest)
        assert all(later - earlier > 20 for earlier, later in zip(seen, [*seen[1:], turns], strict=True))

    asyncio.run(main())


def test_small_bodies_wait_for_nobody() -> None:
    async def main() -> None:
        one = desk()
        async with one.turn(LARGE), one.turn(100):
            pass

    asyncio.run(main())


@pytest.mark.parametrize("length", [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")])
def test_a_body_behind_an_offer_to_upgrade_is_lost_so_the_request_is_refused(length: tuple[bytes, bytes]) -> None:
    """Only where the head came in pieces: else the offer is passed over."""
    headers = [(b"upgrade", b"h2c"), length]
    with pytest.raises(BadRequest, match="without the header Upgrade"):
        check_headers(headers, 1000)
    assert not asyncio.run(skip_body(headers, saying(part(0))))
    check_headers(headers[:1], 1000)
    check_headers(headers[1:], 1000)
