"""The two changes that cost every disk at once, where disks may be lost: what is left is what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from tests.engine.disk_ground import SOURCE, Disks
from tests.engine.disk_table import GONE, ROWS
from tests.harness.api import eventually
from tests.harness.ground import Ground

pytestmark = pytest.mark.node


@pytest.fixture
def disks(node_ground: Ground, node_cluster: Cluster, tmp_path: Path) -> Iterator[Disks]:
    """Two sandboxes whose disks may be lost, and a Namespace that isn't protected."""
    with node_ground.stack(tmp_path / "stack", program="disk", source=SOURCE) as stack:
        disks = Disks(node_ground, node_cluster, stack)
        disks.plan["protect"] = False
        for name in ("one", "two"):
            disks.add(name, deletion="delete")
        disks.up(preview=False).ok()
        for name in ("one", "two"):
            disks.mark(f"{name}-workspace", name)
            disks.ready(name)
        yield disks


def test_two_name_each_others_disk(disks: Disks) -> None:
    assert ROWS["swap-existing"].delete == GONE
    for name, other in (("one", "two"), ("two", "one")):
        workspace = {"mount_path": "/workspace", "existing_claim": f"{other}-workspace"}
        disks.plan["sandboxes"][name]["args"]["workspace"] = workspace
    disks.up(preview=False).ok()
    assert not disks.api.list("PersistentVolumeClaim", disks.namespace)
    eventually(lambda: '"two-workspace" not found' in _waits(disks, "one"), "one waits")
    eventually(lambda: '"one-workspace" not found' in _waits(disks, "two"), "two waits")


def test_the_namespace_is_taken_out(disks: Disks) -> None:
    assert ROWS["namespace-removed"].delete == GONE
    folders = [disks.folder(disks.claim(f"{name}-workspace")) for name in ("one", "two")]
    assert all(folder.is_dir() for folder in folders)
    disks.plan["namespace"] = False
    disks.up(preview=False).ok()
    assert disks.api.find("Namespace", disks.namespace) is None
    eventually(lambda: not any(folder.exists() for folder in folders), "the disks are gone")


def _waits(disks: Disks, name: str) -> str:
    """Why the scheduler keeps a sandbox's pod waiting."""
    pod = disks.api.find("Pod", f"{name}-0", disks.namespace) or {}
    conditions = pod.get("status", {}).get("conditions") or []
    return " ".join(str(one.get("message")) for one in conditions if one["type"] == "PodScheduled")
