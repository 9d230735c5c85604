"""Both creation requests of the platform this follows, on the real node: HTTP is served, and the disk survives.

The node has two CPUs and each request asks for both, so they run one after the other. Only the image is changed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.harness import tree
from tests.harness.api import Json, eventually, is_ready
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pods import inside, ready
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

EPHEMERAL: Json = {
    "image": {"uri": "localhost:5000/python:3.11"},
    "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
}
PERSISTENT: Json = {
    **EPHEMERAL,
    "extensions": {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"},
}
PROGRAM = """
import json

import pulumi
import pulumi_kubernetes as kubernetes

from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
metadata = {"name": config.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
namespace = kubernetes.core.v1.Namespace("namespace", metadata=metadata)
for name, request in pulumi.Config().require_object("requests").items():
    Sandbox.from_request(name, json.dumps(request), pulumi.ResourceOptions(depends_on=[namespace]))
"""
NAME, POD, FOLDER = "persistent", "persistent-0", "/workspace/tree"
CYCLES = 5

_GET = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/', timeout=5).status)"
_KILL_AGENT = """
import os, pathlib, time
if os.fork():
    os._exit(0)
# The container that ends takes along what runs in it: whoever has asked for this is gone by then.
os.setsid()
for number in range(3):
    os.close(number)
time.sleep(1)
for path in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        if b"http.server" in (path / "cmdline").read_bytes() and int(path.name) != os.getpid():
            os.kill(int(path.name), 9)
    except OSError:
        pass
"""


class Requests:
    """A stack of requests."""

    def __init__(self, ground: Ground, stack: Stack) -> None:
        self.ground, self.stack, self.api, self.namespace = ground, stack, ground.api, stack.namespace

    def up(self, **requests: Any) -> None:
        self.stack.configure({f"{self.stack.project}:requests": requests})
        self.stack.up().ok()

    def serves_http(self, pod: str) -> None:
        def answers() -> bool:
            try:
                return inside(self.ground, self.namespace, pod, ["python3", "-c", _GET]).strip() == "200"
            except AssertionError:
                return False

        eventually(answers, f"{pod} serves HTTP on 8000", 30)

    @property
    def pod(self) -> Json:
        return self.api.get("Pod", POD, self.namespace)

    @property
    def claim(self) -> Json:
        return self.api.get("PersistentVolumeClaim", f"{NAME}-workspace", self.namespace)


@pytest.fixture(scope="module")
def requests(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Requests]:
    with node_ground.stack(tmp_path_factory.mktemp("requests"), source=PROGRAM) as stack:
        yield Requests(node_ground, stack)


@pytest.fixture(scope="module")
def before(requests: Requests) -> tuple[str, Json]:
    """The persistent sandbox's claim and its tree of files, as they were made."""
    requests.up(persistent=PERSISTENT)
    ready(requests.ground, POD, requests.namespace)
    made = tree.make(requests.ground, requests.namespace, POD, FOLDER)
    assert len(made) > 320
    return requests.claim["metadata"]["uid"], made


def unchanged(requests: Requests, before: tuple[str, Json]) -> None:
    uid, made = before
    ready(requests.ground, POD, requests.namespace)
    assert tree.describe(requests.ground, requests.namespace, POD, FOLDER) == made
    assert requests.claim["metadata"]["uid"] == uid
    assert requests.claim["status"]["phase"] == "Bound"


def test_the_ephemeral_one_serves_http(requests: Requests) -> None:
    requests.up(ephemeral=EPHEMERAL)
    pod = ready(requests.ground, "ephemeral-0", requests.namespace)
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}
    assert not requests.api.list("PersistentVolumeClaim", requests.namespace)
    requests.serves_http("ephemeral-0")


def test_the_persistent_one_has_the_named_class_and_size(requests: Requests, before: tuple[str, Json]) -> None:
    claim = requests.claim
    assert claim["spec"]["storageClassName"] == "local-path"
    assert claim["spec"]["resources"]["requests"] == {"storage": "50Gi"}
    assert claim["status"]["capacity"] == {"storage": "50Gi"}
    assert "/workspace" in inside(requests.ground, requests.namespace, POD, ["cat", "/proc/mounts"])
    requests.serves_http(POD)


def test_files_survive_pauses(requests: Requests, before: tuple[str, Json]) -> None:
    for _ in range(CYCLES):
        old = requests.pod["metadata"]["uid"]
        sandbox(requests.stack, "pause", NAME).ok()
        assert requests.api.find("Pod", POD, requests.namespace) is None
        assert requests.claim["status"]["phase"] == "Bound"
        sandbox(requests.stack, "resume", NAME).ok()
        assert is_ready(requests.pod)
        assert requests.pod["metadata"]["uid"] != old
        unchanged(requests, before)


def test_files_survive_another_image(requests: Requests, before: tuple[str, Json]) -> None:
    old = requests.pod["metadata"]["uid"]
    requests.up(persistent={**PERSISTENT, "image": {"uri": "localhost:5000/agent:2"}})
    eventually(lambda: requests.api.find("Pod", POD, requests.namespace) is None or _uid(requests) != old, "a new pod")
    unchanged(requests, before)
    assert requests.pod["spec"]["containers"][0]["image"] == "localhost:5000/agent:2"


def test_a_label_restarts_nothing(requests: Requests, before: tuple[str, Json]) -> None:
    old, image = requests.pod["metadata"]["uid"], requests.pod["spec"]["containers"][0]["image"]
    requests.up(persistent={**PERSISTENT, "image": {"uri": image}, "labels": {"team": "red"}})
    assert requests.claim["metadata"]["labels"]["team"] == "red"
    unchanged(requests, before)
    assert requests.pod["metadata"]["uid"] == old


def test_files_survive_a_killed_agent(requests: Requests, before: tuple[str, Json]) -> None:
    old = requests.pod
    inside(requests.ground, requests.namespace, POD, ["python3", "-"], given=_KILL_AGENT)
    eventually(lambda: _restarts(requests.pod) > _restarts(old), "the agent is started anew")
    unchanged(requests, before)
    assert requests.pod["metadata"]["uid"] == old["metadata"]["uid"]
    requests.serves_http(POD)


def test_files_survive_a_killed_kubelet(requests: Requests, before: tuple[str, Json], node_cluster: Cluster) -> None:
    old, killed = requests.pod, node_cluster.pid_of("kubelet")
    os.kill(killed, signal.SIGKILL)
    node_cluster.wait_healthy(timeout_seconds=120)
    assert node_cluster.pid_of("kubelet") != killed
    unchanged(requests, before)
    assert requests.pod["metadata"]["uid"] == old["metadata"]["uid"]
    assert _restarts(requests.pod) == _restarts(old), "the agent goes on without its kubelet"
    requests.serves_http(POD)


def test_nothing_is_left_to_do_after_all_that(requests: Requests, before: tuple[str, Json]) -> None:
    assert not requests.stack.preview().ok().changed


def _uid(requests: Requests) -> str:
    pod = requests.api.find("Pod", POD, requests.namespace)
    return "" if pod is None else str(pod["metadata"]["uid"])


def _restarts(pod: Json) -> int:
    statuses = pod.get("status", {}).get("containerStatuses") or [{"restartCount": 0}]
    return int(statuses[0]["restartCount"])
