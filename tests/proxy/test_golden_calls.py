"""The golden prices as calls: through the running proxy, in the providers' own words, into the ledger.

What each costs was worked out by hand in `test_prices`; here the provider tells its usage over the wire, whole and in a
stream, and the row in the ledger has to hold that very figure.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from tests.proxy.calls import CHAT, EMBEDDINGS, MESSAGES, Kind
from tests.proxy.load import Tables
from tests.proxy.place import Double, Place, running
from tests.proxy.test_prices import AT, CASES, Case

pytestmark = pytest.mark.server


@dataclass(frozen=True)
class Scene:
    """A proxy on the day of the prices."""

    client: httpx2.Client
    tables: Tables

    def charged(self, kind: Kind, body: dict[str, Any]) -> tuple[int, bool]:
        """Make a call, and return what its row says: nano-dollars, and whether they are estimated."""
        answer = self.client.post(kind.path, json=body)
        assert answer.status_code == 200, answer.text
        found = {name: (int(nanos), bool(guess)) for name, nanos, guess, _ in self.tables.entries()}
        return found[answer.headers["x-sandbox-request-id"]]


@pytest.fixture(scope="module")
def scene(provider: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("golden")
    clock = folder / "clock"
    clock.write_text(AT.isoformat())
    command = (sys.executable, "-m", "tests.proxy.clock", str(clock), "serve", "proxy", "--config")
    with running(Place(folder, provider.url, command=command)) as place, place.client() as client:
        tables = Tables.of(place.database)
        yield Scene(client, tables)
        tables.engine.dispose()


def told(case: Case) -> dict[str, Any]:
    """The case's usage as the provider tells it, but for the plain counts."""
    usage = case.usage
    if case.api == "openai":
        return {
            "prompt_tokens_details": {
                "cached_tokens": usage.cached_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
                "audio_tokens": usage.audio_input_tokens,
            },
            "completion_tokens_details": {
                "reasoning_tokens": usage.reasoning_tokens,
                "audio_tokens": usage.audio_output_tokens,
            },
        }
    found: dict[str, Any] = {
        "input_tokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens - usage.cache_write_1h_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        },
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
        "server_tool_use": {"web_search_requests": usage.web_searches},
    }
    words = {"service_tier": usage.service_tier, "speed": usage.speed, "inference_geo": usage.inference_geo}
    return found | {name: word for name, word in words.items() if word}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model}: {case.what}")
def test_a_row_holds_what_was_worked_out_by_hand(case: Case, scene: Scene) -> None:
    usage, by_hand = case.usage, math.ceil(Decimal(case.dollars) * 10**9)
    is_embedding = "embedding" in case.model
    kind = MESSAGES if case.api == "anthropic" else EMBEDDINGS if is_embedding else CHAT
    wish: dict[str, Any] = {"input": usage.input_tokens, "output": usage.output_tokens}
    if not is_embedding:
        wish |= {"told": told(case), "tier": usage.service_tier or "default"}
    for stream in (False, True) if kind.streams else (False,):
        body = kind.body(stream=stream, most=max(usage.output_tokens, 1), **wish)
        assert scene.charged(kind, {**body, "model": case.model}) == (by_hand, False)
