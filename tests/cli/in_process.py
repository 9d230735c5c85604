"""The command in this process: its words in, what it printed and its exit code out; and a project without an engine."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.cli import app
from sandbox_components.operations.engine import Engine

CONFIG_FILE = "programs/config/Pulumi.dev.yaml"
ORDINARY = """\
# settings of dev
config:
  sandbox-components:agentVolumeStorageClass: local-path
  sandbox-components:sandboxes:
    # works at night
    nightly:
      image: {uri: "ghcr.io/acme/agent:1.2"}
      command: ./start.sh   # as root it would fail
      resourceLimits: {cpu: 500m, memory: 2Gi}
      env:
        # how much is told
        LEVEL: "info"
        # where to begin
        START: "007"
      labels: {team: core}
      volumes:
        - mountPath: /data   # survives
encryptionsalt: v1:0000=:v1:0000:0000==
"""


@dataclass(frozen=True)
class Answer:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines that tell an error."""
        return [line for line in self.err.splitlines() if line.startswith("error:")]


Command = Callable[..., Answer]


class Terminal(io.TextIOWrapper):
    """A standard input that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def command_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs `sandbox WORDS`; `given` is its standard input."""

    def run(*words: str, given: bytes | str = b"", terminal: bool = False) -> Answer:
        raw = given.encode() if isinstance(given, str) else given
        kind = Terminal if terminal else io.TextIOWrapper
        monkeypatch.setattr(sys, "stdin", kind(io.BytesIO(raw), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            app.main(list(words))
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Answer(left.value.code, printed.out, printed.err)

    return run


@dataclass(frozen=True)
class Project:
    """A Pulumi project whose engine must not be called."""

    root: Path
    calls: list[list[str]]

    @property
    def config_file(self) -> Path:
        return self.root / CONFIG_FILE

    def write(self, text: str | bytes) -> bytes:
        """Put the config file there and return its bytes."""
        content = text if isinstance(text, bytes) else text.encode()
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.config_file.write_bytes(content)
        return content

    def files(self) -> dict[str, bytes]:
        """Every file and its bytes."""
        return {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


def project_at(root: Path, monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> Project:
    """Make a project in `root`, and record instead of carry out whatever the engine is asked."""
    for name in environment:
        if name.startswith(("SANDBOX_", "PULUMI_", "KUBE")):
            monkeypatch.delenv(name)
    root.mkdir(parents=True, exist_ok=True)
    (root / "Pulumi.yaml").write_text("name: agents\nruntime: python\nstackConfigDir: programs/config\n")
    monkeypatch.setenv("KUBECONFIG", str(root.parent / "no-kubeconfig"))
    monkeypatch.setenv("PULUMI_HOME", str(root.parent / "no-home"))
    monkeypatch.setenv("SANDBOX_STACK", "dev")
    monkeypatch.chdir(root)
    calls: list[list[str]] = []

    def asked(self: Engine, arguments: list[str], *rest: Any, **named: Any) -> Any:
        calls.append(list(arguments))
        raise AssertionError(f"the engine was called: pulumi {' '.join(arguments)}")

    monkeypatch.setattr(Engine, "_run", asked)
    monkeypatch.setattr(Engine, "_start", asked)
    project = Project(root, calls)
    project.write(ORDINARY)
    return project
