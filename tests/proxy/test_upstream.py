"""The proxy's own HTTP client against servers that do as the test says, byte for byte."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy import settings
from sandbox_components.proxy.upstream import Answer, Lost, NotSent, Upstream, choose

pytestmark = pytest.mark.server

HEAD = b"HTTP/1.1 200 OK\r\n"
WHOLE = HEAD + b"Content-Length: 5\r\n\r\nhello"
BODY = b'{"model": "m"}'

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def upstream(url: str, *, connections: int = 10, ca_file: str | None = None, **timeouts: float) -> Upstream:
    described = settings.Upstream(
        name="u", api="openai", base_url=url, key=settings.Secret(env="K"), models=("gpt-*", "o3"), ca_file=ca_file
    )
    waits = {"connect": 2.0, "first_byte": 2.0, "between_bytes": 2.0, **timeouts}
    return Upstream(described, "sk-key", settings.Timeouts(**waits), connections)


async def asked(reader: asyncio.StreamReader) -> bytes:
    """The next request, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-len"))
    return head + await reader.readexactly(length)


def serving(script: Script, work: Callable[[str], Awaitable[None]], context: ssl.SSLContext | None = None) -> None:
    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def main() -> None:
        async with asyncio.timeout(20):
            server = await asyncio.start_server(guarded, "127.0.0.1", 0, ssl=context)
            scheme = "https" if context else "http"
            await work(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            server.close()

    asyncio.run(main())


def says(*parts: bytes, hold: bool = False) -> Script:
    """A server that answers every request with these bytes, and hangs up afterwards unless it is to hold."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asked(reader)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)
        if hold:
            await asyncio.sleep(30)

    return script


async def send(one: Upstream, body: bytes = BODY) -> Answer:
    return await one.send(b"POST", b"/v1/x", [(b"accept", b"*/*")], body)


async def collect(answer: Answer, into: list[bytes]) -> None:
    async for chunk in answer.chunks():
        into.append(chunk)


async def whole(answer: Answer) -> bytes:
    got: list[bytes] = []
    await collect(answer, got)
    return b"".join(got)


def test_what_is_sent() -> None:
    seen: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await asked(reader))
            writer.write(WHOLE)

    async def work(url: str) -> None:
        one = upstream(f"{url}/base/v1")
        for _ in range(3):
            answer = await send(one)
            assert (answer.status, answer.length, await whole(answer)) == (200, 5, b"hello")
            answer.close()
        await one.close()
        host = url.removeprefix("http://").encode()
        wanted = b"POST /base/v1/x HTTP/1.1\r\nhost: %s\r\nauthorization: Bearer sk-key\r\n" % host
        wanted += b"accept-encoding: identity\r\naccept: */*\r\ncontent-length: 14\r\n\r\n" + BODY
        assert seen == [wanted] * 3

    serving(script, work)


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ((WHOLE,), b"hello"),
        (tuple(bytes([one]) for one in WHOLE), b"hello"),
        ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"3\r\nhel\r\n", b"2\r\nlo\r\n0\r\n\r\n"), b"hello"),
        ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",), b"hello"),
        ((HEAD + b"\r\nhel", b"lo"), b"hello"),
        ((b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + WHOLE), b"hello"),
        ((b"HTTP/1.1 204 No Content\r\n\r\n",), b""),
        ((b"HTTP/1.0 200 OK\r\n\r\nhello",), b"hello"),
    ],
    ids=["length", "byte-by-byte", "chunked", "trailers", "until-the-end", "informational", "none", "http-1.0"],
)
def test_answers_of_every_framing(parts: tuple[bytes, ...], body: bytes) -> None:
    async def work(url: str) -> None:
        answer = await send(upstream(url))
        assert await whole(answer) == body
        answer.close()

    serving(says(*parts), work)


@pytest.mark.parametrize(
    ("parts", "hold", "is_slow"),
    [
        ((), False, False),
        ((), True, True),
        ((b"HTTP/1.1 200",), False, False),
        ((b"SSH-2.0-OpenSSH_9\r\n",), True, False),
        ((b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",), True, False),
        ((HEAD + b"X: " + b"x" * 300_000 + b"\r\n\r\n",), True, False),
        ((HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",), True, False),
        ((HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",), True, False),
    ],
    ids=["nothing", "silence", "half-a-head", "ssh", "upgrade", "endless-head", "two-lengths", "two-framings"],
)
def test_no_answer_to_a_request_that_was_sent(parts: tuple[bytes, ...], hold: bool, is_slow: bool) -> None:
    async def work(url: str) -> None:
        one = upstream(url, first_byte=0.5 if is_slow else 5)
        with pytest.raises(Lost) as caught:
            await send(one)
        assert caught.value.is_slow == is_slow

    serving(says(*parts, hold=hold), work)


@pytest.mark.parametrize(
    ("parts", "hold", "is_slow"),
    [
        ((HEAD + b"Content-Length: 9\r\n\r\nhello",), False, False),
        ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",), False, False),
        ((HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"zz\r\n"), True, False),
        ((HEAD + b"Content-Length: 9\r\n\r\nhello",), True, True),
    ],
    ids=["short", "no-last-chunk", "bad-chunk", "silence"],
)
def test_answers_that_break_off(parts: tuple[bytes, ...], hold: bool, is_slow: bool) -> None:
    async def work(url: str) -> None:
        one = upstream(url, between_bytes=0.5 if is_slow else 5)
        answer = await send(one)
        got: list[bytes] = []
        with pytest.raises(Lost) as caught:
            await collect(answer, got)
        assert b"".join(got) == b"hello"
        assert caught.value.is_slow == is_slow
        answer.close()

    serving(says(*parts, hold=hold), work)


def test_connections_are_used_again_only_when_they_can_be() -> None:
    opened: list[int] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(0)
        while True:
            request = await asked(reader)
            opened[-1] += 1
            if b"leftover" in request:
                writer.write(WHOLE + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            elif b"close" in request:
                writer.write(HEAD + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello")
            elif b"gone" in request:
                writer.write(WHOLE)
                return
            else:
                writer.write(WHOLE)

    async def work(url: str) -> None:
        one = upstream(url)
        for body in (b"a", b"b", b"leftover", b"c", b"close", b"d", b"gone", b"e", b"f"):
            answer = await send(one, body)
            try:
                assert await whole(answer) in (b"hello",)
            except Lost:
                assert body == b"leftover"
            answer.close()
            await asyncio.sleep(0.05)
        answer = await send(one, b"half read")
        answer.close()  # its body is still to come: this connection is no good any more
        assert await whole(await send(one, b"g")) == b"hello"
        assert opened == [3, 2, 2, 3, 1] or opened == [3, 2, 2, 2, 1, 1], opened

    serving(script, work)


def test_more_calls_than_connections_wait_and_then_give_up() -> None:
    async def work(url: str) -> None:
        one = upstream(url, connections=1, connect=0.3, first_byte=5)
        first = asyncio.create_task(send(one))
        await asyncio.sleep(0.05)
        with pytest.raises(NotSent, match="no free connection"):
            await send(one)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.create_task(send(one))  # a call that was given up has left its place
        await asyncio.sleep(0.1)
        assert not second.done()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    serving(says(hold=True), work)


def test_what_nobody_listens_to_was_not_sent() -> None:
    async def main() -> None:
        with pytest.raises(NotSent, match="can't be reached"):
            await send(upstream("http://127.0.0.1:9"))

    asyncio.run(main())


def test_an_answer_that_nobody_reads_holds_its_sender_up() -> None:
    written = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await asked(reader)
        writer.write(HEAD + b"Content-Length: 50000000\r\n\r\n")
        for _ in range(500):
            writer.write(b"x" * 100_000)
            await writer.drain()
            written += 100_000

    async def work(url: str) -> None:
        answer = await send(upstream(url))
        await asyncio.sleep(0.5)
        assert written < 30_000_000
        assert len(await whole(answer)) == 50_000_000
        answer.close()

    serving(script, work)


def test_certificates_are_checked(tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "cert").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "key").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")

    async def work(url: str) -> None:
        by_name = url.replace("127.0.0.1", "localhost")
        with pytest.raises(NotSent):
            await send(upstream(by_name))
        with pytest.raises(NotSent):
            await send(upstream(url, ca_file=str(tmp_path / "cert")))
        answer = await send(upstream(by_name, ca_file=str(tmp_path / "cert")))
        assert await whole(answer) == b"hello"
        answer.close()

    serving(says(WHOLE), work, context)
    with pytest.raises(InvalidInput, match="caFile"):
        upstream("https://x.example", ca_file=str(tmp_path / "missing"))


def test_only_headers_that_clients_need_come_back() -> None:
    told = (
        b"Content-Type: application/json\r\nSet-Cookie: a=b\r\nOpenAI-Organization: acme-inc\r\nX-Request-ID: r1\r\n"
        b"anthropic-organization-id: o\r\nRetry-After: 3\r\nX-RateLimit-Remaining-Tokens: 5\r\nServer: x\r\n"
        b"openai-project: p\r\nStrict-Transport-Security: x\r\n"
    )

    async def work(url: str) -> None:
        answer = await send(upstream(url))
        assert dict(answer.headers) == {
            b"content-type": b"application/json",
            b"x-request-id": b"r1",
            b"retry-after": b"3",
            b"x-ratelimit-remaining-tokens": b"5",
        }
        answer.close()

    serving(says(HEAD + told + b"Content-Length: 0\r\n\r\n"), work)


def test_the_first_upstream_that_serves_a_model() -> None:
    one = upstream("http://a.example")
    assert choose([one], "openai", "gpt-4o") is one
    assert choose([one], "openai", None) is one
    assert choose([one], "openai", "o3-mini") is None
    assert choose([one], "anthropic", "gpt-4o") is None
