"""A running proxy with a double behind it, for each module of tests; every test is another sandbox."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from sandbox_components.spec.identity import Identity
from sandbox_components.spec.spending import DeclaredLimit
from tests.proxy.place import Double, Place, double, running

POOR = "proj/prod/poor"
_MANY = 64
_COUNT = itertools.count()


def sandboxes() -> list[Identity]:
    """All that the shared proxy knows."""
    return [*(Identity(f"proj/prod/s{at}", org="acme") for at in range(_MANY)), Identity(POOR, limit_required=True)]


def limits() -> list[DeclaredLimit]:
    """One sandbox may spend a cent."""
    return [DeclaredLimit("sandbox", POOR, "month", 1)]


@pytest.fixture(scope="module")
def provider() -> Iterator[Double]:
    """Our double of the providers."""
    with double() as one:
        yield one


@pytest.fixture(scope="module")
def proxy(provider: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A proxy with short timeouts."""
    timeouts = {
        "request": 3,
        "connect": 2,
        "firstByte": 4,
        "betweenBytes": 3,
        "client": 1.5,
        "drain": 4,
        "shutdown": 5,
    }
    bounds = {"bodyBytes": 2**20, "callsPerSandbox": 8, "connections": 300, "connectionsPerAddress": 200}
    place = Place(tmp_path_factory.mktemp("proxy"), provider.url, more={"timeouts": timeouts, "limits": bounds})
    place.know(sandboxes(), limits())
    with running(place):
        yield place


@pytest.fixture
def sandbox(provider: Double) -> str:
    """A sandbox that no other test has; the double has forgotten earlier calls."""
    provider.reset()
    return sandboxes()[next(_COUNT) % _MANY].sandbox_id
