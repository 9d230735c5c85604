"""Limits as an agent meets them: refused in its SDK's words, let through after a change; a store that is away."""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.proxy.calls import CHAT, EMBEDDINGS, MESSAGES
from tests.proxy.place import SANDBOX, Double, Place, running

pytestmark = pytest.mark.server

ONE = "proj/prod/one"


def own(cents: int, period: str = "month", sandbox: str = SANDBOX) -> DeclaredLimit:
    return DeclaredLimit("sandbox", sandbox, period, cents, source="proj/prod")


def until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def place(provider: Double, tmp_path: Path) -> Place:
    provider.reset()
    return Place(tmp_path, provider.url, more={"timeouts": {"firstByte": 5, "shutdown": 3}})


def post(client: httpx2.Client, **wish: Any) -> httpx2.Response:
    return client.post(MESSAGES.path, json=MESSAGES.body(most=200, **wish), headers={"anthropic-version": "2023-06-01"})


def test_a_spent_limit_refuses_at_once_and_a_raised_one_lets_through(place: Place, provider: Double) -> None:
    identity = Identity(SANDBOX, org="acme", limit_required=True)
    place.know([identity, Identity(ONE, org="acme")], [own(1)])
    with running(place), place.client() as client:
        answers = []
        for _ in range(10):
            answers.append(post(client, output=200))
            if answers[-1].status_code != 200:
                break
        # 1 cent is three answers of 200 tokens at $15 a million, but the third could have cost more than what was left.
        assert [one.status_code for one in answers] == [200, 200, 429]
        refused = answers[-1]
        error = refused.json()["error"]
        assert error["type"] == "rate_limit_error"
        assert "max_tokens" in error["message"]
        assert "keeps running" in error["message"]
        assert refused.headers["x-should-retry"] == "false"
        assert int(refused.headers["retry-after"]) >= 61
        assert refused.headers["request-id"] == refused.json()["request_id"]
        assert len(provider.served()) == 2
        assert place.spend()["limits"][0]["limitNanos"] == 10_000_000
        openai = client.post(CHAT.path, json=CHAT.body(most=20_000))
        assert (openai.status_code, openai.json()["error"]["type"]) == (429, "insufficient_quota")
        # A smaller call still fits, and another sandbox isn't concerned.
        assert client.post(EMBEDDINGS.path, json=EMBEDDINGS.body()).status_code == 200
        with place.client(ONE) as other:
            assert post(other).status_code == 200

        place.know([identity, Identity(ONE, org="acme")], [own(2)])
        until(lambda: post(client).status_code == 200)
        # The org's limit counts what both have spent already, in the period in which it is made.
        place.know([identity, Identity(ONE, org="acme")], [own(100), DeclaredLimit("org", "acme", "day", 1)])
        with place.client(ONE) as other:
            until(lambda: post(other).status_code == 429)
            told = post(other).json()["error"]["message"]
        assert "org acme" in told
        assert "used" not in told.replace("is used up", "")
        standing = {one["actorType"]: one for one in place.spend()["limits"]}
        assert standing["org"]["usedNanos"] == place.spend()["total"]["nanos"] + place.spend(ONE)["total"]["nanos"]
        # At zero nothing passes, not even what costs nothing; at a spent limit that does.
        assert client.get("/v1/models").status_code == 200
        place.know([identity], [own(0)])
        until(lambda: client.get("/v1/models").status_code == 429)
        # A limit that must be there and isn't stops the sandbox.
        place.know([identity], [])
        until(lambda: post(client).status_code == 503)
        assert post(client).json()["error"]["details"]["error_code"] == "limit_missing"
        metrics = httpx2.get(f"{place.admin_url}/metrics", trust_env=False).text
        assert 'sandbox_proxy_calls_total{endpoint="messages",outcome="too_large",upstream="anthropic"}' in metrics


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_a_call_that_does_not_fit_is_told_the_field_that_it_used(place: Place, field: str) -> None:
    place.know([Identity(SANDBOX, limit_required=True)], [own(1)])
    body = {"model": CHAT.model, field: 16000, "messages": [{"role": "user", "content": "hi"}]}
    with running(place), place.client() as client:
        refused = client.post(CHAT.path, json=body)
    assert refused.status_code == 429
    assert f"set {field} lower" in refused.json()["error"]["message"]


def test_what_calls_in_flight_hold_is_not_spent_twice(place: Place, provider: Double) -> None:
    place.know([Identity(SANDBOX)], [own(1)])
    with running(place), place.client() as client:
        body = MESSAGES.body(stream=True, most=500, events=40, gap=0.05)
        with client.stream("POST", MESSAGES.path, json=body) as first:
            assert first.status_code == 200
            second = client.post(MESSAGES.path, json=body)
            assert second.status_code == 429
            assert second.headers["x-should-retry"] == "true"
            assert int(second.headers["retry-after"]) <= 5
        until(lambda: post(client).status_code == 200)


