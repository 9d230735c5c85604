"""The cap is exact: whatever comes at once, no commit holds more than a limit allows, and no call is missing.

The data base itself watches its commits, by triggers. `SANDBOX_SOAK=1` makes 2,000 calls instead of 300.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.harness import postgres
from tests.proxy.load import Load, Tables, costs
from tests.proxy.place import Double, Place, running

COUNT = 2000 if os.environ.get("SANDBOX_SOAK") else 300
SANDBOXES = [f"proj/prod/s{at}" for at in range(3)]
IDENTITIES = [Identity(one, org="acme", limit_required=True) for one in SANDBOXES]
pytestmark = [pytest.mark.server, pytest.mark.timeout(1800 if COUNT > 300 else 300)]


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, provider: Double, tmp_path: Path) -> Iterator[list[Place]]:
    """One proxy on SQLite, or two on one Postgres."""
    provider.reset()
    with ExitStack() as undo:
        if request.param == "sqlite":
            found = [Place(tmp_path / "a", provider.url)]
        else:
            url = undo.enter_context(postgres.server()).new_database()
            found = [Place(tmp_path / name, provider.url, url) for name in ("a", "b")]
            found[1].source = found[0].source
        found[0].know(IDENTITIES, limits(3, 5))
        for place in found:
            undo.enter_context(running(place))
        yield found


def limits(own_cents: int, org_cents: int) -> list[DeclaredLimit]:
    own = [DeclaredLimit("sandbox", one, "month", own_cents) for one in SANDBOXES]
    return [*own, DeclaredLimit("org", "acme", "week", org_cents, "Asia/Tokyo")]


def test_no_commit_holds_more_than_a_limit_allows(places: list[Place], provider: Double) -> None:
    tables = Tables.of(places[0].database)
    tables.watch()
    load = Load(lambda: [place.url for place in places], SANDBOXES, seed=7)
    thread = threading.Thread(target=load.run, args=(COUNT,))
    thread.start()
    own, org = COUNT // 50, COUNT // 30
    for own_cents, org_cents in ((own, org), (2, 1), (own, org // 2), (0, org), (own, org)):
        thread.join(2)
        places[0].know(IDENTITIES, limits(own_cents, org_cents))
    thread.join()

    assert load.statuses[200] > 0
    assert load.statuses[429] > 0
    assert set(load.statuses) == {200, 429}
    assert tables.beyond() == []
    served = provider.served()
    assert len(provider.calls()) == len(served) == load.statuses[200]
    assert tables.holds() == 0
    entries = tables.entries()
    assert {name: nanos for name, nanos, _, _ in entries} == costs(served)
    assert len(entries) == len(served)
    assert {(bool(estimated), state) for _, _, estimated, state in entries} == {(False, "settled")}
    counted = tables.counted()
    assert tables.summed("sandbox").items() <= counted.items()
    assert tables.summed("org").items() <= counted.items()
    assert sum(places[-1].spend(one)["total"]["nanos"] for one in SANDBOXES) == sum(costs(served).values())
    tables.hold_too_much()
    assert len(tables.beyond()) == 4
    tables.engine.dispose()
