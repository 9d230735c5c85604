"""Postgres stops, or says nothing, under a proxy that is serving: nothing is sent, and nothing is lost or paid twice.

What the ledger does by itself then stands in the tests of the ledger; here is what agents and providers see of it.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.harness import postgres
from tests.harness.postgres import Postgres
from tests.proxy.calls import CHAT, KINDS, MESSAGES, RESPONSES, Kind
from tests.proxy.double import KEY
from tests.proxy.load import Load, Tables, costs
from tests.proxy.place import SANDBOX, SIGNING_KEY, Double, Place, running

pytestmark = [pytest.mark.server, pytest.mark.timeout(300)]

OUTAGES = 3
SECRET = "canary-of-a-prompt"
LAST_WORDS = {CHAT: b"[DONE]", RESPONSES: b"response.completed", MESSAGES: b"message_stop"}


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that these tests stop and start."""
    with postgres.server() as one:
        yield one


@pytest.fixture
def place(server: Postgres, provider: Double, tmp_path: Path) -> Place:
    """A proxy on a place of that server."""
    provider.reset()
    found = Place(tmp_path, provider.url, server.new_database(), more={"timeouts": {"firstByte": 30, "shutdown": 3}})
    found.know([Identity(SANDBOX, org="acme", limit_required=True)], [DeclaredLimit("org", "acme", "month", 10**6)])
    return found


@contextmanager
def stopped(server: Postgres) -> Iterator[None]:
    """Have the server gone, and all its connections."""
    server.stop()
    try:
        yield
    finally:
        server.start()


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def readiness(place: Place) -> int:
    return httpx2.get(f"{place.admin_url}/readyz", trust_env=False, timeout=30).status_code


def charged(place: Place) -> int | None:
    """How many calls are charged; None while the store is only just back."""
    try:
        return int(place.spend()["total"]["calls"])
    except (AssertionError, httpx2.TransportError):
        return None


def refusal(client: httpx2.Client, kind: Kind) -> str:
    """Call while the store is away, and return the code that the refusal has in the words of the kind's API."""
    version = {"anthropic-version": "2023-06-01"} if kind is MESSAGES else {}
    answer = client.post(kind.path, json=kind.body(note=SECRET), headers=version)
    assert answer.status_code == 503, answer.text
    assert answer.headers["retry-after"] == "2"
    error = answer.json()["error"]
    assert "nothing was sent" in error["message"]
    assert "keeps running" in error["message"]
    assert "postgres" not in answer.text
    assert error["type"] == ("api_error" if kind is MESSAGES else "server_error")
    return str(error["details"]["error_code"] if kind is MESSAGES else error["code"])


OUTAGE: dict[str, Callable[[Postgres], AbstractContextManager[None]]] = {
    "stopped": stopped,
    "frozen": lambda server: server.frozen(),
}


@pytest.mark.parametrize("outage", OUTAGE)
def test_calls_in_flight_end_well_and_others_are_refused(
    outage: str, place: Place, server: Postgres, provider: Double
) -> None:
    with running(place), place.client(timeout=90) as client, ExitStack() as undo:
        streams = {}
        for kind in LAST_WORDS:
            body = kind.body(stream=True, events=40, gap=0.1, output=9, note=SECRET)
            answer = undo.enter_context(client.stream("POST", kind.path, json=body))
            streams[kind] = answer.iter_raw()
            next(streams[kind])
        whole: list[httpx2.Response] = []
        body = CHAT.body(delay=3, output=5, note=SECRET)
        late = threading.Thread(target=lambda: whole.append(client.post(CHAT.path, json=body)))
        late.start()
        until(lambda: len(provider.calls()) == 4)
        with OUTAGE[outage](server):
            with ThreadPoolExecutor(len(KINDS) + 1) as beside:
                ready, refused = beside.submit(readiness, place), beside.map(lambda kind: refusal(client, kind), KINDS)
                assert set(refused) == {"store_down"}
                assert ready.result() == 503
            for kind, chunks in streams.items():
                assert LAST_WORDS[kind] in b"".join(chunks)
            late.join()
            assert whole[0].status_code == 200
            assert len(provider.calls()) == 4
        # By itself, without a restart: what ended in between is charged, and calls pass again.
        until(lambda: charged(place) == 4)
        total = place.spend()["total"]
        assert (total["nanos"], total["estimatedNanos"]) == (sum(costs(provider.served()).values()), 0)
        tables = Tables.of(place.database)
        until(lambda: tables.holds() == 0)
        assert readiness(place) == 200
        assert client.post(CHAT.path, json=CHAT.body()).status_code == 200
        assert len(tables.entries()) == 5
        tables.engine.dispose()
    log = place.log.read_text()
    assert "doesn't answer" in log or "has not answered" in log
    assert "INSERT" not in log
    files = [path for path in server.folder.rglob("*") if path.is_file()]
    told = b"".join([log.encode(), *(path.read_bytes() for path in files)])
    assert sum(b"chat.completions" in path.read_bytes() for path in files) > 1
    for canary in (SECRET, KEY, SIGNING_KEY, place.key().rpartition(".")[2]):
        assert canary.encode() not in told


def test_outages_again_and_again_under_load(place: Place, server: Postgres, provider: Double) -> None:
    load = Load(lambda: [place.url], [SANDBOX], seed=5, parallel=16)
    thread = threading.Thread(target=load.run, args=(10**6,))
    with running(place):
        tables = Tables.of(place.database)
        thread.start()
        try:
            for _ in range(OUTAGES):
                before = load.statuses.copy()
                until(lambda: load.statuses[200] > before[200] + 20)  # noqa: B023
                with stopped(server):
                    until(lambda: load.statuses[503] > before[503])  # noqa: B023
        finally:
            load.is_over = True
            thread.join()
        assert set(load.statuses) == {200, 503}
        until(lambda: len(tables.entries()) >= load.statuses[200])
        until(lambda: tables.holds() == 0)
        true, entries = costs(provider.served()), tables.entries()
        assert len(true) == load.statuses[200]
        assert set(Counter(name for name, *_ in entries).values()) == {1}
        assert {name: nanos for name, nanos, *_ in entries} == true
        assert tables.summed("org").items() <= tables.counted().items()
        assert tables.summed("sandbox") == {("sandbox", SANDBOX): sum(true.values())}
        tables.engine.dispose()


def test_a_proxy_that_ends_without_its_store_leaves_what_it_owes_to_the_lease(
    place: Place, server: Postgres, provider: Double
) -> None:
    body = MESSAGES.body(stream=True, most=50, events=20, gap=0.1, output=9)
    with running(place):
        with place.client(timeout=90) as client, client.stream("POST", MESSAGES.path, json=body) as answer:
            chunks = answer.iter_raw()
            next(chunks)
            with stopped(server):
                assert LAST_WORDS[MESSAGES] in b"".join(chunks)
                assert place.stop() == 0
        tables = Tables.of(place.database)
        assert tables.holds() == 1
        tables.age_holds()
        place.start()
        until(lambda: tables.holds() == 0)
        [(name, nanos, is_estimated, _)] = tables.entries()
        tables.engine.dispose()
    [seen] = provider.served()
    # Charged as if all that was asked for had been written: 50 tokens of output, and a token of input for each byte.
    sent = len(json.dumps(body, separators=(",", ":")))
    assert (name, bool(is_estimated)) == (seen["headers"]["x-client-request-id"], True)
    assert nanos > 50 * 15_000 + sent * 3_000 > MESSAGES.cost(seen)
