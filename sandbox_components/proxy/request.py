"""A request as the proxy understands it: whose model, streamed or not, and how much it can read and write at most.

What isn't understood isn't passed on, with a text that names the field. The body goes on as the client wrote it; only
where a chat stream would not tell what it used, `stream_options.include_usage` is put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox_components.proxy.chat_input import read_chat
from sandbox_components.proxy.endpoint import CHAT, EMBEDDINGS, MESSAGES, MODEL_NAME, RESPONSES, Endpoint
from sandbox_components.proxy.fault import BadRequest
from sandbox_components.proxy.found import MOST_TOKENS, Found
from sandbox_components.proxy.messages_input import read_messages
from sandbox_components.proxy.rates import STANDARD
from sandbox_components.proxy.responses_input import read_responses
from sandbox_components.proxy.strict_json import put, read_object

_READERS: dict[str, Callable[[dict[str, Any], Found], None]] = {
    CHAT.name: read_chat,
    RESPONSES.name: read_responses,
    MESSAGES.name: read_messages,
}
_MOST_CHOICES = 128
_ANY_TIER = (STANDARD, "priority", "fast")
"""`auto`: the provider's project may be set to a dearer tier."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request asks for.

    Attributes:
        endpoint: where it goes.
        model: as the client named it.
        stream: it wants its answer as a stream.
        adds_usage: the stream tells its usage because we asked for it; the client did not.
        body: what is sent.
        text_tokens: at most so many are written in the body, or added by the provider.
        found: what else there is.
        output_limit: how much one choice may write, as the request says; None if it doesn't.
        choices: how many answers it wants.
        extra_output: output tokens that the limit doesn't bound.
        tiers: the service tiers that may serve it.
        needs_tier: the tier it asks for by name, which must have a price; empty if none.
        geo: it may run where Anthropic charges more.
        limit_field: the field that bounds the output: the one it used, else the newest; empty where there is none.
    """

    endpoint: Endpoint
    model: str
    stream: bool
    adds_usage: bool
    body: bytes
    text_tokens: int
    found: Found
    output_limit: int | None = None
    choices: int = 1
    extra_output: int = 0
    tiers: tuple[str, ...] = (STANDARD,)
    needs_tier: str = ""
    geo: bool = True
    limit_field: str = ""


def read_request(endpoint: Endpoint, body: bytes) -> Plan:
    """Read the body of a POST.

    Raises:
        BadRequest: it is malformed, has a field that isn't passed on, or asks for what can't be bounded.
    """
    document = read_object(body)
    for name, value in document.items():
        if name not in endpoint.fields:
            _refuse_field(endpoint, name, value)
    model = document.get("model")
    if not isinstance(model, str) or not MODEL_NAME.fullmatch(model):
        raise BadRequest("model is missing, or no name of a model", param="model")
    found = Found()
    reader = _READERS.get(endpoint.name)
    if reader is not None:
        try:
            reader(document, found)
        except RecursionError:  # some versions of Python read JSON deeper than they call functions
            raise BadRequest("the body is nested too deeply", code="invalid_json") from None
        _check_caching(document, body)
    stream = _flag(document, "stream")
    adds_usage = False
    sent = body
    if endpoint is CHAT and stream:
        options = document.get("stream_options")
        if options is not None and not isinstance(options, dict):
            raise BadRequest("stream_options is not an object", param="stream_options")
        if not _flag(options or {}, "include_usage", "stream_options."):
            adds_usage = True
            sent = put(body, "stream_options", {**(options or {}), "include_usage": True})
    if _flag(document, "background"):
        raise BadRequest("background is not passed on: a call must end while it is watched", param="background")
    tiers, needed = _tiers(endpoint, document)
    return Plan(
        endpoint,
        model,
        stream,
        adds_usage,
        sent,
        max(0, len(sent) - found.inline_bytes) + found.added_tokens,
        found,
        0 if endpoint is EMBEDDINGS else _output_limit(endpoint, document),
        _choices(document),
        _extra_output(document, body),
        tiers,
        needed,
        _geo(document),
        next((one for one in endpoint.limit_fields if document.get(one) is not None), (*endpoint.limit_fields, "")[0]),
    )


def _refuse_field(endpoint: Endpoint, name: str, value: object) -> None:
    shown = name if name.isascii() and name.isprintable() and len(name) <= 60 else "?"
    why = endpoint.refused.get(name)
    if why is not None and value is None:
        return
    raise BadRequest(
        f"the field {shown} is not passed on: {why or 'what a call with it can cost is not known here'}",
        param=shown,
        code="cannot_be_capped" if why else "unknown_field",
    )


def _flag(document: dict[str, Any], name: str, prefix: str = "") -> bool:
    value = document.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"{prefix}{name} is neither true nor false", param=f"{prefix}{name}")
    return value is True


def _count(document: dict[str, Any], name: str, least: int, most: int, prefix: str = "") -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadRequest(f"{prefix}{name} is not a whole number from {least} to {most}", param=f"{prefix}{name}")
    return value


def _output_limit(endpoint: Endpoint, document: dict[str, Any]) -> int | None:
    # With Anthropic 0 fills the cache; among servers that speak OpenAI's format some take it for no limit.
    least = 0 if endpoint.api == "anthropic" else 1
    given = [_count(document, name, least, MOST_TOKENS) for name in endpoint.limit_fields]
    return max((one for one in given if one is not None), default=None)


def _extra_output(document: dict[str, Any], body: bytes) -> int:
    """Return how much a call can write beside its limit: a prediction, and thinking with a budget above the limit."""
    extra = len(body) if document.get("prediction") is not None else 0
    thinking = document.get("thinking")
    if isinstance(thinking, dict):
        budget = _count(thinking, "budget_tokens", 0, MOST_TOKENS, "thinking.") or 0
        extra += budget if budget > (_count(document, "max_tokens", 0, MOST_TOKENS) or 0) else 0
    return extra


def _choices(document: dict[str, Any]) -> int:
    return _count(document, "n", 1, _MOST_CHOICES) or 1


def _tiers(endpoint: Endpoint, document: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return which tiers may serve a request, and which one it must have a price for."""
    tier = document.get("service_tier")
    if endpoint.api == "anthropic":
        if tier not in (None, "auto", "standard_only"):
            raise BadRequest('service_tier is none of "auto" and "standard_only"', param="service_tier")
        speed = document.get("speed")
        if speed not in (None, "standard", "fast"):
            raise BadRequest('speed is none of "standard" and "fast"', param="speed")
        return ((STANDARD, "speed=fast"), "speed=fast") if speed == "fast" else ((STANDARD,), "")
    if endpoint is EMBEDDINGS:
        return (STANDARD,), ""
    if tier in (None, "auto"):
        return _ANY_TIER, ""
    if tier in ("default", "flex"):
        return (STANDARD, str(tier)), ""
    if tier in ("priority", "fast"):
        return _ANY_TIER, str(tier)
    raise BadRequest(
        "service_tier is not passed on but as auto, default, flex, priority or fast: others have no price here",
        param="service_tier",
        code="cannot_be_capped",
    )


