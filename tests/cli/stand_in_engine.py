"""A stand-in for the program `pulumi`: plans and makes one StatefulSet, and writes down what it was asked.

Races are about the command and the file; the engine tests run the real one.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

NAME = "nightly"
URN = f"urn:pulumi:dev::agents::sandbox-components:index:Sandbox$kubernetes:apps/v1:StatefulSet::{NAME}"
PARENT = f"urn:pulumi:dev::agents::sandbox-components:index:Sandbox::{NAME}"
SCRIPT = """\
#!{python}
import json, os, sys, time
open({asked!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
verb = sys.argv[1]
time.sleep(float(os.environ.get("STAND_IN_" + verb.upper(), "0")))
if verb == "preview":
    print(open({plan!r}).read())
elif verb == "up":
    said = open({said!r}).read()
    print(said)
    sys.exit(1 if said.strip() else 0)
"""


class StandIn:
    """The program and its files, in a folder that goes first on PATH."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._asked, self._plan, self._said = folder / "asked", folder / "plan.json", folder / "said"
        self._asked.write_text("")
        self._said.write_text("")
        self.plans([step("update", fields=["spec.template.spec.containers[0].image"])])
        program = folder / "pulumi"
        program.write_text(
            SCRIPT.format(python=sys.executable, asked=str(self._asked), plan=str(self._plan), said=str(self._said))
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def plans(self, steps: list[dict[str, Any]]) -> None:
        """Say what the next previews answer."""
        parent = {"op": "same", "urn": PARENT, "newState": {"urn": PARENT}}
        self._plan.write_text(json.dumps({"steps": [parent, *steps]}))

    def fails(self, text: str) -> None:
        """Let the next updates say that, and fail."""
        self._said.write_text(text)

    @property
    def asked(self) -> list[list[str]]:
        """The arguments of each call."""
        return [json.loads(line) for line in self._asked.read_text().splitlines()]

    @property
    def env(self) -> dict[str, str]:
        """An environment in which it is the engine."""
        return {**os.environ, "PATH": f"{self.folder}{os.pathsep}{os.environ.get('PATH', '')}"}


def step(operation: str, *, fields: list[str] | None = None, urn: str = URN, protect: bool = False) -> dict[str, Any]:
    """One step of a preview."""
    state = {"urn": urn, "parent": PARENT, "protect": protect}
    return {
        "op": operation,
        "urn": urn,
        "oldState": None if operation == "create" else state,
        "newState": None if operation == "delete" else state,
        "detailedDiff": {field: {"kind": "update"} for field in fields or []},
    }


def start(words: list[str], folder: Path, env: dict[str, str], told: Path) -> subprocess.Popen[str]:
    """Start the command in a process group of its own."""
    with told.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "sandbox_components", *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            text=True,
            start_new_session=True,
        )
