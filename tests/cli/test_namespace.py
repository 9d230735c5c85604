"""Which namespace a verb works in: -n, --stack, the variables, the stack's config, in this order; and which cluster."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from sandbox_components.cli import app
from tests.cli.cluster_side import command_on
from tests.cli.in_process import Command, Project
from tests.kube.api import FakeApi
from tests.kube.objects import NAMESPACE
from tests.operations.cluster_side import sandbox_in

PROJECT = "name: agents\nruntime: python\n"
CREATE = ("create", "new", "--image", "a", "--cpu", "1", "--memory", "1Gi", "--no-up")


def asked(api: FakeApi, sandbox: Command, *flags: str) -> str:
    """The namespace that `list` asks the cluster about."""
    assert sandbox("list", *flags).code == 0
    return api.asked[-1][1].partition("/namespaces/")[2].partition("/")[0]


@pytest.mark.parametrize(
    ("flags", "variables", "namespace"),
    [
        ([], {}, "agents"),
        ([], {"NAMESPACE": "of-variable"}, "of-variable"),
        ([], {"STACK": "dev"}, "agents-dev"),
        ([], {"STACK": "dev", "NAMESPACE": "of-variable"}, "of-variable"),
        (["--stack", "dev"], {"NAMESPACE": "of-variable"}, "agents-dev"),
        (["-s", "org/agents/production"], {"NAMESPACE": "of-variable"}, "prod"),
        (["--project", "production"], {"STACK": "dev", "NAMESPACE": "of-variable"}, "prod"),
        (["--stack", "production", "-n", "of-flag"], {"NAMESPACE": "of-variable"}, "of-flag"),
        (["-n", "of-flag"], {"STACK": "dev", "NAMESPACE": "of-variable"}, "of-flag"),
        (["--stack", "production"], {"STACK": "dev"}, "prod"),
    ],
)
def test_the_nearest_word_about_the_namespace_counts(
    flags: list[str],
    variables: dict[str, str],
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    api = FakeApi()
    sandbox = command_on(api, monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    (tmp_path / "Pulumi.production.yaml").write_text("config: {sandbox-components:namespace: prod}\n")
    for name, value in variables.items():
        monkeypatch.setenv(f"SANDBOX_{name}", value)
    assert asked(api, sandbox, *flags) == namespace


def test_pulumis_variable_names_the_stack_after_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    api = FakeApi()
    sandbox = command_on(api, monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    monkeypatch.setenv("PULUMI_STACK", "dev")
    assert asked(api, sandbox) == "agents-dev"
    monkeypatch.setenv("SANDBOX_STACK", "other")
    assert asked(api, sandbox) == "agents-other"


def test_without_a_project_the_variable_counts_beside_the_flag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    api = FakeApi()
    sandbox = command_on(api, monkeypatch, capsys, tmp_path)
    monkeypatch.setenv("SANDBOX_NAMESPACE", "of-variable")
    assert asked(api, sandbox, "--stack", "production") == "of-variable"


def test_a_cluster_that_is_named_in_secret_is_not_guessed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sandbox = command_on(FakeApi(), monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {kubernetes:kubeconfig: {secure: v1:x}}\n")
    answer = sandbox("pause", "nightly", "--stack", "dev")
    assert answer.code == 2
    assert 'error: kubernetes:kubeconfig: is a secret of stack "dev"' in answer.err
    assert sandbox("list", "--stack", "dev", "--kubeconfig", "k").code == 0
    monkeypatch.setenv("KUBECONFIG", "k")
    assert sandbox("list", "--stack", "dev").code == 0


def test_completion_asks_where_the_verb_would(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    api = FakeApi()
    command_on(api, monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    monkeypatch.setenv("SANDBOX_NAMESPACE", "of-variable")
    complete = ShellComplete(app.sandbox, {}, "sandbox", "_SANDBOX_COMPLETE")
    for words, namespace in ((["--stack", "dev"], "agents-dev"), ([], "of-variable")):
        complete.get_completions(["describe", *words], "")
        assert f"/namespaces/{namespace}/" in api.asked[-1][1]


@pytest.mark.parametrize(
    "words", [CREATE, (*CREATE[:-1], "-y"), ("update", "nightly", "--image", "b"), ("delete", "nightly")]
)
def test_a_namespace_other_than_the_stacks_is_refused_by_what_edits_it(
    words: tuple[str, ...], project: Project, command: Command
) -> None:
    before = project.files()
    answer = command(*words, "-n", "elsewhere")
    assert (answer.code, answer.out) == (2, "")
    (error,) = answer.errors
    assert all(word in error for word in ("--namespace", '"elsewhere"', '"agents-dev"', "sandbox-components:namespace"))
    assert (project.files(), project.calls) == (before, [])


def test_the_stacks_own_namespace_and_the_variable_change_nothing(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command(*CREATE, "-n", "agents-dev").out == "new edited\n"
    monkeypatch.setenv("SANDBOX_NAMESPACE", "elsewhere")
    assert command("update", "new", "--image", "b", "--no-up").out == "new edited\n"


def select(project: Path, stack: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the note that `pulumi stack select` leaves."""
    digest = hashlib.sha1(str(project / "Pulumi.yaml").encode()).hexdigest()
    note = home / "workspaces" / f"agents-{digest}-workspace.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps({"stack": stack}))
    monkeypatch.setenv("PULUMI_HOME", str(home))


