"""`file://` as Pulumi reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_components.errors import AccessDenied, NotFound
from sandbox_components.revisions.folder_store import FolderStore


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("file:///srv/state", "/srv/state"),
        ("file:///srv/state/", "/srv/state"),
        ("file:///srv/state?no_tmp_dir=true", "/srv/state"),
        ("file:///srv/a%20b", "/srv/a b"),
        ("file:///srv/a b", "/srv/a b"),
        ("file://.", "/project"),
        ("file://", "/project"),
        ("file://./state", "/project/state"),
        ("file://state", "/project/state"),
        ("file://../state", "/state"),
        ("file://~", "/home/ada"),
        ("file://~/state", "/home/ada/state"),
    ],
)
def test_urls(url: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert FolderStore.open(url, Path("/project")).root == Path(root)


def test_listing_and_reading(tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "one").write_bytes(b"1")
    store = FolderStore(tmp_path)
    (one,) = store.list("folder")
    assert one.name == "one"
    assert store.read("folder/one") == b"1"
    (tmp_path / "folder" / "one").write_bytes(b"12")
    assert store.list("folder")[0].mark != one.mark
    assert store.list("nothing") == []
    assert store.list("folder/one") == []
    with pytest.raises(NotFound, match="there is no such file"):
        store.read("folder/two")
    with pytest.raises(AccessDenied, match="Is a directory"):
        store.read("folder/below")
