from __future__ import annotations

import httpx2
import pytest
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as ClusterModel
from lightkube.config.models import User, UserExec

from sandbox_components.errors import AccessDenied, InvalidInput, Unreachable
from sandbox_components.kube import logs
from sandbox_components.kube.answers import Gone
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.config import Connection


def cluster(handle: object, *, server: str = "https://api.example", user: User | None = None) -> Cluster:
    config = KubeConfig.from_one(cluster=ClusterModel(server=server), user=user or User(token="t")).get()
    assert config is not None
    return Cluster(Connection(config, "a test"), transport=httpx2.MockTransport(handle))  # type: ignore[arg-type]


def test_a_long_list_is_read_page_by_page() -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        start = int(request.url.params.get("continue", 0))
        meta = {"resourceVersion": "7", "continue": str(start + 500) if start < 1000 else ""}
        items = [{"n": start + i} for i in range(500 if start < 1000 else 1)]
        return httpx2.Response(200, json={"metadata": meta, "items": items})

    found = cluster(handle).list_all("/api/v1/pods")
    assert [entry["n"] for entry in found] == list(range(1001))


@pytest.mark.parametrize("error", [httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow"), httpx2.ReadError("cut")])
def test_a_cluster_that_is_away_is_said_with_its_address(error: httpx2.HTTPError) -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        raise error

    with pytest.raises(Unreachable, match=r"https://api\.example \(from a test\) can't be reached"):
        cluster(handle).get("/version")


def test_an_answer_that_is_no_json_is_no_cluster() -> None:
    with pytest.raises(Unreachable, match="does not answer like a Kubernetes API server"):
        cluster(lambda request: httpx2.Response(200, text="<html>hello</html>")).get("/version")


def test_the_clusters_clock_counts() -> None:
    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={}, headers={"date": "Tue, 01 Jan 2030 00:00:00 GMT"})

    connected = cluster(handle)
    connected.get("/version")
    assert connected.now().isoformat().startswith("2030-01-01T00:00:0")


def test_a_watch_yields_changes_and_ends_with_the_servers_error() -> None:
    lines = b'{"type":"ADDED","object":{"n":1}}\n{"type":"BOOKMARK","object":{}}\n\n' + (
        b'{"type":"ERROR","object":{"code":410,"message":"too old"}}\n'
    )
    changes = cluster(lambda request: httpx2.Response(200, content=lines)).watch("/api/v1/pods", "1")
    assert next(changes) == ("ADDED", {"n": 1})
    with pytest.raises(Gone, match="too old"):
        next(changes)


def test_a_server_that_is_no_url_is_wrong_input() -> None:
    with pytest.raises(InvalidInput, match="a test: the kubeconfig's server"):
        cluster(lambda request: httpx2.Response(200, json={}), server="https://[::1")


@pytest.mark.parametrize(
    "says", ["", "not JSON", "null", '{"status": null}', '{"status": {"clientCertificateData": "x"}}']
)
def test_an_exec_plugin_that_gives_no_token_gives_no_access(says: str) -> None:
    plugin = UserExec(apiVersion="client.authentication.k8s.io/v1beta1", command="printf", args=["%s", says])
    with pytest.raises(AccessDenied, match=r"no credentials for https://api\.example"):
        cluster(lambda request: httpx2.Response(200, json={}), user=User(exec=plugin)).get("/version")


def test_only_a_followed_log_may_be_silent_for_ever() -> None:
    patience: dict[str, float | None] = {}

    def handle(request: httpx2.Request) -> httpx2.Response:
        patience[str(request.url.params.get("what", request.url.path))] = request.extensions["timeout"]["read"]
        return httpx2.Response(200, content=iter([b""]))

    connected = cluster(handle)
    list(connected.watch("/api/v1/pods", "1", {"what": "watch"}))
    for request in (logs.LogRequest(container="whole"), logs.LogRequest(follow=True, container="followed")):
        list(logs.read(connected, "agents", request.container, request))
    logs.last_line_at(connected, "agents", "stamp")
    log = "/api/v1/namespaces/agents/pods/{}/log"
    assert patience == {
        "watch": 90.0,
        log.format("whole"): 30.0,
        log.format("followed"): None,
        log.format("stamp"): 5.0,
    }


@pytest.mark.parametrize(("refusals", "tries"), [(0, 1), (2, 3), (9, 4)])
def test_a_busy_server_is_asked_again_when_it_says(refusals: int, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("sandbox_components.kube.client.time.sleep", slept.append)
    bodies: list[bytes] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.read())
        if len(bodies) <= refusals:
            return httpx2.Response(429, json={"message": "too many requests"}, headers={"Retry-After": "60"})
        return httpx2.Response(200, json={"kind": "Scale"})

    connected = cluster(handle)
    if refusals < 4:
        assert connected.patch("/apis/apps/v1/statefulsets/a/scale", {"spec": {"replicas": 0}}) == {"kind": "Scale"}
    else:
        with pytest.raises(Unreachable, match="too many requests"):
            connected.patch("/apis/apps/v1/statefulsets/a/scale", {"spec": {"replicas": 0}})
    assert bodies == [b'{"spec": {"replicas": 0}}'] * tries
    assert slept == [10.0] * (tries - 1)
