"""A proxy that is killed at any moment: what the provider served is in the ledger once, and nothing stays held.

`SANDBOX_SOAK=1` kills 50 times instead of 10.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.harness import postgres
from tests.proxy.load import Load, Tables, costs
from tests.proxy.place import Double, Place, running

KILLS = 25 if os.environ.get("SANDBOX_SOAK") else 5
"""On each store."""
SANDBOXES = [f"proj/prod/s{at}" for at in range(2)]
pytestmark = [pytest.mark.server, pytest.mark.timeout(1800 if KILLS > 5 else 300)]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, provider: Double, tmp_path: Path) -> Iterator[Place]:
    """A proxy on each store."""
    provider.reset()
    if request.param == "sqlite":
        yield Place(tmp_path, provider.url)
        return
    with postgres.server() as server:
        yield Place(tmp_path, provider.url, server.new_database())


def test_a_killed_proxy_loses_no_call_and_counts_none_twice(place: Place, provider: Double) -> None:
    rng = random.Random(11)
    place.know([Identity(one) for one in SANDBOXES], [DeclaredLimit("sandbox", one, "day", 10**6) for one in SANDBOXES])
    load = Load(lambda: [place.url] if place.process else [], SANDBOXES, seed=3, is_patient=True, parallel=16)
    thread = threading.Thread(target=load.run, args=(10**6,))
    with running(place):
        tables = Tables.of(place.database)
        thread.start()
        try:
            held = 0
            for _ in range(KILLS):
                answered = load.statuses.total()
                while load.statuses.total() < answered + 20:
                    time.sleep(0.005)
                time.sleep(rng.uniform(0, 0.3))
                place.kill()
                held += tables.holds()
                tables.age_holds()
                place.start()
        finally:
            load.is_over = True
            thread.join()
        assert held > 0, "no call was in flight at any of these moments"
        deadline = time.monotonic() + 20
        while tables.holds():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert place.stop() == 0
        entries, true = tables.entries(), costs(provider.served())
        times = Counter(name for name, *_ in entries)
        assert set(times.values()) == {1}
        assert set(true) <= set(times), "a call was served that isn't in the ledger"
        for name, nanos, is_estimated, _ in entries:
            # Killed while it was in flight: charged in full, which is no less than what it cost.
            assert nanos >= true.get(name, 0) if is_estimated else nanos == true[name]
        assert sum(1 for one in entries if one[2]) == held
        assert tables.summed("sandbox").items() <= tables.counted().items()
        tables.engine.dispose()
