"""The disk table, against the real engine, API server and provisioner, with a file on every disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from devcluster.cluster import Cluster
from tests.engine.disk_ground import SOURCE, Disks
from tests.engine.disk_table import API, ENGINE, GONE, KEPT, LOST, ROWS
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.outcome import Outcome
from tests.harness.pods import inside

pytestmark = pytest.mark.node

PROTECTED = ("kept", "other", "guarded", "old", "grown")
DELETABLE = ("classed", "claimed", "removed", "renamed", "aliased", "emptied", "instead", "moved")
EXPANDABLE = "local-path-expandable"
THEIRS = "theirs"


@dataclass
class Before:
    """What the API server gave at first: by sandbox."""

    claims: dict[str, str]
    pods: dict[str, str]
    sets: dict[str, str]


@pytest.fixture(scope="module")
def disks(node_ground: Ground, node_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disks]:
    """Sandboxes whose disks may be lost, others whose may not, all running, a file on each disk."""
    folder = tmp_path_factory.mktemp("disk") / "stack"
    with node_ground.stack(folder, program="disk", source=SOURCE) as stack:
        disks = Disks(node_ground, node_cluster, stack)
        for name in PROTECTED:
            disks.add(name, deletion="protect", claim=EXPANDABLE if name == "grown" else "local-path")
        for name in DELETABLE:
            disks.add(name, deletion="delete")
        disks.plan["sandboxes"]["guarded"] |= {"protect": True, "secrets": {"TOKEN": "first"}}
        disks.add("adopting", deletion="protect")
        disks.plan["sandboxes"]["adopting"]["args"]["workspace"] = {"existing_claim": THEIRS}
        disks.up().ok()
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        metadata = {"name": THEIRS, "namespace": stack.namespace}
        disks.api.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
        for name in (*PROTECTED, *DELETABLE):
            disks.mark(f"{name}-workspace", name)
        disks.mark(THEIRS, "theirs")
        for name in disks.plan["sandboxes"]:
            disks.ready(name)
        yield disks


@pytest.fixture(scope="module")
def before(disks: Disks) -> Before:
    """Everything as it was when it was made."""
    names = list(disks.plan["sandboxes"])
    return Before(
        {
            name: disks.uid("PersistentVolumeClaim", THEIRS if name == "adopting" else f"{name}-workspace")
            for name in names
        },
        {name: disks.uid("Pod", f"{name}-0") for name in names},
        {name: disks.uid("StatefulSet", name) for name in names},
    )


def _swap(disks: Disks, key: str, one: str = "kept", two: str = "other") -> None:
    for name, other in ((one, two), (two, one)):
        given: Any = {"mount_path": "/workspace"} if key == "existing_claim" else disks.workspace(name)
        disks.plan["sandboxes"][name]["args"]["workspace"] = {**given, key: f"{other}-workspace"}


def _drop(disks: Disks, *path: str) -> None:
    where = disks.plan
    for part in path[:-1]:
        where = where[part]
    where.pop(path[-1])


def _alias(disks: Disks) -> None:
    disks.rename("kept", "new", aliases=["kept"])


REFUSED: dict[str, Callable[[Disks], Any]] = {
    "grow-refused": lambda disks: disks.workspace("kept").update(size="2Gi"),
    "shrink": lambda disks: disks.workspace("grown").update(size="500Mi"),
    "class": lambda disks: disks.workspace("kept").update(storage_class=EXPANDABLE),
    "claim-name": lambda disks: disks.workspace("kept").update(claim_name="another"),
    "adopt-instead": lambda disks: disks.plan["sandboxes"]["kept"]["args"].update(workspace={"existing_claim": THEIRS}),
    "workspace": lambda disks: _drop(disks, "sandboxes", "kept", "args", "workspace"),
    "rename-alias": _alias,
    "rename": lambda disks: disks.rename("kept", "new"),
    "removed": lambda disks: _drop(disks, "sandboxes", "kept"),
    "swap": lambda disks: _swap(disks, "claim_name"),
    "swap-existing": lambda disks: _swap(disks, "existing_claim"),
    "namespace": lambda disks: disks.plan["sandboxes"]["kept"]["args"].update(namespace="default"),
    "namespace-removed": lambda disks: disks.plan.update(namespace=False),
}
SAYS = {
    "grow-refused": "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc",
    "shrink": "field can not be less than",
}
"""The API server's words; the engine's are the same everywhere."""


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason(case: str, disks: Disks, before: Before) -> None:
    by_api = ROWS[case].protect == API
    assert by_api or ROWS[case].protect == ENGINE
    with disks.another_plan():
        REFUSED[case](disks)
        done = disks.up()
    assert done.exit_code != 0
    if by_api:
        assert SAYS[case] in done.output
    else:
        assert "To unprotect the resource" in done.output
        assert "Updating (" not in done.output  # refused in the preview, before anything was done
    for name in ("kept", "other", "grown"):
        claim = disks.claim(f"{name}-workspace")
        assert claim["metadata"]["uid"] == before.claims[name]
        assert not claim["metadata"].get("deletionTimestamp")
        assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
        assert disks.marked(f"{name}-workspace") == name
        assert disks.uid("Pod", f"{name}-0") == before.pods[name]


def test_swapped_names_are_refused_where_disks_may_be_lost_too(disks: Disks, before: Before) -> None:
    """Without that the engine would put each claim over the other, and then delete both."""
    assert ROWS["swap"].delete == API
    with disks.another_plan():
        _swap(disks, "claim_name", "emptied", "moved")
        done = disks.up(preview=False)
    assert done.exit_code != 0
    assert "sandbox-components/sandbox" in done.output
    for name in ("emptied", "moved"):
        assert disks.uid("PersistentVolumeClaim", f"{name}-workspace") == before.claims[name]
        assert disks.marked(f"{name}-workspace") == name


@pytest.fixture(scope="module")
def in_place(disks: Disks, before: Before) -> Outcome:
    """Everything that keeps the disk, in one `up`."""
    disks.workspace("grown").update(size="2Gi")
    disks.workspace("kept").update(mount_path="/data")
    disks.plan["sandboxes"]["other"]["args"]["labels"] = {"team": "blue"}
    disks.plan["sandboxes"]["guarded"]["secrets"] = {"TOKEN": "second"}
    disks.rename("old", "new", aliases=["old"])
    disks.workspace("new").update(claim_name="old-workspace")
    return disks.up().ok()


KEPT_BY: dict[str, tuple[str, str]] = {
    "grow": ("grown", "grown"),
    "mount": ("kept", "kept"),
    "labels": ("other", "other"),
    "rotated": ("guarded", "guarded"),
    "rename-kept": ("old", "new"),
    "adopt": ("adopting", "adopting"),
}
"""Case → sandbox before and after."""


@pytest.mark.parametrize("case", KEPT_BY)
def test_kept_in_place(case: str, disks: Disks, before: Before, in_place: Outcome) -> None:
    assert ROWS[case].protect == KEPT
    old, new = KEPT_BY[case]
    name = THEIRS if case == "adopt" else f"{old}-workspace"
    claim = disks.claim(name)
    assert claim["metadata"]["uid"] == before.claims[old]
    assert not [step for step in in_place.changes if step.kind == "PersistentVolumeClaim" and step.op != "update"]
    assert disks.marked(name) == (THEIRS if case == "adopt" else old)
    if ROWS[case].restarts:
        eventually(lambda: disks.uid("Pod", f"{new}-0") != before.pods[old], f"{new} restarts")
    pod = disks.ready(new)
    assert (pod["metadata"]["uid"] != before.pods[old]) is ROWS[case].restarts
    where = "/data" if case == "mount" else "/workspace"
    assert inside(disks.ground, disks.namespace, f"{new}-0", ["cat", f"{where}/marker"]) == disks.marked(name)
    if case == "grow":
        assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    if case == "rename-kept":
        assert disks.api.find("StatefulSet", "old", disks.namespace) is None


@pytest.fixture(scope="module")
def allowed(disks: Disks, before: Before, in_place: Outcome) -> Outcome:
    """Everything that costs a disk which may be lost, in one `up`."""
    disks.workspace("classed").update(storage_class=EXPANDABLE)
    disks.workspace("claimed").update(claim_name="another")
    _drop(disks, "sandboxes", "emptied", "args", "workspace")
    disks.rename("renamed", "fresh")
    disks.rename("aliased", "likewise", aliases=["aliased"])
    _drop(disks, "sandboxes", "removed")
    disks.plan["sandboxes"]["instead"]["args"]["workspace"] = {"existing_claim": THEIRS}
    _drop(disks, "sandboxes", "adopting")
    disks.plan["sandboxes"]["moved"]["args"]["namespace"] = "default"
    disks.plan["sandboxes"]["other"]["args"]["deletion"] = "delete"
    return disks.up(preview=False).ok()


LOST_BY = {
    "class": ("classed", "classed", "classed-workspace"),
    "claim-name": ("claimed", "claimed", "another"),
    "rename": ("renamed", "fresh", "fresh-workspace"),
    "rename-alias": ("aliased", "likewise", "likewise-workspace"),
}
"""Case → sandbox before and after, and the new claim."""
GONE_BY = {"workspace": "emptied", "removed": "removed", "adopt-instead": "instead"}


@pytest.mark.parametrize("case", LOST_BY)
def test_lost_where_that_is_allowed(case: str, disks: Disks, before: Before, allowed: Outcome) -> None:
    assert ROWS[case].delete == LOST
    old, new, claim = LOST_BY[case]
    assert disks.claim(claim)["metadata"]["uid"] != before.claims[old]
    disks.ready(new)
    assert disks.marked(claim) is None
    assert disks.uid("StatefulSet", new) != before.sets[old]  # it goes with the claim and comes back with it
    if claim != f"{old}-workspace":
        assert disks.api.find("PersistentVolumeClaim", f"{old}-workspace", disks.namespace) is None


def test_moved_where_that_is_allowed(disks: Disks, before: Before, allowed: Outcome) -> None:
    assert ROWS["namespace"].delete == LOST
    try:
        assert disks.claim("moved-workspace", "default")["metadata"]["uid"] != before.claims["moved"]
        assert disks.api.find("PersistentVolumeClaim", "moved-workspace", disks.namespace) is None
        assert disks.api.find("StatefulSet", "moved", disks.namespace) is None
    finally:
        for kind, name in (("StatefulSet", "moved"), ("PersistentVolumeClaim", "moved-workspace")):
            disks.api.delete(kind, name, "default")


@pytest.mark.parametrize("case", GONE_BY)
def test_deleted_where_that_is_allowed(case: str, disks: Disks, allowed: Outcome) -> None:
    assert ROWS[case].delete == GONE
    assert disks.api.find("PersistentVolumeClaim", f"{GONE_BY[case]}-workspace", disks.namespace) is None
    assert (disks.api.find("StatefulSet", GONE_BY[case], disks.namespace) is None) is (case == "removed")


def test_deletion_is_no_change_of_the_disk(disks: Disks, before: Before, allowed: Outcome) -> None:
    assert ROWS["deletion"].protect == KEPT
    assert disks.claim("other-workspace")["metadata"]["uid"] == before.claims["other"]
    assert disks.uid("Pod", "other-0") == before.pods["other"]
    assert disks.marked("other-workspace") == "other"


def test_an_existing_claim_outlives_its_sandbox(disks: Disks, before: Before, allowed: Outcome) -> None:
    assert disks.api.find("StatefulSet", "adopting", disks.namespace) is None
    assert disks.claim(THEIRS)["metadata"]["uid"] == before.claims["adopting"]
    eventually(lambda: disks.uid("Pod", "instead-0") != before.pods["instead"], "the sandbox that has it now restarts")
    disks.ready("instead")
    assert inside(disks.ground, disks.namespace, "instead-0", ["cat", "/workspace/marker"]) == THEIRS


def test_the_protected_ones_have_their_files_still(disks: Disks, allowed: Outcome) -> None:
    for name in PROTECTED:
        assert disks.marked(f"{name}-workspace") == name
