"""A node of kwok's in a real cluster: pods on it are Ready at once and cost nothing.

kwok runs on the host, as any client of the API server; it ends with the session, also with one that is killed.
"""

from __future__ import annotations

import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.harness.api import Api, eventually, is_ready
from tests.harness.mortal import with_us

MARK = "sandbox-components.test/kwok"


@dataclass(frozen=True)
class KwokNode:
    """A node of this session's own, so that sessions on one cluster don't meet."""

    name: str
    process: subprocess.Popen[bytes]

    @property
    def selector(self) -> dict[str, str]:
        """Labels that it alone has."""
        return {MARK: self.name}

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Let nothing begin or end on it. Not for longer than half a minute, or the node counts as lost."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def node(program: Path, kubeconfig: Path, api: Api, log: Path) -> Iterator[KwokNode]:
    """Have a node of kwok's in the cluster."""
    for old in api.list("Node", selector=MARK):
        if not is_ready(old):  # a session that was killed left it
            api.delete("Node", old["metadata"]["name"])
    name = f"kwok-{uuid.uuid4().hex[:8]}"
    mark, room = {MARK: name}, {"cpu": "1000", "memory": "4Ti", "pods": "2000", "ephemeral-storage": "1Ti"}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**mark, "kubernetes.io/os": "linux"}, "annotations": mark},
            "spec": {"taints": [{"key": MARK, "value": name, "effect": "NoSchedule"}]},
            "status": {"capacity": room, "allocatable": room},
        }
    )
    command = [
        *with_us(),
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={MARK}={name}",
        "--node-ip=127.0.0.1",
        "--node-lease-duration-seconds=40",
        "--config=-",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        eventually(lambda: process.poll() is not None or is_ready(api.find("Node", name)), f"kwok ready, see {log}")
        assert process.poll() is None, log.read_text()
        yield KwokNode(name, process)
    finally:
        process.terminate()
        process.wait(20)
        api.delete("Node", name)
