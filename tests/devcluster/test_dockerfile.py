"""Images that Dockerfiles make: which settings of pip a build gets, and what the package's own image is like."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
