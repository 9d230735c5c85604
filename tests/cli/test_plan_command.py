"""`sandbox plan` in this process, over previews that the real engine gave: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from sandbox_components.errors import SandboxError
from sandbox_components.operations.engine import Attempt, Engine
from sandbox_components.operations.plan import Plan
from tests.cli.in_process import Command, Project
from tests.engine.plan_table import KINDS, SAME
from tests.operations.recorded import attempts

Answers = Callable[..., None]


@pytest.fixture
def answers(project: Project, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Lets the engine answer as it was recorded."""

    def give(first: Attempt, second: Attempt | None = None) -> None:
        def attempt(self: Engine, config_file: object = None, *, ignore_protect: bool = False) -> Attempt:
            found = second if ignore_protect else first
            assert found is not None
            return found

        monkeypatch.setattr(Engine, "attempt", attempt)

    return give


def test_all_that_changes(command: Command, answers: Answers) -> None:
    answers(*attempts("kinds"))
    answer = command("plan")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == (
        "stack dev of agents: 33 restarts, 1 replaced, 8 changed without restart, 1 new, 1 removed, 2 unchanged"
    )
    at = lines.index("~ env: restarts")
    assert lines[at + 1 : at + 3] == ["    env.LEVEL   info → debug", "    disk        none: files go with the pod"]
    assert "~ grace: restarts: platform change, no revision" in lines
    assert "~ labels: does not restart" in lines
    assert "+ added: new" in lines
    assert "- removed: removed" in lines
    assert "± claim-name: replaced: restarts" in lines
    assert not any(line.startswith(("= ", "! ")) for line in lines)
    assert "    secretEnv.TOKEN   another value (a secret)" in lines
    assert lines[-3] == "  protect Namespace namespace"
    assert "canary" not in answer.out
    assert "planning" in answer.err


def test_named_ones(command: Command, answers: Answers) -> None:
    answers(*attempts("kinds"))
    answer = command("plan", "idle", "image")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "stack dev of agents: 1 restarts, 1 unchanged"
    assert "= idle: unchanged" in answer.out
    assert "Namespace" not in answer.out
    others = sum(kind.verdict != SAME for name, kind in KINDS.items() if name != "image")
    assert f"not shown: {others} other sandboxes change" in answer.out


def test_an_unknown_name_is_exit_code_6(command: Command, answers: Answers) -> None:
    answers(*attempts("kinds"))
    answer = command("plan", "grwo")
    assert (answer.code, answer.out) == (6, "")
    assert answer.errors == ['error: stack dev has no sandbox "grwo", and would have none']
    assert "  did you mean grow?" in answer.err.splitlines()


@pytest.mark.parametrize(
    ("title", "names", "code"),
    [
        ("kinds", [], 1),
        ("kinds", ["idle"], 0),
        ("kinds", ["labels"], 1),
        ("class", [], 4),
        ("removed", [], 4),
        ("namespace", ["idle"], 4),
        ("shrunk", [], 4),
    ],
)
def test_exit_codes(title: str, names: list[str], code: int, command: Command, answers: Answers) -> None:
    answers(*attempts(title))
    assert command("plan", *names, "--exit-code").code == code
    assert command("plan", *names).code == 0


def test_nothing_changes(command: Command, answers: Answers) -> None:
    whole = attempts("kinds")[0].plan
    owners = whole.owners()
    idle = tuple(step for step in whole.steps if owners.get(step.urn, "").endswith("::idle"))
    answers(Attempt(Plan(idle)))
    answer = command("plan", "--exit-code")
    assert (answer.code, answer.out) == (0, "stack dev of agents: 1 unchanged\n")


def test_a_fault_is_never_taken_for_a_difference(command: Command, answers: Answers) -> None:
    answers(Attempt(Plan(()), (), SandboxError("pulumi preview failed: the cluster is away")))
    assert command("plan").code == 1
    assert command("plan", "--exit-code").code == 2


def test_a_refusal_says_why_and_the_ways_on(command: Command, answers: Answers) -> None:
    answers(*attempts("class"))
    out = command("plan").out
    assert "! kept: refused" in out
    assert "refused: the disk is protected (deletion: protect) and would be replaced by an empty one" in out
    assert "try: if the files may go: sandbox delete kept, then sandbox create kept" in out
    assert "refused: pulumi up changes nothing as long as this stands" in out
    assert "the preview broke off there: more may change than is shown" in out


def test_wrong_config_is_exit_code_2(command: Command, answers: Answers) -> None:
    answers(*attempts("wrong"))
    answer = command("plan")
    assert (answer.code, answer.out) == (2, "")
    assert "sandbox-components:sandboxes.idle.egress" in answer.errors[0]


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_for_machines(output: str, read: Callable[[str], Any], command: Command, answers: Answers) -> None:
    answers(*attempts("kinds"))
    found = read(command("plan", "-o", output).out)
    assert (found["schemaVersion"], found["kind"], found["outcome"]) == (1, "StackPlan", "changed")
    assert (found["project"], found["stack"], found["isWhole"]) == ("agents", "dev", True)
    assert {one["name"] for one in found["sandboxes"]} == set(KINDS)
    (env,) = [one for one in found["sandboxes"] if one["name"] == "env-added"]
    assert env["changes"] == [
        {
            "field": "env.LEVEL",
            "change": "added",
            "old": None,
            "new": "a|b `c` <d>\n$(E) $$",
            "isSecret": False,
            "isKnownLater": False,
            "group": "env",
        }
    ]
    assert (env["restarts"], env["isRevision"], env["isRefused"], env["outcome"]) == ("yes", True, False, "changed")
    (grown,) = [one["disk"] for one in found["sandboxes"] if one["name"] == "grow"]
    assert (grown["outcome"], grown["oldSize"], grown["newSize"]) == ("grown", "1Gi", "2Gi")


def test_a_refusal_for_machines(command: Command, answers: Answers) -> None:
    answers(*attempts("namespace"))
    found = json.loads(command("plan", "-o", "json").out)
    assert found["outcome"] == "refused"
    assert found["refusals"][0]["suggestions"][0] == "keep sandbox-components:namespace as it is"
    assert [one["name"] for one in found["sandboxes"] if one["isRefused"]] == ["kept"]


def test_markdown(command: Command, answers: Answers) -> None:
    answers(*attempts("kinds"))
    lines = command("plan", "-o", "markdown").out.splitlines()
    assert lines[0] == "### Plan for stack <code>dev</code> of <code>agents</code>"
    rows = [line for line in lines if line.startswith("| <code>")]
    assert len(rows) == sum(kind.verdict != SAME for kind in KINDS.values())
    assert all(row.count("|") == 5 for row in rows)
