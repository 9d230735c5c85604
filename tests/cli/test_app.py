from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from sandbox_components.cli import app
from tests.cli.in_process import Command

HEAVY = ("httpx2", "lightkube", "pulumi", "pydantic", "yaml", "asyncio", "sandbox_components.kube")


def test_help_imports_no_more_than_click() -> None:
    program = (
        "import sys\n"
        "from sandbox_components.cli import app\n"
        "try: app.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Look:" in done.stdout


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_components", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("sandbox ")


def test_every_verb_of_the_table_has_its_module_and_the_same_name() -> None:
    context = click.Context(app.sandbox)
    for name, (section, summary) in app.COMMANDS.items():
        command = app.sandbox.get_command(context, name)
        assert command is not None, name
        assert command.name == name
        assert section in app.SECTIONS
        assert command.get_short_help_str(200).startswith(summary.partition(",")[0].rstrip(".")), name


def test_every_verb_has_an_example_in_its_help(command: Command) -> None:
    for name in app.COMMANDS:
        if name != "completion":
            assert f"  sandbox {name}" in command(name, "--help").out, name


def test_alone_it_prints_its_help(command: Command) -> None:
    answer = command()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == command("--help").out


@pytest.mark.parametrize("words", [["list"], ["pause", "x"], ["exec", "x"], ["exec", "x", "--"], ["create", "x"]])
def test_no_hidden_option_is_suggested(command: Command, words: list[str]) -> None:
    answer = command(words[0], "--orgg", *words[1:])
    assert answer.code == 2
    assert "no such option '--orgg'" in answer.err
    assert "'--org'" not in answer.err
    assert "Did you mean '--stack'?" in command("list", "--stak").err


@pytest.mark.parametrize("verb", [verb for verb in app.COMMANDS if verb not in ("serve", "completion")])
def test_a_folder_that_is_not_there_is_refused_by_every_verb(command: Command, verb: str, tmp_path: Path) -> None:
    arguments = {"list": [], "doctor": [], "pins": [], "exec": ["x", "--", "true"]}.get(verb, ["x"])
    (tmp_path / "file").touch()
    for folder in (tmp_path / "nope", tmp_path / "file"):
        answer = command(verb, "-C", str(folder), *arguments)
        assert (answer.code, answer.out) == (2, "")
        assert answer.errors == [f'error: --cwd: "{folder}" is not a folder']


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_calls_sandbox(command: Command, shell: str) -> None:
    out = command("completion", shell).out
    assert "_SANDBOX_COMPLETE" in out
    assert "sandbox" in out


def test_a_bug_is_exit_code_255_and_says_how_to_see_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, ctx: object, name: str) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(app.LazyGroup, "get_command", broken)
    answer = command("list")
    assert answer.code == 255
    assert "run it again with -v" in answer.err
    assert "Traceback" in command("list", "-v").err


@pytest.mark.parametrize(("verb", "goes_on"), [("list", False), ("exec", False), ("pause", True), ("create", True)])
def test_an_interrupt_is_exit_code_130(
    verb: str, goes_on: bool, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: object, ctx: object, name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app.LazyGroup, "get_command", interrupted)
    answer = command(verb)
    assert answer.code == 130
    assert "interrupted" in answer.err
    assert ("what was asked of the cluster goes on" in answer.err) == goes_on


@pytest.mark.parametrize(
    ("words", "is_json"),
    [
        (["list", "-o", "json"], True),
        (["list", "-ojson"], True),
        (["list", "--output=yaml"], True),
        (["list", "--output", "table"], False),
        (["exec", "x", "--", "-o", "json"], False),
    ],
)
def test_errors_follow_the_output_that_was_asked_for(words: list[str], is_json: bool) -> None:
    assert app.is_machine_read(words) is is_json


def test_colour_is_off_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert app.wants_color(["list"], 1)
    assert not app.wants_color(["list", "--color", "never"], 1)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not app.wants_color(["list"], 1)
    assert app.wants_color(["list", "--color=always"], 1)