def test_without_the_store_nothing_is_sent(place: Place, provider: Double) -> None:
    with running(place), place.client(timeout=60) as client:
        body = MESSAGES.body(stream=True, events=60, gap=0.05, output=9)
        with client.stream("POST", MESSAGES.path, json=body) as stream:
            chunks = stream.iter_raw()
            next(chunks)
            lock = sqlite3.connect(place.folder / "ledger.sqlite", isolation_level=None)
            lock.execute("BEGIN EXCLUSIVE")
            served = len(provider.served())
            refused = post(client)
            assert refused.status_code == 503
            assert refused.json()["error"]["details"]["error_code"] == "store_down"
            assert len(provider.calls()) == served == 1
            assert b"message_stop" in b"".join(chunks)
        lock.execute("ROLLBACK")
        lock.close()
        # What ended in between is charged as soon as the store is back.
        until(lambda: place.spend()["total"]["calls"] == 1)
        assert place.spend()["total"]["nanos"] == MESSAGES.cost(provider.served()[0])
        assert place.spend()["total"]["estimatedNanos"] == 0
        until(lambda: post(client).status_code == 200)


def test_on_a_full_disk_nothing_is_sent(place: Place, provider: Double) -> None:
    with running(place), place.client(timeout=60) as client:
        assert place.process is not None
        body = MESSAGES.body(stream=True, events=60, gap=0.05, output=9)
        with client.stream("POST", MESSAGES.path, json=body) as stream:
            chunks = stream.iter_raw()
            next(chunks)
            # No file of the proxy's may grow or change any more, as on a disk that is full.
            before = resource.prlimit(place.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            refused = [post(client) for _ in range(3)]
            assert [one.status_code for one in refused] == [503] * 3
            assert {one.json()["error"]["details"]["error_code"] for one in refused} == {"store_down"}
            assert len(provider.calls()) == 1
            assert b"message_stop" in b"".join(chunks)
        resource.prlimit(place.process.pid, resource.RLIMIT_FSIZE, before)
        until(lambda: place.spend()["total"]["calls"] == 1)
        total = place.spend()["total"]
        assert (total["nanos"], total["estimatedNanos"]) == (MESSAGES.cost(provider.served()[0]), 0)
        assert post(client).status_code == 200


def test_a_proxy_that_ends_lets_calls_end_first(place: Place, provider: Double) -> None:
    with running(place), place.client() as client:
        body = MESSAGES.body(stream=True, events=20, gap=0.05)
        with client.stream("POST", MESSAGES.path, json=body) as stream:
            chunks = stream.iter_raw()
            next(chunks)
            assert place.process is not None
            place.process.terminate()
            assert b"message_stop" in b"".join(chunks)
        assert place.process.wait(20) == 0
        place.start()
        assert place.spend()["total"]["nanos"] == MESSAGES.cost(provider.served()[0])
        # What lasts too long is cut off, and charged in full.
        with place.client() as client:
            body = MESSAGES.body(stream=True, events=1000, gap=0.1)
            with client.stream("POST", MESSAGES.path, json=body) as stream:
                chunks = stream.iter_raw()
                next(chunks)
                assert place.process is not None
                place.process.terminate()
                with pytest.raises(httpx2.RemoteProtocolError):
                    b"".join(chunks)
        assert place.process.wait(20) == 0
        place.start()
        total = place.spend()["total"]
        assert (total["calls"], total["estimatedNanos"] > 100 * 15000) == (2, True)


def test_an_unreachable_provider_costs_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, "http://127.0.0.1:9")
    with running(place), place.client() as client:
        answer = post(client)
        assert (answer.status_code, answer.json()["error"]["type"]) == (502, "api_error")
        assert place.spend()["total"]["calls"] == 0
        assert place.spend()["limits"] == []


def test_upstreams_are_chosen_by_model(provider: Double, tmp_path: Path) -> None:
    provider.reset()
    upstreams = [
        {"name": "dead", "api": "openai", "baseUrl": "http://127.0.0.1:9", "key": {"env": "PROVIDER_KEY"}},
        {"name": "live", "api": "openai", "baseUrl": provider.url, "key": {"env": "PROVIDER_KEY"}},
        {"name": "wrong-key", "api": "anthropic", "baseUrl": provider.url, "key": {"env": "SIGNING_KEY"}},
    ]
    for one, models in zip(upstreams, (["o3*"], ["gpt-*", "our-*", "text-*"], ["claude-*"]), strict=True):
        one["models"] = models
    prices = {"our-model": {"input": "1.00", "output": "2.00", "contextWindow": 1000}, "our-free": {"free": True}}
    place = Place(tmp_path, provider.url, more={"upstreams": upstreams, "prices": prices})
    with running(place), place.client() as client:

        def answered(model: str) -> tuple[int, str]:
            answer = client.post(CHAT.path, json={**CHAT.body(input=10, output=5), "model": model})
            return answer.status_code, answer.json().get("error", {}).get("code", "")

        assert answered("gpt-4o-mini")[0] == 200
        assert answered("our-model")[0] == 200
        assert answered("our-free")[0] == 200
        assert answered("o3") == (502, "upstream_unreachable")
        assert answered("o1")[0] == 404
        assert answered("our-other")[0] == 400
        rows = {one["key"]: one["nanos"] for one in place.spend(by="model")["rows"]}
        assert rows == {"gpt-4o-mini": 10 * 150 + 5 * 600, "our-model": 10 * 1000 + 5 * 2000, "our-free": 0}
        # The provider's complaint about our key is ours to hear, not the agent's.
        refused = post(client)
        assert refused.status_code == 502
        assert refused.json()["error"]["details"]["error_code"] == "upstream_key_refused"
        assert "bad key" not in refused.text
        metrics = httpx2.get(f"{place.admin_url}/metrics", trust_env=False).text
        assert 'sandbox_proxy_upstream_key_refused_total{upstream="wrong-key"} 1.0' in metrics
