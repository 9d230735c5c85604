"""Histories that the real engine writes, on disk and in a bucket, in all compressions: read as it tells them itself.

Every answer is compared with `pulumi stack history` and with the state that `pulumi stack export` gave right then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.operations.engine import Engine
from sandbox_components.operations.history import open_history
from sandbox_components.operations.project import Project
from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.revisions.model import Checkpoint, History
from tests.harness import moto
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.moto import Moto
from tests.harness.stack import Stack

pytestmark = pytest.mark.engine

GZIP, ZSTD = {"PULUMI_DIY_BACKEND_GZIP": "true"}, {"PULUMI_DIY_BACKEND_ZSTD": "true"}
PLAIN: Mapping[str, str] = {}


class Recorded:
    """A stack and what the engine exported after each update."""

    def __init__(self, stack: Stack, ground: Ground) -> None:
        self.stack, self.ground = stack, ground
        self.exports: list[Any] = []

    def declare(self, **images: str) -> None:
        entries = {
            name.replace("_", "-"): self.ground.sandbox(image={"uri": f"localhost:5000/python:{tag}"})
            for name, tag in images.items()
        }
        self.stack.configure({"sandboxes": entries})

    def run(self, verb: str, env: Mapping[str, str], *options: str, good: bool = True) -> None:
        outcome = self.stack.pulumi(verb, "--yes", "--skip-preview", *options, env=env)
        assert (outcome.exit_code == 0) is good, outcome.output
        self.exports.append(json.loads(self.stack.pulumi("stack", "export", "-s", self.stack.name).ok().output))

    def history(self) -> History:
        return open_history(Engine(Project.find(self.stack.folder), self.stack.name, backend=self.backend))

    @property
    def backend(self) -> str:
        return self.stack.env["PULUMI_BACKEND_URL"]

    def told(self) -> list[Any]:
        """What `pulumi stack history` says, oldest first."""
        arguments = ("stack", "history", "--json", "--page-size", "1000", "-s", self.stack.name)
        updates: list[Any] = json.loads(self.stack.pulumi(*arguments).ok().output)
        return updates[::-1]

    def compare(self) -> list[Checkpoint]:
        """Hold the whole history against what the engine says; return the checkpoints."""
        history = self.history()
        entries = history.entries()
        told = self.told()
        assert len(entries) == len(told) == len(self.exports)
        for entry, update in zip(entries, told, strict=True):
            assert (entry.kind, entry.result, entry.message) == (update["kind"], update["result"], update["message"])
            assert entry.started_at == datetime.fromisoformat(update["startTime"])
            assert entry.ended_at == datetime.fromisoformat(update["endTime"])
            assert (entry.changes or {}) == update["resourceChanges"]
            assert entry.environment.items() <= update["environment"].items()
            assert entry.environment["pulumi.version"]
        found = list(history.checkpoints(entries))
        for entry, checkpoint, exported in zip(entries, found, self.exports, strict=True):
            assert checkpoint == read_checkpoint(json.dumps(exported).encode())
            raw = json.loads(history.raw_checkpoint(entry))
            assert raw["checkpoint"]["latest"] == exported["deployment"]
            assert raw["version"] == exported["version"]
        assert history.problems == []
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Moto]:
    with moto.server(tmp_path / "moto.log") as server:
        yield server


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in moto.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def images(found: list[Checkpoint]) -> list[dict[str, str]]:
    return [{name: json.loads(state.spec)["image"]["uri"] for name, state in one.sandboxes.items()} for one in found]


def begin(recorded: Recorded) -> None:
    """The part that both backends have, in three compressions."""
    recorded.declare(one="3.11", wi_th_dashes="3.11")
    recorded.run("up", PLAIN, "--message", "erster 🚀 <&>")
    recorded.declare(one="3.12", wi_th_dashes="3.11")
    recorded.run("up", GZIP)
    recorded.run("refresh", ZSTD)


HANGS = """
import asyncio

