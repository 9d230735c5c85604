"""Every verb that can answer in JSON: which document it is, and the change document's shape, pinned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from sandbox_components.cli import app
from tests.cli.cluster_side import command_on
from tests.cli.in_process import Project
from tests.cli.stand_in_engine import StandIn, start, step
from tests.kube.api import FakeApi
from tests.operations.cluster_side import sandbox_in

DOCUMENTS = {
    "list": "SandboxList",
    "describe": "Sandbox",
    "revisions": "RevisionList",
    "diff": "RevisionDiff",
    "plan": "StackPlan",
    "pins": "PinList",
    "spend": "Spend",
    "doctor": "Checks",
    "create": "SandboxChange",
    "update": "SandboxChange",
    "delete": "SandboxChange",
    "rollback": "SandboxChange",
    "unpin": "SandboxChange",
    "set-limit": "SandboxChange",
    "rotate-key": "SandboxChange",
    "pause": "SandboxOperationList",
    "resume": "SandboxOperationList",
}
"""Verb → `kind`; the shapes of the first ones are pinned in their own tests."""
CHANGE = {
    "schemaVersion": int,
    "kind": str,
    "name": str,
    "namespace": str,
    "project": str,
    "stack": str,
    "outcome": str,
    "restarts": bool,
    "deletesDisk": list,
    "notes": list,
    "steps": list,
}
OPERATION = {"name": "nightly", "namespace": "agents", "warning": None}
STEP = {"operation": str, "type": str, "name": str, "fields": list}


def test_no_verb_answers_in_json_unseen() -> None:
    context = click.Context(app.sandbox)
    found = set()
    for verb in app.sandbox.list_commands(context):
        command = app.sandbox.get_command(context, verb)
        assert command is not None
        for option in command.params:
            if isinstance(option.type, click.Choice) and "json" in option.type.choices:
                found.add(verb)
    assert found == set(DOCUMENTS)


def answer(words: list[str], project: Project, engine: StandIn, folder: Path) -> str:
    """What the command prints on standard output."""
    process = start(words, project.root, engine.env, folder / "told")
    assert process.wait(60) == 0, (folder / "told").read_text()
    return (folder / "told").read_text()


@pytest.mark.parametrize("verb", ["create", "update", "delete"])
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_shape_of_a_change_is_pinned(verb: str, output: str, project: Project, tmp_path: Path) -> None:
    engine = StandIn(tmp_path / "bin")
    if verb == "delete":
        engine.plans([step("delete")])
    flags = {"create": ["--image", "a", "--cpu", "1", "--memory", "1Gi"], "update": ["--image", "b"], "delete": []}
    name = "new" if verb == "create" else "nightly"
    words = [verb, name, *flags[verb], "--no-up", "-q", "-o", output]
    found = read(answer(words, project, engine, tmp_path), output)
    assert {key: type(value) for key, value in found.items()} == CHANGE
    assert (found["schemaVersion"], found["kind"]) == (1, DOCUMENTS[verb])
    assert (found["project"], found["stack"], found["namespace"]) == ("agents", "dev", "agents-dev")
    assert found["outcome"] == "edited"


def test_the_shape_of_a_step_is_pinned(project: Project, tmp_path: Path) -> None:
    engine = StandIn(tmp_path / "bin")
    words = ["update", "nightly", "--image", "b", "-y", "--no-wait", "-q", "-o", "json"]
    found = read(answer(words, project, engine, tmp_path), "json")
    assert (found["outcome"], found["restarts"], found["deletesDisk"]) == ("updated", True, [])
    assert [{key: type(value) for key, value in one.items()} for one in found["steps"]] == [STEP]
    assert found["steps"][0] == {
        "operation": "update",
        "type": "kubernetes:apps/v1:StatefulSet",
        "name": "nightly",
        "fields": ["spec.template.spec.containers[0].image"],
    }


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.parametrize(
    ("words", "replicas", "outcome"),
    [
        (["pause"], 1, "paused"),
        (["pause"], 0, "already paused"),
        (["pause", "--no-wait"], 1, "pausing"),
        (["pause", "--dry-run"], 1, "would pause"),
        (["resume"], 0, "resumed"),
        (["resume"], 1, "already running"),
        (["resume", "--no-wait"], 0, "resuming"),
        (["resume", "--dry-run"], 0, "would resume"),
    ],
)
def test_the_shape_of_pause_and_resume_is_pinned(
    words: list[str],
    replicas: int,
    outcome: str,
    output: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    sandbox = command_on(sandbox_in(FakeApi(), replicas), monkeypatch, capsys, tmp_path)
    said = sandbox(*words, "nightly", "nightly", "-o", output)
    assert said.code == 0
    assert read(said.out, output) == {
        "schemaVersion": 1,
        "kind": DOCUMENTS[words[0]],
        "items": [{**OPERATION, "outcome": outcome}],
    }


def test_a_warning_of_pause_is_in_the_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sandbox = command_on(sandbox_in(FakeApi(), claim=False), monkeypatch, capsys, tmp_path)
    said = sandbox("pause", "nightly", "-q", "-o", "json")
    assert said.err == ""
    assert json.loads(said.out)["items"][0]["warning"] == "nightly is ephemeral: nothing of its files is kept"


def read(text: str, output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) if output == "json" else yaml.safe_load(text)
    return found
