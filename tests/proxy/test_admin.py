"""The admin port's figures: of one moment, and adding up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import httpx2
import pytest

from sandbox_components.ledger.model import TOKENS, Scope, Standing, Usage
from sandbox_components.ledger.report import By
from sandbox_components.proxy.admin import KEY_HEADER, Admin
from sandbox_components.proxy.directory import Directory
from sandbox_components.proxy.metrics import Metrics
from sandbox_components.proxy.source import Complain, Take
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.inference_key import make_read_key

SIGNING_KEY = b"0123456789abcdef0123456789abcdef"


class Books:
    """A ledger in which calls end all the time: nothing may be asked twice."""

    def __init__(self) -> None:
        self.asked: list[By] = []

    async def check(self) -> None:
        """It answers."""

    async def standings(self, now: datetime, scopes: Sequence[Scope] | None = None) -> list[Standing]:
        """There are no limits."""
        return []

    async def usage(
        self, scope: Scope | None, begins_at: datetime, ends_at: datetime, by: By = "total", time_zone: str = "UTC"
    ) -> list[Usage]:
        """Two models; or all together."""
        self.asked.append(by)
        at = len(self.asked)
        tokens = dict.fromkeys(TOKENS, 7 * at)
        one = Usage("", at, 10 * at, 2 * at, at, tokens)
        return [one] if by == "total" else [Usage("a", 1, 10, 2, 1, tokens), Usage("b", 2, 30, 4, 0, tokens)]


class Silent:
    """A source that tells of nobody."""

    async def follow(self, take: Take, complain: Complain) -> None:
        """Never ends."""

    async def read_one(self, sandbox_id: str) -> Identity | None:
        """Nobody is known."""
        return None


class NoLimits:
    """A ledger that takes limits."""

    async def replace_limits(self, limits: Sequence[object], now: datetime) -> None:
        """Forget them."""


def spend(books: Books, by: str) -> dict[str, Any]:
    directory = Directory(Silent(), NoLimits(), lambda error: None)
    admin = Admin(books, directory, Metrics(), SIGNING_KEY)

    async def ask() -> dict[str, Any]:
        transport = httpx2.ASGITransport(admin.app())
        async with httpx2.AsyncClient(transport=transport, base_url="http://admin") as client:
            params = {"actorType": "org", "actorId": "acme", "by": by}
            answer = await client.get("/v1/spend", params=params, headers={KEY_HEADER: make_read_key(SIGNING_KEY)})
            found: dict[str, Any] = answer.raise_for_status().json()
            return found

    return asyncio.run(ask())


@pytest.mark.parametrize("by", ["model", "day"])
def test_the_total_is_the_sum_of_the_rows(by: str) -> None:
    books = Books()
    told = spend(books, by)
    assert books.asked == [by]
    for field in ("calls", "nanos", "estimatedNanos", "overrunNanos", "inputTokens", "reasoningTokens"):
        assert told["total"][field] == sum(row[field] for row in told["rows"])
    assert (told["total"]["nanos"], told["total"]["calls"]) == (40, 3)


def test_the_total_alone_has_no_rows() -> None:
    told = spend(Books(), "total")
    assert told["rows"] == []
    assert (told["total"]["calls"], told["total"]["nanos"], told["total"]["inputTokens"]) == (1, 10, 7)
