"""A preview read for one sandbox: what is its own, what it needs, and whether the agent restarts."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components.operations.plan import CLAIM, Plan

STACK = "urn:pulumi:dev::agents::pulumi:pulumi:Stack::agents-dev"
NAMESPACE = "urn:pulumi:dev::agents::kubernetes:core/v1:Namespace::namespace"
TEAM = "urn:pulumi:dev::agents::acme:index:Team::core"


def component(name: str, parent: str = "") -> str:
    above = f"{parent.split('::')[2]}$" if parent else ""
    return f"urn:pulumi:dev::agents::{above}sandbox-components:index:Sandbox::{name}"


def child(name: str, kind: str = "kubernetes:apps/v1:StatefulSet", above: str = "") -> str:
    return f"urn:pulumi:dev::agents::sandbox-components:index:Sandbox{above}${kind}::{name}"


def step(op: str, urn: str, parent: str = STACK, **state: Any) -> dict[str, Any]:
    diff = {field: {} for field in state.pop("fields", [])}
    known = {"urn": urn, "parent": parent, **state}
    sides = {"oldState": None if op == "create" else known, "newState": None if op == "delete" else known}
    return {"op": op, "urn": urn, "detailedDiff": diff or None, **sides}


def read(*steps: dict[str, Any]) -> Plan:
    return Plan.read({"steps": [step("same", STACK, ""), *steps]})


def test_nothing_to_read() -> None:
    assert Plan.read({}).steps == ()
    assert Plan.read({"steps": None}).knows("one") is False


def test_own_steps_are_the_component_and_all_below_it() -> None:
    workspace = child("one", "sandbox-components:index:PersistentWorkspace")
    claim = child("one-workspace", CLAIM, "$sandbox-components:index:PersistentWorkspace")
    plan = read(
        step("create", component("one")),
        step("create", child("one"), component("one")),
        step("create", workspace, component("one")),
        step("create", claim, workspace),
        step("same", child("one-headless", "kubernetes:core/v1:Service"), component("one")),
        step("create", component("one-more")),
        step("create", child("one-more"), component("one-more")),
        step("update", "urn:pulumi:dev::agents::kubernetes:core/v1:ConfigMap::one"),
    )
    assert [one.urn for one in plan.of_sandbox("one")] == [component("one"), child("one"), workspace, claim]
    assert plan.knows("one")
    assert not plan.knows("two")
    assert not plan.knows("on")


def test_a_sandbox_below_a_users_own_component() -> None:
    plan = read(
        step("create", TEAM),
        step("create", component("one", TEAM), TEAM),
        step("create", child("one"), component("one", TEAM)),
    )
    own = plan.of_sandbox("one")
    assert [one.name for one in own] == ["one", "one"]
    assert [one.urn for one in plan.needed_for(own)] == [TEAM, *(one.urn for one in own)]


def test_needed_is_what_does_not_exist_yet() -> None:
    other = "urn:pulumi:dev::agents::kubernetes:core/v1:ConfigMap::settings"
    for operation, expected in (("create", [NAMESPACE, other]), ("same", []), ("update", [])):
        plan = read(
            step(operation, NAMESPACE),
            step(operation, other, dependencies=[NAMESPACE]),
            step("create", component("one"), dependencies=[NAMESPACE]),
            step("create", child("one"), component("one"), propertyDependencies={"metadata": [other], "spec": None}),
            step("create", component("two"), dependencies=[NAMESPACE]),
        )
        needed = plan.needed_for(plan.of_sandbox("one"))
        assert [one.urn for one in needed] == [*expected, component("one"), child("one")]


def test_a_circle_of_parents_ends() -> None:
    plan = read(step("create", component("one"), component("two")), step("create", component("two"), component("one")))
    assert len(plan.of_sandbox("one")) == 2


@pytest.mark.parametrize(
    ("op", "fields", "restarts"),
    [
        ("update", ["spec.template.spec.containers[0].image"], True),
        ("update", ["metadata.labels.team"], False),
        ("update", ["metadata.annotations", "spec.template.metadata.annotations"], True),
        ("update", [], False),
        ("replace", ["spec.selector"], True),
        ("create", [], True),
        ("delete", [], True),
        ("same", [], False),
        ("refresh", [], False),
    ],
)
def test_only_the_template_restarts(op: str, fields: list[str], restarts: bool) -> None:
    plan = read(step("same", component("one")), step(op, child("one"), component("one"), fields=fields))
    assert plan.steps[-1].restarts is restarts
    service = read(step(op, child("one", "kubernetes:core/v1:Service"), component("one"), fields=fields))
    assert service.steps[-1].restarts is False


def test_protection_is_what_the_state_says() -> None:
    plan = read(
        step("delete", child("a", CLAIM), component("one"), protect=True), step("create", child("b"), protect=True)
    )
    assert [one.is_protected for one in plan.steps[1:]] == [True, False]
    assert (plan.steps[1].type, plan.steps[1].name) == (CLAIM, "a")


def guarded(urn: str, parent: str, *, before: bool, after: bool, **state: Any) -> dict[str, Any]:
    known = {"urn": urn, "parent": parent, **state}
    return {
        "op": "same",
        "urn": urn,
        "oldState": {**known, "protect": before},
        "newState": {**known, "protect": after},
    }


@pytest.mark.parametrize(
    ("before", "after", "own", "needed"),
    [(False, True, ["protect"], 2), (True, False, ["unprotect"], 2), (True, True, [], 0), (False, False, [], 0)],
)
def test_a_changed_protection_is_a_change_though_the_engine_sees_none(
    before: bool, after: bool, own: list[str], needed: int
) -> None:
    workspace = child("one", "sandbox-components:index:PersistentWorkspace")
    claim = child("one-workspace", CLAIM, "$sandbox-components:index:PersistentWorkspace")
    plan = read(
        guarded(NAMESPACE, STACK, before=before, after=after),
        step("same", component("one"), STACK, dependencies=[NAMESPACE]),
        step("same", workspace, component("one")),
        guarded(claim, workspace, before=before, after=after),
        step("same", component("two"), STACK, dependencies=[NAMESPACE]),
    )
    mine = plan.of_sandbox("one")
    assert [one.operation for one in mine] == own
    assert not any(one.restarts for one in mine)
    assert len(plan.needed_for(mine)) == needed
    assert plan.of_sandbox("two") == ()
