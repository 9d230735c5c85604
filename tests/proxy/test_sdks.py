"""What the official SDKs do with each refusal, measured on the SDKs: HTTP calls made, what is raised, how long it took.

The newest and the oldest release for Python; `SANDBOX_SOAK=1` adds those between and the newest for TypeScript, which
need Node.js, and prints a line for each call. Every SDK runs as it comes, with nothing set but address and key. How
long it waited is printed and only bounded: one that sleeps until the period ends makes its test fail.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.harness import postgres, sdk_venvs
from tests.harness.sdk_venvs import Sdk
from tests.proxy.calls import CHAT, MESSAGES, RESPONSES, Kind
from tests.proxy.place import Double, Place, running

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]

IS_SOAK = bool(os.environ.get("SANDBOX_SOAK"))
SECONDS = 60
"""After which an SDK is taken to sleep until the period ends: no `Retry-After` of a final refusal is shorter."""
START_SECONDS = 300
OLD_HTTP = ("httpx==0.27.2",)
SDKS = [
    Sdk("openai", "1.40.0", OLD_HTTP),
    Sdk("openai", "3.57.0"),
    Sdk("anthropic", "0.40.0", OLD_HTTP),
    Sdk("anthropic", "2.14.0"),
]
if IS_SOAK:
    SDKS += [Sdk("openai", version) for version in ("1.109.1", "2.20.0", "2.54.0", "3.0.0")]
    SDKS += [Sdk("anthropic", version) for version in ("1.0.0", "1.17.0", "2.0.0")]
    SDKS += [Sdk("openai", "7.59.0", package="openai"), Sdk("anthropic", "1.14.0", package="@anthropic-ai/sdk")]
WITHOUT_RESPONSES = ("openai-py 1.40.0",)

WAYS = {"chat": CHAT, "responses": RESPONSES, "messages": replace(MESSAGES, model="claude-sonnet-5")}
HALF_A_CENT = {"chat": 8_000, "responses": 8_000, "messages": 300}
"""As many output tokens of these models cost about that."""
OF_API = {"openai": ("chat", "responses"), "anthropic": ("messages",)}
SLOW_MODEL = "claude-haiku-4-5"
"""One that the upstream of `held` serves."""
_COUNT = itertools.count()
_MOST = 500


@dataclass(frozen=True)
class Means:
    """What a refusal is to be for an agent.

    Attributes:
        raised: the SDK's own class.
        status: HTTP status.
        text: a pattern that the exception's text has; `{sandbox}` and `{field}` stand for those of the call.
        body: fields of the request.
        model: not the usual one.
        is_forged: the key is none of the proxy's.
    """

    raised: str
    status: int
    text: str
    body: Mapping[str, Any]
    model: str = ""
    is_forged: bool = False


RESETS = r"resets at \d{4}-\d\d-01 00:00 UTC.* The sandbox keeps running"
FINAL = {
    "spent": Means(
        "RateLimitError", 429, rf"limit of sandbox {{sandbox}} is used up: \$0\.01 per month.* {RESETS}", {"most": 50}
    ),
    "too_large": Means(
        "RateLimitError",
        429,
        r"This call can cost up to \$\d+\.\d+, more than the \$0\.01 left of the spending limit of sandbox {sandbox}: "
        r"\$0\.01 per month.* resets at \d{4}-\d\d-01 00:00 UTC\. .*set {field} lower.* The sandbox keeps running",
        {"most": 20_000},
    ),
    "bad_key": Means("AuthenticationError", 401, "OPENAI_API_KEY or ANTHROPIC_API_KEY", {"most": 50}, is_forged=True),
    "unpriced": Means("BadRequestError", 400, "{model}.* price", {"most": 50}, model="model-of-nobody-1"),
}
"""What another call would not change: each SDK makes one, and says so."""


@dataclass(frozen=True)
class Way:
    """How an SDK is used: its method, streaming or not."""

    sdk: Sdk
    method: str
    stream: bool

    def __str__(self) -> str:
        return f"{self.sdk.name} {self.method} {'stream' if self.stream else 'whole'}"

    @property
    def kind(self) -> Kind:
        return WAYS[self.method]

    @property
    def field(self) -> str:
        """The field that bounds the output, as the call has it."""
        return "max_output_tokens" if self.method == "responses" else "max_tokens"


ALL = [
    Way(sdk, method, stream)
    for sdk in SDKS
    for method in OF_API[sdk.api]
    for stream in (False, True)
    if not (method == "responses" and sdk.name in WITHOUT_RESPONSES)
]


class Agent:
    """The client of an SDK, in a process of its own."""

    def __init__(self, sdk: Sdk) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(sdk.folder()), "NO_PROXY": "*"}
        self._name = sdk.name
        self._process = subprocess.Popen(
            sdk.command(), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def ask(self, calls: Sequence[dict[str, Any]], seconds: float = SECONDS) -> list[dict[str, Any]]:
        """Have these calls made at once; return what the SDK made of each."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(calls).encode() + b"\n")
        line = b""
        deadline = time.monotonic() + seconds
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{self._name} still waits after {seconds} s"
            got = self._process.stdout.read(1 << 16)
            assert got, f"{self._name} ended"
            line += got
        told: list[dict[str, Any]] = json.loads(line)
        return told

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait(20)
        for one in (self._process.stdin, self._process.stdout):
            assert one is not None
            one.close()


