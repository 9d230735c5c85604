"""Malformed input by every door: one clear error, exit code 2, the engine never asked, no file touched.

The same requests go through a JSON file, a YAML file, standard input and stack config; flags have a table of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import click
import pytest
import yaml
from click.shell_completion import ShellComplete

from sandbox_components.cli import app
from sandbox_components.components.stack_config import StackConfig
from sandbox_components.errors import InvalidInput
from tests.cli.in_process import ORDINARY, Answer, Command, Project
from tests.components.recorder import record, registered_before_error
from tests.spec.malformed import MALFORMED, MALFORMED_KEYS, SECRET, Malformed
from tests.spec.test_document import BROKEN, Broken

GOOD = ("--image", "ghcr.io/acme/agent:1.2", "--cpu", "500m", "--memory", "2Gi")
NOT_IN_A_REQUEST = {"name inside"}
"""A request file may hold the sandbox's name."""


def shown(value: object) -> str:
    """A test's name out of words of a command."""
    return " ".join(value)[:60] or "nothing" if isinstance(value, list) else ""


def refused(answer: Answer, project: Project, before: dict[str, bytes]) -> str:
    """Check that nothing was done, and return the one error."""
    assert answer.code == 2, answer.err
    assert len(answer.errors) == 1, answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert SECRET not in answer.err
    assert "bug" not in answer.err
    assert project.calls == []
    assert project.files() == before
    return answer.errors[0].removeprefix("error: ")


@pytest.mark.parametrize("case", [*MALFORMED, *MALFORMED_KEYS], ids=lambda case: case.id)
def test_a_request_in_json_and_yaml(case: Malformed, project: Project, command: Command) -> None:
    if case.id in NOT_IN_A_REQUEST:
        return
    (project.root / "request.yaml").write_text(yaml.safe_dump(case.data, allow_unicode=True))
    (project.root / "request.json").write_text(json.dumps(case.data))
    before = project.files()
    for file in ("request.yaml", "request.json")[: 1 if case in MALFORMED_KEYS else 2]:
        error = refused(command("create", "new", "-f", file, "-y"), project, before)
        assert case.field in error
        assert case.says in error


@pytest.mark.parametrize("case", MALFORMED[::5], ids=lambda case: case.id)
def test_a_request_to_update(case: Malformed, project: Project, command: Command) -> None:
    (project.root / "request.json").write_text(json.dumps(case.data))
    error = refused(command("update", "nightly", "-f", "request.json", "-y"), project, project.files())
    assert case.says in error


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.id)
def test_a_request_that_is_no_document(case: Broken, project: Project, command: Command) -> None:
    content = case.text if isinstance(case.text, bytes) else case.text.encode()
    (project.root / case.source).write_bytes(content)
    before = project.files()
    error = refused(command("create", "new", "-f", case.source, "-y"), project, before)
    assert error.startswith(case.source)
    assert case.says in error
    if not case.source.endswith(".json"):
        assert case.says in refused(command("create", "new", "-f", "-", "-y", given=content), project, before)


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.id)
def test_stack_config(case: Malformed) -> None:
    with pytest.raises(InvalidInput) as caught:
        record(StackConfig.read, config={"sandboxes": {"nightly": case.data}})
    assert caught.value.field.startswith(f"sandbox-components:sandboxes.nightly.{case.field}".rstrip("."))
    assert case.says in caught.value.problem
    assert SECRET not in str(caught.value)
    assert registered_before_error() == []


