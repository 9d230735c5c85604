"""What create, update, delete and rollback show before they ask, over previews that the real engine gave."""

from __future__ import annotations

import pytest

from sandbox_components.cli.planned import show_plan
from sandbox_components.operations.change import Change
from sandbox_components.operations.plan import STATEFUL_SET
from tests.operations.recorded import attempts


def shown(name: str, capsys: pytest.CaptureFixture[str], **more: object) -> list[str]:
    plan = attempts("kinds")[0].plan
    own = plan.of_sandbox(name)
    is_new = any(step.type == STATEFUL_SET and step.operation == "create" for step in own)
    restarts = not is_new and any(step.restarts for step in own)
    show_plan(Change(name, "planned", restarts, is_new, plan.needed_for(own), **more))  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


RESTARTS = "  restarts the agent (a paused one takes it over at resume); the disk stays"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("env", ["    env.LEVEL   info → debug", RESTARTS]),
        (
            "secret-rotated",
            ["  ± Secret secret-rotated-env", "    secretEnv.TOKEN   another value (a secret)", RESTARTS],
        ),
        (
            "labels",
            [
                "    labels.old             x → none",
                "    labels.team            core → edge",
                "    labels.acme.com/tier   none → 1",
                "  no restart; the disk stays",
            ],
        ),
        ("ports-gone", ["  - Service ports-gone", "    ports.8080   port-8080 → none", RESTARTS]),
        (
            "grow",
            [
                "  ~ PersistentVolumeClaim grow-workspace  [spec.resources.requests.storage]",
                "  no restart; disk: grow-workspace grows in place from 1Gi to 2Gi",
            ],
        ),
        ("idle", ["  no changes"]),
    ],
)
def test_an_update(name: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(name, capsys) == [f"plan for {name}:", *lines]


def test_a_new_sandbox_is_told_by_its_objects(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("added", capsys)
    assert {"  + Sandbox added", "  + StatefulSet added"} <= set(lines)
    assert not any("→" in line for line in lines)


def test_a_deletion_says_what_becomes_of_the_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown("removed", capsys)[-1] == "  no disk is deleted"
    assert shown("removed", capsys, deletes_disk=("a",))[-1] == (
        "  disk: the claim a and all files on it are deleted with the sandbox"
    )


def test_what_is_to_mind_comes_last_and_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    notes = ("it is pinned to r2", "port \x1b[31m9000")
    assert shown("env", capsys, notes=notes)[-3:] == [
        RESTARTS,
        "  note: it is pinned to r2",
        "  note: port \\x1b[31m9000",
    ]
