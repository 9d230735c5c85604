"""The NetworkPolicy, asked as a cluster would ask it: may this packet pass?"""

from __future__ import annotations

import dataclasses
import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.manifests.policy import network_policy
from sandbox_components.spec.sandbox import read_sandbox
from tests.manifests.sandboxes import FEWER, PLACEMENT, requests

BASE: dict[str, Any] = {"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}}


def reaches(policy: dict[str, Any], address: str, port: int = 443, protocol: str = "TCP") -> bool:
    """Tell whether `policy` lets its pods reach an address outside of the cluster's pods."""
    target = ipaddress.ip_address(address)
    for rule in policy["spec"]["egress"]:
        ports = rule.get("ports", [{"port": port, "protocol": protocol}])
        if {"port": port, "protocol": protocol} not in ports:
            continue
        for peer in rule["to"]:
            block = peer.get("ipBlock")
            if block is None:
                continue
            excepted = [ipaddress.ip_network(one) for one in block.get("except", [])]
            if target in ipaddress.ip_network(block["cidr"]) and not any(target in one for one in excepted):
                return True
    return False


PRIVATE = ["10.0.0.1", "10.96.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "100.64.0.1"]
PRIVATE += [
    "169.254.169.254",
    "168.63.129.16",
    "169.254.20.10",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.0.192",
    "198.18.0.1",
]
PRIVATE += ["::1", "::", "fd00::1", "fd00:ec2::254", "fe80::1", "ff02::1", "64:ff9b::a00:1"]
PUBLIC = ["1.1.1.1", "198.51.100.10", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2001:db8::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_the_internet_has_no_private_addresses(address: str) -> None:
    assert not reaches(network_policy(PLACEMENT, read_sandbox(BASE)), address)


@pytest.mark.parametrize("address", PUBLIC)
def test_the_internet(address: str) -> None:
    assert reaches(network_policy(PLACEMENT, read_sandbox(BASE)), address)
    assert not reaches(network_policy(PLACEMENT, read_sandbox({**BASE, "egress": "none"})), address)
    assert not reaches(network_policy(PLACEMENT, read_sandbox({**BASE, "egress": []})), address)


@given(st.ip_addresses())
def test_the_internet_is_public_addresses_only(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    policy = network_policy(PLACEMENT, read_sandbox(BASE))
    if reaches(policy, str(address)):
        documentation = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
        ordinary = any(address in ipaddress.ip_network(one) for one in documentation)
        assert ordinary or address.version == 6 or address.is_global
        assert not any((address.is_link_local, address.is_loopback, address.is_multicast))


def test_blocked_ranges() -> None:
    placement = dataclasses.replace(PLACEMENT, blocked_cidrs=("198.51.100.0/24", "2001:db8::/48", "10.0.0.0/8"))
    policy = network_policy(placement, read_sandbox(BASE))
    assert not reaches(policy, "198.51.100.10")
    assert not reaches(policy, "2001:db8::1")
    assert reaches(policy, "198.51.101.10")
    assert reaches(policy, "2001:db8:1::1")


def test_rules() -> None:
    rules = [{"cidr": "10.0.0.0/8", "exceptCidrs": ["10.1.0.0/16"], "ports": [{"port": 5432}]}, {"cidr": "::/0"}]
    policy = network_policy(PLACEMENT, read_sandbox({**BASE, "egress": rules}))
    assert reaches(policy, "10.0.0.1", 5432)
    assert not reaches(policy, "10.0.0.1", 5433)
    assert not reaches(policy, "10.0.0.1", 5432, "UDP")
    assert not reaches(policy, "10.1.0.1", 5432)
    assert reaches(policy, "fd00::1", 1)
    assert not reaches(policy, "1.1.1.1")


@pytest.mark.parametrize("egress", ["internet", "none", [], [{"cidr": "10.0.0.0/8"}]])
def test_cluster_dns_is_always_reached(egress: object) -> None:
    policy = network_policy(PLACEMENT, read_sandbox({**BASE, "egress": egress}))
    dns = policy["spec"]["egress"][0]
    assert {"port": 53, "protocol": "UDP"} in dns["ports"]
    assert {"port": 53, "protocol": "TCP"} in dns["ports"]
    assert len(dns["ports"]) == 2
    peer = dns["to"][0]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert peer["podSelector"]["matchLabels"] == {"k8s-app": "kube-dns"}
    for protocol in ("UDP", "TCP"):
        assert reaches(policy, "169.254.20.10", 53, protocol)


@FEWER
@given(requests())
def test_shape(data: dict[str, Any]) -> None:
    spec = read_sandbox(data)
    policy = network_policy(PLACEMENT, spec)["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert all(rule.get("to") for rule in policy["egress"])
    assert all(peer for rule in policy["egress"] for peer in rule["to"])
    for rule in policy["egress"]:
        for peer in rule["to"]:
            block = peer.get("ipBlock", {"cidr": "0.0.0.0/0"})
            outer = ipaddress.ip_network(block["cidr"])
            for text in block.get("except", []):
                inner = ipaddress.ip_network(text)
                assert inner.version == outer.version
                assert inner.subnet_of(outer)  # type: ignore[arg-type]
                assert inner != outer
            assert len(set(block.get("except", []))) == len(block.get("except", []))
    opened = [(rule["ports"][0]["port"], rule["ports"][0]["protocol"]) for rule in policy["ingress"]]
    assert sorted(opened) == sorted((port.port, port.protocol) for port in spec.ports)
    assert all(len(rule["ports"]) == 1 for rule in policy["ingress"])