FLAGS: list[tuple[list[str], str]] = [
    (["--image", ""], "image"),
    (["--image", "https://ghcr.io/acme/agent"], "without a scheme"),
    (["--image", "ghcr.io/Acme/agent"], "in lower case"),
    (["--image", "agent:"], "is not an image reference"),
    (["--image", "agent:1 "], "without blanks"),
    (["--image"], "option '--image' requires an argument"),
    (["--cpu", "two"], '--cpu: "two" is not an amount of CPU'),
    (["--cpu", "500M"], "write 500m"),
    (["--cpu", "0"], "--cpu:"),
    (["--cpu", "-1"], "--cpu:"),
    (["--cpu", ""], "--cpu: is blank"),
    (["--cpu", "0.0001"], "finer than 1m"),
    (["--memory", "2GB"], "write 2G or 2Gi"),
    (["--memory", "512m"], "write 512Mi or 512M"),
    (["--memory", "512"], "at least 4Mi"),
    (["--memory", "0Gi"], "--memory:"),
    (["--memory", " "], "--memory: is blank"),
    (["--memory", "lots"], "accepted is a number of bytes"),
    (["--volume", "data"], "is not absolute"),
    (["--volume", ""], "is not absolute"),
    (["--volume", "/"], "would hide the system's"),
    (["--volume", "/etc"], "would hide the system's"),
    (["--volume", "/a/../b"], "write /b"),
    (["--volume", "/data", "--size", "50GB"], "write 50G or 50Gi"),
    (["--volume", "/data", "--size", "0"], "not more than zero"),
    (["--volume", "/data", "--size", "1"], "too small for a disk"),
    (["--volume", "/data", "--storage-class", "Fast"], "is not the name"),
    (["--volume", "/data", "--storage-class", ""], "is not the name"),
    (["--health-check", ""], "is not KEY=VALUE"),
    (["--health-check", "http"], "is not KEY=VALUE"),
    (["--health-check", "tcp=1"], "is not a known key"),
    (["--health-check", "none,port=1"], "is not KEY=VALUE"),
    (["--health-check", "path=/healthz"], "--health-check: port: is missing"),
    (["--health-check", "port=8080"], "--health-check: path: is missing"),
    (["--health-check", "path=healthz,port=8080"], 'must begin with "/"'),
    (["--health-check", "path=/h,port=0"], "0 is not a port"),
    (["--health-check", "path=/h,port=65536"], "65536 is not a port"),
    (["--health-check", "path=/h,port=http"], "is not a whole number"),
    (["--health-check", "path=/h,port=1,port=2"], "is given twice"),
    (["--health-check", "path=/h,port=1,interval=0"], "interval: 0 is out of range: 1 to 3600 seconds"),
    (["--health-check", "path=/h,port=1,interval=3601"], "interval: 3601 is out of range: 1 to 3600 seconds"),
    (["--health-check", "path=/h,port=1,initial-delay=-1"], "initial-delay: -1 is out of range: 0 to 3600 seconds"),
    (["--health-check", "path=/h,port=1,initial-delay=3601"], "initial-delay: 3601 is out of range: 0 to 3600 seconds"),
    (["--health-check", "path=/h,port=1,timeout=0"], "timeout: 0 is out of range: 1 to 300 seconds"),
    (["--health-check", "path=/h,port=1,timeout=301"], "timeout: 301 is out of range: 1 to 300 seconds"),
    (["--health-check", "path=/h,port=1,failures=0"], "failures: 0 is out of range: 1 to 100 failures"),
    (["--health-check", "path=/h,port=1,failures=101"], "failures: 101 is out of range: 1 to 100 failures"),
    (["--health-check", "path=/h,port=1,interval=ten"], "is not a whole number"),
    (["--health-check", "path=/h,port=1,interval=1.5"], "is not a whole number"),
    (["--health-check", "path=/h,port=1,intervalSeconds=5"], "is not a known key"),
    (["--port", "http"], "is not [NAME=]PORT[/UDP]"),
    (["--port", ""], "is not [NAME=]PORT[/UDP]"),
    (["--port", "=80"], "is not [NAME=]PORT[/UDP]"),
    (["--port", "-1"], "is not [NAME=]PORT[/UDP]"),
    (["--port", "0"], "0 is not a port"),
    (["--port", "65536"], "65536 is not a port"),
    (["--port", "99999999999999999999"], "is too large a number"),
    (["--port", "80/http"], "is not one of TCP or UDP"),
    (["--port", "80/"], "is not one of TCP or UDP"),
    (["--port", "Web=80"], "is not a port name"),
    (["--port", "a=80", "--port", "a=81"], '"a" is given twice'),
    (["--port", "80", "--port", "80"], "80/TCP is given twice"),
    (["--port", "８０"], "is not [NAME=]PORT[/UDP]"),
    (["--env", "A"], '"A" is neither KEY=VALUE nor KEY-'),
    (["--env", ""], "is neither KEY=VALUE nor KEY-"),
    (["--env", "-"], "is neither KEY=VALUE nor KEY-"),
    (["--env", f"={SECRET}"], "--env: has no name"),
    (["--env", f"1A={SECRET}"], "no digit first"),
    (["--env", f"A B={SECRET}"], "is not a variable name"),
    (["--env", f"A={SECRET}", "--env", "A=2"], '"A" is given twice'),
    (["--env", f"A={SECRET}", "--env", "A-"], '"A" is given twice'),
    (["--env", f"A={SECRET * 8000}"], "Linux passes less than 131072"),
    ([word for key in "AB" for word in ("--env", f"{key}={'x' * 110_000}")], "at most 204800"),
    (["--env", f"A=\n{SECRET}"], "env.A: begins with a line break"),
    (["--command", "\n./start.sh"], "command: begins with a line break"),
    (["--", "sh", "\n"], "entrypoint[1]: begins with a line break"),
    (["--label", "team"], "is neither KEY=VALUE nor KEY-"),
    (["--label", "=core"], "--label: has no name"),
    (["--label", "team=a b"], "is not a label value"),
    (["--label", "team=" + "a" * 64], "at most 63"),
    (["--label", "my team=a"], "is not a label key"),
    (["--label", "team=a", "--label", "team=b"], '"team" is given twice'),
    (["--label", "sandbox-components/sandbox=x"], "are ours"),
    (["--label", "app.kubernetes.io/name=x"], "are ours"),
    (["--secret-env", f"A={SECRET}"], "a value on the command line can be read by others"),
    (["--secret-env", "A=@/nonexistent/file"], "can't be read: No such file"),
    (["--secret-env", "A", "--secret-env", "B"], "standard input is A's already"),
    (["--secret-env", "1A"], "no digit first"),
    (["--secret-env", ""], "is not a variable name"),
    (["--secret-env", "=@x"], "--secret-env"),
    (["--egress", "all"], 'neither "internet" nor "none"'),
    (["--egress", ""], 'neither "internet" nor "none"'),
    (["--deletion", "retain"], "is not one of protect or delete"),
    (["--deletion", ""], "is not one of protect or delete"),
    (["--command", " "], "is blank"),
    (["--command", "a", "--", "b"], "--command: is given beside -- ARG..."),
    (["--", ""], "is blank: it is the program"),
    (["-f", "/nonexistent/request.json"], "can't be read: No such file"),
    (["-f", "."], "can't be read: Is a directory"),
    (["-f", ""], "-f"),
    (["--timeout", "5"], "is not a duration"),
    (["--timeout", ""], "is not a duration"),
    (["--timeout", "-5s"], "is not a duration"),
    (["-o", "xml"], "is not one of"),
    (["--imag", "a"], "no such option"),
    (["--replicas", "2"], "no such option"),
    (["--volumes", "/data"], "no such option"),
    (["-n", "Not_One"], "--namespace"),
]


