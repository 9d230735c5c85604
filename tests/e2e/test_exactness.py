"""Variables and arguments reach the agent byte for byte, through every door."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.api import eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pods import log_of
from tests.harness.stack import Stack

pytestmark = pytest.mark.node

VALUES = 1000 if os.environ.get("SANDBOX_SOAK") else 60
IN_ONE = 125
"""Values of one sandbox; argv, environment and annotation have limits."""

PRINT = """
import base64, json, os, sys, time
text = lambda data: base64.b64encode(data).decode()
print(json.dumps({
    "env": {text(key): text(value) for key, value in os.environb.items()},
    "argv": [text(os.fsencode(one)) for one in sys.argv[1:]],
}))
time.sleep(1e6)
"""
PIECES = (
    *('"', "'", "\\", "`", "$", "$$", "$(V0)", "$(HOME)", "$(X)", "$$(X)", "${A}", "$(", ")", "\n", "\r\n", "\t", " "),
    *("  ", "é", "日本", "\U0001f600", "\u0301", "\ufeff", "\x01", "\x1b[0m", "%s", "#"),
    *(
        ": ",
        "- ",
        "|",
        ">",
        "&",
        "*",
        "!x",
        "~",
        "true",
        "null",
        "0123",
        "1e3",
        "=",
        "A=B",
        "--",
        "-n",
        ";",
        "{}",
        "[]",
    ),
)
UNREADABLE = "".join(map(chr, (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF)))
"""Refused with one clear error, see tests/spec/test_text.py."""
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0" + UNREADABLE), max_size=30),
)
SOURCE = """
import json, pathlib
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={"name": config.namespace})
after = pulumi.ResourceOptions(depends_on=[namespace])
for name, args in json.loads((pathlib.Path(__file__).parent / "sandboxes.json").read_text()).items():
    secret = {key: pulumi.Output.secret(value) for key, value in args.pop("secret").items()}
    Sandbox(name, {**args, "env": {**args["env"], **secret}}, after)
for name, args in config.sandboxes.items():
    Sandbox(name, args, after)
"""

_drawn: list[str] = []


@settings(max_examples=VALUES)
@given(TEXTS)
def _draw(value: str) -> None:
    _drawn.append(value)


@dataclass(frozen=True)
class Given:
    """What a sandbox was given."""

    env: dict[str, str]
    argv: list[str]


@dataclass(frozen=True)
class Ran:
    """The stack and what its sandboxes were given, by name."""

    stack: Stack
    given: dict[str, Given]


@pytest.fixture(scope="module")
def values() -> list[str]:
    """As many different texts as hypothesis drew."""
    _drawn.clear()
    _draw()
    return [*PIECES, *_drawn][:VALUES] if 2 * len(PIECES) < VALUES else [*_joined(), *_drawn][:VALUES]


def _joined() -> list[str]:
    """Every piece, in few texts."""
    return ["".join(PIECES[start::6]) for start in range(6)]


@pytest.fixture(scope="module")
def ran(node_ground: Ground, values: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Sandboxes of all doors: program, config, and the command's flags."""
    folder = tmp_path_factory.mktemp("exactness") / "stack"
    batches = [values[start : start + IN_ONE] for start in range(0, len(values), IN_ONE)]
    with node_ground.stack(folder, program="exact", source=SOURCE) as stack:
        programs, configs, given = {}, {}, {}
        for number, batch in enumerate(batches):
            plain, secret = {f"V{i}": text for i, text in enumerate(batch)}, _secret(batch)
            entry = node_ground.sandbox(entrypoint=["python3", "-c", PRINT, *batch])
            programs[f"program-{number}"] = {**entry, "env": plain, "secret": secret}
            given[f"program-{number}"] = Given(plain | secret, batch)
            batch = _for_config(batch)
            plain = {f"V{i}": text for i, text in enumerate(batch)}
            entry = node_ground.sandbox(entrypoint=["python3", "-c", PRINT.lstrip(), *batch])
            configs[f"config-{number}"] = {**entry, "env": plain}
            given[f"config-{number}"] = Given(plain, batch)
        (stack.program.parent / "sandboxes.json").write_text(json.dumps(programs))
        for key, text in _SECRET_BY_CONFIG.items():
            stack.set_secret(f'secretEnv["config-0"]["{key}"]', text + "\n")
        stack.configure({"sandboxes": configs})
        _write_in_quotes(stack)
        given["config-0"] = Given(given["config-0"].env | _SECRET_BY_CONFIG, given["config-0"].argv)
        stack.up().ok()
        given["flags"] = _by_flags(node_ground, stack, _for_config(batches[0]))
        yield Ran(stack, given)


_SECRET_BY_CONFIG = {"S1": "$(HOME) $$ '\" \\ é\n\n 日本", "S2": " leading: - #", "S3": "\nline\nbreaks\n"}


class _Quoted(yaml.SafeDumper):
    """Every string in double quotes and ASCII, which all readers of YAML read alike."""


_Quoted.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def _write_in_quotes(stack: Stack) -> None:
    written = yaml.safe_load(stack.config_file.read_text())
    stack.config_file.write_text(yaml.dump(written, Dumper=_Quoted, sort_keys=False, width=1e9))


def _secret(batch: list[str]) -> dict[str, str]:
    return {f"S{i}": text for i, text in enumerate(batch)}


def _for_config(batch: list[str]) -> list[str]:
    """Config loses a first line break; the command refuses such texts (tests/operations/test_first_breaks.py)."""
    return [text.lstrip("\n") for text in batch]


def _by_flags(ground: Ground, stack: Stack, batch: list[str]) -> Given:
    limits = ("--image", ground.image, "--cpu", "50m", "--memory", "64Mi")
    env = {f"V{i}": text for i, text in enumerate(batch)}
    flags = [word for key, text in env.items() for word in ("--env", f"{key}={text}")]
    secret = "  $(V0) '\"\\ é 日本\nsecond line "
    call = ("create", "flags", *limits, *flags, "--secret-env", "SECRET", "-y", "--no-wait")
    sandbox(stack, *call, "--", "python3", "-c", PRINT.lstrip(), *batch, given=secret + "\n").ok()
    return Given({**env, "SECRET": secret}, batch)


def seen(ground: Ground, namespace: str, name: str) -> dict[str, Any]:
    """What the agent printed of itself."""

    def printed() -> dict[str, Any] | None:
        text = log_of(ground, namespace, f"{name}-0")
        return json.loads(text) if text.endswith("}\n") else None

    return eventually(printed, f"{name} prints its environment", 120)


DOORS = ("program", "config", "flags")


@pytest.mark.parametrize("door", DOORS)
def test_byte_for_byte(door: str, ran: Ran, node_ground: Ground) -> None:
    names = [name for name in ran.given if name.startswith(door)]
    assert names
    for name in names:
        found = seen(node_ground, ran.stack.namespace, name)
        env = {b64decode(key): b64decode(value) for key, value in found["env"].items()}
        for key, text in ran.given[name].env.items():
            assert env.get(key.encode()) == text.encode(), f"{name}: {key} was given as {text!r}"
        assert [b64decode(one) for one in found["argv"]] == [text.encode() for text in ran.given[name].argv]
        assert env[b"HOME"] == b"/workspace"


def test_the_values_are_many_and_odd(values: list[str]) -> None:
    assert len(set(values)) > VALUES * 0.8
    for piece in ('"', "'", "$", "\n", " ", "$(", "\\"):
        assert any(piece in text for text in values), piece
    assert any(not text.isascii() for text in values)
