"""A node of kwok's in a real cluster: pods on it are Ready at once and cost nothing.

kwok runs on the host, as any client of the API server; it ends with the session.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.api import Api, eventually, is_ready

NODE = "kwok"
MARK = "sandbox-components.test/node"
SELECTOR = {MARK: "kwok"}
TAINT = {"key": MARK, "value": "kwok", "effect": "NoSchedule"}


@contextmanager
def node(program: Path, kubeconfig: Path, api: Api, log: Path) -> Iterator[None]:
    """Have kwok's node in the cluster."""
    api.delete("Node", NODE)
    room = {"cpu": "1000", "memory": "4Ti", "pods": "2000", "ephemeral-storage": "1Ti"}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": NODE, "labels": {**SELECTOR, "kubernetes.io/os": "linux"}, "annotations": SELECTOR},
            "spec": {"taints": [TAINT]},
            "status": {"capacity": room, "allocatable": room},
        }
    )
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={MARK}=kwok",
        "--node-ip=127.0.0.1",
        "--node-lease-duration-seconds=40",
        "--config=-",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        eventually(lambda: process.poll() is not None or is_ready(api.find("Node", NODE)), f"kwok ready, see {log}")
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(20)
        api.delete("Node", NODE)