@pytest.mark.parametrize(("flags", "says"), FLAGS, ids=shown)
def test_flags_of_create(flags: list[str], says: str, project: Project, command: Command) -> None:
    good = dict(zip(GOOD[::2], GOOD[1::2], strict=True))
    kept = [word for key, value in good.items() if key not in flags for word in (key, value)]
    before = project.files()
    error = refused(command("create", "new", *kept, "-y", *flags), project, before)
    assert says.lower() in error.lower()


@pytest.mark.parametrize(
    ("flags", "says"),
    [pair for pair in FLAGS if pair[0] not in (["--env", "A-"],)],
    ids=shown,
)
def test_flags_of_update(flags: list[str], says: str, project: Project, command: Command) -> None:
    before = project.files()
    error = refused(command("update", "nightly", "-y", *flags), project, before)
    assert says.lower() in error.lower()


ONCE = {
    "--file": ("a.json", "b.json"),
    "--image": ("a:1", "b:1"),
    "--command": ("./a", "./b"),
    "--cpu": ("1", "2"),
    "--memory": ("1Gi", "2Gi"),
    "--volume": ("/a", "/b"),
    "--size": ("1Gi", "2Gi"),
    "--storage-class": ("a", "b"),
    "--health-check": ("none", "path=/h,port=1"),
    "--egress": ("none", "internet"),
    "--deletion": ("protect", "protect"),
}


@pytest.mark.parametrize("flag", ONCE)
@pytest.mark.parametrize("verb", ["create", "update"])
def test_what_a_sandbox_has_one_of_is_not_given_twice(verb: str, flag: str, project: Project, command: Command) -> None:
    first, second = ONCE[flag]
    error = refused(command(verb, "nightly", flag, first, f"{flag}={second}", "-y"), project, project.files())
    told = "a sandbox has one disk" if flag == "--volume" else "keep one"
    assert error == f"{flag}: is given twice ({first}, {second}): {told}"