class Held(BaseHTTPRequestHandler):
    """A provider that has a sandbox's call, and refuses it as soon as it may: so long it holds its worst case."""

    may_end: set[str] = set()
    is_over = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        sandbox = json.loads(body["messages"][-1]["content"])["double"]["sandbox"]
        while sandbox not in self.may_end and not self.is_over.wait(0.02):
            pass
        self.send_response(529)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def held() -> Iterator[str]:
    """Have that provider until the end of the block; its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Held)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Held.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def names() -> list[str]:
    return [f"proj/prod/s{at}" for at in range(_MOST)]


def new_sandbox() -> str:
    """One that no other call was made for; it may spend a cent."""
    return names()[next(_COUNT)]


def known(place: Place) -> Place:
    """Let a proxy know all sandboxes."""
    place.know([Identity(one) for one in names()], [DeclaredLimit("sandbox", one, "month", 1) for one in names()])
    return place


@pytest.fixture(scope="module")
def place(provider: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A proxy in front of the double, and of a provider that holds calls."""
    with held() as slow:
        upstreams = [
            {"name": "slow", "api": "anthropic", "baseUrl": slow, "models": [f"{SLOW_MODEL}*"]},
            {"name": "openai", "api": "openai", "baseUrl": provider.url},
            {
                "name": "anthropic",
                "api": "anthropic",
                "baseUrl": provider.url,
                "models": ["claude-sonnet-*", "model-*"],
            },
        ]
        keyed = [{**one, "key": {"env": "PROVIDER_KEY"}} for one in upstreams]
        with running(known(Place(tmp_path_factory.mktemp("sdks"), provider.url, more={"upstreams": keyed}))) as one:
            yield one


@pytest.fixture(scope="module")
def agents() -> Iterator[dict[Sdk, Agent]]:
    """A client of each SDK."""
    sdk_venvs.install(SDKS)
    with ExitStack() as stack:
        started = {}
        for sdk in SDKS:
            started[sdk] = Agent(sdk)
            stack.callback(started[sdk].end)
        # So that importing the SDK is over before anything is measured.
        with ThreadPoolExecutor(len(started)) as pool:
            list(pool.map(lambda agent: agent.ask([], START_SECONDS), started.values()))
        yield started


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line of what was seen: always in the long run, else with `-s`."""

    def line(text: str) -> None:
        if IS_SOAK:
            with capsys.disabled():
                print(f"\n{text}", end="", flush=True)
        else:
            print(text)

    return line


def call(place: Place, way: Way, sandbox: str, means: Means | None = None, most: int = 50) -> dict[str, Any]:
    """A call as the client takes it."""
    body = way.kind.body(stream=way.stream, **(means.body if means else {"most": most}))
    if "max_completion_tokens" in body:
        body["max_tokens"] = body.pop("max_completion_tokens")  # the old release knows only this one
    if means is not None and means.model:
        body["model"] = means.model
    key = place.key(sandbox)
    if means is not None and means.is_forged:
        key = key[:-1] + ("0" if key[-1] != "0" else "1")
    url = place.url if way.sdk.api == "anthropic" else f"{place.url}/v1"
    return {"way": way.method, "key": key, "baseUrl": url, "arguments": body}


def logged(place: Place, begin: int, sandbox: str | None = None) -> list[dict[str, Any]]:
    """The proxy's lines about calls since then."""
    calls = [one for one in place.lines(begin) if one["event"] == "call"]
    return [one for one in calls if sandbox is None or one.get("sandbox") == sandbox]


def row(way: Way, refusal: str, calls: int, told: Mapping[str, Any]) -> str:
    raised = told["kinds"][0] if told["kinds"] else "answered"
    return f"{way!s:36} {refusal:10} calls {calls} {told['seconds']:6.2f} s  {raised}"


