"""Which namespace a verb works in: -n, --stack, the variables, the stack's config, in this order; and which cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from sandbox_components.cli import app
from tests.cli.cluster_side import command_on
from tests.cli.in_process import Command, Project
from tests.kube.api import FakeApi

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
