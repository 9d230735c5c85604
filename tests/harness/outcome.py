"""What a run of the engine did, read from its own event log rather than from text meant for people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Json = dict[str, Any]
UNCHANGED = ("same", "read", "refresh")


@dataclass(frozen=True)
class Step:
    """One resource and what is done with it."""

    op: str
    urn: str
    detailed: Json
    new: Json

    @property
    def kind(self) -> str:
        """The last part of its type: `StatefulSet`."""
        return self.urn.split("::")[2].rsplit(":", 1)[-1].rsplit("$", 1)[-1]

    @property
    def name(self) -> str:
        """The Pulumi name."""
        return self.urn.split("::")[3]


@dataclass(frozen=True)
class Outcome:
    """How `pulumi VERB` ended."""

    verb: str
    exit_code: int
    output: str
    log: Path
    seconds: float

    @cached_property
    def events(self) -> list[Json]:
        if not self.log.exists():
            return []
        found = []
        for line in self.log.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                break  # the engine was killed while it wrote this line
        return found

    @cached_property
    def steps(self) -> list[Step]:
        """Every step, in the order in which the engine began them."""
        found = []
        for event in self.events:
            one = event.get("resourcePreEvent", {}).get("metadata")
            if one is not None:
                new = (one.get("new") or {}).get("inputs") or {}
                found.append(Step(one["op"], one["urn"], one.get("detailedDiff") or {}, new))
        return found

    @property
    def changes(self) -> list[Step]:
        """Steps that change something."""
        return [step for step in self.steps if step.op not in UNCHANGED]

    @property
    def changed(self) -> Counter[str]:
        """Kinds of what changes, counted; the stack's own record left out."""
        return Counter(step.kind for step in self.changes if step.kind != "Stack")

    @property
    def diagnostics(self) -> str:
        """What the engine said, warnings and errors alike."""
        return "".join(event["diagnosticEvent"]["message"] for event in self.events if "diagnosticEvent" in event)

    def ok(self) -> Outcome:
        """Return itself.

        Raises:
            AssertionError: with the whole output, when the run failed.
        """
        assert self.exit_code == 0, f"pulumi {self.verb} ended with {self.exit_code}:\n{self.output}"
        return self
