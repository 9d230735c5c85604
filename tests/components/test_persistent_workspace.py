"""`PersistentWorkspace` alone: the claim, its protection, and what is refused."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from sandbox_components import InvalidInput, PersistentWorkspace
from tests.components.recorder import Recording, record, registered_before_error


def made(args: Any, **how: Any) -> Recording:
    return record(lambda: PersistentWorkspace("disk", args).claim_name, **how)


def test_names_inputs_and_protection() -> None:
    recording = made({"size": "50Gi", "storage_class": "abs", "labels": {"team": "red"}, "namespace": "agents"})
    assert recording.names == [
        "sandbox-components:index:PersistentWorkspace::disk",
        "kubernetes:core/v1:PersistentVolumeClaim::disk-workspace",
    ]
    claim = recording.one("PersistentVolumeClaim")
    assert claim.protect
    assert claim.inputs["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "abs",
        "resources": {"requests": {"storage": "50Gi"}},
    }
    assert claim.inputs["metadata"]["namespace"] == "agents"
    assert claim.inputs["metadata"]["labels"]["team"] == "red"
    assert claim.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    assert recording.result == "disk-workspace"


def test_deletion_delete_is_not_protected() -> None:
    assert not made({"deletion": "delete"}).one("PersistentVolumeClaim").protect


def test_defaults() -> None:
    def program() -> pulumi.Output[Any]:
        one = PersistentWorkspace("disk", {})
        return pulumi.Output.all(one.claim_name, one.mount_path)

    assert record(program).result == ["disk-workspace", "/workspace"]


def test_an_existing_claim_is_named_and_not_made() -> None:
    recording = made({"existing_claim": "theirs"})
    assert not recording.of("PersistentVolumeClaim")
    assert recording.result == "theirs"


def test_a_claim_of_another_name() -> None:
    assert made({"claim_name": "old-workspace"}).one("PersistentVolumeClaim").inputs["metadata"]["name"] == (
        "old-workspace"
    )


def test_the_same_claim_as_a_sandboxs() -> None:
    """A workspace can be taken out of its sandbox without a new claim: equal inputs, equal Kubernetes name."""
    from sandbox_components import Sandbox

    disk: Any = {"mount_path": "/data", "size": "1Gi"}
    alone = made(disk).one("PersistentVolumeClaim")
    args: Any = {"image": "a:1", "resource_limits": {"cpu": 1, "memory": "1Gi"}, "workspace": disk}
    within = record(lambda: Sandbox("disk", args).name).one("PersistentVolumeClaim")
    assert (alone.name, alone.inputs) == (within.name, within.inputs)


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"size": "50GB"}, "disk.size"),
        ({"size": "0"}, "disk.size"),
        ({"storage_class": "No Class"}, "disk.storageClass"),
        ({"mount_path": "data"}, "disk.mountPath"),
        ({"deletion": "keep"}, "disk.deletion"),
        ({"deletion": ["delete"]}, "disk.deletion"),
        ({"labels": {"app.kubernetes.io/name": "x"}}, "disk.labels"),
        ({"labels": "x"}, "disk.labels"),
        ({"existing_claim": "a", "size": "1Gi"}, "disk.existingClaim"),
        ({"siez": "1Gi"}, "disk.siez"),
        ({"namespace": "Not_One"}, "namespace"),
    ],
)
def test_nothing_is_registered_for_wrong_arguments(args: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(args)
    assert caught.value.field.startswith(field)
    assert registered_before_error() == []
