"""A pytest plugin for `.ci/test`: the cheap tiers first, and before the summary where the minutes went."""

import os
import time
from collections import Counter, defaultdict

import pytest

TIERS = ("pure", "server", "engine", "node")
SLOWEST = 12
_began = time.monotonic()
_seconds: dict[str, float] = defaultdict(float)
_of_tiers: dict[str, float] = defaultdict(float)


def tier(one: pytest.Item | pytest.TestReport) -> str:
    """The dearest tier that a test is marked with."""
    return next((name for name in reversed(TIERS) if name in one.keywords), "pure")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run pure tests, then those with servers of their own, then the engine's, then the node's."""
    items.sort(key=lambda item: TIERS.index(tier(item)))


def pytest_report_collectionfinish(items: list[pytest.Item]) -> str:
    """Say how many tests each tier has."""
    counts = Counter(map(tier, items))
    return "tiers: " + ", ".join(f"{name} {counts[name]}" for name in TIERS)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what each module and tier takes, with its fixtures."""
    _seconds[report.nodeid.partition("::")[0]] += report.duration
    _of_tiers[tier(report)] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long it took, building apart, and which tiers and modules took longest."""
    for name in TIERS:
        terminalreporter.write_line(f"{_of_tiers[name]:6.0f} s  {name} tier")
    for module, seconds in sorted(_seconds.items(), key=lambda one: -one[1])[:SLOWEST]:
        terminalreporter.write_line(f"{seconds:6.0f} s  {module}")
    building = float(os.environ.get("SANDBOX_BUILD_SECONDS", "0")) / 60
    testing = (time.monotonic() - _began) / 60
    terminalreporter.write_line(f"minutes of building: {building:.1f}")
    terminalreporter.write_line(f"minutes of testing: {testing:.1f}")
