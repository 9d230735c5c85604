"""Paths, methods and queries: the few that are passed on, and tricks that are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.proxy import endpoint
from sandbox_components.proxy.endpoint import find_endpoint
from sandbox_components.proxy.fault import NotServed


@pytest.mark.parametrize(
    ("method", "path", "query", "found"),
    [
        ("POST", b"/v1/chat/completions", b"", endpoint.CHAT),
        ("POST", b"/v1/responses", b"", endpoint.RESPONSES),
        ("POST", b"/v1/embeddings", b"", endpoint.EMBEDDINGS),
        ("POST", b"/v1/messages", b"", endpoint.MESSAGES),
        ("POST", b"/v1/messages", b"beta=true", endpoint.MESSAGES),
        ("POST", b"/v1/messages/count_tokens", b"beta=true", endpoint.COUNT_TOKENS),
        ("GET", b"/v1/models", b"", endpoint.OPENAI_MODELS),
        ("GET", b"/v1/models/gpt-5", b"", endpoint.OPENAI_MODELS),
        ("GET", b"/v1/models/ft:gpt-4o:acme::x1", b"", endpoint.OPENAI_MODELS),
    ],
)
def test_what_is_served(method: str, path: bytes, query: bytes, found: endpoint.Endpoint) -> None:
    assert find_endpoint(method, path, query) is found


def test_two_apis_share_the_path_of_models() -> None:
    found = find_endpoint("GET", b"/v1/models", b"limit=20&after_id=x", is_anthropic=True)
    assert found is endpoint.ANTHROPIC_MODELS
    assert not found.is_billed


@pytest.mark.parametrize(
    "path",
    [
        b"",
        b"/",
        b"/v1",
        b"v1/messages",
        b"//v1/messages",
        b"/v1//messages",
        b"/v1/messages/",
        b"/V1/messages",
        b"/v1/Messages",
        b"/v1/./messages",
        b"/v1/../v1/messages",
        b"/v1/models/../messages",
        b"/v1/models/..",
        b"/v1/models/a/b",
        b"/v1/models/%2e%2e",
        b"/v1/%6dessages",
        b"/v1/messages%00",
        b"/v1/messages;x=1",
        b"/v1/messages#x",
        b"/v1/messages ",
        b"/v1\\messages",
        b"http://api.openai.com/v1/messages",
        b"/v1/messages/batches",
        b"/v1/batches",
        b"/v1/files",
        b"/v1/responses/resp_1",
        b"/v1/responses/resp_1/cancel",
        b"/v1/responses/compact",
        b"/v1/completions",
        b"/v1/images/generations",
        b"/v1/audio/speech",
        b"/v1/realtime",
        b"/v1/organization/usage",
        b"/openai/v1/chat/completions",
        b"\xff\xfe",
        b"/v1/messages" * 1000,
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_other_paths_are_not(method: str, path: bytes) -> None:
    with pytest.raises(NotServed) as caught:
        find_endpoint(method, path)
    assert caught.value.status == 404
    assert "POST /v1/chat/completions" in str(caught.value)
    assert len(str(caught.value)) < 500


@given(st.binary(max_size=60), st.text(max_size=10))
def test_any_path_is_answered(path: bytes, method: str) -> None:
    with pytest.raises(NotServed) as caught:
        find_endpoint(method, b"/v1/x" + path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "post", "", "X Y"]
)
def test_other_methods_are_not(method: str) -> None:
    with pytest.raises(NotServed, match="accepted is POST") as caught:
        find_endpoint(method, b"/v1/messages")
    assert caught.value.status == 405


@pytest.mark.parametrize(
    ("path", "query", "named"),
    [
        (b"/v1/messages", b"beta=true&x=1", "x"),
        (b"/v1/messages", b"beta", "beta"),
        (b"/v1/messages", b"beta=%74rue", "beta"),
        (b"/v1/messages", b"&", ""),
        (b"/v1/messages", b"beta=true;x=1", "beta"),
        (b"/v1/chat/completions", b"beta=true", "beta"),
        (b"/v1/responses", b"stream=true", "stream"),
        (b"/v1/responses", b"api-version=2025-01-01", "api-version"),
    ],
)
def test_parameters_are_named(path: bytes, query: bytes, named: str) -> None:
    with pytest.raises(NotServed, match=f"the parameter {named}") as caught:
        find_endpoint("POST", path, query)
    assert caught.value.status == 400


def test_no_field_is_both_passed_on_and_refused() -> None:
    for one in (*endpoint.ENDPOINTS.values(), endpoint.OPENAI_MODELS, endpoint.ANTHROPIC_MODELS):
        assert not one.fields & one.refused.keys()
        assert set(one.limit_fields) <= one.fields
        assert one.is_billed == (one.name not in ("models", "messages.count_tokens"))
