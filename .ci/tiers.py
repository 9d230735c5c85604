"""A pytest plugin for `.ci/test`: the cheap tiers first, and minutes of building and testing before the summary."""

import os
import time
from collections import Counter

import pytest

TIERS = ("pure", "engine", "node")
_began = time.monotonic()


def tier(item: pytest.Item) -> str:
    """The dearest tier that a test is marked with."""
    return next((name for name in reversed(TIERS) if item.get_closest_marker(name)), "pure")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run pure tests, then the engine's, then the node's."""
    items.sort(key=lambda item: TIERS.index(tier(item)))


def pytest_report_collectionfinish(items: list[pytest.Item]) -> str:
    """Say how many tests each tier has."""
    counts = Counter(map(tier, items))
    return "tiers: " + ", ".join(f"{name} {counts[name]}" for name in TIERS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long it took, building apart."""
    building = float(os.environ.get("SANDBOX_BUILD_SECONDS", "0")) / 60
    testing = (time.monotonic() - _began) / 60
    terminalreporter.write_line(f"minutes of building: {building:.1f}")
    terminalreporter.write_line(f"minutes of testing: {testing:.1f}")
