"""Fixtures of the engine and node tiers, and the rule that these tiers are never skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from devcluster import build, cluster
from devcluster.cluster import Cluster
from tests.harness import interrupts, kwok
from tests.harness.api import Api
from tests.harness.ground import TOOLS, Ground, on_kwok, on_the_node
from tests.harness.kwok import KwokNode
from tests.harness.own_cluster import own_name

CLUSTER_NAME = "test"
REAL = ("engine", "node")
SECONDS = 300

settings.register_profile("ci", deadline=None, derandomize=True, print_blob=False, database=None)
settings.load_profile("ci")


def pytest_configure() -> None:
    """Hear interrupts, whoever has started us."""
    interrupts.hear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give what needs a cluster time for its start."""
    for item in items:
        if any(item.get_closest_marker(name) for name in REAL) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what is missing before the first test's clock runs."""
    wanted = any(item.get_closest_marker(name) for item in session.items for name in REAL)
    if wanted and not session.config.option.collectonly:
        build.ensure()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """End the run after a test that took an interrupt of the run for its own."""
    is_done = yield
    interrupts.raise_if_taken()
    return is_done


@pytest.fixture(autouse=True)
def _same_handlers() -> Iterator[None]:
    """Find the test that leaves a handler of signals behind."""
    with interrupts.same_handlers():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turn a skip of a real tier into a failure: a tier that can't start must not look green."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and any(item.get_closest_marker(name) for name in REAL):
        report.outcome = "failed"
        report.longrepr = f"a skip in the engine or node tier is a failure: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder with the engine, its plugins and kubectl."""
    return build.ensure(TOOLS)


@pytest.fixture(scope="session")
def node_cluster() -> Iterator[Cluster]:
    """The cluster of both tiers; see `tests.harness`."""
    borrowed = os.environ.get("SANDBOX_TEST_CLUSTER")
    if borrowed:
        found = cluster.find(borrowed)
        assert found is not None, f"SANDBOX_TEST_CLUSTER: there is no running cluster {borrowed}"
        yield found
        return
    with own_name(CLUSTER_NAME) as name:
        started = cluster.start(name)
        yield started
        cluster.stop(name)


@pytest.fixture(scope="session")
def api(node_cluster: Cluster) -> Iterator[Api]:
    """The cluster's API."""
    client = Api(node_cluster.kubeconfig)
    yield client
    client.close()


@pytest.fixture(scope="session")
def pulumi_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One PULUMI_HOME a worker."""
    return tmp_path_factory.mktemp("pulumi-home")


@pytest.fixture(scope="session")
def kwok_node(
    node_cluster: Cluster, api: Api, tools: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KwokNode]:
    """The node of engine tests."""
    log = tmp_path_factory.mktemp("kwok") / "kwok.log"
    with kwok.node(tools / "kwok", node_cluster.kubeconfig, api, log) as node:
        yield node


@pytest.fixture(scope="session")
def engine_ground(
    kwok_node: KwokNode, node_cluster: Cluster, api: Api, tools: Path, pulumi_home: Path
) -> Iterator[Ground]:
    """Where engine tests put their sandboxes: kwok's node."""
    ground = on_kwok(kwok_node, api, node_cluster.kubeconfig, tools, pulumi_home)
    yield ground
    for volume in ground.volumes:
        api.delete("PersistentVolume", volume)


@pytest.fixture(scope="session")
def node_ground(node_cluster: Cluster, api: Api, tools: Path, pulumi_home: Path) -> Ground:
    """Where node tests put theirs: the real node."""
    return on_the_node(api, node_cluster.kubeconfig, tools, pulumi_home)


@pytest.fixture
def namespace(node_ground: Ground) -> Iterator[str]:
    """A namespace of the test's own."""
    with node_ground.namespace() as name:
        yield name
