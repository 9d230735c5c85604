"""Ports that a sandbox exposes, who may reach them, and what the sandbox itself may reach."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.health import check_port
from sandbox_components.spec.reading import Model, Text, Whole
from sandbox_components.spec.shown import show

Protocol = Literal["TCP", "UDP"]
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9-]*[a-z0-9])?")


class Port(Model):
    """An exposed port. A change restarts the agent and makes a revision.

    Attributes:
        port: 1 to 65535; the Service listens on the same number.
        name: at most 15 lower-case letters, digits and `-`; default `port-NUMBER`.
        protocol: TCP (default) or UDP.
    """

    port: Annotated[Whole, Field(examples=[8080])]
    name: Text | None = None
    protocol: Protocol = "TCP"

    @field_validator("port")
    @classmethod
    def _port(cls, value: int) -> int:
        return check_port(value)

    @field_validator("name")
    @classmethod
    def _name(cls, value: str | None) -> str | None:
        if value is not None and (len(value) > 15 or not _PORT_NAME.fullmatch(value) or "--" in value):
            raise InvalidInput(
                "", f'{show(value)} is not a port name: at most 15 lower-case letters, digits and "-", with a letter'
            )
        return value

    @property
    def port_name(self) -> str:
        """Name of the port in Service and container."""
        suffix = "" if self.protocol == "TCP" else "-udp"
        return self.name or f"port-{self.port}{suffix}"


class Expose(Model):
    """Who reaches an exposed port: `private` (in the cluster) or `public` (an Ingress with host and TLS secret)."""

    visibility: Annotated[Literal["private", "public"], Field(examples=["private"])]
    host: Text | None = None
    tls_secret: Text | None = None

    @model_validator(mode="after")
    def _complete(self) -> Expose:
        for key, value in (("host", self.host), ("tlsSecret", self.tls_secret)):
            if self.visibility == "public" and value is None:
                raise InvalidInput(key, "is missing: a public port needs host and tlsSecret")
            if self.visibility == "private" and value is not None:
                raise InvalidInput(key, "is only for visibility public")
            if value is not None and not naming.is_dns_subdomain(value):
                raise InvalidInput(key, f'{show(value)} is not a DNS name of lower-case letters, digits, "-" and "."')
        return self


class EgressPort(Model):
    """A destination port of an egress rule."""

    port: Annotated[Whole, Field(examples=[8080])]
    protocol: Protocol = "TCP"

    @field_validator("port")
    @classmethod
    def _port(cls, value: int) -> int:
        return check_port(value)


class EgressRule(Model):
    """One thing that the sandbox may reach: an address range, on some ports (default all).

    Attributes:
        cidr: such as `10.20.0.0/16` or `2001:db8::/32`.
        except_cidrs: ranges inside it that stay refused.
        ports: destination ports; empty means all.
    """

    cidr: Annotated[Text, Field(examples=["10.20.0.0/16"])]
    except_cidrs: tuple[Text, ...] = ()
    ports: tuple[EgressPort, ...] = ()

    @model_validator(mode="after")
    def _ranges(self) -> EgressRule:
        outer = check_cidr(self.cidr, "cidr")
        for index, text in enumerate(self.except_cidrs):
            inner = check_cidr(text, f"exceptCidrs[{index}]")
            if inner.version != outer.version or not inner.subnet_of(outer) or inner == outer:  # type: ignore[arg-type]
                raise InvalidInput(f"exceptCidrs[{index}]", f"{show(text)} is not inside {self.cidr}")
        return self


def check_cidr(text: object, field: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return `text` as an address range.

    Raises:
        InvalidInput: with the right spelling when only host bits are set.
    """
    if not isinstance(text, str) or "/" not in text or "%" in text:
        raise InvalidInput(field, f"{show(text)} is not an address range such as 10.20.0.0/16")
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        try:
            fixed = ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise InvalidInput(field, f"{show(text)} is not an address range such as 10.20.0.0/16") from None
        raise InvalidInput(field, f"{show(text)} has bits set after the prefix: write {fixed}") from None


def in_order(ports: Iterable[Port]) -> list[Port]:
    """Return `ports` in the one order that manifests and revisions use, so that another order is no change."""
    return sorted(ports, key=lambda port: (port.port, port.protocol))


def check_unique(ports: tuple[Port, ...], field: str) -> None:
    """Refuse two ports of one number and protocol, or of one name.

    Raises:
        InvalidInput: naming the second one.
    """
    numbers: set[tuple[int, str]] = set()
    names: set[str] = set()
    for index, port in enumerate(ports):
        if (port.port, port.protocol) in numbers:
            raise InvalidInput(f"{field}[{index}].port", f"{port.port}/{port.protocol} is given twice")
        if port.port_name in names:
            raise InvalidInput(f"{field}[{index}].name", f'"{port.port_name}" is given twice')
        numbers.add((port.port, port.protocol))
        names.add(port.port_name)
