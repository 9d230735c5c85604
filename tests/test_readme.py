"""README.md is true: its programs run, its config is read, its commands parse, its reference of the command is equal.

`SANDBOX_UPDATE_README=1` writes the reference anew instead of comparing it.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import yaml
from _pytest.mark import ParameterSet

from devcluster import environment, project_copy
from devcluster.cluster import Cluster
from devcluster.environment import Workplace
from sandbox_components.cli.app import COMMANDS, SECTIONS, sandbox
from sandbox_components.components import stack_config
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox
from tests.components.recorder import record
from tests.harness.ground import Ground, new_namespace

CHECKOUT = Path(__file__).parents[1]
README = CHECKOUT / "README.md"
BEGIN, END = "<!-- commands: begin", "<!-- commands: end -->"
WIDTH = 110
PREFIX = "sandbox-components:"
OWN_PROGRAMS = {"sandbox", "pulumi", "make", "kubectl"}
OTHER_PROGRAMS = {"docker", "eval", "export", "openssl", "pip", "unset"}


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.language}-{self.line}"


def blocks() -> list[Block]:
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", README.read_text(), re.M | re.S)
    text = README.read_text()
    return [Block(one[1], text[: one.start()].count("\n") + 1, one[2]) for one in found]


def of(*languages: str) -> list[Block]:
    return [block for block in blocks() if block.language in languages]


def typed() -> Iterator[tuple[int, list[str]]]:
    """Every command line of the shell blocks."""
    for block in of("sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            yield block.line, shlex.split(line, comments=True)


def mentioned() -> Iterator[tuple[int, list[str]]]:
    """What stands in backquotes and begins with a program of ours; arguments may be missing."""
    text = re.sub(r"^```.*?^```$", lambda found: "\n" * found[0].count("\n"), README.read_text(), flags=re.M | re.S)
    for found in re.finditer(r"`([^`\n]+)`", text):
        words = found[1].split()
        if words[0] in OWN_PROGRAMS and len(words) > 1:
            yield text[: found.start()].count("\n") + 1, shlex.split(found[1])


def cases(lines: Iterable[tuple[int, list[str]]], *programs: str) -> list[ParameterSet]:
    """Command lines as parameters of a test."""
    named = [(f"{line}-{'-'.join(words[:2])}", words) for line, words in lines if words]
    return [pytest.param(words, id=label) for label, words in named if not programs or words[0] in programs]


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    assert {block.language for block in blocks()} == {"sh", "python", "yaml", "text"}


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_programs_run(block: Block) -> None:
    config = next(yaml.safe_load(one.text)["config"] for one in of("yaml") if "config:" in one.text)
    made = record(
        lambda: exec(compile(block.text, str(README), "exec"), {}),
        config=config,
        secret_config={"inferenceSigningKey": "an example of thirty-two or more characters"},
    )
    [sandbox] = made.of("Sandbox")
    assert sandbox.name in ("nightly-refactor", "web")
    assert made.one("StatefulSet", sandbox.name)
    assert made.one("PersistentVolumeClaim", f"{sandbox.name}-workspace")


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_config_is_read(block: Block) -> None:
    document = yaml.safe_load(block.text)
    if "runtime" in document:
        assert document == {"name": "acme-agents", "runtime": "python"}
        ours = yaml.safe_load((CHECKOUT / "Pulumi.yaml").read_text())["name"]
        assert document["name"] != ours, "in a shell of `make env` its `pulumi up` would be one of the demo's stack"
        return
    if "upstreams" in document:
        from sandbox_components.proxy.settings import Settings
        from sandbox_components.spec.reading import read

        assert len(read(Settings, document, "").upstreams) == 2
        return
    assert {key.removeprefix(PREFIX) for key in document["config"]} <= set(stack_config.KEYS)
    for name, entry in document["config"][f"{PREFIX}sandboxes"].items():
        read_sandbox(entry, name)


@pytest.mark.parametrize("words", cases(typed()))
def test_typed_commands_parse(words: list[str]) -> None:
    program, *arguments = words
    assert program in OWN_PROGRAMS | OTHER_PROGRAMS
    if program == "sandbox":
        verb(arguments[0]).make_context(arguments[0], arguments[1:])


@pytest.mark.parametrize("words", cases(mentioned(), "sandbox"))
def test_mentioned_verbs_and_options_exist(words: list[str]) -> None:
    known = {name for param in verb(words[1]).params for name in [*param.opts, *param.secondary_opts]}
    assert {word for word in words[2:] if word.startswith("-")} <= known


def verb(name: str) -> click.Command:
    command = sandbox.get_command(click.Context(sandbox), name)
    assert command is not None, f"sandbox has no verb {name}"
    return command


@pytest.mark.parametrize("words", cases([*typed(), *mentioned()], "make"))
def test_targets_exist(words: list[str]) -> None:
    assert words[1] in re.findall(r"^([a-z0-9-]+):", (CHECKOUT / "Makefile").read_text(), re.M)


def test_what_is_typed_for_a_project_of_ones_own_names_its_stack() -> None:
    """Or it would be for the demo's in a shell of `make env`, which pins that stack."""
    text = README.read_text()
    own = text[: text.index("## Use it")].count("\n")
    lines = [words for line, words in typed() if line > own and "pulumi" in words]
    assert len(lines) == 5
    assert [words for words in lines if "--stack" not in words and words[:3] != ["pulumi", "stack", "init"]] == []
    place = Workplace(CHECKOUT, CHECKOUT, CHECKOUT, CHECKOUT, environment.LOCAL_IMAGE).variables()
    pins = [name for name, value in place.items() if value in (environment.STACK, environment.NAMESPACE)]
    pins.remove("PULUMI_CONFIG_PASSPHRASE")  # the same word by chance
    assert [words[1:] for _, words in typed() if words[:1] == ["unset"]] == [pins]