@pytest.mark.parametrize("verb", ["describe", "logs", "exec", "pause", "resume"])
def test_a_sandbox_that_is_not_here_may_be_where_the_stack_has_its_own(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    api = FakeApi()
    sandbox = command_on(api, monkeypatch, capsys, tmp_path)
    project = tmp_path / "my project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(PROJECT)
    select(project, "dev", tmp_path / "home", monkeypatch)
    words = [verb, "svc", *(["--", "ls"] if verb == "exec" else [])]
    command_line = " -- CMD..." if verb == "exec" else ""
    code = 125 if verb == "exec" else 6

    def ways(*flags: str) -> list[str]:
        answer = sandbox(words[0], *flags, *words[1:])
        assert answer.code == code, answer.err
        return [line.removeprefix("  try: ") for line in answer.err.splitlines()[1:]]

    assert ways() == ["sandbox list -A"]
    assert ways("-C", str(project))[0] == f"sandbox {verb} svc -C '{project}' --stack dev{command_line}"
    assert ways("-C", str(project), "--stack", "dev") == ["sandbox list -A"]
    assert ways("-C", str(project), "-n", "agents-dev") == ["sandbox list -A"]
    monkeypatch.chdir(project)
    assert ways() == [f"sandbox {verb} svc --stack dev{command_line}", "sandbox list -A"]
    monkeypatch.setenv("SANDBOX_NAMESPACE", "of-variable")
    assert ways()[0] == f"sandbox {verb} svc --stack dev{command_line}"
    assert ways("-n", "x", "-s", "dev")[0] == f"sandbox {verb} svc --stack dev{command_line}"
    sandbox_in(api)
    assert ways("-n", NAMESPACE)[0].startswith(f"sandbox {verb} svc --stack dev")


def test_who_means_another_name_is_told_that_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    api = FakeApi()
    sandbox = command_on(api, monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    select(tmp_path, "dev", tmp_path / "home", monkeypatch)
    sandbox_in(api)
    assert sandbox("describe", "nightli").err.splitlines()[1:] == [
        "  did you mean: nightly",
        "  try: sandbox describe nightli --stack dev",
        f"  try: sandbox list -n {NAMESPACE}",
    ]


def test_an_empty_list_names_the_stacks_own_namespace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sandbox = command_on(FakeApi(), monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_text(PROJECT)
    assert sandbox("list").err == 'no sandboxes in namespace "agents" (sandbox list -A looks everywhere)\n'
    select(tmp_path, "dev", tmp_path / "home", monkeypatch)
    told = 'no sandboxes in namespace "agents" (sandbox list -A looks everywhere'
    assert sandbox("list").err == f'{told}, sandbox list --stack dev in "agents-dev")\n'
    assert sandbox("list", "--stack", "dev").err == told.replace("agents", "agents-dev", 1) + ")\n"
    assert sandbox("list", "-A").err == "no sandboxes in any namespace\n"


@pytest.mark.parametrize(
    ("project", "note"),
    [
        (b"name: [", b""),
        (b"\xff", b""),
        (b"name: agents\n", b"["),
        (b"name: agents\n", b'{"stacks": ["x"]}'),
        (b"name: agents\n", b'{"stack": "broken"}'),
        (b"name: 3\n", b'{"stack": "dev"}'),
    ],
)
def test_a_hint_never_fails(
    project: bytes,
    note: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    sandbox = command_on(FakeApi(), monkeypatch, capsys, tmp_path)
    (tmp_path / "Pulumi.yaml").write_bytes(project)
    (tmp_path / "Pulumi.broken.yaml").write_text("config: [")
    select(tmp_path, "dev", tmp_path / "home", monkeypatch)
    for file in (tmp_path / "home" / "workspaces").iterdir():
        file.write_bytes(note)
    answer = sandbox("describe", "svc")
    assert (answer.code, answer.err.splitlines()[1:]) == (6, ["  try: sandbox list -A"])
    assert sandbox("list").code == 0
