"""Ports, exposure and egress: what is accepted, and that equal things are told to be equal."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.network import EgressRule, Expose, Port, check_cidr, check_unique
from sandbox_components.spec.reading import read


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"port": 1}, "port-1"),
        ({"port": 65535}, "port-65535"),
        ({"port": 53, "protocol": "UDP"}, "port-53-udp"),
        ({"port": 8080.0, "name": "web"}, "web"),
        ({"port": 80, "name": "a" * 15}, "a" * 15),
        ({"port": 80, "name": "8a"}, "8a"),
    ],
)
def test_port_names(data: dict[str, object], name: str) -> None:
    port = read(Port, data, "ports[0]")
    assert port.port_name == name
    assert len(port.port_name) <= 15
    assert isinstance(port.port, int)


def test_one_number_on_both_protocols() -> None:
    check_unique((Port(port=53), Port(port=53, protocol="UDP")), "ports")


def test_a_name_that_another_port_has_by_default() -> None:
    with pytest.raises(InvalidInput, match=r'ports\[1\].name: "port-80" is given twice'):
        check_unique((Port(port=80), Port(port=81, name="port-80")), "ports")


def test_exposure() -> None:
    public = {"visibility": "public", "host": "agent.acme.example", "tlsSecret": "agent-tls"}
    assert read(Expose, public, "e").tls_secret == "agent-tls"
    assert read(Expose, {"visibility": "private"}, "e").host is None


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "2001:db8::/32", "::/0"])
def test_ranges(cidr: str) -> None:
    assert str(check_cidr(cidr, "cidr")) == cidr
    assert read(EgressRule, {"cidr": cidr}, "e").cidr == cidr


@pytest.mark.parametrize(
    "cidr", ["", "/", "10/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "a/8", "::1", " ::/0", 10, None]
)
def test_ranges_that_are_refused(cidr: object) -> None:
    with pytest.raises(InvalidInput, match="is not an address range such as"):
        check_cidr(cidr, "cidr")


@pytest.mark.parametrize(("outer", "inner"), [("10.0.0.0/8", "11.0.0.0/9"), ("10.0.0.0/8", "::/9"), ("::/0", "::/0")])
def test_exceptions_lie_inside(outer: str, inner: str) -> None:
    with pytest.raises(InvalidInput, match=f"is not inside {outer}"):
        read(EgressRule, {"cidr": outer, "exceptCidrs": [inner]}, "e")
    assert read(EgressRule, {"cidr": "10.0.0.0/8", "except_cidrs": ["10.1.0.0/16"]}, "e").except_cidrs


@given(st.ip_addresses(), st.integers(0, 128))
def test_host_bits_are_told_with_the_right_spelling(address: ipaddress.IPv4Address, prefix: int) -> None:
    text = f"{address}/{min(prefix, address.max_prefixlen)}"
    right = str(ipaddress.ip_network(text, strict=False))
    try:
        assert str(check_cidr(text, "cidr")) == right
    except InvalidInput as error:
        assert error.problem.endswith(f"write {right}")  # noqa: PT017
