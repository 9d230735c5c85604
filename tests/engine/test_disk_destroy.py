"""`pulumi destroy` and the command's own ways to a protected disk: refused where it must be, never hanging."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devcluster.cluster import Cluster
from tests.engine.disk_ground import SOURCE, Disks
from tests.harness.api import eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground

pytestmark = pytest.mark.node

LONGEST_DESTROY = 60
"""Seconds; what hangs, hangs for minutes."""


@pytest.fixture(scope="module")
def disks(node_ground: Ground, node_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    """One sandbox of the program's and one of the config's, both with a protected disk and a file on it."""
    folder = tmp_path_factory.mktemp("destroy") / "stack"
    with node_ground.stack(folder, program="disk", source=SOURCE) as stack:
        disks = Disks(node_ground, node_cluster, stack)
        disks.add("kept", deletion="protect")
        entry = node_ground.sandbox(deletion="protect", volumes=node_ground.volume())
        stack.configure({"sandboxes": {"own": entry}})
        disks.up(preview=False).ok()
        for name in ("kept", "own"):
            disks.mark(f"{name}-workspace", name)
            disks.ready(name)
        yield disks


def test_update_refuses_a_smaller_size_before_anything_is_run(disks: Disks) -> None:
    before = disks.stack.config_file.read_bytes()
    said = sandbox(disks.stack, "update", "own", "--size", "512Mi", "-y")
    assert said.exit_code == 2
    assert '--size: "512Mi" is less than the 1Gi that the disk of own has' in said.errors
    assert disks.stack.config_file.read_bytes() == before


def test_update_tells_the_api_servers_reason_against_growth(disks: Disks) -> None:
    before = disks.stack.config_file.read_bytes()
    said = sandbox(disks.stack, "update", "own", "--size", "2Gi", "-y")
    disks.stack.config_file.write_bytes(before)
    assert said.exit_code == 4
    assert "only dynamically provisioned pvc can be resized" in said.errors


def test_update_refuses_another_class(disks: Disks) -> None:
    before = disks.stack.config_file.read_bytes()
    said = sandbox(disks.stack, "update", "own", "--storage-class", "local-path-expandable", "-y")
    assert said.exit_code == 4
    assert "this would delete the claim own-workspace and all that is on it" in said.errors
    assert disks.stack.config_file.read_bytes() == before
    assert disks.marked("own-workspace") == "own"


def test_delete_asks_says_what_becomes_of_the_disk_and_works_on_a_protected_one(disks: Disks) -> None:
    folder = disks.folder(disks.claim("own-workspace"))
    asked = sandbox(disks.stack, "delete", "own")
    assert asked.exit_code == 2
    assert "own-workspace" in asked.errors
    assert disks.marked("own-workspace") == "own"
    said = sandbox(disks.stack, "delete", "own", "-y").ok()
    assert "own-workspace" in said.text
    assert "delete" in said.text
    assert disks.api.find("PersistentVolumeClaim", "own-workspace", disks.namespace) is None
    assert disks.api.find("StatefulSet", "own", disks.namespace) is None
    eventually(lambda: not folder.exists(), "the provisioner has deleted the files")
    assert disks.marked("kept-workspace") == "kept"


def test_destroy_is_refused_and_deletes_nothing(disks: Disks) -> None:
    uid = disks.uid("Pod", "kept-0")
    done = disks.stack.pulumi("destroy", "--yes")
    assert done.exit_code != 0
    assert "because it is protected" in done.output
    assert disks.uid("Pod", "kept-0") == uid
    assert disks.marked("kept-workspace") == "kept"


def test_destroy_without_its_preview_is_refused_late_and_leaves_the_disk(disks: Disks) -> None:
    done = disks.stack.destroy()
    assert done.exit_code != 0
    assert "because it is protected" in done.output
    assert disks.api.find("StatefulSet", "kept", disks.namespace) is None  # it went before the engine met the claim
    assert disks.marked("kept-workspace") == "kept"
    disks.up(preview=False).ok()
    disks.ready("kept")
    assert disks.marked("kept-workspace") == "kept"


def test_destroy_of_all_but_protected_leaves_the_disk_to_come_back_to(disks: Disks) -> None:
    uid = disks.uid("PersistentVolumeClaim", "kept-workspace")
    assert disks.stack.destroy("--exclude-protected").ok().seconds < LONGEST_DESTROY
    assert disks.api.find("StatefulSet", "kept", disks.namespace) is None
    assert disks.uid("PersistentVolumeClaim", "kept-workspace") == uid
    assert disks.marked("kept-workspace") == "kept"
    disks.up(preview=False).ok()
    disks.ready("kept")
    assert disks.uid("PersistentVolumeClaim", "kept-workspace") == uid
    assert disks.marked("kept-workspace") == "kept"


def test_destroy_that_ignores_protection_takes_the_sandbox_first_and_then_the_disk(disks: Disks) -> None:
    folder = disks.folder(disks.claim("kept-workspace"))
    done = disks.stack.destroy("--ignore-protect").ok()
    assert done.seconds < LONGEST_DESTROY
    order = [step.kind for step in done.steps if step.kind in ("StatefulSet", "PersistentVolumeClaim", "Namespace")]
    assert order == ["StatefulSet", "PersistentVolumeClaim", "Namespace"]
    assert disks.api.find("Namespace", disks.namespace) is None
    eventually(lambda: not folder.exists(), "the provisioner has deleted the files")


def test_destroy_after_deletion_was_set_to_delete(disks: Disks) -> None:
    disks.up(preview=False).ok()
    disks.ready("kept")
    disks.plan["protect"] = False
    disks.plan["sandboxes"]["kept"]["args"]["deletion"] = "delete"
    done = disks.up(preview=False).ok()
    assert {step.kind for step in done.changes} <= {"PersistentVolumeClaim", "Namespace"}
    assert disks.stack.destroy().ok().seconds < LONGEST_DESTROY
    assert disks.stack.export() == []
