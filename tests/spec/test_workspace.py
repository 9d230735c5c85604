"""The disk: both seeds' words for it, and paths that a volume can be mounted at."""

from __future__ import annotations

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.reading import read
from sandbox_components.spec.workspace import Workspace, check_mount_path, from_extensions


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("/data", "/data"),
        ("/data/", "/data"),
        ("//data", "/data"),
        ("/var/lib/agent", "/var/lib/agent"),
        ("/workspace/ä b", "/workspace/ä b"),
        ("/etc/agent", "/etc/agent"),
        ("/" + "a" * 511, "/" + "a" * 511),
        ("/$(HOME)", "/$(HOME)"),
    ],
)
def test_mount_paths(given: str, plain: str) -> None:
    assert check_mount_path(given) == plain


@pytest.mark.parametrize(
    "path",
    [
        "",
        "data",
        "./data",
        "~/data",
        "/",
        "//",
        "/.",
        "/..",
        "/a/..",
        "/a//b/../c",
        "/bin",
        "/usr/",
        "/proc/self",
        "/dev",
        "/a:b",
        "/a\tb",
        "/a\0b",
        "/" + "a" * 512,
        "C:\\data",
        "/var/run/secrets",
    ],
)
def test_mount_paths_that_are_refused(path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_mount_path(path, "mountPath")
    assert str(caught.value).startswith("mountPath: ")


def test_workspace_defaults() -> None:
    assert read(Workspace, {}, "workspace") == Workspace()
    assert Workspace().mount_path == "/workspace"
    assert Workspace().size is None


def test_extensions_of_the_first_seed() -> None:
    data = {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"}
    assert from_extensions(data, "extensions") == Workspace(size="50Gi", storage_class="local-path")
    assert from_extensions({"persistence": "false"}, "extensions") is None
    assert from_extensions({**data, "persistence": "false"}, "extensions") is None
    snake = {"persistence": "true", "storage_class": "local-path", "storage_size": "51200Mi"}
    assert from_extensions(snake, "extensions") == from_extensions(data, "extensions")


@pytest.mark.parametrize("left_out", ["persistence", "storageClass", "storageSize"])
def test_extensions_are_complete_or_refused(left_out: str) -> None:
    data = {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"}
    del data[left_out]
    with pytest.raises(InvalidInput) as caught:
        from_extensions(data, "extensions")
    assert caught.value.field == f"extensions.{left_out}"
    assert "is missing" in caught.value.problem


@pytest.mark.parametrize("key", ["size", "storageClass", "claimName"])
def test_an_existing_claim_is_used_as_it_is(key: str) -> None:
    assert read(Workspace, {"existingClaim": "old"}, "w").existing_claim == "old"
    with pytest.raises(InvalidInput, match="is used as it is"):
        read(Workspace, {"existingClaim": "old", key: "1Gi" if key == "size" else "x"}, "w")
