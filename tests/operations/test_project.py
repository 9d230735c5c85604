"""Which project, which stack, and where its config file is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.operations.project import Project


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SANDBOX_STACK", "PULUMI_STACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))


def project(root: Path, text: str = "name: agents\n", name: str = "Pulumi.yaml") -> Project:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return Project.find(root)


@pytest.mark.parametrize("name", ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"])
def test_it_is_found_from_below(tmp_path: Path, name: str) -> None:
    project(tmp_path / "a", '{"name": "agents"}', name)
    below = tmp_path / "a" / "b" / "c"
    below.mkdir(parents=True)
    found = Project.find(below)
    assert (found.root, found.name, found.main) == (tmp_path / "a", "agents", ".")


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="at or above"):
        Project.find(tmp_path)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("name: agents\n", "."),
        ("name: agents\nstackConfigDir: programs/config\n", "programs/config"),
        ("name: agents\nconfig: cfg\n", "cfg"),
        ("name: agents\nconfig:\n  a:b: {default: 1}\n", "."),
    ],
)
@pytest.mark.parametrize("stack", ["dev", "acme/dev", "acme/agents/dev"])
def test_where_config_is(tmp_path: Path, text: str, folder: str, stack: str) -> None:
    assert project(tmp_path, text).config_file(stack) == tmp_path / folder / "Pulumi.dev.yaml"


def test_who_names_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = project(tmp_path)
    with pytest.raises(InvalidInput, match="--stack: is missing, and no stack is selected"):
        found.stack(None)
    digest = hashlib.sha1(str(tmp_path / "Pulumi.yaml").encode(), usedforsecurity=False).hexdigest()
    note = tmp_path / "home" / "workspaces" / f"agents-{digest}-workspace.json"
    note.parent.mkdir(parents=True)
    note.write_text("{")
    with pytest.raises(InvalidInput):
        found.stack(None)
    note.write_text(json.dumps({"stack": "selected"}))
    assert found.stack(None) == "selected"
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///state")
    note.write_text(json.dumps({"stacks": {"file:///state": f"organization/{found.name}/newer", "file:///b": "x"}}))
    assert found.stack(None) == "newer"
    monkeypatch.delenv("PULUMI_BACKEND_URL")
    (note.parent.parent / "credentials.json").write_text(json.dumps({"current": "file:///b"}))
    assert found.stack(None) == "x"
    monkeypatch.setenv("PULUMI_STACK", "pulumis")
    assert found.stack(None) == "pulumis"
    monkeypatch.setenv("SANDBOX_STACK", "ours")
    assert found.stack(None) == "ours"
    assert found.stack("flag") == "flag"


@pytest.mark.parametrize(
    ("config", "namespace"),
    [
        (None, "agents-dev"),
        ("", "agents-dev"),
        ("config: {}\n", "agents-dev"),
        ("config:\n  sandbox-components:namespace: night\n", "night"),
        ("config:\n  sandbox-components:namespace: ''\n", "agents-dev"),
        ("config:\n  sandbox-components:namespace: {secure: v1:x}\n", "agents-dev"),
    ],
)
def test_the_namespace(tmp_path: Path, config: str | None, namespace: str) -> None:
    found = project(tmp_path, "name: Agents\n")
    if config is not None:
        (tmp_path / "Pulumi.dev.yaml").write_text(config)
    assert found.default_namespace("acme/dev") == namespace


@pytest.mark.parametrize("text", ["config: [", "config:\n\ta: s3cret\n"])
def test_config_that_is_no_yaml(tmp_path: Path, text: str) -> None:
    found = project(tmp_path)
    (tmp_path / "Pulumi.dev.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=r"line [12]: not YAML: ") as caught:
        found.config("dev")
    assert "s3cret" not in str(caught.value)


def test_where_the_state_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    assert project(tmp_path).state_folder() is None
    assert project(tmp_path, "name: a\nbackend: {url: 'file://./state?no_tmp_dir=true'}\n").state_folder() == (
        tmp_path / "state"
    )
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://bucket")
    assert Project.find(tmp_path).state_folder() is None
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file:///srv/state")
    assert Project.find(tmp_path).state_folder() == Path("/srv/state")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file://~")
    assert Project.find(tmp_path).state_folder() == Path.home()