@pytest.mark.engine
@pytest.mark.parametrize("words", cases([*typed(), *mentioned()], "pulumi", "kubectl"))
def test_flags_of_other_commands_exist(words: list[str], tools: Path) -> None:
    depth = 3 if words[:2] in (["pulumi", "stack"], ["pulumi", "config"]) else 2
    command = [str(tools / words[0]), *words[1:depth], "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for flag in [word.partition("=")[0] for word in words if word.startswith("-")]:
        assert re.search(rf"(^|[\s,]){re.escape(flag)}\b", done.stdout + done.stderr), f"{words[:depth]} has no {flag}"


@pytest.mark.engine
@pytest.mark.timeout(300)
def test_destroy_of_all_but_protected_takes_the_proxy_and_leaves_both_disks(
    engine_ground: Ground, tmp_path: Path
) -> None:
    """The program of spending, as it stands there, in namespaces of the test's own."""
    [program] = [block.text for block in of("python") if "InferenceProxy" in block.text]
    there = new_namespace()
    for text in ('"inference")', '"namespace": "inference"'):
        assert text in program
        program = program.replace(text, text.replace('"inference"', f'"{there}"'))
    try:
        with engine_ground.stack(tmp_path / "stack", program="spending", source=program) as stack:
            stack.set_secret("inferenceSigningKey", "an example of thirty-two or more characters")
            stack.up().ok()
            assert stack.pulumi("destroy", "--yes").exit_code != 0
            stack.destroy("--exclude-protected").ok()
            left = {one["urn"].rpartition("::")[2] for one in stack.export() if one["type"].startswith("kubernetes:")}
            assert left == {stack.namespace, there, "nightly-refactor-workspace", "proxy-ledger"}
            stack.up().ok()
            stack.destroy("--ignore-protect").ok()
            assert stack.export() == []
    finally:
        engine_ground.api.delete("Namespace", there)


def test_every_key_of_the_contract_is_there() -> None:
    text = README.read_text()
    section = text[text.index("## Stack config") : text.index("## Pausing")]
    for key in stack_config.KEYS:
        assert f"| `{key}` |" in section
    wire = {info.alias or name for name, info in SandboxSpec.model_fields.items()} - {"workspace"}
    for key in [*wire, "volumes", "extensions"]:
        assert re.search(rf"^\|.*`{key}`.*\|.*\|.*\|.*\|$", section, re.M), f"{key} is not in the table of a sandbox"


def test_every_exit_code_is_there() -> None:
    from sandbox_components import errors

    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.SandboxError)]
    for code in {one.exit_code for one in classes}:
        assert f"\n| {code} | " in README.read_text()


