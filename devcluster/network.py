"""The cable between the host and a cluster, and the addresses on it.

Cluster number N has 10.250.N.0/30 for the cable (.1 the host, .2 the node) and 10.251.N.0/24 for its pods.
The host gets a route to the pods, so that a pod can talk to the host's side without address translation.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import ClusterError

HIGHEST_NUMBER = 254


@dataclass(frozen=True)
class Addresses:
    """The addresses that follow from a cluster's number."""

    number: int

    @property
    def host(self) -> str:
        """The host's end of the cable."""
        return f"10.250.{self.number}.1"

    @property
    def node(self) -> str:
        """The node's end of the cable."""
        return f"10.250.{self.number}.2"

    @property
    def pods(self) -> str:
        """The range of the pods."""
        return f"10.251.{self.number}.0/24"

    @property
    def host_device(self) -> str:
        """The name of the host's end of the cable."""
        return f"sandbox{self.number}"


def first_free(taken: set[int]) -> int:
    """The lowest number that neither `taken` nor one of the host's own devices holds.

    Raises:
        ClusterError: all are held.
    """
    held = taken | numbers_on_host()
    for number in range(1, HIGHEST_NUMBER + 1):
        if number not in held:
            return number
    raise ClusterError("every network 10.250.N.0/30 is taken: stop a cluster with `make cluster-down CLUSTER=NAME`")


def numbers_on_host() -> set[int]:
    """The numbers of networks that the host has an address in."""
    numbers = set()
    for device in json.loads(_ip("-json", "address", "show") or "[]"):
        for address in device.get("addr_info", []):
            parts = str(address.get("local", "")).split(".")
            if parts[:1] == ["10"] and parts[1:2] in (["250"], ["251"]):
                numbers.add(int(parts[2]))
    return numbers


def connect(addresses: Addresses, inner_first: int) -> None:
    """Lay the cable, or what of it is missing, to the cluster whose first process is `inner_first`."""
    device = addresses.host_device
    if not exists(device):
        _ip("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", str(inner_first))
    _ip("address", "replace", f"{addresses.host}/30", "dev", device)
    _ip("link", "set", device, "up")
    _ip("route", "replace", addresses.pods, "via", addresses.node, "dev", device)


def exists(device: str) -> bool:
    """Whether the host has a network device of that name."""
    return Path("/sys/class/net", device).exists()


def disconnect(addresses: Addresses) -> None:
    """Take the cable away; it goes by itself with the cluster, only a little later."""
    device = addresses.host_device
    if exists(device):
        subprocess.run(["ip", "link", "delete", device], capture_output=True, check=False)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
