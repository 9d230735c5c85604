"""Ports against the real engine and API server: Services, Ingress, endpoints, and what restarts whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = pytest.mark.engine

PORTS: list[dict[str, Any]] = [{"port": 8080, "name": "web"}, {"port": 9090}, {"port": 5353, "protocol": "UDP"}]
PUBLIC = {"8080": {"visibility": "public", "host": "agent.example", "tlsSecret": "agent-tls"}}


class Subject:
    """One sandbox in a stack of its own."""

    def __init__(self, ground: Ground, stack: Stack) -> None:
        self.ground, self.stack = ground, stack

    def up(self, **changes: Any) -> dict[str, int]:
        """Declare it so, and return what changed."""
        self.stack.configure({"sandboxes": {"served": self.ground.sandbox(**changes)}})
        return dict(self.stack.up().ok().changed)

    def find(self, kind: str, name: str = "served") -> Any:
        return self.ground.api.find(kind, name, self.stack.namespace)

    @property
    def template(self) -> Any:
        return self.find("StatefulSet")["spec"]["template"]

    @property
    def endpoints(self) -> Any:
        return self.stack.outputs()["served"]["endpoints"]


@pytest.fixture(scope="module")
def subject(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    """A sandbox with three ports, all private."""
    with engine_ground.stack(tmp_path_factory.mktemp("ports") / "stack") as stack:
        subject = Subject(engine_ground, stack)
        subject.up(ports=PORTS)
        yield subject


def test_services_and_endpoints(subject: Subject) -> None:
    found = subject.find("Service")["spec"]
    assert found["type"] == "ClusterIP"
    assert [(one["name"], one["port"], one["targetPort"], one["protocol"]) for one in found["ports"]] == [
        ("port-5353-udp", 5353, 5353, "UDP"),
        ("web", 8080, 8080, "TCP"),
        ("port-9090", 9090, 9090, "TCP"),
    ]
    headless = subject.find("Service", "served-headless")["spec"]
    assert headless["clusterIP"] == "None"
    assert subject.find("Ingress") is None
    host = f"served.{subject.stack.namespace}.svc"
    assert subject.endpoints == {
        "web": f"{host}:8080",
        "port-9090": f"{host}:9090",
        "port-5353-udp": f"{host}:5353",
    }
    ports = subject.template["spec"]["containers"][0]["ports"]
    assert {(one["name"], one["containerPort"], one["protocol"]) for one in ports} == {
        ("web", 8080, "TCP"),
        ("port-9090", 9090, "TCP"),
        ("port-5353-udp", 5353, "UDP"),
    }
    (rules,) = [one["spec"]["ingress"] for one in [subject.find("NetworkPolicy")]]
    assert {(rule["ports"][0]["port"], rule["ports"][0]["protocol"]) for rule in rules} == {
        (8080, "TCP"),
        (9090, "TCP"),
        (5353, "UDP"),
    }


def test_public_makes_an_ingress_and_restarts_nobody(subject: Subject) -> None:
    before = subject.template
    assert subject.up(ports=PORTS, expose=PUBLIC) == {"Ingress": 1}
    found = subject.find("Ingress")["spec"]
    assert found["tls"] == [{"hosts": ["agent.example"], "secretName": "agent-tls"}]
    (rule,) = found["rules"]
    assert rule["host"] == "agent.example"
    assert rule["http"]["paths"][0]["backend"]["service"] == {"name": "served", "port": {"number": 8080}}
    assert subject.template == before
    assert subject.endpoints["web"] == "https://agent.example/"
    assert subject.up(ports=PORTS) == {"Ingress": 1}
    assert subject.find("Ingress") is None


def test_another_port_restarts_and_keeps_the_services_address(subject: Subject) -> None:
    before, address = subject.template, subject.find("Service")["spec"]["clusterIP"]
    changed = subject.up(ports=[*PORTS[:2], {"port": 7070}])
    assert changed == {"Service": 1, "NetworkPolicy": 1, "StatefulSet": 1}
    assert subject.template != before
    assert subject.find("Service")["spec"]["clusterIP"] == address


def test_egress_changes_restart_nobody(subject: Subject) -> None:
    before = subject.template
    rules = [{"cidr": "10.20.0.0/16", "exceptCidrs": ["10.20.3.0/24"], "ports": [{"port": 443}]}]
    for egress in ("none", rules, "internet"):
        assert subject.up(ports=[*PORTS[:2], {"port": 7070}], egress=egress) == {"NetworkPolicy": 1}
    assert subject.template == before


def test_without_ports_there_is_no_service(subject: Subject) -> None:
    assert subject.up() == {"Service": 1, "NetworkPolicy": 1, "StatefulSet": 1}
    assert subject.find("Service") is None
    assert subject.endpoints == {}
    assert not subject.find("NetworkPolicy")["spec"].get("ingress")


def test_where_and_how_it_runs(subject: Subject, engine_ground: Ground) -> None:
    placement = engine_ground.placement
    kernel = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "t-runtime"}, "handler": "x"}
    engine_ground.api.create(kernel)
    try:
        subject.up(
            runtimeClass="t-runtime",
            nodeSelector={**placement["nodeSelector"], "kubernetes.io/os": "linux"},
            tolerations=[*placement["tolerations"], {"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
            imagePullSecrets=["theirs"],
            imagePullPolicy="Always",
        )
        pod = subject.template["spec"]
        assert pod["runtimeClassName"] == "t-runtime"
        assert pod["nodeSelector"]["kubernetes.io/os"] == "linux"
        assert {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"} in pod["tolerations"]
        assert pod["imagePullSecrets"] == [{"name": "theirs"}]
        assert pod["containers"][0]["imagePullPolicy"] == "Always"
    finally:
        engine_ground.api.delete("RuntimeClass", "t-runtime")