def test_every_flag_of_declaring_is_repeatable_or_given_once() -> None:
    from sandbox_components.cli.commands import create
    from sandbox_components.cli.once import Once

    repeatable = {"--port", "--env", "--secret-env", "--label"}
    options = [one for one in create.command.params if isinstance(one, click.Option)]
    assert {one.opts[-1] for one in options if isinstance(one, Once)} == set(ONCE)
    assert {one.opts[-1] for one in options if one.multiple and not isinstance(one, Once)} == repeatable


def test_completion_offers_what_is_given_once_only_once() -> None:
    complete = ShellComplete(app.sandbox, {}, "sandbox", "_SANDBOX_COMPLETE")

    def offered(*words: str) -> list[str]:
        return [item.value for item in complete.get_completions(["create", "x", *words], "--")]

    assert {"--cpu", "--volume", "--env"} <= set(offered())
    assert "--cpu" not in offered("--cpu", "1")
    assert "--cpu" not in offered("--cpu", "1", "--cpu", "2")
    assert {"--volume", "--env"} <= set(offered("--cpu", "1", "--env", "A=1"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "missing argument 'NAME'"),
        (["new"], "--image"),
        (["new", "--image", "a"], "--cpu"),
        (["new", "--image", "a", "--cpu", "1"], "--memory"),
        (["new", "--image", "a", "--memory", "1Gi"], "--cpu"),
        (["new", *GOOD, "--size", "5Gi"], "--volume: is missing"),
        (["new", *GOOD, "--storage-class", "abs"], "--volume: is missing"),
    ],
    ids=shown,
)
def test_what_create_needs(words: list[str], says: str, project: Project, command: Command) -> None:
    assert says in refused(command("create", *words, "-y"), project, project.files())


@pytest.mark.parametrize("flags", [["--env", "A-"], ["--label", "a-"], ["--secret-env", "A-"]], ids=shown)
def test_nothing_is_removed_from_a_new_sandbox(flags: list[str], project: Project, command: Command) -> None:
    told = f'{flags[0]}: "{flags[1]}": there is nothing to remove from a new sandbox'
    assert refused(command("create", "new", *GOOD, *flags, "-y"), project, project.files()) == told
    (project.root / "request.json").write_text('{"image": "a", "env": {"B": "1"}, "labels": {"b": "1"}}')
    answer = command("create", "new", "-f", "request.json", *flags, "-y")
    assert refused(answer, project, project.files()) == f"{told}, and -f has none of it"


@pytest.mark.parametrize("flags", [(), ("-y",), ("--no-up",), ("--dry-run",), ("--no-wait", "-o", "json"), ("--",)])
@pytest.mark.parametrize("pin", ["", '  sandbox-components:pins: {nightly: {id: "7"}}\n'], ids=["", "pinned"])
def test_an_update_without_a_change(pin: str, flags: tuple[str, ...], project: Project, command: Command) -> None:
    project.write(ORDINARY.replace("encryptionsalt", f"{pin}encryptionsalt"))
    before = project.files()
    answer = command("update", "nightly", *flags)
    if "json" in flags:
        said = json.loads(answer.err)["error"]
        assert (answer.code, said["message"], project.files()) == (2, "nothing to change is given", before)
        ways = said["suggestions"]
    else:
        assert refused(answer, project, before) == "nothing to change is given"
        ways = [line.removeprefix("  try: ") for line in answer.err.splitlines()[1:]]
    assert ways[0] == "sandbox update nightly --image IMAGE"
    adopt = "it is pinned to revision 7; to make that its declaration: sandbox unpin nightly --adopt"
    assert (adopt in ways) is bool(pin)
    assert project.calls == []


NAMES = [
    "",
    " ",
    "a" * 53,
    "1st",
    "Nightly",
    "night_ly",
    "night.ly",
    "-a",
    "a-",
    "näht",
    "日本",
    "a b",
    "a/b",
    "a\nb",
    "*",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:10]))
@pytest.mark.parametrize("verb", ["create", "update", "delete"])
def test_names(verb: str, name: str, project: Project, command: Command) -> None:
    flags = GOOD if verb == "create" else ()
    error = refused(command(verb, *flags, "-y", "--", name), project, project.files())
    assert error.startswith("NAME: ")


