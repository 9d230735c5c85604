"""Fixtures of the command's tests in this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.in_process import Command, Project, command_of, project_at


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `sandbox WORDS` in this process."""
    return command_of(monkeypatch, capsys)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose engine fails the test when it is called."""
    return project_at(tmp_path / "project", monkeypatch, dict(os.environ))
