"""Requests of every kind that is charged, as the tests send them, and what the double's answers cost.

The prices are those of the bundled list at the end of November 2026, in nano-dollars a token: the tests of `prices`
have them in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.proxy.double import asked


@dataclass(frozen=True)
class Kind:
    """An endpoint with a model.

    Attributes:
        path: where to.
        model: an undated name.
        nanos: of an input token, of a cached one, of an output token.
        streams: it can stream.
    """

    path: str
    model: str
    nanos: tuple[int, int, int]
    streams: bool = True

    def body(self, *, stream: bool = False, most: int = 100, **wish: Any) -> dict[str, Any]:
        """A request that asks for an answer like this."""
        text = asked(**wish)
        body: dict[str, Any] = {"model": self.model}
        if self.path == "/v1/embeddings":
            return {**body, "input": text}
        if stream:
            body["stream"] = True
        if self.path == "/v1/responses":
            return {**body, "input": text, "max_output_tokens": most}
        limit = "max_completion_tokens" if "chat" in self.path else "max_tokens"
        return {**body, limit: most, "messages": [{"role": "user", "content": text}]}

    def cost(self, seen: dict[str, Any]) -> int:
        """What a served call costs, by what the double counted."""
        whole, cached, out = self.nanos
        return int((seen["input"] - seen["cached"]) * whole + seen["cached"] * cached + seen["output"] * out)


CHAT = Kind("/v1/chat/completions", "gpt-4o-mini", (150, 75, 600))
RESPONSES = Kind("/v1/responses", "gpt-4o-mini", (150, 75, 600))
MESSAGES = Kind("/v1/messages", "claude-sonnet-4-5", (3000, 300, 15000))
EMBEDDINGS = Kind("/v1/embeddings", "text-embedding-3-small", (20, 20, 0), streams=False)
KINDS = (CHAT, RESPONSES, MESSAGES, EMBEDDINGS)
BY_PATH = {kind.path: kind for kind in KINDS}
WAYS = [(kind, stream) for kind in KINDS for stream in (False, True) if kind.streams or not stream]


def way_name(value: object) -> str:
    """Name a test's parameter."""
    if isinstance(value, Kind):
        return value.path.rsplit("/", 1)[-1]
    return {True: "stream", False: "whole"}.get(value, str(value)) if isinstance(value, bool) else str(value)
