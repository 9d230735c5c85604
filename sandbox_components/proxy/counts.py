"""A call's usage in one shape, whatever the provider calls its parts.

OpenAI counts cached input inside its input tokens, Anthropic beside them; here a part is always inside its whole, so
that no price can be charged twice. Counts that can't be right are kept with the reason why, and never priced.

Field names: OpenAI's `usage` of chat completions, responses and embeddings, Anthropic's of messages, as their API
references and the types of their official SDKs have them in November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST_TOKENS = 10**10


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call used.

    Attributes:
        input_tokens: all input, from the cache or not.
        cached_tokens: of it, read from the provider's cache.
        cache_write_tokens: of it, written to the cache.
        cache_write_1h_tokens: of these, kept for an hour (Anthropic).
        audio_input_tokens: of the input, audio.
        output_tokens: all output, reasoning included.
        audio_output_tokens: of it, audio.
        reasoning_tokens: of it, reasoning.
        web_searches: calls of the provider's own search.
        service_tier: the tier that served it, in the provider's word; empty if it doesn't say.
        speed: Anthropic's `fast` or `standard`.
        inference_geo: Anthropic's `us` or `global`.
        problem: why these counts don't tell the price; empty if they do.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    audio_input_tokens: int = 0
    output_tokens: int = 0
    audio_output_tokens: int = 0
    reasoning_tokens: int = 0
    web_searches: int = 0
    service_tier: str = ""
    speed: str = ""
    inference_geo: str = ""
    problem: str = ""


def flatten(usage: Mapping[str, Any], into: dict[str, Any], prefix: str = "") -> None:
    """Put the fields of a `usage` object into a flat mapping, over those of an earlier one.

    The last value counts, but null says nothing, and zero takes no tokens back that were reported before.
    """
    for key, value in usage.items():
        if isinstance(value, Mapping):
            flatten(value, into, f"{prefix}{key}.")
        elif isinstance(value, list):
            if key == "iterations" and any(
                not isinstance(one, Mapping) or one.get("type") != "message" for one in value
            ):
                into["problem"] = "usage.iterations tells of work that has no price here"
        elif value is not None and not (value == 0 and f"{prefix}{key}" in into):
            into[f"{prefix}{key}"] = value


def usage_of(endpoint: str, fields: Mapping[str, Any]) -> Usage:
    """Return what the flat fields of a provider's `usage` say; see `flatten`."""
    counts = _Counts(fields)
    return counts.anthropic() if endpoint.startswith("messages") else counts.openai(endpoint)


class _Counts:
    """Reads counts, and remembers the first thing that isn't one."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self._problem = self._text("problem")

    def openai(self, endpoint: str) -> Usage:
        side, other = ("input", "output") if endpoint == "responses" else ("prompt", "completion")
        details = f"{side}_tokens_details"
        if self._count(f"{details}.cache_write_tokens_details.ttl_12h_tokens"):
            self._problem = self._problem or "cache writes for 12 hours have no price here"
        return self._checked(
            input_tokens=self._count(f"{side}_tokens", needed=True),
            cached_tokens=self._count(f"{details}.cached_tokens"),
            cache_write_tokens=self._count(f"{details}.cache_write_tokens"),
            audio_input_tokens=self._count(f"{details}.audio_tokens"),
            output_tokens=self._count(f"{other}_tokens", needed=endpoint != "embeddings"),
            audio_output_tokens=self._count(f"{other}_tokens_details.audio_tokens"),
            reasoning_tokens=self._count(f"{other}_tokens_details.reasoning_tokens"),
            service_tier=self._text("service_tier"),
        )

    def anthropic(self) -> Usage:
        hour = self._count("cache_creation.ephemeral_1h_input_tokens")
        minutes = self._count("cache_creation.ephemeral_5m_input_tokens")
        written = max(self._count("cache_creation_input_tokens"), hour + minutes)
        cached = self._count("cache_read_input_tokens")
        return self._checked(
            input_tokens=self._count("input_tokens", needed=True) + written + cached,
            cached_tokens=cached,
            cache_write_tokens=written,
            cache_write_1h_tokens=written - minutes if hour else 0,
            output_tokens=self._count("output_tokens", needed=True),
            reasoning_tokens=self._count("output_tokens_details.thinking_tokens"),
            web_searches=self._count("server_tool_use.web_search_requests"),
            service_tier=self._text("service_tier"),
            speed=self._text("speed"),
            inference_geo=self._text("inference_geo"),
        )

    def _checked(self, **read: Any) -> Usage:
        usage = Usage(**read)
        parts = usage.cached_tokens + usage.cache_write_tokens
        whole, spoken = usage.input_tokens, max(usage.audio_output_tokens, usage.reasoning_tokens)
        if max(parts, usage.audio_input_tokens) > whole or spoken > usage.output_tokens:
            self._problem = self._problem or "the parts in usage are more than the whole"
        return Usage(**read, problem=self._problem)

    def _count(self, name: str, *, needed: bool = False) -> int:
        value = self._fields.get(name)
        if value is None:
            if needed:
                self._problem = self._problem or f"usage.{name} is missing"
            return 0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
            self._problem = self._problem or f"usage.{name} is not a count"
            return 0
        return value

    def _text(self, name: str) -> str:
        value = self._fields.get(name)
        return value if isinstance(value, str) else ""