def test_paths_in_the_map_exist() -> None:
    text = README.read_text()
    for path in re.findall(r"`((?:sandbox_components|devcluster|programs|tests|\.ci)/[\w./-]*)`", text):
        assert (CHECKOUT / path).exists(), path


def test_the_reference_of_the_command_is_equal() -> None:
    text = README.read_text()
    start = text.index("\n", text.index(BEGIN)) + 1
    stop = text.index(END)
    if os.environ.get("SANDBOX_UPDATE_README"):
        README.write_text(text[:start] + reference() + text[stop:])
        return
    assert text[start:stop] == reference(), "run: SANDBOX_UPDATE_README=1 make test-fast"


def reference() -> str:
    """The help of every verb, with what all verbs share once."""
    commands = {name: command for name in COMMANDS if (command := sandbox.get_command(click.Context(sandbox), name))}
    shared = set.intersection(*(_options(one) for name, one in commands.items() if name not in ("serve", "completion")))
    first = next(iter(commands.values()))
    every = click.Command("", params=[one for one in first.params if one.name in shared], add_help_option=True)
    parts = ["", "Options of every verb:", "", "```text", _options_help(every), "```", ""]
    for section in SECTIONS:
        for name, command in commands.items():
            if COMMANDS[name][0] == section:
                own = copy.copy(command)
                own.params = [one for one in command.params if one.name not in shared]
                parts += [f"### sandbox {name}", "", "```text", _help(own, f"sandbox {name}"), "```", ""]
                for inner in command.commands.values() if isinstance(command, click.Group) else ():
                    parts += ["```text", _help(inner, f"sandbox {name} {inner.name}"), "```", ""]
    return "\n".join(parts)


def _options(command: click.Command) -> set[str]:
    return {str(one.name) for one in command.params if isinstance(one, click.Option)}


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)


def _help(command: click.Command, name: str) -> str:
    text = command.get_help(_context(command, name))
    without_help = re.sub(r"\n +(-h, )?--help +Show this message and exit\.", "", text).rstrip()
    return without_help.removesuffix("Options:").rstrip()


def _options_help(command: click.Command) -> str:
    text = command.get_help(_context(command, ""))
    return text[text.index("Options:") :].rstrip()


@pytest.mark.node
@pytest.mark.timeout(600)
def test_the_tour_runs(node_cluster: Cluster, tools: Path, tmp_path: Path) -> None:
    project = project_copy.make(tmp_path / "project")
    home, state = tmp_path / "home", tmp_path / "state"
    state.mkdir()
    place = Workplace(tools, project, home, state, environment.LOCAL_IMAGE, node_cluster.kubeconfig)
    place.run("pulumi", "stack", "select", "--create", "--stack", environment.STACK)
    environment.bring_up(place)
    try:
        text = README.read_text()
        first, last = (text[: text.index(head)].count("\n") for head in ("## A tour", "## Use it"))
        lines = "".join(block.text for block in of("sh") if first < block.line < last)
        lines = lines.replace('eval "$(make env)"\n', "").replace("make cluster-down\n", "")
        assert "sandbox delete web" in lines
        print(place.run("sh", "-ex", "-c", lines))
        assert "no changes" not in place.run("pulumi", "preview", "--expect-no-changes")
    finally:
        place.run("pulumi", "destroy", "--yes", "--skip-preview")


def test_wire_names_of_json_examples_in_the_text() -> None:
    text = README.read_text()
    for found in re.finditer(r'"""\n(\s*\{.*?\})\s*"""', text, re.S):
        read_sandbox(json.loads(found[1]), "request")