@pytest.mark.parametrize("refusal", FINAL)
@pytest.mark.parametrize("way", ALL, ids=str)
def test_what_is_final_is_raised_at_once_after_one_call(
    place: Place, provider: Double, agents: dict[Sdk, Agent], say: Callable[[str], None], way: Way, refusal: str
) -> None:
    means, sandbox = FINAL[refusal], new_sandbox()
    if refusal == "spent":
        with place.client(sandbox) as client:
            # The double tells of more input than the request had, so that the cent is used up beyond its end.
            answer = client.post(MESSAGES.path, json=MESSAGES.body(most=1, input=4000))
        assert answer.status_code == 200, answer.text
    provider.reset()
    begin = place.log.stat().st_size
    told = agents[way.sdk].ask([call(place, way, sandbox, means)])[0]
    calls = logged(place, begin)
    say(row(way, refusal, len(calls), told))
    assert [one["status"] for one in calls] == [means.status]
    assert provider.calls() == []
    assert means.raised in told["kinds"], told
    assert told["status"] == means.status
    assert told["requestId"] == calls[0]["id"]
    pattern = means.text
    for name, value in (("{sandbox}", sandbox), ("{field}", way.field), ("{model}", means.model)):
        pattern = pattern.replace(name, value)
    assert re.search(pattern, told["text"]), told["text"]


def test_calls_in_flight_are_waited_for(place: Place, agents: dict[Sdk, Agent], say: Callable[[str], None]) -> None:
    """Each sandbox has a call in flight that holds three quarters of its cent, which ends once another is refused."""
    sandboxes = {way: new_sandbox() for way in ALL}
    begin = place.log.stat().st_size
    with ThreadPoolExecutor(len(ALL) + len(SDKS)) as pool:
        flying = [pool.submit(hold, place, sandbox) for sandbox in sandboxes.values()]
        until(lambda: all(place.spend(one)["limits"][0]["heldNanos"] for one in sandboxes.values()))
        asked = pool.map(
            lambda sdk: agents[sdk].ask(
                [call(place, way, one, most=HALF_A_CENT[way.method]) for way, one in of(sandboxes, sdk)]
            ),
            SDKS,
        )
        until(lambda: end_of_refused(place, begin) == set(sandboxes.values()))
        told = [one for answers in asked for one in answers]
        assert {one.result() for one in flying} == {529}
    ways = [way for sdk in SDKS for way, _ in of(sandboxes, sdk)]
    seen = {}
    for way, one in zip(ways, told, strict=True):
        calls = [line["outcome"] for line in logged(place, begin, sandboxes[way]) if line["upstream"] != "slow"]
        say(row(way, "busy", len(calls), one))
        seen[str(way)] = (calls[0], calls[-1], set(calls[1:-1]) <= {"busy"}, one["text"])
    assert seen == {str(way): ("busy", "served", True, "") for way in ways}


def test_without_the_store_it_is_a_fault_of_the_server(
    provider: Double, agents: dict[Sdk, Agent], say: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SDKs try it again, which is right: a store that restarts is back in a moment."""
    sandboxes = {way: new_sandbox() for way in ALL}
    provider.reset()
    with postgres.server() as server:
        away = known(Place(tmp_path_factory.mktemp("away"), provider.url, server.new_database()))
        with running(away), ThreadPoolExecutor(len(SDKS)) as pool:
            server.stop()
            begin = away.log.stat().st_size
            asked = pool.map(
                lambda sdk: agents[sdk].ask([call(away, way, one) for way, one in of(sandboxes, sdk)]), SDKS
            )
            told = [one for answers in asked for one in answers]
            ways = [way for sdk in SDKS for way, _ in of(sandboxes, sdk)]
            seen = {}
            for way, one in zip(ways, told, strict=True):
                calls = [line["outcome"] for line in logged(away, begin, sandboxes[way])]
                say(row(way, "store_down", len(calls), one))
                assert "the ledger of spending is out of reach" in one["text"]
                assert "The sandbox keeps running" in one["text"]
                seen[str(way)] = (calls, one["status"], "InternalServerError" in one["kinds"])
    assert seen == {str(way): (["store_down"] * 3, 503, True) for way in ways}
    assert provider.calls() == []


def of(sandboxes: Mapping[Way, str], sdk: Sdk) -> list[tuple[Way, str]]:
    return [(way, sandbox) for way, sandbox in sandboxes.items() if way.sdk == sdk]


def hold(place: Place, sandbox: str) -> int:
    """Make a call that is in flight as long as `Held` wants; at 5 dollars a million it holds 0.75 cents."""
    body = {**MESSAGES.body(most=1500, sandbox=sandbox), "model": SLOW_MODEL}
    with place.client(sandbox, timeout=120) as client:
        return client.post(MESSAGES.path, json=body).status_code


def end_of_refused(place: Place, begin: int) -> set[str]:
    """Let the call in flight end of each sandbox that has been refused another, and return these sandboxes."""
    Held.may_end |= {one["sandbox"] for one in logged(place, begin) if one["outcome"] == "busy"}
    return Held.may_end


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
