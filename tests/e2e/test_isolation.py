"""What a sandbox reaches and who reaches it, each refusal beside the same probe from a pod that no policy selects."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import pytest

from devcluster.cluster import Cluster
from devcluster.components import API_SERVICE
from tests.harness import reach
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.pods import bare_pod, ready

pytestmark = pytest.mark.node

EXPOSED, UNEXPOSED = 8080, 9090
ASKERS = ("free", "internet", "none", "rules")
"""A bare pod, and sandboxes with that egress."""


@dataclass(frozen=True)
class Row:
    """A target and who reaches it."""

    target: str
    free: bool = True
    internet: bool = False
    none: bool = False
    rules: bool = False


TABLE = (
    Row("API server, node's address"),
    Row("API server, ClusterIP"),
    Row("kubelet"),
    Row("registry on the node"),
    Row("our listener on the node", rules=True),
    Row("our listener at the metadata address"),
    Row("another sandbox's exposed port"),
    Row("another sandbox's exposed port by its endpoint"),
    Row("another sandbox's unexposed port", free=False),
    Row("a bare pod's port of the same number"),
    Row("a public address", internet=True),
    Row("an address in blockedCidrs"),
    *(Row(f"private {address}") for address in reach.PRIVATE),
    Row("cluster DNS", internet=True, none=True, rules=True),
)

Answers = dict[str, dict[str, bool]]


@pytest.fixture(scope="module")
def answers(node_cluster: Cluster, node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Asker → target → whether it is reached."""
    with (
        reach.outside(node_cluster),
        node_ground.stack(tmp_path_factory.mktemp("isolation") / "stack") as stack,
    ):
        listening = ["python3", "-c", reach.LISTEN, str(EXPOSED), str(UNEXPOSED)]
        node = node_cluster.api_url.removeprefix("https://").partition(":")[0]
        rule = {"cidr": f"{node}/32", "ports": [{"port": reach.PORT}]}
        sandboxes = {
            "internet": node_ground.sandbox(),
            "none": node_ground.sandbox(egress="none"),
            "rules": node_ground.sandbox(egress=[rule]),
            "neighbour": node_ground.sandbox(entrypoint=listening, ports=[{"port": EXPOSED}]),
        }
        stack.configure({"sandboxes": sandboxes, "blockedCidrs": [f"{reach.BLOCKED}/32"]})
        stack.up().ok()
        endpoint = stack.outputs()["neighbour"]["endpoints"][f"port-{EXPOSED}"]
        with node_ground.namespace() as elsewhere:
            for name in ("free", "bare"):
                node_ground.api.create(bare_pod(name, elsewhere, node_ground.image, listening))
            pods = {name: (elsewhere, name) for name in ("free", "bare")}
            pods |= {name: (stack.namespace, f"{name}-0") for name in sandboxes}
            address = {
                name: ready(node_ground, pod, namespace)["status"]["podIP"] for name, (namespace, pod) in pods.items()
            }
            host, _, port = endpoint.rpartition(":")
            private = {f"private {one}": (one, reach.PORT) for one in reach.PRIVATE}
            targets: dict[str, reach.Target] = {
                "API server, node's address": (node, 6443),
                "API server, ClusterIP": (API_SERVICE, 443),
                "kubelet": (node, 10250),
                "registry on the node": (node, 5000),
                "our listener on the node": (node, reach.PORT),
                "our listener at the metadata address": (reach.METADATA, reach.PORT),
                "another sandbox's exposed port": (address["neighbour"], EXPOSED),
                "another sandbox's exposed port by its endpoint": (host, int(port)),
                "another sandbox's unexposed port": (address["neighbour"], UNEXPOSED),
                "a bare pod's port of the same number": (address["bare"], UNEXPOSED),
                "a public address": (reach.PUBLIC, reach.PORT),
                "an address in blockedCidrs": (reach.BLOCKED, reach.PORT),
                "cluster DNS": ("kubernetes.default.svc.cluster.local", 0),
                **private,
            }
            found: Answers = {}

            def settled(asker: str) -> bool:
                found[asker] = reach.probe(node_ground, *pods[asker], targets)
                return all(found[asker][row.target] == getattr(row, asker) for row in TABLE)

            def ask(asker: str) -> None:
                # A policy reaches the node's rules a moment after the pod; which row fails is for the tests to tell.
                with suppress(AssertionError):
                    eventually(lambda: settled(asker), f"{asker} as in the table", 20)

            with ThreadPoolExecutor(len(ASKERS)) as pool:
                list(pool.map(ask, ASKERS))
            found["neighbour"] = reach.probe(node_ground, *pods["neighbour"], {"own": ("127.0.0.1", UNEXPOSED)})
            yield found


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.target)
def test_who_reaches(row: Row, answers: Answers) -> None:
    assert {asker: answers[asker][row.target] for asker in ASKERS} == {asker: getattr(row, asker) for asker in ASKERS}


def test_the_unexposed_port_has_a_listener(answers: Answers) -> None:
    assert answers["neighbour"]["own"]
