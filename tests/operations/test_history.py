"""Which backend's history is opened, and Pulumi Cloud's through a stand-in of the command `pulumi`.

The stand-in prints what the command prints (its JSON is public); nothing here has ever talked to the service.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput, NotFound, SandboxError
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.history import open_history
from sandbox_components.operations.project import Project
from sandbox_components.revisions.model import SandboxState
from sandbox_components.spec.revision import canonical
from tests.revisions.told import spec
from tests.revisions.written import Written, deployment, stateful_set

STAND_IN = """#!{python}
import json, pathlib, sys

folder, arguments = pathlib.Path({folder!r}), sys.argv[1:]
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(arguments) + chr(10))
option = lambda name: arguments[arguments.index(name) + 1]
if arguments[:2] == ["stack", "history"]:
    size, page = int(option("--page-size")), int(option("--page"))
    updates = json.loads((folder / "history.json").read_text())
    print(json.dumps(updates[(page - 1) * size : page * size]) if isinstance(updates, list) else "what?")
elif arguments[:2] == ["stack", "export"]:
    file = folder / f"export-{{option('--version')}}.json"
    if not file.exists():
        sys.exit("error: could not export deployment: [404] Not found: update not found")
    print(file.read_text())
elif arguments[0] == "whoami" and (folder / "whoami.json").exists():
    print((folder / "whoami.json").read_text())
else:
    sys.exit("error: unknown command")
"""
OBJECT = {"sandbox-components:pins": {"one": {"id": "2", "revision": 2, "spec": {"v": 1}}}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project, a home without a login, and a cache of their own."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_HOME", "PULUMI_CREDENTIALS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: agents\nruntime: python\n")
    return Project.find(folder)


def specs(engine: Engine) -> list[str]:
    history = open_history(engine)
    return [one.sandboxes["one"].spec for one in history.checkpoints(history.entries())]


@pytest.mark.parametrize("stack", ["test", "organization/test", "organization/agents/test"])
def test_a_folder_relative_to_the_project(project: Project, stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Written(project.root / "state").entry({"one": spec()})
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file://./state")
    assert specs(Engine(project, stack)) == [canonical(spec())]


def test_the_stack_of_another_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    Written(project.root / "state", project="others").entry({"one": spec("other")})
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file://./state")
    assert specs(Engine(project, "organization/others/test")) == [canonical(spec("other"))]


def test_where_the_backend_comes_from(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for place in ("login", "project", "variable", "engine"):
        Written(tmp_path / place).entry({"one": spec(place)})
    with pytest.raises(NotFound, match="no state backend is chosen") as caught:
        open_history(Engine(project, "test"))
    assert "pulumi login --local" in caught.value.suggestions
    credentials = tmp_path / "home" / ".pulumi" / "credentials.json"
    credentials.parent.mkdir(parents=True)
    credentials.write_text(json.dumps({"current": (tmp_path / "login").as_uri()}))
    assert specs(Engine(project, "test")) == [canonical(spec("login"))]
    (project.root / "Pulumi.yaml").write_text(f"name: agents\nbackend: {{url: 'file://{tmp_path}/project'}}\n")
    named = Project.find(project.root)
    assert specs(Engine(named, "test")) == [canonical(spec("project"))]
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "variable").as_uri())
    assert specs(Engine(named, "test")) == [canonical(spec("variable"))]
    given = (tmp_path / "engine").as_uri()
    assert specs(Engine(named, "test", backend=given)) == [canonical(spec("engine"))]


def test_a_login_that_pulumi_keeps_encrypted(
    project: Project, cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL")
    credentials = tmp_path / "home" / ".pulumi" / "credentials.json"
    credentials.parent.mkdir(parents=True)
    credentials.write_text('{"pulumiCredentials": 1, "ciphertext": "x"}')
    with pytest.raises(NotFound, match="no state backend is chosen"):
        open_history(Engine(project, "test"))
    Written(tmp_path / "login").entry({"one": spec()})
    (cloud.folder / "whoami.json").write_text(json.dumps({"user": "ada", "url": (tmp_path / "login").as_uri()}))
    assert specs(Engine(project, "test")) == [canonical(spec())]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("gs://bucket", "gs:// can't be read yet"),
        ("azblob://container?storage_account=x", "azblob:// can't be read yet"),
        ("postgres://user:canary@host/db", "postgres:// can't be read yet"),
        ("ftp://user:canary@host", '"ftp" is no kind of backend; accepted are file://, s3:// and https://'),
    ],
)
def test_backends_that_are_not_read(project: Project, url: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", url)
    with pytest.raises(InvalidInput, match=problem) as caught:
        open_history(Engine(project, "test"))
    assert "canary" not in str(caught.value)


class Cloud:
    """What the stand-in answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.updates: list[dict[str, Any]] = []
        folder.mkdir()
        program = folder / "pulumi"
        program.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def update(self, version: int, image: str | None, **fields: Any) -> None:
        """Add an update; without an image its checkpoint can't be exported."""
        update = {
            "version": version,
            "kind": "update",
            "startTime": f"2026-11-29T19:{version % 60:02d}:00.000Z",
            "message": f"number {version}",
            "environment": {"git.head": "abc", "exec.kind": "cli", "vcs.kind": "github.com"},
            "config": {},
            "result": "succeeded",
            "endTime": f"2026-11-29T19:{version % 60:02d}:30.000Z",
            "resourceChanges": {"update": 1},
            **fields,
        }
        self.updates.insert(0, {key: value for key, value in update.items() if value is not None})
        (self.folder / "history.json").write_text(json.dumps(self.updates))
        if image is not None:
            exported = {"version": 3, "deployment": deployment(stateful_set("one", spec(image)))}
            (self.folder / f"export-{version}.json").write_text(json.dumps(exported))

    def calls(self, verb: str) -> list[list[str]]:
        """What was run."""
        lines = (self.folder / "calls").read_text().splitlines()
        return [call for call in map(json.loads, lines) if call[1] == verb]


