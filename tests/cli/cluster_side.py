"""The command against the in-memory API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_components.cli.options import Target
from tests.cli.in_process import Command, command_of
from tests.kube.api import FakeApi


def command_on(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> Command:
    """Return a function that runs `sandbox WORDS` with `api` for a cluster, and without any environment."""
    for name in ("SANDBOX_STACK", "SANDBOX_NAMESPACE", "SANDBOX_OUTPUT", "PULUMI_STACK", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(home)
    monkeypatch.setattr(Target, "connect", lambda self, timeout_seconds=30.0: api.cluster(stack=self.stack))
    return command_of(monkeypatch, capsys)
