"""A stack without sandboxes, the command on it, and a request that fits the kwok node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.engine.sandbox_command import SandboxCommand
from tests.harness.ground import Ground
from tests.harness.stack import Stack


@pytest.fixture
def stack(engine_ground: Ground, tmp_path: Path) -> Iterator[Stack]:
    """A stack without sandboxes."""
    with engine_ground.stack(tmp_path / "stack") as made:
        yield made


@pytest.fixture
def sandbox(stack: Stack) -> SandboxCommand:
    """The command on that stack."""
    return SandboxCommand(stack)


@pytest.fixture
def request_file(engine_ground: Ground, tmp_path: Path) -> str:
    """A request that fits the kwok node."""
    file = tmp_path / "request.yaml"
    file.write_text(yaml.safe_dump(engine_ground.sandbox(env={"LEVEL": "info", "OLD": "x"})))
    return str(file)
