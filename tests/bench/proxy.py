"""What the inference proxy costs a call: beside no proxy, nginx as a plain reverse proxy, and LiteLLM's proxy.

Ours runs with its hard cap (a hold and a settlement on the disk for each call), on SQLite and on Postgres; LiteLLM runs
without a data base, so without budgets, in one worker. The provider is the tests' double, which counts every call: the
benchmark fails if one that went through ours isn't in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httptools

from devcluster import debian
from devcluster.cache import cache_root
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.bench.figures import Figures
from tests.harness import postgres
from tests.proxy.calls import CHAT
from tests.proxy.double import KEY
from tests.proxy.load import Tables
from tests.proxy.place import SANDBOX, Double, Place, double, running

LITELLM = "1.108.7"
CLIENTS = (1, 64)
CALLS = {1: 200, 64: 1280}
STREAMS = 40
ROUNDS = 5


@dataclass
class Subject:
    """Something that calls go through.

    Attributes:
        url: where calls go.
        key: what opens it.
        pids: its processes; empty if there is none of its own.
    """

    url: str
    key: str
    pids: Callable[[], list[int]] = list
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, what: str, value: float) -> None:
        """Keep a round's figure."""
        self.seconds.setdefault(what, []).append(value)


def run(figures: Figures) -> None:
    """Measure everything in turns."""
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        provider = undo.enter_context(double())
        subjects = {"direct": Subject(provider.url, KEY), "nginx": undo.enter_context(nginx(folder, provider.url))}
        places = {"ours on SQLite": Place(folder / "sqlite", provider.url, more=_limits())}
        server = undo.enter_context(postgres.server(is_durable=True))
        places["ours on Postgres"] = Place(folder / "postgres", provider.url, server.new_database(), more=_limits())
        for name, place in places.items():
            place.know([Identity(SANDBOX, org="acme")], [DeclaredLimit("sandbox", SANDBOX, "month", 10**9)])
            undo.enter_context(running(place))
            assert place.process is not None
            subjects[name] = Subject(place.url, place.key(), lambda pid=place.process.pid: [pid])  # type: ignore[misc]
        subjects["litellm"] = undo.enter_context(litellm(folder, provider.url))
        rounds = int(os.environ.get("SANDBOX_BENCH_ROUNDS") or ROUNDS)
        for number in range(rounds + 1):
            for name, subject in subjects.items():
                print(f"round {number}: {name}", file=sys.stderr, flush=True)
                _measure(subject, is_warm_up=number == 0)
        _tell(figures, subjects)
        figures.say("rounds", str(rounds))
        for name, place in places.items():
            _check(figures, name, place, provider)


def _limits() -> Mapping[str, Any]:
    return {"limits": {"callsPerSandbox": 256}}


def _measure(subject: Subject, *, is_warm_up: bool) -> None:
    for clients in CLIENTS:
        calls = CALLS[clients] // (10 if is_warm_up else 1)
        rate, times = asyncio.run(_load(subject, clients, calls, stream=False))
        if not is_warm_up:
            subject.note(f"p50 of {clients}", statistics.median(times))
            subject.note(f"p99 of {clients}", times[int(len(times) * 0.99)])
            subject.note(f"rate of {clients}", rate)
    _, times = asyncio.run(_load(subject, 1, STREAMS, stream=True))
    if not is_warm_up:
        subject.note("first byte", statistics.median(times))


def _tell(figures: Figures, subjects: Mapping[str, Subject]) -> None:
    medians = {
        name: {what: statistics.median(values) for what, values in one.seconds.items()}
        for name, one in subjects.items()
    }
    direct = medians["direct"]
    for name, subject in subjects.items():
        own = medians[name]
        for clients in CLIENTS:
            for what in ("p50", "p99"):
                key = f"{what} of {clients}"
                figures.say(f"{name}/{key}", f"{own[key] * 1000:.2f} ms")
                if name != "direct":
                    figures.say(f"{name}/{key} added", f"{(own[key] - direct[key]) * 1000:.2f} ms")
            figures.say(f"{name}/rate of {clients}", f"{own[f'rate of {clients}']:.0f} calls/s")
        figures.say(f"{name}/first streamed byte", f"{own['first byte'] * 1000:.2f} ms")
        if pids := subject.pids():
            figures.say(f"{name}/peak memory", f"{sum(map(_peak_kib, pids)) / 1024:.0f} MiB")
    ours = medians["ours on SQLite"]
    print(f"litellm_ratio: {ours['rate of 64'] / medians['litellm']['rate of 64']:.1f}")
    print(f"direct_ratio: {ours['rate of 64'] / direct['rate of 64']:.2f}")
    print(f"added_p50_ms: {(ours['p50 of 1'] - direct['p50 of 1']) * 1000:.2f}", flush=True)


