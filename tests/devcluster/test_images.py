"""The image writer and the recipes; the whole storage folder is tested where the node is."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

import pytest

from devcluster import build, debian, images
from devcluster.images import debian_root, oci, recipes, registry


def make_root(root: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        (root / "d").mkdir(parents=True, exist_ok=True)
        (root / "d" / name).write_text(name)
        time.sleep(0.01)
    (root / "d" / "a").chmod(0o4755)
    (root / "link").symlink_to("d/a")
    return root


def test_equal_folders_give_equal_layers(tmp_path: Path) -> None:
    for number, names in enumerate((("a", "b", "c"), ("c", "b", "a"))):
        oci.write_layer(make_root(tmp_path / f"root{number}", names), tmp_path / f"{number}.tar")
    assert (tmp_path / "0.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()
    with tarfile.open(tmp_path / "0.tar") as archive:
        assert archive.getnames() == ["d", "link", "d/a", "d/b", "d/c"]
        assert archive.getmember("d/a").mode & 0o7777 == 0o4755
        assert archive.getmember("link").linkname == "d/a"
        assert {entry.mtime for entry in archive} == {oci.FIXED_TIME}


def test_an_image_is_made_of_blobs_named_by_their_content(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    oci.write_layer(make_root(tmp_path / "root", ("a",)), layer)
    found = oci.write_image(tmp_path / "image", "1", [layer], {"Cmd": ["sh"]})
    blobs = {path.name: path.read_bytes() for path in (tmp_path / "image/blobs/sha256").iterdir()}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in blobs.items())
    [entry] = json.loads((tmp_path / "image/index.json").read_text())["manifests"]
    assert entry["digest"] == found
    manifest = json.loads(blobs[found.removeprefix("sha256:")])
    config = json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])
    assert config["config"] == {"Cmd": ["sh"]}
    assert config["rootfs"]["diff_ids"] == [one["digest"] for one in manifest["layers"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "sources.list",
            "# deb http://no.test/debian bookworm main\ndeb [arch=amd64] http://m.test/debian bookworm main\n",
        ),
        ("sources.list.d/x.list", "deb http://m.test/debian bookworm contrib main\n"),
        (
            "sources.list.d/x.sources",
            "Types: deb\nURIs: http://s.test/security\nSuites: bookworm-security\nComponents: main\n\n"
            "Types: deb\n# a note\nURIs: http://m.test/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
        ),
    ],
)
def test_the_mirror_is_the_one_that_apt_uses(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert debian_root.apt_mirror(tmp_path) == "http://m.test/debian"
    assert debian_root.apt_mirror(tmp_path, "trixie") is None


@pytest.fixture(scope="module")
def pause(tmp_path_factory: pytest.TempPathFactory) -> Path:
    debian.install_debian_packages(("gcc", "libc6-dev"))
    root = tmp_path_factory.mktemp("pause")
    recipes.make_pause(root)
    return root / "pause"


@pytest.mark.node
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_pause_ends_at_once_when_told(pause: Path, number: int) -> None:
    process = subprocess.Popen([pause])
    time.sleep(0.1)
    process.send_signal(number)
    assert process.wait(2) == 0


@pytest.mark.node
def test_pause_reaps_what_others_leave(pause: Path) -> None:
    # The program becomes pause, as parent of three children that end later: they must not stay as zombies.
    code = f"""
import os, time
for _ in range(3):
    if not os.fork():
        time.sleep(0.3)
        os._exit(0)
os.execv({str(pause)!r}, ["pause"])
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        seen = 0
        end = time.monotonic() + 10
        while time.monotonic() < end:
            left = len(children.read_text().split())
            seen = max(seen, left)
            if seen == 3 and left == 0:
                return
            time.sleep(0.02)
        pytest.fail(f"children seen: {seen}, left: {left}")
    finally:
        process.kill()
        process.wait()


@pytest.mark.node
@pytest.mark.timeout(600)
def test_the_storage_folder_serves_every_image() -> None:
    storage = images.ensure_registry_storage(build.bin_dir())
    digests = json.loads((storage.parent / "digests.json").read_text())
    assert {"pause:1", "busybox:1", "python:3.11", "agent:1", "agent:2"} <= set(digests)
    assert digests["agent:1"] != digests["agent:2"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with registry.loopback_registry(storage) as address:
        for reference, digest in digests.items():
            name, tag = reference.split(":")
            request = urllib.request.Request(
                f"http://{address}/v2/{name}/manifests/{tag}", method="HEAD", headers={"Accept": oci.MANIFEST}
            )
            with opener.open(request) as answer:
                assert answer.headers["Docker-Content-Digest"] == digest
    assert images.ensure_registry_storage(build.bin_dir()) == storage