def _geo(document: dict[str, Any]) -> bool:
    where = document.get("inference_geo")
    if where not in (None, "us", "global"):
        raise BadRequest('inference_geo is none of "us" and "global"', param="inference_geo", code="cannot_be_capped")
    return where != "global"


def _check_caching(document: dict[str, Any], body: bytes) -> None:
    """Refuse OpenAI's cache for twelve hours and its prewarming, which have no price here."""
    options = document.get("prompt_cache_options")
    if options is not None and (
        not isinstance(options, dict)
        or not options.keys() <= {"mode", "ttl"}
        or options.get("ttl") not in (None, "30m")
    ):
        raise BadRequest(
            'prompt_cache_options is not passed on but with mode and ttl "30m": else there is no price here',
            param="prompt_cache_options",
            code="cannot_be_capped",
        )
    if b"prompt_cache_breakpoint" not in body and b"\\u" not in body:
        return
    todo: list[Any] = [document]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            mark = one.get("prompt_cache_breakpoint")
            if isinstance(mark, dict) and mark.get("ttl") not in (None, "30m"):
                raise BadRequest(
                    'prompt_cache_breakpoint is not passed on but with ttl "30m": else there is no price here',
                    param="prompt_cache_breakpoint",
                    code="cannot_be_capped",
                )
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