def test_52_characters_are_a_name(project: Project, command: Command) -> None:
    answer = command("create", "a" * 52, *GOOD, "--no-up")
    assert (answer.code, answer.out) == (0, f"{'a' * 52} edited\n")


BROKEN_CONFIG: list[tuple[str, str | bytes, str]] = [
    ("key twice", ORDINARY + "config:\n  x: y\n", 'the key "config" is given twice'),
    ("sandbox twice", ORDINARY.replace("      labels", "      command: x\n      labels"), 'the key "command" is given'),
    ("no YAML", "config: [", "line 1"),
    ("tabs", "config:\n\ta: b\n", "line 2"),
    ("a list", "- config\n", "is not a mapping"),
    ("a text", "config\n", "is not a mapping"),
    ("config a list", "config: []\n", "config: is not a mapping"),
    ("config a text", "config: x\n", "config: is not a mapping"),
    ("sandboxes a list", "config:\n  sandbox-components:sandboxes: []\n", "is not a mapping of names"),
    ("sandboxes a text", "config:\n  sandbox-components:sandboxes: nightly\n", "is not a mapping of names"),
    ("not UTF-8", b"config:\n  x: \xff\n", "UTF-8"),
    ("two documents", ORDINARY + "---\nconfig: {}\n", "document"),
]


@pytest.mark.parametrize(
    ("text", "says"), [case[1:] for case in BROKEN_CONFIG], ids=[case[0] for case in BROKEN_CONFIG]
)
@pytest.mark.parametrize("verb", ["create new", "update nightly", "delete nightly"])
def test_config_files(verb: str, text: str | bytes, says: str, project: Project, command: Command) -> None:
    project.write(text)
    flags = {"create new": GOOD, "update nightly": ("--cpu", "1"), "delete nightly": ()}[verb]
    error = refused(command(*verb.split(), *flags, "--no-up", "-y"), project, project.files())
    assert says in error
    assert len(error) < 300


def test_what_is_in_the_config_already_is_checked_too(project: Project, command: Command) -> None:
    project.write(ORDINARY.replace("cpu: 500m", "cpu: 500M"))
    error = refused(command("update", "nightly", "--label", "a=b", "-y"), project, project.files())
    assert "cpu" in error
    assert "write 500m" in error


@pytest.mark.parametrize(
    "content",
    ["", "name: [", "runtime: python\n", "- a\n", b"\xff"],
    ids=["empty", "no YAML", "no name", "a list", "not UTF-8"],
)
def test_project_files(content: str | bytes, project: Project, command: Command) -> None:
    file = project.root / "Pulumi.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    error = refused(command("update", "nightly", "--label", "a=b", "-y"), project, project.files())
    assert "Pulumi.yaml" in error


def test_no_stack_is_named(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANDBOX_STACK")
    error = refused(command("update", "nightly", "--label", "a=b", "-y"), project, project.files())
    assert error.startswith("--stack: is missing")


@pytest.mark.parametrize(
    "words",
    [
        ["create", "Nightly", *GOOD],
        ["create", "new", *GOOD[:-1], "2GB"],
        ["create", "new", "-f", "request.json"],
        ["update", "nightly", "--cpu", "two"],
        ["delete", "1st"],
        ["creat", "new"],
    ],
    ids=" ".join,
)
def test_as_a_program_without_pulumi_on_its_path(words: list[str], project: Project) -> None:
    (project.root / "request.json").write_text(json.dumps({"image": "a"}))
    before = project.files()
    env = {key: value for key, value in os.environ.items() if key != "PATH"} | {"PATH": str(project.root)}
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_components", *words],
        cwd=project.root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    refused(Answer(done.returncode, done.stdout, done.stderr), project, before)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_errors_for_machines(output: str, project: Project, command: Command) -> None:
    answer = command("create", "new", *GOOD[:-1], "2GB", "-o", output)
    assert answer.code == 2
    assert answer.out == ""
    told: dict[str, Any] = json.loads(answer.err)
    assert told["error"]["schemaVersion"] == 1
    assert told["error"]["code"] == "invalid_input"
    assert told["error"]["message"].startswith("--memory: ")
    assert set(told["error"]) == {"schemaVersion", "code", "message", "suggestions"}


def test_the_inputs_are_many() -> None:
    assert len(MALFORMED) + len(MALFORMED_KEYS) + len(BROKEN) + len(FLAGS) + len(NAMES) + len(BROKEN_CONFIG) >= 490
