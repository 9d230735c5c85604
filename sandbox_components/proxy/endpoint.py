"""What is passed on: these methods, paths, queries and fields, and nothing else.

Everything here is an allow-list, because whatever passes unknown may cost money that nobody held. Paths are compared
as the client sent them, byte for byte: `//v1/messages`, `/v1/../v1/messages` and `/v1/%6dessages` are other paths.
Fields are those of the official SDKs in November 2026 whose cost can be bounded beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox_components.proxy.fault import NotServed


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of one of the two APIs.

    Attributes:
        name: as it stands in the ledger and in metrics.
        api: `openai` or `anthropic`: whose words errors come in.
        method: POST or GET.
        is_billed: whether the provider charges for it.
        fields: the top-level fields that a body may have.
        refused: fields that are told apart from merely unknown ones, with the reason.
        limit_fields: those that bound the output, the newest first; empty where there is none.
        query: parameters that may stand in the URL.
    """

    name: str
    api: str
    method: str
    is_billed: bool
    fields: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    limit_fields: tuple[str, ...] = ()
    query: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HOSTED = "hosted tools are charged beside the tokens, by amounts that can't be known beforehand"
_ELSEWHERE = "what runs in the background can't be watched to its end"
_ACCOUNT = "it would have the call charged to someone else"
_SEVERAL = "it lets one call run the model several times, without a bound"

CHAT = Endpoint(
    "chat.completions",
    "openai",
    "POST",
    True,
    _words("""
        messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
        max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key
        prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
        stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
    """),
    {"web_search_options": _HOSTED},
    ("max_completion_tokens", "max_tokens"),
)
RESPONSES = Endpoint(
    "responses",
    "openai",
    "POST",
    True,
    _words("""
        background client_metadata conversation include input instructions max_output_tokens max_tool_calls metadata
        model parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention
        reasoning
        safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p
        truncation user
    """),
    {
        "background_options": _ELSEWHERE,
        "prompt": "a stored prompt can bring hosted tools and another model with it",
        "context_management": _SEVERAL,
        "access_programs": "it changes which model answers",
    },
    ("max_output_tokens",),
)
EMBEDDINGS = Endpoint("embeddings", "openai", "POST", True, _words("input model dimensions encoding_format user"))
MESSAGES = Endpoint(
    "messages",
    "anthropic",
    "POST",
    True,
    _words("""
        max_tokens messages model cache_control context_management diagnostics inference_geo metadata output_config
        service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p
    """),
    {
        "mcp_servers": _HOSTED,
        "container": _HOSTED,
        "fallbacks": "another model could answer, at another price",
        "fallback_credit_token": _ACCOUNT,
        "billing_policy": _ACCOUNT,
        "user_profile_id": _ACCOUNT,
        "workspace_id": _ACCOUNT,
        "compaction": _SEVERAL,
        "thread": _SEVERAL,
    },
    ("max_tokens",),
    query=frozenset({"beta"}),
)
COUNT_TOKENS = Endpoint(
    "messages.count_tokens",
    "anthropic",
    "POST",
    False,
    _words("""
        messages model cache_control context_management mcp_servers output_config speed system thinking tool_choice
        tools
    """),
    query=frozenset({"beta"}),
)
_PAGES = frozenset({"after_id", "before_id", "limit", "beta"})
OPENAI_MODELS = Endpoint("models", "openai", "GET", False)
ANTHROPIC_MODELS = Endpoint("models", "anthropic", "GET", False, query=_PAGES)

ENDPOINTS: Mapping[bytes, Endpoint] = {
    b"/v1/chat/completions": CHAT,
    b"/v1/responses": RESPONSES,
    b"/v1/embeddings": EMBEDDINGS,
    b"/v1/messages": MESSAGES,
    b"/v1/messages/count_tokens": COUNT_TOKENS,
}
MODEL_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:@/+-]{0,198}[A-Za-z0-9])?")
_MODELS = re.compile(rb"/v1/models(?:/([A-Za-z0-9][A-Za-z0-9._:@+-]{0,198}))?")
_KEY = re.compile(rb"(sbx1\.|sk-).+")
_PARAMETER = re.compile(rb"([a-z_]{1,20})=([A-Za-z0-9_-]{0,200})")


def find_endpoint(method: str, raw_path: bytes, query: bytes = b"", *, is_anthropic: bool = False) -> Endpoint:
    """Return the endpoint that a request is for.

    Args:
        method: as sent.
        raw_path: as sent, before anything is decoded or normalised.
        query: as sent, without the question mark.
        is_anthropic: the request has the header `anthropic-version`, which tells the two lists of models apart.

    Raises:
        NotServed: it is for none of them; 404, or 405 for the wrong method.
    """
    path = raw_path.partition(b"?")[0]
    endpoint = ENDPOINTS.get(path)
    if endpoint is None and _MODELS.fullmatch(path) and b".." not in path:
        endpoint = ANTHROPIC_MODELS if is_anthropic else OPENAI_MODELS
    if endpoint is None:
        raise NotServed(
            f"the path {_shown(path)} is not passed on: served are POST {', '.join(_shown(one) for one in ENDPOINTS)} "
            "and GET /v1/models",
            code="unknown_url",
        )
    if method != endpoint.method:
        raise NotServed(
            f"the method {method[:20] if method.isalnum() else '?'} is not passed on for {_shown(path)}: "
            f"accepted is {endpoint.method}",
            status=405,
            code="method_not_allowed",
        )
    for parameter in query.split(b"&") if query else ():
        match = _PARAMETER.fullmatch(parameter)
        if match is None or match.group(1).decode() not in endpoint.query:
            name = parameter.partition(b"=")[0]
            accepted = ", ".join(sorted(endpoint.query)) or "none"
            raise NotServed(
                f"the parameter {_shown(name)} in the URL is not passed on: accepted are {accepted}",
                status=400,
                code="unknown_parameter",
            )
    return endpoint


def _shown(text: bytes) -> str:
    """Return a path or parameter for a message, without a key that was put there by mistake."""
    shown = _KEY.sub(rb"\1...", text)[:80].decode("ascii", "backslashreplace")
    return "".join(one if one.isprintable() and one != '"' else "?" for one in shown)