@pytest.fixture
def cloud(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    found = Cloud(tmp_path / "stand-in")
    monkeypatch.setenv("PATH", str(found.folder))
    monkeypatch.setenv("PULUMI_BACKEND_URL", "https://api.pulumi.com")
    return found


def test_cloud(project: Project, cloud: Cloud) -> None:
    cloud.update(1, "a:1")
    pins = {key: {"value": json.dumps(value), "objectValue": value, "secret": False} for key, value in OBJECT.items()}
    cloud.update(2, "a:2", config={**pins, "app:password": {"secret": True}}, result="failed")
    cloud.update(4, "a:4", kind="refresh", config={"sandbox-components:pins": {"secret": True}})
    history = open_history(Engine(project, "acme/agents/test"))
    entries = history.entries()
    assert [(one.id, one.kind, one.result, one.message) for one in entries] == [
        ("1", "update", "succeeded", "number 1"),
        ("2", "update", "failed", "number 2"),
        ("4", "refresh", "succeeded", "number 4"),
    ]
    assert entries[0].started_at.isoformat() == "2026-11-29T19:01:00+00:00"
    assert entries[0].ended_at.isoformat() == "2026-11-29T19:01:30+00:00"
    assert entries[0].environment == {"git.head": "abc", "exec.kind": "cli"}
    assert [dict(one.pins) for one in entries] == [{}, OBJECT["sandbox-components:pins"], {}]
    states = [one.sandboxes["one"] for one in history.checkpoints(entries)]
    assert states[1] == SandboxState(canonical(spec("a:2")), False, states[1].created_at)
    assert history.problems == []
    raw = json.loads(history.raw_checkpoint(entries[0]))
    assert raw["version"] == 3
    assert raw["checkpoint"]["latest"] == deployment(stateful_set("one", spec("a:1")))
    assert all(call[call.index("--stack") + 1] == "acme/agents/test" for call in cloud.calls("export"))
    assert not any("--show-secrets" in call for call in cloud.calls("export") + cloud.calls("history"))


def test_cloud_pages_and_what_was_exported_is_kept(project: Project, cloud: Cloud) -> None:
    for version in range(1, 206):
        cloud.update(version, "a:1" if version > 200 else None)
    engine = Engine(project, "test")
    history = open_history(engine)
    entries = history.entries()
    assert [entry.id for entry in entries] == [str(version) for version in range(1, 206)]
    assert len(cloud.calls("history")) == 3
    for _ in range(2):
        assert {one.problem for one in open_history(engine).checkpoints(entries[-5:])} == {None}
    assert len(cloud.calls("export")) == 5


def test_cloud_checkpoints_that_can_not_be_exported(project: Project, cloud: Cloud) -> None:
    cloud.update(1, None)
    cloud.update(2, "a:2", result="in-progress", endTime=None, resourceChanges=None)
    history = open_history(Engine(project, "test"))
    entries = history.entries()
    assert (entries[1].result, entries[1].changes) == ("in-progress", None)
    assert entries[1].ended_at == entries[1].started_at
    first, second = history.checkpoints(entries)
    assert "update not found" in str(first.problem)
    assert second.problem is None
    assert history.problems == [f"checkpoint of 1: {first.problem}"]
    with pytest.raises(NotFound, match="checkpoint of 1 can't be read"):
        history.raw_checkpoint(entries[0])


def test_cloud_of_another_form(project: Project, cloud: Cloud) -> None:
    (cloud.folder / "history.json").write_text("{}")
    with pytest.raises(SandboxError, match="of a form that isn't known here"):
        open_history(Engine(project, "test")).entries()
