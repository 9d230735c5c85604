"""What verbs that edit show before they ask: for sandboxes over previews of the real engine, for limits made ones."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components.cli.planned import show_plan
from sandbox_components.manifests.limit import limit_config_map
from sandbox_components.manifests.placement import Placement
from sandbox_components.operations.change import Change
from sandbox_components.operations.plan import STATEFUL_SET, Plan, Step
from sandbox_components.spec.naming import PROXY_LABEL
from sandbox_components.spec.spending import DeclaredLimit
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


def org_limit(operation: str, old: int | None, new: int | None, maker: str) -> tuple[Step, ...]:
    """A plan's operations on the limit of an org."""
    place = Placement("proxy", "inference", "fleet", "dev", "1.2.3", label=PROXY_LABEL)
    kind = f"sandbox-components:index:{maker}$sandbox-components:index:SpendingLimit"
    component = f"urn:pulumi:dev::fleet::{kind}::proxy-org-month"
    urn = f"urn:pulumi:dev::fleet::{kind}$kubernetes:core/v1:ConfigMap::proxy-org-month"

    def state(cents: int | None) -> dict[str, Any] | None:
        if cents is None:
            return None
        limit = DeclaredLimit("org", "acme", "month", cents, source="fleet/dev")
        return {"urn": urn, "parent": component, "inputs": limit_config_map(place, "proxy-org-month-1a", limit)}

    field = 'metadata.annotations["sandbox-components/limit"]'
    step = {"op": operation, "urn": urn, "oldState": state(old), "newState": state(new)}
    whole = {"op": operation if operation != "update" else "same", "urn": component, "newState": {"urn": component}}
    return Plan.read({"steps": [whole, {**step, "detailedDiff": {field: {"kind": "update"}}}]}).steps


@pytest.mark.parametrize(
    ("operation", "old", "new", "lines"),
    [
        ("update", 100_000, 1, ["    spendingLimits.org.month   $1000.00 a month → $0.01 a month"]),
        (
            "create",
            None,
            1,
            [
                "  + SpendingLimit proxy-org-month",
                "  + ConfigMap proxy-org-month",
                "    spendingLimits.org.month   none → $0.01 a month",
            ],
        ),
        (
            "delete",
            100,
            None,
            [
                "  - SpendingLimit proxy-org-month",
                "  - ConfigMap proxy-org-month",
                "    spendingLimits.org.month   $1.00 a month → none",
            ],
        ),
    ],
)
@pytest.mark.parametrize("maker", ["InferenceProxy", "Sandbox"])
def test_the_plan_for_an_orgs_limit_has_amounts_and_no_disk(
    maker: str, operation: str, old: int | None, new: int | None, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    steps = tuple(step for step in org_limit(operation, old, new, maker) if step.changes)
    show_plan(Change("org/acme", "planned", steps=steps))
    assert capsys.readouterr().err.splitlines() == ["plan for org/acme:", *lines]