pulumi.export("never", pulumi.Output.from_input(asyncio.sleep(300)))
"""
FIRST = [
    {"one": "localhost:5000/python:3.11", "wi-th-dashes": "localhost:5000/python:3.11"},
    {"one": "localhost:5000/python:3.12", "wi-th-dashes": "localhost:5000/python:3.11"},
    {"one": "localhost:5000/python:3.12", "wi-th-dashes": "localhost:5000/python:3.11"},
]


@pytest.mark.usefixtures("own_cache")
def test_in_a_bucket(engine_ground: Ground, tmp_path: Path, server: Moto) -> None:
    with engine_ground.stack(tmp_path / "stack", name="te-st") as stack:
        stack.env |= {**moto.ENVIRONMENT, "PULUMI_BACKEND_URL": server.backend("state", "team/a")}
        stack.pulumi("stack", "init", stack.name).ok()
        recorded = Recorded(stack, engine_ground)
        begin(recorded)
        assert images(recorded.compare()) == FIRST


@pytest.mark.usefixtures("own_cache")
def test_on_disk(engine_ground: Ground, tmp_path: Path) -> None:
    """Also what a stack goes through: a failed update, a sandbox deleted, a new name, a kill, an end, a new life."""
    with engine_ground.stack(tmp_path / "stack", name="te-st") as stack:
        recorded = Recorded(stack, engine_ground)
        begin(recorded)
        assert images(recorded.compare()) == FIRST
        the_rest(recorded)


def the_rest(recorded: Recorded) -> None:
    stack = recorded.stack
    endings = {path.name.partition(".json")[2] for path in stack.folder.glob("state/.pulumi/history/*/*/te-st-*")}
    assert endings == {"", ".gz", ".zst", ".attrs", ".gz.attrs", ".zst.attrs"}
    stack.configure({"configVersion": 99})
    recorded.run("up", ZSTD, good=False)
    stack.configure({"configVersion": None})
    recorded.declare(one="3.12")
    recorded.run("up", GZIP)
    before = recorded.history().entries()
    stack.pulumi("stack", "rename", "new", "-s", stack.name).ok()
    stack.config_file = stack.config_file.with_name("Pulumi.new.yaml")
    stack.name = "new"
    assert [entry.id for entry in recorded.history().entries()] == [entry.id for entry in before]
    killed(recorded, "3.11")
    recorded.run("up", PLAIN)
    entries = recorded.history().entries()
    assert set(entries[-1].changes or {}) == {"same"}
    recorded.run("destroy", PLAIN)
    recorded.run("up", PLAIN)
    found = recorded.compare()
    one, other = {"one": "localhost:5000/python:3.12"}, {"one": "localhost:5000/python:3.11"}
    assert images(found) == [*FIRST, FIRST[-1], one, other, {}, other]
    assert [entry.result for entry in recorded.history().entries()].count("failed") == 1
    created = [state.created_at for checkpoint in found for state in checkpoint.sandboxes.values()]
    assert len(set(created)) == 3
    assert None not in created


def killed(recorded: Recorded, tag: str) -> None:
    """Kill an `up` that has changed the sandbox: it leaves no entry, and the next one says that all is the same."""
    stack = recorded.stack
    recorded.declare(one=tag)
    program = stack.program.read_text()
    stack.program.write_text(program + HANGS)
    folder = stack.folder / "state/.pulumi/stacks" / stack.project
    files = [folder / f"{stack.name}.json{ending}" for ending in ("", ".gz", ".zst")]

    def is_changed() -> bool:
        sandboxes = [read_checkpoint(file.read_bytes()).sandboxes for file in files if file.exists()]
        return any(tag in found["one"].spec for found in sandboxes if "one" in found)

    assert not is_changed()
    with stack.start("up", "--yes", "--skip-preview", env=GZIP) as running:
        eventually(is_changed, "the changed sandbox in the state")
        running.kill()
    stack.program.write_text(program)
    stack.cancel()
