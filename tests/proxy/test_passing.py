"""What passes between client and provider: bytes, errors, breaks; and what is charged in each case."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from tests.proxy.calls import CHAT, EMBEDDINGS, MESSAGES, RESPONSES, WAYS, Kind, way_name
from tests.proxy.double import KEY
from tests.proxy.place import Double, Place

pytestmark = pytest.mark.server

EACH_WAY = pytest.mark.parametrize(("kind", "stream"), WAYS, ids=way_name)


def until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def spent(proxy: Place, sandbox: str) -> tuple[int, int, int]:
    """Calls, nano-dollars, of these estimated."""
    total = proxy.spend(sandbox)["total"]
    return total["calls"], total["nanos"], total["estimatedNanos"]


@contextmanager
def half_read(proxy: Place, sandbox: str, body: dict[str, Any], path: str) -> Iterator[Iterator[bytes]]:
    """A stream of which the first bytes have come; it is hung up on at the end of the block."""
    with proxy.client(sandbox) as client, client.stream("POST", path, json=body) as answer:
        chunks = answer.iter_raw()
        assert next(chunks)
        yield chunks


@EACH_WAY
def test_bytes_pass_untouched_and_cost_what_they_cost(
    proxy: Place, provider: Double, sandbox: str, kind: Kind, stream: bool
) -> None:
    body = kind.body(stream=stream, input=1000, cached=200, output=64, events=20, reasoning=9)
    if kind is CHAT and stream:
        body["stream_options"] = {"include_usage": True}
    with proxy.client(sandbox) as client, httpx2.Client(base_url=provider.url, trust_env=False) as direct:
        passed = client.post(kind.path, json=body)
        own = {"authorization": f"Bearer {KEY}"} if kind is not MESSAGES else {"x-api-key": KEY}
        wanted = direct.post(kind.path, json=body, headers=own)
    assert passed.status_code == 200
    assert passed.content == wanted.content
    assert passed.headers["content-type"] == wanted.headers["content-type"]
    assert passed.headers["x-sandbox-request-id"].startswith("req_")
    if not stream:
        assert passed.headers["content-length"] == wanted.headers["content-length"]
    seen = provider.served()[0]
    assert spent(proxy, sandbox) == (1, kind.cost(seen), 0)
    total = proxy.spend(sandbox)["total"]
    assert (total["inputTokens"], total["cachedInputTokens"], total["outputTokens"]) == (
        seen["input"],
        seen["cached"],
        seen["output"],
    )


@pytest.mark.parametrize("asks", [None, False, True])
def test_usage_of_a_chat_stream_is_asked_for_and_taken_out_again(
    proxy: Place, provider: Double, sandbox: str, asks: bool | None
) -> None:
    body = CHAT.body(stream=True, output=7)
    if asks is not None:
        body["stream_options"] = {"include_usage": asks}
    with proxy.client(sandbox) as client:
        text = client.post(CHAT.path, json=body).text
    assert ('"total_tokens"' in text) == bool(asks)
    assert text.endswith("data: [DONE]\n\n")
    seen = provider.served()[0]
    assert seen["body"]["stream_options"] == {"include_usage": True}
    assert spent(proxy, sandbox) == (1, CHAT.cost(seen), 0)


def test_what_the_provider_sees_of_the_client(proxy: Place, provider: Double, sandbox: str) -> None:
    more = {
        "user-agent": "an-agent/1",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "x",
        "openai-organization": "org-of-someone",
        "cookie": "a=b",
        "x-forwarded-for": "10.0.0.1",
        "x-http-method-override": "DELETE",
        "idempotency-key": "1",
        "accept-encoding": "gzip",
    }
    with proxy.client(sandbox) as client:
        assert client.post(MESSAGES.path, json=MESSAGES.body(), headers=more).status_code == 200
    headers = provider.served()[0]["headers"]
    assert headers.pop("x-client-request-id").startswith("req_")
    assert headers == {
        "host": provider.url.removeprefix("http://"),
        "x-api-key": KEY,
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "an-agent/1",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "x",
        "content-type": "application/json",
        "content-length": str(len(json.dumps(MESSAGES.body(), separators=(",", ":")))),
    }


@pytest.mark.parametrize("kind", [CHAT, RESPONSES, MESSAGES], ids=way_name)
def test_the_first_bytes_pass_while_the_provider_is_still_writing(
    proxy: Place, provider: Double, sandbox: str, kind: Kind
) -> None:
    with half_read(proxy, sandbox, kind.body(stream=True, events=60, gap=0.02), kind.path) as chunks:
        assert not provider.calls()[0]["is_finished"]
        for _ in chunks:
            pass
    assert spent(proxy, sandbox) == (1, kind.cost(provider.served()[0]), 0)


def test_calls_that_cost_nothing(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client:
        assert client.get("/v1/models").json()["data"][0]["id"] == "gpt-4o"
        body = {"model": MESSAGES.model, "messages": [{"role": "user", "content": "hello"}]}
        assert client.post("/v1/messages/count_tokens?beta=true", json=body).json() == {"input_tokens": 11}
    assert spent(proxy, sandbox) == (2, 0, 0)
    metrics = httpx2.get(f"{proxy.admin_url}/metrics", trust_env=False).text
    assert 'sandbox_proxy_free_calls_total{endpoint="models",upstream="openai"} 1.0' in metrics


@pytest.mark.parametrize("status", [400, 429, 529])
@pytest.mark.parametrize("kind", [CHAT, MESSAGES], ids=way_name)
def test_a_provider_s_refusal_passes_and_costs_nothing(
    proxy: Place, provider: Double, sandbox: str, kind: Kind, status: int
) -> None:
    with proxy.client(sandbox) as client:
        answer = client.post(kind.path, json=kind.body(status=status, stream=True))
    assert answer.status_code == status
    assert answer.json()["error"]["message"] == "as you wished"
    assert answer.headers.get("retry-after") == ("7" if status in (429, 503) else None)
    assert spent(proxy, sandbox) == (0, 0, 0)


@pytest.mark.parametrize(("stream", "wish"), [(False, "cut"), (True, "cut"), (True, "stall")], ids=way_name)
def test_a_provider_that_got_the_call_and_does_not_answer_is_charged_in_full(
    proxy: Place, provider: Double, sandbox: str, stream: bool, wish: str
) -> None:
    with proxy.client(sandbox) as client:
        answer = client.post(MESSAGES.path, json=MESSAGES.body(stream=stream, **{wish: "before"}))
    assert answer.status_code == (502 if wish == "cut" else 504)
    assert answer.json()["type"] == "error"
    calls, nanos, estimated = spent(proxy, sandbox)
    assert (calls, estimated) == (1, nanos)
    assert nanos > 100 * 15000
    until(lambda: provider.open() == 0)


@pytest.mark.parametrize(
    ("kind", "stream", "wish"),
    [
        *((kind, stream, "cut") for kind, stream in WAYS if kind.streams),
        (CHAT, False, "stall"),
        (MESSAGES, True, "stall"),
    ],
    ids=way_name,
)
def test_an_answer_that_breaks_off_is_broken_for_the_client_too(
    proxy: Place, provider: Double, sandbox: str, kind: Kind, stream: bool, wish: str
) -> None:
    body = kind.body(stream=stream, events=10, output=80, input=30, **{wish: "middle"})
    with proxy.client(sandbox) as client:
        if stream:
            with pytest.raises(httpx2.RemoteProtocolError):
                client.post(kind.path, json=body)
        else:
            assert client.post(kind.path, json=body).status_code == (502 if wish == "cut" else 504)
    until(lambda: spent(proxy, sandbox)[0] == 1)
    calls, nanos, estimated = spent(proxy, sandbox)
    assert (calls, estimated) == (1, nanos)
    assert nanos >= 100 * kind.nanos[2]
    until(lambda: provider.open() == 0)


def test_a_stream_that_ends_with_an_error(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client:
        text = client.post(MESSAGES.path, json=MESSAGES.body(stream=True, error=True, input=30)).text
    assert "overloaded_error" in text
    calls, nanos, estimated = spent(proxy, sandbox)
    assert (calls, estimated) == (1, nanos)
    assert 0 < nanos < 100 * 15000


def test_an_answer_without_usage_is_charged_in_full(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client:
        assert client.post(CHAT.path, json=CHAT.body(usage=False)).status_code == 200
    calls, nanos, estimated = spent(proxy, sandbox)
    assert (calls, estimated) == (1, nanos)
    assert nanos >= 100 * 600


def test_what_a_call_costs_beyond_its_hold_is_charged_and_told(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client:
        assert client.post(CHAT.path, json=CHAT.body(input=100_000)).status_code == 200
    cost = CHAT.cost(provider.served()[0])
    assert spent(proxy, sandbox) == (1, cost, 0)
    beyond = proxy.spend(sandbox)["total"]["overrunNanos"]
    assert 0 < beyond < cost
    until(lambda: any(line.get("overrunNanos") == beyond for line in proxy.lines() if line.get("sandbox") == sandbox))
    metrics = httpx2.get(f"{proxy.admin_url}/metrics", trust_env=False).text
    name = f'sandbox_proxy_overrun_dollars_total{{model="{CHAT.model}",upstream="openai"}} '
    told = [float(line.removeprefix(name)) for line in metrics.splitlines() if line.startswith(name)]
    assert len(told) == 1
    assert told[0] * 10**9 > beyond - 1  # other tests' calls are in it as well


@pytest.mark.parametrize("kind", [CHAT, RESPONSES, MESSAGES], ids=way_name)
def test_a_client_that_hangs_up_pays_what_the_call_cost(
    proxy: Place, provider: Double, sandbox: str, kind: Kind
) -> None:
    with half_read(proxy, sandbox, kind.body(stream=True, events=20, gap=0.03, output=40), kind.path):
        pass
    until(lambda: spent(proxy, sandbox)[0] == 1)
    assert spent(proxy, sandbox) == (1, kind.cost(provider.served()[0]), 0)
    assert provider.served()[0]["is_finished"]
    until(lambda: any(line.get("clientGone") for line in proxy.lines() if line.get("sandbox") == sandbox))


def test_a_client_that_hangs_up_before_the_answer(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client, pytest.raises(httpx2.ReadTimeout):
        client.post(CHAT.path, json=CHAT.body(delay=1.0, output=40), timeout=0.3)
    until(lambda: spent(proxy, sandbox)[0] == 1)
    assert spent(proxy, sandbox) == (1, CHAT.cost(provider.served()[0]), 0)


def test_the_rest_of_an_abandoned_answer_is_not_read_for_ever(proxy: Place, provider: Double, sandbox: str) -> None:
    with half_read(proxy, sandbox, MESSAGES.body(stream=True, events=400, gap=0.1), MESSAGES.path):
        pass
    until(lambda: spent(proxy, sandbox)[0] == 1)
    calls, nanos, estimated = spent(proxy, sandbox)
    assert (calls, estimated) == (1, nanos)
    assert nanos >= 100 * 15000
    until(lambda: provider.open() == 0)


def test_a_long_answer_to_a_slow_reader(proxy: Place, provider: Double, sandbox: str) -> None:
    body = CHAT.body(stream=True, events=200, size=4 * 2**20)
    got = 0
    with proxy.client(sandbox) as client, client.stream("POST", CHAT.path, json=body) as answer:
        for at, chunk in enumerate(answer.iter_raw(65536)):
            got += len(chunk)
            if at < 10:
                time.sleep(0.05)
    assert got > 4 * 2**20
    assert spent(proxy, sandbox) == (1, CHAT.cost(provider.served()[0]), 0)


def test_a_client_that_reads_no_more_is_hung_up_on(proxy: Place, provider: Double, sandbox: str) -> None:
    body = CHAT.body(stream=True, events=200, size=16 * 2**20)
    with proxy.client(sandbox) as client, client.stream("POST", CHAT.path, json=body) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        until(lambda: spent(proxy, sandbox)[0] == 1)
        with pytest.raises(httpx2.TransportError):
            b"".join(chunks)
    assert spent(proxy, sandbox) == (1, CHAT.cost(provider.served()[0]), 0)


def test_many_calls_use_few_connections(proxy: Place, provider: Double, sandbox: str) -> None:
    with proxy.client(sandbox) as client:
        for _ in range(5):
            assert client.post(EMBEDDINGS.path, json=EMBEDDINGS.body()).status_code == 200
    assert spent(proxy, sandbox)[0] == 5
