"""What `--no-up` writes: flags over requests, merges, removals, comments, and files with little in them."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.in_process import ORDINARY, Answer, Command, Project

SANDBOXES = "sandbox-components:sandboxes"
SMALL = {"image": {"uri": "a:1"}, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}
FLAGS = ("--image", "a:1", "--cpu", "1", "--memory", "1Gi")


def declared(project: Project, name: str) -> dict[str, Any]:
    data = YAML(typ="safe", pure=True).load(project.config_file.read_text())
    found: dict[str, Any] = data["config"][SANDBOXES][name]
    return found


def edits(project: Project, before: str = ORDINARY) -> list[str]:
    """Lines that differ from the ordinary file."""
    lines = difflib.unified_diff(before.splitlines(), project.config_file.read_text().splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def edited(answer: Answer, name: str) -> None:
    assert (answer.code, answer.out) == (0, f"{name} edited\n"), answer.err


def test_every_flag_of_create(project: Project, command: Command) -> None:
    answer = command(
        *("create", "new", "--image", "ghcr.io/acme/agent:1.2", "--command", "./start.sh", "--cpu", "0.5"),
        *("--memory", "2048Mi", "--volume", "/data", "--size", "50Gi", "--storage-class", "abs"),
        *("--health-check", "path=/healthz,port=8080,interval=10,initial-delay=30,timeout=5,failures=3"),
        *("--port", "8080", "--port", "dns=53/udp", "--env", "A=1", "--env", "B=x=y", "--env", "C="),
        *("--label", "team=core", "--egress", "none", "--deletion", "delete", "--no-up"),
    )
    edited(answer, "new")
    assert declared(project, "new") == {
        "image": {"uri": "ghcr.io/acme/agent:1.2"},
        "command": "./start.sh",
        "resourceLimits": {"cpu": "500m", "memory": "2Gi"},
        "volumes": [{"mountPath": "/data", "size": "50Gi", "storageClass": "abs"}],
        "healthCheck": {
            "type": "http",
            "http": {"path": "/healthz", "port": 8080},
            "intervalSeconds": 10,
            "initialDelaySeconds": 30,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
        "ports": [{"port": 8080}, {"port": 53, "name": "dns", "protocol": "UDP"}],
        "env": {"A": "1", "B": "x=y", "C": ""},
        "labels": {"team": "core"},
        "egress": "none",
        "deletion": "delete",
    }
    assert all(line.startswith("+") for line in edits(project))


def test_exact_arguments_go_after_two_dashes(project: Project, command: Command) -> None:
    edited(command("create", "new", *FLAGS, "--no-up", "--", "python3", "-m", "http.server", "--cgi"), "new")
    assert declared(project, "new")["entrypoint"] == ["python3", "-m", "http.server", "--cgi"]
    edited(command("update", "new", "--command", "./run | tee log", "--no-up"), "new")
    assert "entrypoint" not in declared(project, "new")
    edited(command("update", "new", "--no-up", "--", "./run"), "new")
    assert "command" not in declared(project, "new")


@pytest.mark.parametrize("form", ["json", "yaml", "stdin"])
def test_flags_go_over_the_request(form: str, project: Project, command: Command) -> None:
    request = {
        **SMALL,
        "entrypoint": ["/bin/sh", "-c", "sleep 1"],
        "env": {"KEPT": "1", "CHANGED": "1", "REMOVED": "1"},
        "labels": {"a": "1"},
        "extensions": {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"},
    }
    text = json.dumps(request)
    file = "-" if form == "stdin" else f"request.{form}"
    if form != "stdin":
        (project.root / file).write_text(text)
    flags = ("--env", "CHANGED=2", "--env", "REMOVED-", "--env", "NEW=3", "--label", "b=2", "--memory", "3Gi")
    answer = command("create", "new", "-f", file, *flags, "--size", "60Gi", "--no-up", given=text)
    edited(answer, "new")
    assert declared(project, "new") == {
        "image": {"uri": "a:1"},
        "entrypoint": ["/bin/sh", "-c", "sleep 1"],
        "resourceLimits": {"cpu": "1", "memory": "3Gi"},
        "env": {"KEPT": "1", "CHANGED": "2", "NEW": "3"},
        "labels": {"a": "1", "b": "2"},
        "volumes": [{"mountPath": "/workspace", "storageClass": "local-path", "size": "60Gi"}],
    }


@pytest.mark.parametrize(
    ("request_", "flags", "expected"),
    [
        ({"extensions": {"persistence": "false"}}, (), {}),
        ({"name": "new"}, (), {}),
        ({"resource_limits": {"cpu": 2, "memory": "1Gi"}, "resourceLimits": None}, ("--cpu", "3"), {}),
        ({"volumes": [{"mount_path": "/a"}]}, ("--volume", "/b"), {"volumes": [{"mountPath": "/b"}]}),
        ({"workspace": {"mountPath": "/a"}}, ("--size", "20Gi"), {"workspace": {"mountPath": "/a", "size": "20Gi"}}),
        ({"health_check": {"type": "none"}}, ("--health-check", "none"), {}),
        ({"env": {"A": "1"}}, ("--env", "A-"), {}),
        ({"image": "b:2"}, (), {"image": "b:2"}),
        ({"image": "b:2"}, ("--image", "c:3"), {"image": {"uri": "c:3"}}),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, Mapping) else "",
)
def test_forms_of_a_request(
    request_: dict[str, Any], flags: tuple[str, ...], expected: dict[str, Any], project: Project, command: Command
) -> None:
    entry = {key: value for key, value in {**SMALL, **request_}.items() if value is not None}
    (project.root / "request.json").write_text(json.dumps(entry))
    edited(command("create", "new", "-f", "request.json", *flags, "--no-up"), "new")
    found = declared(project, "new")
    if "resource_limits" in request_:
        assert found["resourceLimits"] == {"cpu": "3", "memory": "1Gi"}
        assert "resource_limits" not in found
    else:
        assert found == {**SMALL, **expected}


def test_the_name_in_a_request_must_be_the_name(project: Project, command: Command) -> None:
    (project.root / "request.json").write_text(json.dumps({**SMALL, "name": "other"}))
    answer = command("create", "new", "-f", "request.json", "--no-up")
    assert (answer.code, answer.errors) == (2, ['error: name: "other" in request.json is not the NAME given, "new"'])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["--image", "ghcr.io/acme/agent:1.3"],
            [
                '-      image: {uri: "ghcr.io/acme/agent:1.2"}',
                '+      image: {uri: "ghcr.io/acme/agent:1.3"}',
            ],
        ),
        (
            ["--command", "./run.sh"],
            [
                "-      command: ./start.sh   # as root it would fail",
                "+      command: ./run.sh     # as root it would fail",
            ],
        ),
        (
            ["--cpu", "1"],
            [
                "-      resourceLimits: {cpu: 500m, memory: 2Gi}",
                "+      resourceLimits: {cpu: '1', memory: 2Gi}",
            ],
        ),
        (["--env", "LEVEL=debug"], ['-        LEVEL: "info"', '+        LEVEL: "debug"']),
        (["--env", "LEVEL-"], ["-        # how much is told", '-        LEVEL: "info"']),
        (["--env", "START-"], ["-        # where to begin", '-        START: "007"']),
        (["--env", "NEW=1"], ["+        NEW: '1'"]),
        (
            ["--env", "LEVEL-", "--env", "START-"],
            [
                "-      env:",
                "-        # how much is told",
                '-        LEVEL: "info"',
                "-        # where to begin",
                '-        START: "007"',
            ],
        ),
        (["--env", "NONE-"], []),
        (["--label", "team=web"], ["-      labels: {team: core}", "+      labels: {team: web}"]),
        (["--label", "team-"], ["-      labels: {team: core}"]),
        (["--size", "20Gi"], ["+          size: 20Gi"]),
        (["--image", "ghcr.io/acme/agent:1.2", "--cpu", "500m", "--env", "START=007"], []),
    ],
    ids=lambda value: " ".join(value)[:40] if value and not value[0].startswith(("-  ", "+")) else "",
)
def test_update_touches_what_changes(words: list[str], expected: list[str], project: Project, command: Command) -> None:
    answer = command("update", "nightly", *words, "--no-up")
    assert answer.code == 0, answer.err
    assert answer.out == ("nightly edited\n" if expected else "nightly unchanged\n")
    assert edits(project) == expected
    if not expected:
        assert project.config_file.read_bytes() == ORDINARY.encode()


def test_a_whole_request_replaces_the_old_one(project: Project, command: Command) -> None:
    (project.root / "request.json").write_text(json.dumps(SMALL))
    edited(command("update", "nightly", "-f", "request.json", "--env", "A=1", "--no-up"), "nightly")
    assert declared(project, "nightly") == {**SMALL, "env": {"A": "1"}}
    assert "# works at night" in project.config_file.read_text()


def test_delete_takes_all_of_it_out(project: Project, command: Command) -> None:
    rest = ORDINARY.index("encryptionsalt")
    more = (
        "  sandbox-components:secretEnv:\n    nightly: {T: {secure: v1:x}}\n    # of another\n"
        "    other: {T: {secure: v1:y}}\n"
    )
    entry = "    # the other one\n    other: {image: {uri: b}, resourceLimits: {cpu: 1, memory: 1Gi}}\n"
    before = ORDINARY[:rest] + entry + more + ORDINARY[rest:]
    project.write(before)
    edited(command("delete", "nightly", "--no-up"), "nightly")
    first = before.index("    # works at night")
    expected = before[:first] + entry + more.replace("    nightly: {T: {secure: v1:x}}\n", "") + ORDINARY[rest:]
    assert project.config_file.read_text() == expected


def test_delete_of_the_last_one(project: Project, command: Command) -> None:
    edited(command("delete", "nightly", "--no-up"), "nightly")
    assert SANDBOXES not in project.config_file.read_text()
    assert "agentVolumeStorageClass: local-path" in project.config_file.read_text()
    held = project.config_file.read_bytes()
    again = command("delete", "nightly", "--no-up")
    assert (again.code, again.out) == (0, "nightly unchanged\n")
    assert project.config_file.read_bytes() == held


def test_create_is_idempotent(project: Project, command: Command) -> None:
    edited(command("create", "new", *FLAGS, "--no-up"), "new")
    held = project.config_file.read_bytes()
    for flags in (FLAGS, ("--image", "a:1", "--cpu", "1000m", "--memory", "1024Mi")):
        again = command("create", "new", *flags, "--no-up")
        assert (again.code, again.out) == (0, "new unchanged\n")
    other = command("create", "new", *FLAGS, "--env", "A=1", "--no-up")
    assert other.code == 2
    assert "is declared already, with other values" in other.errors[0]
    assert project.config_file.read_bytes() == held


@pytest.mark.parametrize("name", ["nightli", "nightly2"])
def test_update_of_an_unknown_name_says_which_was_meant(name: str, project: Project, command: Command) -> None:
    # The engine is asked whether the program declares it, which this project refuses.
    answer = command("update", name, "--env", "A=1", "--no-up")
    assert project.calls[0][0] == "preview"
    assert project.config_file.read_bytes() == ORDINARY.encode()
    assert answer.code != 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("\n", "\nconfig:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("# mine\n", "# mine\nconfig:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("config:\n", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("config: {}\n", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("encryptionsalt: x\n", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("config:\n  a:b: c\n", "config:\n  a:b: c\n  sandbox-components:sandboxes:\n    new:\n"),
        ("config:\n    a:b: c\n", "config:\n    a:b: c\n    sandbox-components:sandboxes:\n        new:\n"),
        ("config:\n  sandbox-components:sandboxes:\n", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
        ("config:\n  sandbox-components:sandboxes: {}\n", "config:\n  sandbox-components:sandboxes:\n    new:\n"),
    ],
    ids=repr,
)
def test_files_with_little_in_them(text: str | None, expected: str, project: Project, command: Command) -> None:
    if text is None:
        project.config_file.unlink()
    else:
        project.write(text)
    edited(command("create", "new", *FLAGS, "--no-up"), "new")
    assert project.config_file.read_text().startswith(expected)
    assert declared(project, "new") == SMALL
    if text and "encryptionsalt" in text:
        assert project.config_file.read_text().endswith(text)
    edited(command("delete", "new", "--no-up"), "new")
    left = YAML(typ="safe", pure=True).load(project.config_file.read_text())
    assert "new" not in str(left)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["no mark", "byte order mark"])
def test_carriage_returns_stay(mark: bytes, project: Project, command: Command) -> None:
    before = project.write(mark + ORDINARY.replace("\n", "\r\n").encode())
    edited(command("update", "nightly", "--env", "LEVEL=debug", "--no-up"), "nightly")
    assert project.config_file.read_bytes() == before.replace(b'"info"', b'"debug"')
    edited(command("update", "nightly", "--env", "LEVEL=info", "--no-up"), "nightly")
    assert project.config_file.read_bytes() == before


@pytest.mark.parametrize("offset", ["        ", "      "])
def test_list_indentation_stays(offset: str, project: Project, command: Command) -> None:
    before = ORDINARY.replace("        - mountPath", f"{offset}- mountPath")
    project.write(before)
    edited(command("update", "nightly", "--port", "80", "--port", "81", "--size", "20Gi", "--no-up"), "nightly")
    assert edits(project, before) == [
        f"+{offset}  size: 20Gi",
        "+      ports:",
        f"+{offset}- port: 80",
        f"+{offset}- port: 81",
    ]


def test_what_anchors_tie_together_is_left_alone(project: Project, command: Command) -> None:
    text = (
        "config:\n  sandbox-components:sandboxes:\n    one: &one\n      image: {uri: a}\n"
        "      resourceLimits: &limits {cpu: 1, memory: 1Gi}\n"
        "    two:\n      image: {uri: b}\n      resourceLimits: *limits\n    three: *one\n"
    )
    before = project.write(text)
    for words in (["one", "--cpu", "2"], ["two", "--memory", "2Gi"], ["three", "--env", "A=1"]):
        answer = command("update", *words, "--no-up")
        assert answer.code == 2
        assert "shares a part with others by a YAML anchor" in answer.errors[0]
        assert project.config_file.read_bytes() == before
    edited(command("update", "two", "--image", "c", "--no-up"), "two")
    assert declared(project, "two")["image"] == {"uri": "c"}


def test_a_link_stays_a_link_and_the_mode_stays(project: Project, command: Command) -> None:
    real = project.root / "elsewhere.yaml"
    project.config_file.rename(real)
    project.config_file.symlink_to(real)
    real.chmod(0o640)
    edited(command("update", "nightly", "--env", "A=1", "--no-up"), "nightly")
    assert project.config_file.is_symlink()
    assert "A: '1'" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_a_killed_command_left_beside_the_file_goes(project: Project, command: Command) -> None:
    left = project.config_file.with_name(".Pulumi.dev.yaml.abc.sandbox-new")
    left.write_text("half")
    other = project.config_file.with_name(".Pulumi.production.yaml.abc.sandbox-new")
    other.write_text("half")
    edited(command("update", "nightly", "--env", "A=1", "--no-up"), "nightly")
    assert not left.exists()
    assert other.exists()


def test_a_read_only_folder(project: Project, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("sandbox_components.operations.config_file.tempfile.mkstemp", refuse)
    answer = command("update", "nightly", "--env", "A=1", "--no-up")
    assert answer.code == 1
    assert "can't be written: Permission denied" in answer.errors[0]
    assert project.config_file.read_bytes() == ORDINARY.encode()


def test_an_empty_secret_from_standard_input_is_refused(project: Project, command: Command) -> None:
    answer = command("update", "nightly", "--secret-env", "TOKEN", "--no-up", given="\n")
    assert answer.code == 2
    assert "--secret-env TOKEN: standard input is empty" in answer.errors[0]
    assert project.config_file.read_bytes() == ORDINARY.encode()


def test_a_terminal_is_asked_for_a_secret_without_echo(
    project: Project, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def prompt(text: str, **how: object) -> str:
        asked.append(how["hide_input"])
        return "s3cret"

    monkeypatch.setattr("sandbox_components.cli.declaring.click.prompt", prompt)
    answer = command("update", "nightly", "--secret-env", "TOKEN", "--no-up", terminal=True)
    assert asked == [True]
    assert project.calls[0][:3] == ["config", "set", "--secret"]
    assert "s3cret" not in " ".join(project.calls[0]) + answer.err + answer.out
