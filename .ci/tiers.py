"""A pytest plugin for `.ci/test`: the cheap tiers first, and before the summary where the minutes went."""

import os
import time
from collections import Counter, defaultdict

import pytest
from xdist.scheduler import LoadScopeScheduling

TIERS = ("pure", "server", "engine", "node")
SLOWEST = 12
ROOMS = {
    "engine": ("tests/engine/",),
    "node": (
        "tests/e2e/",
        *(f"tests/devcluster/test_{name}.py" for name in ("cluster_killed", "cluster_smoke", "environment")),
    ),
}
"""What one worker keeps to itself, with one cluster."""
_began = time.monotonic()
_seconds: dict[str, float] = defaultdict(float)
_of_tiers: dict[str, float] = defaultdict(float)


def tier(one: pytest.Item | pytest.TestReport) -> str:
    """The dearest tier that a test is marked with."""
    return next((name for name in reversed(TIERS) if name in one.keywords), "pure")


class ByRoom(LoadScopeScheduling):
    """Gives a worker whole modules, and the engine's and the node's tests as two wholes: fixtures are made once.

    By the file, because the marker `xdist_group` has no effect with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((room for room, paths in ROOMS.items() if file.startswith(paths)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByRoom:
    """Take that one, whatever `--dist` says."""
    return ByRoom(config, log)


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
