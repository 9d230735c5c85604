"""No disk is made by two workspaces of one program."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components import InvalidInput, PersistentWorkspace, Sandbox
from tests.components.recorder import record

SMALL: dict[str, Any] = {"image": "a:1", "resource_limits": {"cpu": "1", "memory": "1Gi"}}


def test_two_sandboxes_that_make_one_claim() -> None:
    def program(namespace: str) -> None:
        Sandbox("one", {**SMALL, "workspace": {}})  # type: ignore[typeddict-item]
        Sandbox("two", {**SMALL, "workspace": {"claim_name": "one-workspace"}, "namespace": namespace})  # type: ignore[typeddict-item]

    with pytest.raises(InvalidInput, match=r'two\.workspace\.claim_name: "one-workspace" .* made by another workspace'):
        record(lambda: program("agents-dev"))
    record(lambda: program("elsewhere"))


def test_a_sandbox_and_a_workspace_that_make_one_claim() -> None:
    def program() -> None:
        Sandbox("one", {**SMALL, "workspace": {}})  # type: ignore[typeddict-item]
        PersistentWorkspace("one", {})

    with pytest.raises(InvalidInput, match="made by another workspace"):
        record(program)


def test_two_may_use_one_existing_claim() -> None:
    def program() -> None:
        for name in ("one", "two"):
            Sandbox(name, {**SMALL, "workspace": {"existing_claim": "theirs"}})  # type: ignore[typeddict-item]

    record(program)