def _check(figures: Figures, name: str, place: Place, provider: Double) -> None:
    """Fail if the ledger misses a call that the double has served, or has one that it hasn't."""
    tables = Tables.of(place.database)
    rows = {row[0] for row in tables.entries()}
    assert tables.holds() == 0
    tables.engine.dispose()
    logged = {line["id"] for line in place.lines() if line.get("event") == "call"}
    served = {call["headers"].get("x-client-request-id") for call in provider.served()} & logged
    assert rows == served, f"{name}: {len(rows)} rows in the ledger, {len(served)} calls served"
    figures.say(f"{name}/calls in the ledger", str(len(rows)))


class _Client(asyncio.Protocol):
    """A connection that sends one request after the other and notes when an answer's body begins and when it ends."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.transport: asyncio.Transport
        self.first: asyncio.Future[float]
        self.whole: asyncio.Future[int]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        if not self.first.done():
            self.first.set_result(time.perf_counter())

    def on_message_complete(self) -> None:
        self.whole.set_result(self._parser.get_status_code())


async def _load(subject: Subject, clients: int, calls: int, *, stream: bool) -> tuple[float, list[float]]:
    """Return calls a second, and the sorted times of each call: to its end, or to the first byte of a stream."""
    loop = asyncio.get_running_loop()
    host, _, port = subject.url.removeprefix("http://").partition(":")
    body = json.dumps(CHAT.body(stream=stream, size=1000, output=20)).encode()
    head = f"POST {CHAT.path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {subject.key}\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    numbers, times = iter(range(calls)), []

    async def one() -> None:
        _, line = await loop.create_connection(_Client, host, int(port))
        for _ in numbers:
            line.first, line.whole = loop.create_future(), loop.create_future()
            begun = time.perf_counter()
            line.transport.write(request)
            status = await line.whole
            assert status == 200, f"{subject.url} answers {status}"
            times.append((line.first.result() if stream else time.perf_counter()) - begun)
        line.transport.close()

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return calls / (time.perf_counter() - begun), sorted(times)


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[Subject]:
    """Debian's nginx as a plain reverse proxy with kept-alive connections and no buffering."""
    debian.install_debian_packages(["nginx-light"])
    home = folder / "nginx"
    home.mkdir()
    port = _free_port()
    (home / "nginx.conf").write_text(
        f"""daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
        events {{ worker_connections 1024; }}
        http {{
          access_log off; client_body_temp_path {home}; proxy_temp_path {home}; fastcgi_temp_path {home};
          uwsgi_temp_path {home}; scgi_temp_path {home};
          upstream double {{ server {upstream.removeprefix("http://")}; keepalive 128; }}
          server {{
            listen 127.0.0.1:{port}; keepalive_requests 1000000;
            location / {{
              proxy_pass http://double; proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_buffering off; proxy_request_buffering off;
            }}
          }}
        }}"""
    )
    program = str(debian.find_program("nginx"))
    with _process([program, "-p", str(home), "-c", str(home / "nginx.conf")], home / "log", port) as process:
        yield Subject(f"http://127.0.0.1:{port}", KEY, lambda: _tree(process.pid))


@contextmanager
def litellm(folder: Path, upstream: str) -> Iterator[Subject]:
    """LiteLLM's proxy from PyPI, in a virtual environment of its own that stays in the cache."""
    venv = cache_root() / "bench" / f"litellm-{LITELLM}"
    program = venv / "bin" / "litellm"
    if not program.exists():
        print(f"installing LiteLLM {LITELLM}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"litellm[proxy]=={LITELLM}"], check=True)
    home = folder / "litellm"
    home.mkdir()
    port = _free_port()
    model = {"model": f"openai/{CHAT.model}", "api_base": f"{upstream}/v1", "api_key": KEY}
    config = {"model_list": [{"model_name": CHAT.model, "litellm_params": model}]}
    (home / "config.yaml").write_text(json.dumps(config))
    command = [str(program), "--config", str(home / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    key = f"sk-{secrets.token_hex(32)}"
    quiet = {
        "LITELLM_MASTER_KEY": key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        "LITELLM_TELEMETRY": "False",
    }
    with _process([*command, "--num_workers", "1"], home / "log", port, quiet) as process:
        yield Subject(f"http://127.0.0.1:{port}", key, lambda: _tree(process.pid))


@contextmanager
def _process(
    command: list[str], log: Path, port: int, more: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, **(more or {})}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment)
    try:
        deadline = time.monotonic() + 180
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def _tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):
            found += [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found


def _peak_kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0
