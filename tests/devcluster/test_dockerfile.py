"""Images that Dockerfiles make: which settings of pip a build gets, and what the package's own image is like."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devcluster import __main__ as entry
from devcluster import cluster
from devcluster.cluster import Cluster
from devcluster.images import dockerfile

LISTED = """\
:env:.disable-pip-version-check='1'
:env:.find-links='/opt/wheels'
global.cert='/etc/ssl/ca.pem'
global.extra-index-url='\\nhttp://one.test/simple\\nhttp://two.test/simple'
global.index-url='http://mirror.test/simple'
:env:.index-url='http://user:password@nearer.test/simple'
list.format='columns'
"""


def test_a_build_gets_the_settings_that_lead_to_an_index() -> None:
    text, ca = dockerfile.pip_settings(LISTED, {"SSL_CERT_FILE": "/elsewhere.pem"})
    assert text == (
        "[global]\n"
        "index-url = http://user:password@nearer.test/simple\n"
        "extra-index-url = http://one.test/simple\n"
        "  http://two.test/simple\n"
        "cert = /run/secrets/ca\n"
    )
    assert ca == Path("/etc/ssl/ca.pem")


def test_certificates_that_only_the_environment_names_are_taken_along() -> None:
    assert dockerfile.pip_settings("", {"SSL_CERT_FILE": "/a.pem"}) == (
        "[global]\ncert = /run/secrets/ca\n",
        Path("/a.pem"),
    )
    assert dockerfile.pip_settings("", {}) == ("[global]\n", None)


def test_the_subcommand_prints_nothing_but_what_pods_call_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published: list[tuple[str, str]] = []

    def publish(source: dockerfile.Source, registry: str) -> str:
        published.append((source.name, registry))
        return "localhost:5000/sandbox-components:0a1b"

    monkeypatch.setattr(dockerfile, "publish", publish)
    monkeypatch.setattr(cluster, "find", lambda name: Cluster(name, 7, tmp_path) if name == "mine" else None)
    monkeypatch.setattr(sys, "argv", ["devcluster", "image", "mine"])
    assert entry.main() == 0
    assert capsys.readouterr().out == "localhost:5000/sandbox-components:0a1b\n"
    assert published == [("sandbox-components", "10.250.7.2:5000")]


def test_the_subcommand_needs_a_cluster_that_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "find", lambda _: None)
    monkeypatch.setattr(dockerfile, "publish", lambda *_: pytest.fail("nothing is built for no cluster"))
    monkeypatch.setattr(sys, "argv", ["devcluster", "image"])
    assert entry.main() == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: cluster demo isn't running; to start it: make cluster CLUSTER=demo\n")


@pytest.fixture(scope="module")
def source() -> dockerfile.Source:
    return dockerfile.package()


@pytest.fixture(scope="module")
def layout(source: dockerfile.Source) -> Path:
    return dockerfile.ensure(source)


@pytest.fixture(scope="module")
def files(layout: Path) -> Iterator[list[tarfile.TarInfo]]:
    """What the topmost layer holds."""
    with tarfile.open(blob(layout, image(layout)["layers"][-1]["digest"])) as archive:
        yield archive.getmembers()


def blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")


def image(layout: Path) -> dict[str, Any]:
    [entry] = json.loads((layout / "index.json").read_text())["manifests"]
    found: dict[str, Any] = json.loads(blob(layout, entry["digest"]).read_text())
    return found


@pytest.mark.node
@pytest.mark.timeout(900)
def test_the_packages_image_runs_the_command_as_nobody_special(layout: Path) -> None:
    config = json.loads(blob(layout, image(layout)["config"]["digest"]).read_text())["config"]
    assert (config["User"], config["Entrypoint"]) == ("1000", ["sandbox"])
    assert [one for one in config["Env"] if one.startswith("PIP")] == []


@pytest.mark.node
@pytest.mark.timeout(900)
def test_nothing_of_the_build_is_left_in_the_image(files: list[tarfile.TarInfo]) -> None:
    names = {one.name for one in files}
    assert {"usr/local/bin/sandbox", "opt/sandbox/bin/sandbox"} <= names
    assert any(name.endswith("/tzdata/zoneinfo/Asia/Tokyo") for name in names)
    left = [one.name for one in files if one.isfile() and one.name.startswith(("tmp/", "root/", "run/", "var/cache/"))]
    assert left == []


@pytest.mark.node
@pytest.mark.timeout(900)
def test_a_second_time_nothing_is_built(source: dockerfile.Source, layout: Path) -> None:
    before = layout.stat().st_ino
    assert dockerfile.ensure(source) == layout
    assert layout.stat().st_ino == before
