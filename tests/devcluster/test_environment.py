"""`make env` and `make demo`: what they print, and on the node tier that it is true, more than once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from devcluster import cache, engine_output, environment, project_copy
from devcluster.cluster import Cluster
from devcluster.environment import Workplace
from devcluster.errors import ClusterError

CHECKOUT = Path(__file__).parents[2]
NAMES = [
    "PATH",
    "KUBECONFIG",
    "PULUMI_BACKEND_URL",
    "PULUMI_HOME",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_STACK",
    "PULUMI_SKIP_UPDATE_CHECK",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
    "SANDBOX_STACK",
    "SANDBOX_NAMESPACE",
    "SANDBOX_DEMO_IMAGE",
]


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(
        bin=tmp_path / "bin folder",
        project=tmp_path,
        home=tmp_path / "home",
        state=tmp_path / "state",
        image="localhost:5000/python:3.11",
        kubeconfig=tmp_path / "kubeconfig",
    )


def test_the_lines_survive_a_shell_byte_for_byte(place: Workplace) -> None:
    printed = environment.lines(place.variables() | {"ODD": "a 'b' \"c\" $HOME\nd"})
    script = printed + f'"{sys.executable}" -c "import json, os; print(json.dumps(dict(os.environ)))"'
    found = json.loads(subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout)
    assert {name: found[name] for name in place.variables()} == place.variables()
    assert found["ODD"] == "a 'b' \"c\" $HOME\nd"
    assert list(place.variables()) == NAMES


def test_path_does_not_grow_when_it_is_evaluated_twice(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    first = place.variables()["PATH"]
    assert first == os.pathsep.join([str(place.bin), str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    monkeypatch.setenv("PATH", first)
    assert place.variables()["PATH"] == first


def test_a_users_own_kubeconfig_is_left_alone(place: Workplace) -> None:
    own = Workplace(place.bin, place.project, place.home, place.state, place.image)
    assert "KUBECONFIG" not in own.variables()


def test_a_users_own_cluster_needs_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_USE_KUBECONFIG", "1")
    monkeypatch.delenv("SANDBOX_DEMO_IMAGE", raising=False)
    with pytest.raises(ClusterError, match="SANDBOX_DEMO_IMAGE"):
        environment.prepare("unused")


def test_a_failed_command_is_told_with_what_it_wrote(place: Workplace) -> None:
    with pytest.raises(ClusterError, match=r"`sh -c 'echo no >&2; exit 3'` failed with exit code 3:\nno"):
        place.run("sh", "-c", "echo no >&2; exit 3")
    with pytest.raises(ClusterError, match="could not be run"):
        place.run("no-such-program")


def test_a_copy_of_the_project_changes_nothing_but_what_was_asked(tmp_path: Path) -> None:
    project = project_copy.make(tmp_path / "project")
    project_copy.for_any_cluster(project, "local", "registry.example/python:3.12")
    original = yaml.safe_load((CHECKOUT / "programs/config/Pulumi.local.yaml").read_text())
    copied = yaml.safe_load((project / "programs/config/Pulumi.local.yaml").read_text())
    sandboxes = copied["config"]["sandbox-components:sandboxes"]
    assert {sandbox["image"]["uri"] for sandbox in sandboxes.values()} == {"registry.example/python:3.12"}
    assert original["config"].pop("sandbox-components:agentVolumeStorageClass")
    for name, sandbox in original["config"]["sandbox-components:sandboxes"].items():
        sandbox["image"] = sandboxes[name]["image"]
    assert copied == original
    assert yaml.safe_load((project / "Pulumi.yaml").read_text())["runtime"]["options"]["virtualenv"] == sys.prefix
    project_copy.make(project)
    assert "registry.example" not in (project / "programs/config/Pulumi.local.yaml").read_text()


NOTE = "warning: using pulumi-resource-kubernetes from $PATH at /bin/x"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["Previewing\n", f"    pulumi:pulumi:Stack a-b  {NOTE}\n", "\n"], ["Previewing\n", "\n"]),
        (["Diagnostics:\n", "  pulumi:pulumi:Stack (a-b):\n", f"    {NOTE}\n", "\n", "end\n"], ["\n", "end\n"]),
        (
            ["Diagnostics:\n", "  pulumi:pulumi:Stack (a-b):\n", f"    {NOTE}\n", "    error: no\n"],
            ["Diagnostics:\n", "  pulumi:pulumi:Stack (a-b):\n", "    error: no\n"],
        ),
        (["    pulumi:pulumi:Stack a-b  3 warnings\n"], ["    pulumi:pulumi:Stack a-b\n"]),
        (
            ["Diagnostics:\n", "  x:y:Z (q):\n", "    error: no\n"],
            ["Diagnostics:\n", "  x:y:Z (q):\n", "    error: no\n"],
        ),
    ],
)
def test_only_the_engines_notes_on_path_are_left_out(given: list[str], left: list[str]) -> None:
    assert list(engine_output.without_notes(given)) == left


def devcluster(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devcluster", *arguments],
        cwd=CHECKOUT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def in_shell(lines: str, command: str, cwd: Path = CHECKOUT, **variables: str) -> str:
    done = subprocess.run(
        ["sh", "-c", lines + command],
        cwd=cwd, env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def git_status() -> str:
    command = ["git", "status", "--porcelain", "--", "Pulumi.yaml", "programs"]
    return subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def cluster_with_stack(node_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster; what the stack made in it is destroyed."""
    yield node_cluster
    lines = devcluster("env", node_cluster.name).stdout
    in_shell(lines, "pulumi destroy --yes --skip-preview && pulumi stack rm --yes --preserve-config local")


