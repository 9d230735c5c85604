"""Ways around the proxy: what must reach no provider, or none unbilled. Over real sockets, as an attacker would."""

from __future__ import annotations

import gzip
import json
import socket
from typing import Any

import httpx2
import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.inference_key import make_key, make_read_key
from tests.proxy.calls import CHAT, EMBEDDINGS, MESSAGES, RESPONSES, Kind, way_name
from tests.proxy.conftest import POOR, limits, sandboxes
from tests.proxy.place import SIGNING_KEY, Double, Place

pytestmark = pytest.mark.server

KEY = SIGNING_KEY.encode()


def raw(proxy: Place, *parts: bytes) -> bytes:
    """Send bytes as they are and return the first answer, or what there is of it when the proxy closes."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    answer = b""
    with socket.create_connection((host, int(port)), 10) as line:
        try:
            for part in parts:
                line.sendall(part)
            while not is_whole(answer, has_body=not parts[0].startswith(b"HEAD ")):
                chunk = line.recv(65536)
                if not chunk:
                    break
                answer += chunk
        except (ConnectionResetError, BrokenPipeError):
            return answer
    return answer


def is_whole(answer: bytes, *, has_body: bool) -> bool:
    start, end, body = answer.partition(b"\r\n\r\n")
    lines = [one for one in start.lower().split(b"\r\n") if one.startswith(b"content-length:")]
    length = int(lines[0].split(b":")[1]) if lines and has_body else 0
    return bool(end) and len(body) >= length


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def head(proxy: Place, sandbox: str, *lines: str, target: str = CHAT.path, method: str = "POST") -> bytes:
    first = [f"{method} {target} HTTP/1.1", "Host: proxy", f"Authorization: Bearer {proxy.key(sandbox)}"]
    return "\r\n".join([*first, "Content-Type: application/json", *lines, "", ""]).encode()


def body_of(kind: Kind, **change: Any) -> bytes:
    return json.dumps({**kind.body(), **change}).encode()


def nothing_passed(proxy: Place, provider: Double, sandbox: str) -> None:
    assert provider.calls() == []
    assert proxy.spend(sandbox)["total"]["calls"] == 0


def test_keys_that_open_nothing(proxy: Place, provider: Double, sandbox: str) -> None:
    good = proxy.key(sandbox)
    other = proxy.key("proj/prod/gone")
    stem, _, mac = good.rpartition(".")
    bad = [
        "x",
        good[:-1],
        good + "A",
        f"{stem}.{'A' * len(mac)}",
        f"{stem}.{other.rpartition('.')[2]}",
        make_key(b"another-signing-key-0123456789-0123456789", sandbox, 1),
        make_key(KEY, sandbox, 2),
        make_key(KEY, "proj/prod/gone", 1),
        good.replace("prod", "test"),
        good.upper(),
        "sk-" + "a" * 48,
        "sbx1." + "a" * 5000,
        "\x80ü",
    ]
    with httpx2.Client(base_url=proxy.url, trust_env=False) as client:
        for key in bad:
            for header in ({"authorization": f"Bearer {key}"}, {"x-api-key": key}, {"authorization": key}):
                encoded = {name: value.encode("latin-1") for name, value in header.items()}
                answer = client.post(CHAT.path, json=CHAT.body(), headers=encoded)
                assert answer.status_code == 401, (key, header)
        both = {"authorization": f"Bearer {good}", "x-api-key": proxy.key(sandboxes()[0].sandbox_id)}
        if both["x-api-key"] != good:
            assert client.post(CHAT.path, json=CHAT.body(), headers=both).status_code == 401
        assert client.post(CHAT.path, json=CHAT.body()).status_code == 401
        assert client.post(CHAT.path, json=CHAT.body(), headers={"x-api-key": ""}).status_code == 401
        answer = client.post(MESSAGES.path, json=MESSAGES.body(), headers={"anthropic-version": "2023-06-01"})
        assert (answer.status_code, answer.json()["error"]["type"]) == (401, "authentication_error")
    nothing_passed(proxy, provider, sandbox)


def test_rotation_and_deletion_shut_keys_out(proxy: Place, provider: Double, sandbox: str) -> None:
    known = [one for one in sandboxes() if one.sandbox_id != sandbox]
    with httpx2.Client(base_url=proxy.url, trust_env=False) as client:

        def answered(generation: int) -> int:
            key = {"x-api-key": proxy.key(sandbox, generation)}
            return client.post(EMBEDDINGS.path, json=EMBEDDINGS.body(), headers=key).status_code

        assert answered(1) == 200
        proxy.know([*known, Identity(sandbox, generation=2)], limits())
        assert answered(2) == 200  # news are looked up at once
        assert answered(1) == 401
        proxy.know(known, limits())
        while answered(2) == 200:
            pass
        assert answered(2) == 401
    proxy.know(sandboxes(), limits())


@pytest.mark.parametrize(
    ("method", "target", "wanted"),
    [
        ("POST", "//v1/chat/completions", 404),
        ("POST", "/v1//chat/completions", 404),
        ("POST", "/v1/chat/completions/", 404),
        ("POST", "/v1/models/../chat/completions", 404),
        ("POST", "/v1/chat/%63ompletions", 404),
        ("POST", "/v1/chat%2fcompletions", 404),
        ("POST", "/V1/chat/completions", 404),
        ("POST", "/v1/chat/completions;x=1", 404),
        ("POST", "/v1/chat/completions?model=o1", 400),
        ("POST", "http://elsewhere/v1/chat/completions", 404),
        ("POST", "*", 404),
        ("POST", "/v1/images/generations", 404),
        ("POST", "/v1/files", 404),
        ("POST", "/v1/batches", 404),
        ("POST", "/v1/messages/batches", 404),
        ("POST", "/v1/realtime/sessions", 404),
        ("POST", "/v1/responses/resp_1/cancel", 404),
        ("GET", "/v1/responses/resp_1", 404),
        ("GET", "/v1/organization/costs", 404),
        ("GET", "/metrics", 404),
        ("GET", "/double/calls", 404),
        ("GET", "/v1/chat/completions", 405),
        ("PUT", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models/ft:gpt-4o-mini:acme", 405),
        ("OPTIONS", "/v1/chat/completions", 405),
        ("HEAD", "/v1/models", 405),
        ("CONNECT", "api.openai.com:443", 404),
    ],
)
def test_other_paths_and_methods(
    proxy: Place, provider: Double, sandbox: str, method: str, target: str, wanted: int
) -> None:
    body = body_of(CHAT)
    answer = raw(proxy, head(proxy, sandbox, f"Content-Length: {len(body)}", target=target, method=method), body)
    assert status(answer) in (wanted, 400) if method == "CONNECT" else status(answer) == wanted
    nothing_passed(proxy, provider, sandbox)


def test_headers_that_name_another_method_or_path(proxy: Place, provider: Double, sandbox: str) -> None:
    """A list of models costs nothing; it must not become anything else on the way, with or without a body."""
    names = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
    lines = [
        *(f"{name}: POST" for name in names),
        *(f"{name}: {CHAT.path}" for name in ("X-Original-URL", "X-Rewrite-URL")),
    ]
    body = body_of(CHAT)
    for line in lines:
        with_body = head(proxy, sandbox, line, f"Content-Length: {len(body)}", target="/v1/models", method="GET")
        assert status(raw(proxy, with_body, body)) == 400
        assert status(raw(proxy, head(proxy, sandbox, line, target="/v1/models", method="GET"))) == 200
        disguised = head(proxy, sandbox, line.replace("POST", "GET"), "Content-Length: 0", target="/v1/models")
        assert status(raw(proxy, disguised)) == 405
    names_passed = {name for call in provider.calls() for name in call["headers"]}
    assert not {line.partition(":")[0].lower() for line in lines} & names_passed
    assert [(call["path"], call["length"]) for call in provider.calls()] == [("/v1/models", 0)] * len(lines)
    total = proxy.spend(sandbox)["total"]
    assert (total["calls"], total["nanos"]) == (len(lines), 0)


def test_parameters_that_name_another_method_or_model(proxy: Place, provider: Double, sandbox: str) -> None:
    for target in (
        "/v1/models?_method=POST",
        "/v1/models?method=post",
        "/v1/models?limit=1%26x=2",
        "/v1/models?%6dodel=o1",
    ):
        assert status(raw(proxy, head(proxy, sandbox, target=target, method="GET"))) == 400, target
    nothing_passed(proxy, provider, sandbox)


def test_bodies_that_are_not_plain_json(proxy: Place, provider: Double, sandbox: str) -> None:
    good = body_of(CHAT)
    cases: list[tuple[bytes, dict[str, str], int]] = [
        (b"", {}, 400),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"null", {}, 400),
        (good[:-1], {}, 400),
        (b'{"model": "gpt-4o-mini", "model": "o1", "messages": []}', {}, 400),
        (good.replace(b"100", b"NaN"), {}, 400),
        (good.decode().encode("utf-16"), {}, 400),
        (b"\xff" + good, {}, 400),
        (b"[" * 100_000, {}, 400),
        (gzip.compress(good), {"content-encoding": "gzip"}, 415),
        (good, {"content-encoding": "br"}, 415),
        (good, {"content-type": "text/plain"}, 415),
        (good, {"content-type": "multipart/form-data; boundary=x"}, 415),
        (b" " * 2**20 + good, {}, 413),
    ]
    with proxy.client(sandbox) as client:
        for body, headers, wanted in cases:
            sent = {"content-type": "application/json", **headers}
            assert client.post(CHAT.path, content=body, headers=sent).status_code == wanted, (body[:40], headers)
    nothing_passed(proxy, provider, sandbox)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (CHAT, {"model": "no-such-model"}),
        (CHAT, {"model": ""}),
        (CHAT, {"model": ["gpt-4o-mini"]}),
        (CHAT, {"n": 0}),
        (CHAT, {"n": 1000}),
        (CHAT, {"n": "100"}),
        (CHAT, {"max_completion_tokens": -1}),
        (CHAT, {"max_completion_tokens": 1e30}),
        (CHAT, {"service_tier": "some-day"}),
        (CHAT, {"web_search_options": {}}),
        (CHAT, {"stream": "yes"}),
        (CHAT, {"new_field": 1}),
        (RESPONSES, {"background": True}),
        (RESPONSES, {"tools": [{"type": "web_search"}]}),
        (RESPONSES, {"tools": [{"type": "mcp", "server_url": "https://x"}]}),
        (RESPONSES, {"prompt": {"id": "pmpt_1"}}),
        (MESSAGES, {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        (MESSAGES, {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]}),
        (MESSAGES, {"container": "c"}),
    ],
    ids=lambda value: way_name(value) if isinstance(value, Kind) else next(iter(value)),
)
def test_requests_whose_cost_has_no_bound(
    proxy: Place, provider: Double, sandbox: str, kind: Kind, change: dict[str, Any]
) -> None:
    with proxy.client(sandbox) as client:
        answer = client.post(kind.path, content=body_of(kind, **change), headers={"content-type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["message"]
    nothing_passed(proxy, provider, sandbox)


PICTURE = {"type": "image_url", "image_url": {"url": "https://pictures.example/huge.png"}}
DOCUMENT = {"type": "document", "source": {"type": "url", "url": "https://papers.example/long.pdf"}}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (CHAT, {"n": 100}),
        (CHAT, {"max_completion_tokens": 9_999_999}),
        (CHAT, {"max_completion_tokens": None}),
        (CHAT, {"max_completion_tokens": 1, "max_tokens": 9_999_999}),
        (CHAT, {"messages": [{"role": "user", "content": [PICTURE]}]}),
        (CHAT, {"messages": [{"role": "user", "content": "x" * 100_000}]}),
        (CHAT, {"model": "gpt-4o", "service_tier": "priority", "max_completion_tokens": 600}),
        (RESPONSES, {"previous_response_id": "resp_1"}),
        (RESPONSES, {"conversation": "conv_1"}),
        (RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}),
        (MESSAGES, {"messages": [{"role": "user", "content": [DOCUMENT]}]}),
        (MESSAGES, {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 32_000}}),
    ],
    ids=lambda value: way_name(value) if isinstance(value, Kind) else "-".join(value),
)
def test_what_could_cost_more_than_is_left_is_refused_before_it_is_sent(
    proxy: Place, provider: Double, kind: Kind, change: dict[str, Any]
) -> None:
    provider.reset()
    body = {name: value for name, value in {**kind.body(), **change}.items() if value is not None}
    with proxy.client(POOR) as client:
        answer = client.post(kind.path, json=body)
    assert answer.status_code == 429, answer.text
    assert answer.headers["x-should-retry"] == "false"
    nothing_passed(proxy, provider, POOR)


def test_requests_framed_to_be_read_in_two_ways(proxy: Place, provider: Double, sandbox: str) -> None:
    body = body_of(CHAT)
    length, inner = f"Content-Length: {len(body)}", head(proxy, sandbox, "Content-Length: 0", target="/v1/models")
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    cases = [
        (head(proxy, sandbox, length, "Transfer-Encoding: chunked"), chunked),
        (head(proxy, sandbox, "Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n" + inner),
        (head(proxy, sandbox, length, "Content-Length: 3"), body),
        (head(proxy, sandbox, "Content-Length: 3", length), body),
        (head(proxy, sandbox, f"Content-Length: +{len(body)}"), body),
        (head(proxy, sandbox, f"Content-Length: {len(body)}, 3"), body),
        (head(proxy, sandbox, "Content-Length: -1"), body),
        (head(proxy, sandbox, "Transfer-Encoding: xchunked"), chunked),
        (head(proxy, sandbox, "Transfer-Encoding: chunked, identity"), chunked),
        (head(proxy, sandbox, "Transfer-Encoding : chunked"), chunked),
        (head(proxy, sandbox, "Transfer-Encoding:\x0bchunked"), chunked),
        (head(proxy, sandbox, length, " folded: yes"), body),
        (head(proxy, sandbox, length, "X: a\rb"), body),
        (head(proxy, sandbox, length, "X: a\x00b"), body),
        (head(proxy, sandbox, length, "Host: other"), body),
        (head(proxy, sandbox, "Transfer-Encoding: chunked"), b"FFFFFFFFFFFFFFFFF\r\n" + body),
        (head(proxy, sandbox, "Transfer-Encoding: chunked"), b"-1\r\n" + body),
        (head(proxy, sandbox, length).replace(b"HTTP/1.1", b"HTTP/9.9"), body),
    ]
    for one in cases:
        answer = raw(proxy, *one)
        assert status(answer) in (0, 400, 408, 501, 505), (one[0], answer)
        assert answer.count(b"HTTP/1.1 2") == 0
    nothing_passed(proxy, provider, sandbox)


def test_two_requests_in_one_breath_are_two_calls(proxy: Place, provider: Double, sandbox: str) -> None:
    body = body_of(CHAT)
    one = head(proxy, sandbox, f"Content-Length: {len(body)}") + body
    last = head(proxy, sandbox, f"Content-Length: {len(body)}", "Connection: close") + body
    chunked = head(proxy, sandbox, "Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer = raw(proxy, one + chunked + last)
    assert answer.startswith(b"HTTP/1.1 200")
    for _ in range(500):
        if proxy.spend(sandbox)["total"]["calls"] == len(provider.served()) > 0:
            break
    assert proxy.spend(sandbox)["total"]["calls"] == len(provider.served())
    assert {call["length"] for call in provider.calls()} == {len(body)}


def test_websockets_and_upgrades(proxy: Place, provider: Double, sandbox: str) -> None:
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: YQ=="]
    for target, wanted in (("/v1/realtime?model=gpt-4o-mini", 404), ("/v1/responses", 405)):
        answer = raw(proxy, head(proxy, sandbox, *upgrade, target=target, method="GET"))
        assert status(answer) == wanted
    http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    assert status(raw(proxy, http2)) in (0, 400, 404, 505)
    nothing_passed(proxy, provider, sandbox)


def test_an_offer_to_upgrade_is_passed_over(proxy: Place, provider: Double, sandbox: str) -> None:
    body = body_of(CHAT)
    offer = ["Connection: Upgrade, HTTP2-Settings", "uPgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"]
    whole = head(proxy, sandbox, f"Content-Length: {len(body)}", *offer)
    assert status(raw(proxy, whole, body)) == 200
    assert status(raw(proxy, whole + body)) == 200
    chunked = head(proxy, sandbox, *offer, "Transfer-Encoding: chunked")
    assert status(raw(proxy, chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))) == 200
    assert [call["length"] for call in provider.served()] == [len(body)] * 3
    assert proxy.spend(sandbox)["total"]["calls"] == 3


def test_heads_and_bodies_without_end(proxy: Place, provider: Double, sandbox: str) -> None:
    long = head(proxy, sandbox, "X-Long: " + "x" * 40_000, "Content-Length: 0", target="/v1/models", method="GET")
    assert status(raw(proxy, long)) in (400, 431)
    endless = head(proxy, sandbox, "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    assert status(raw(proxy, endless, *[chunk] * 20)) == 413
    huge = head(proxy, sandbox, f"Content-Length: {10**12}")
    assert status(raw(proxy, huge, b"{")) == 413
    slow = head(proxy, sandbox, "Content-Length: 1000")
    assert status(raw(proxy, slow, b"{")) == 408
    nothing_passed(proxy, provider, sandbox)
    assert "sandbox_proxy_buffered_bytes 0.0" in httpx2.get(f"{proxy.admin_url}/metrics", trust_env=False).text


def test_heads_that_never_end_and_connections_that_are_too_many(proxy: Place, sandbox: str) -> None:
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    lines = []
    try:
        slow = socket.create_connection((host, int(port)), 20)
        slow.sendall(b"GET /v1/models HT")
        again = socket.create_connection((host, int(port)), 20)
        again.sendall(head(proxy, sandbox, target="/v1/models", method="GET"))
        answer = b""
        while not is_whole(answer, has_body=True):
            answer += again.recv(65536)
        assert status(answer) == 200
        again.sendall(b"GET /v1/mod")
        assert slow.recv(100) == again.recv(100) == b""
        # 200 connections of one address are accepted (one is the tests' own), the others are hung up on.
        lines = [socket.create_connection((host, int(port)), 20) for _ in range(230)]
        for one in lines:
            one.settimeout(0.3)
        assert sum(is_closed(one) for one in reversed(lines[190:])) >= 30
    finally:
        for one in (slow, again, *lines):
            one.close()
    with proxy.client(sandbox) as client:
        while True:
            try:
                assert client.get("/v1/models").status_code == 200
                break
            except httpx2.TransportError:
                continue


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_a_sandbox_has_no_more_places_than_it_may(proxy: Place, provider: Double, sandbox: str) -> None:
    streams = []
    with proxy.client(sandbox) as client:
        for _ in range(8):
            body = CHAT.body(stream=True, events=200, gap=0.05)
            streams.append(client.send(client.build_request("POST", CHAT.path, json=body), stream=True))
        assert {one.status_code for one in streams} == {200}
        refused = client.post(CHAT.path, json=CHAT.body())
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_busy")
        for one in streams:
            one.close()
    assert len(provider.served()) == 8


def test_the_admin_port_wants_its_key(proxy: Place, sandbox: str) -> None:
    with httpx2.Client(base_url=proxy.admin_url, trust_env=False) as admin:
        for path in ("/v1/spend?actorType=sandbox&actorId=x", "/v1/limits"):
            assert admin.get(path).status_code == 401
            assert admin.get(path, headers={"x-sandbox-admin-key": proxy.key(sandbox)}).status_code == 401
        assert admin.post("/v1/limits").status_code == 405
        key = {"x-sandbox-admin-key": make_read_key(KEY)}
        good = {"actorType": "sandbox", "actorId": sandbox}
        for change, field in (
            ({"actorType": "team"}, "actorType"),
            ({"actorId": ""}, "actorId"),
            ({"period": "year"}, "period"),
            ({"timeZone": "Mars"}, "timeZone"),
            ({"by": "hour"}, "by"),
            ({"at": "yesterday"}, "at"),
            ({"at": "2026-11-29T00:00:00"}, "at"),
            ({"more": "1"}, "more"),
        ):
            answer = admin.get("/v1/spend", params={**good, **change}, headers=key)
            assert (answer.status_code, answer.json()["error"]["message"].partition(":")[0]) == (400, field)
        told = admin.get(
            "/v1/spend", params={**good, "period": "week", "timeZone": "Asia/Tokyo", "by": "day"}, headers=key
        )
        assert told.json()["period"]["key"].startswith("week:Asia/Tokyo:20")
        assert [one["id"] for one in admin.get("/v1/limits", headers=key).json()["limits"]] == [
            f"/sandbox/{POOR}/month"
        ]
        assert admin.get("/livez").text == "ok\n"
        assert admin.get("/readyz").text == "ok\n"
        assert admin.get("/v1/chat/completions").status_code == 404
