"""Who reaches whom: listeners in the cluster's network and beyond it, and a probe that runs inside of a pod.

Beyond the cluster there is a network namespace of the test's own, joined to the node's by a cable. Public and private
addresses stand on the same machine there, behind the same route: only a policy can tell them apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import Cluster
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.mortal import with_us
from tests.harness.pods import inside

PORT = 8099
METADATA = "169.254.169.254"
PUBLIC = "198.51.100.10"
BLOCKED = "203.0.113.10"
PRIVATE = ("10.77.0.10", "100.64.7.10", "172.20.0.10", "192.168.77.10")
_NODE_END, _OUTER_END = "192.0.2.1", "192.0.2.2"

LISTEN = """
import socketserver, sys, threading

class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"reached")

socketserver.ThreadingTCPServer.allow_reuse_address = True
for port in sys.argv[1:]:
    server = socketserver.ThreadingTCPServer(("0.0.0.0", int(port)), Answer)
    threading.Thread(target=server.serve_forever).start()
"""
"""A program that listens on the TCP ports in its arguments."""

_PROBE = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor

def probe(target):
    host, port = target
    try:
        if port == 0:
            return "reached" if socket.getaddrinfo(host, 80) else "no address"
        with socket.create_connection((host, port), 3):
            return "reached"
    except OSError as error:
        return f"not reached: {error}"

targets = json.load(sys.stdin)
with ThreadPoolExecutor(len(targets)) as pool:
    print(json.dumps(dict(zip(targets, pool.map(probe, targets.values())))))
"""

Target = tuple[str, int]
"""Host and port; port 0 asks for the host's address only."""


def probe(ground: Ground, namespace: str, pod: str, targets: Mapping[str, Target]) -> dict[str, bool]:
    """Return for each named target whether the pod reaches it."""
    command = ["python3", "-c", _PROBE]
    found: dict[str, str] = json.loads(inside(ground, namespace, pod, command, given=json.dumps(targets)))
    return {name: answer == "reached" for name, answer in found.items()}


@dataclass(frozen=True)
class Outside:
    """What stands beyond the cluster."""

    node: int
    """A process in the cluster's network namespace."""
    outer: int
    """A process in the namespace beyond."""


@contextmanager
def outside(cluster: Cluster) -> Iterator[Outside]:
    """Have listeners on port 8099 of the node, the metadata address, and public and private addresses beyond."""
    node = cluster.pid_of("etcd")
    with ExitStack() as undo:
        outer = _running(undo, ["unshare", "--net", "sleep", "infinity"])
        eventually(lambda: _namespace(outer) != _namespace(None), "a network namespace beyond the cluster")
        _in(node, "ip", "link", "add", "beyond", "type", "veth", "peer", "name", "inward", "netns", str(outer))
        undo.callback(_in, node, "ip", "link", "delete", "beyond")
        _in(node, "ip", "address", "add", f"{_NODE_END}/30", "dev", "beyond")
        _in(node, "ip", "link", "set", "beyond", "up")
        _in(node, "ip", "address", "add", f"{METADATA}/32", "dev", "lo")
        undo.callback(_in, node, "ip", "address", "delete", f"{METADATA}/32", "dev", "lo")
        _in(outer, "ip", "address", "add", f"{_OUTER_END}/30", "dev", "inward")
        for device in ("lo", "inward"):
            _in(outer, "ip", "link", "set", device, "up")
        _in(outer, "ip", "route", "add", "default", "via", _NODE_END)
        for address in (PUBLIC, BLOCKED, *PRIVATE):
            _in(outer, "ip", "address", "add", f"{address}/32", "dev", "lo")
            _in(node, "ip", "route", "add", f"{address}/32", "via", _OUTER_END)
        for pid in (node, outer):
            _running(undo, [*_enter(pid), sys.executable, "-c", LISTEN, str(PORT)])
        yield Outside(node, outer)


def _running(undo: ExitStack, command: Sequence[str]) -> int:
    process = subprocess.Popen([*with_us(), *command], stdin=subprocess.DEVNULL)

    def end() -> None:
        process.kill()
        process.wait(20)

    undo.callback(end)
    return process.pid


def _namespace(pid: int | None) -> str:
    return str(Path("/proc", "self" if pid is None else str(pid), "ns", "net").readlink())


def _enter(pid: int) -> list[str]:
    return ["nsenter", "--target", str(pid), "--net"]


def _in(pid: int, *command: str) -> None:
    subprocess.run([*_enter(pid), *command], check=True)