@pytest.mark.node
@pytest.mark.timeout(600)
def test_env_and_demo_keep_their_promises_twice(cluster_with_stack: Cluster) -> None:
    name = cluster_with_stack.name
    status = git_status()
    first = devcluster("env", name)
    assert first.returncode == 0, first.stderr
    assert [line.partition("=")[0] for line in first.stdout.splitlines()] == [f"export {one}" for one in NAMES]
    assert devcluster("env", name).stdout == first.stdout
    (sandbox,) = json.loads(in_shell(first.stdout, "sandbox list -o json"))["items"]
    assert (sandbox["name"], sandbox["state"], sandbox["workspace"]["phase"]) == ("counter", "Running", "Bound")
    in_shell(first.stdout, "pulumi preview --expect-no-changes")

    steps = []
    for _ in range(2):
        demo = devcluster("demo", name)
        assert demo.returncode == 0, demo.stdout + demo.stderr
        found = re.findall(r"^(before pause|after resume): step=(\d+)$", demo.stdout, re.M)
        assert [word for word, _ in found] == ["before pause", "after resume"]
        steps += [int(number) for _, number in found]
        assert "while paused: pod gone\nclaim counter-workspace: Bound" in demo.stdout
        assert len(set(re.findall(r"Bound, UID (\S+)", demo.stdout))) == 1
        assert "What to try next" in demo.stdout
    assert steps == sorted(set(steps)), "the agent began anew"

    in_shell(first.stdout, "sandbox pause counter")
    third = devcluster("env", name)
    assert third.returncode == 0, third.stderr
    assert "counter is paused" in third.stderr
    assert third.stdout == first.stdout
    assert git_status() == status


@pytest.mark.node
@pytest.mark.timeout(600)
def test_env_on_a_users_own_cluster(node_cluster: Cluster) -> None:
    theirs = {
        "SANDBOX_USE_KUBECONFIG": "1",
        "SANDBOX_DEMO_IMAGE": "localhost:5000/python:3.11",
        "KUBECONFIG": str(node_cluster.kubeconfig),
    }
    name = f"theirs-{os.getpid()}"
    status = git_status()
    done = devcluster("env", name, **theirs)
    try:
        assert done.returncode == 0, done.stderr
        assert "KUBECONFIG" not in done.stdout
        found = re.search(r"is a copy: cd (\S+)", done.stderr)
        assert found is not None
        project = Path(found[1])
        assert "counter" in in_shell(done.stdout, "sandbox list", **theirs)
        in_shell(done.stdout, "pulumi preview --expect-no-changes", project, **theirs)
        in_shell(done.stdout, "pulumi destroy --yes --skip-preview", project, **theirs)
        assert git_status() == status
    finally:
        for folder in (cache.cache_root() / "kubeconfig").glob(f"{name}-*"):
            shutil.rmtree(folder)
