"""What the real engine's previews said, recorded by `tests.engine.record_previews`."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from sandbox_components.errors import SandboxError
from sandbox_components.operations.engine import Attempt
from sandbox_components.operations.engine_faults import fault
from sandbox_components.operations.plan import Plan, Problem
from sandbox_components.operations.planning import StackPlan, read_attempts

_FOLDER = Path(__file__).parent / "previews"
OVERLOOKED = " (protections overlooked)"


@cache
def _file(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text())
    return found


def preview(title: str) -> dict[str, Any]:
    """A recorded answer, the caller's own."""
    found: dict[str, Any] = copy.deepcopy((_file("kinds") | _file("refused"))[title])
    for step in found["steps"]:
        if step["newState"] == "=":
            step["newState"] = copy.deepcopy(step["oldState"])
    return found


def attempt(data: dict[str, Any]) -> Attempt:
    """The answer as the engine's side reads it."""
    problems = Problem.read(data)
    text = "\n".join(one.message for one in problems)
    error: SandboxError | None = fault(text, "preview", "test") if problems else None
    return Attempt(Plan.read(data), problems, error)


def attempts(title: str) -> tuple[Attempt, Attempt]:
    """The answer, and that to the question with protections overlooked where it was asked."""
    first = attempt(preview(title))
    if f"{title}{OVERLOOKED}" not in _file("refused"):
        return first, first
    return first, attempt(preview(f"{title}{OVERLOOKED}"))


def plan_of(title: str) -> StackPlan:
    """The plan out of a recorded preview."""
    return read_attempts("agents", "test", *attempts(title))
