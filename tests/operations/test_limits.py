"""Which operations of a preview belong to `set-limit`, what it refuses, and what plans say of inference and limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import NotFound, Refused
from sandbox_components.manifests.identity import identity_config_map
from sandbox_components.manifests.limit import limit_config_map
from sandbox_components.manifests.placement import Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.limits import Wanted, limit_steps, limits_before_and_after, request_to_limit
from sandbox_components.operations.plan import Plan
from sandbox_components.operations.project import Project
from sandbox_components.operations.sandbox_plan import Restart, sandbox_plan
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.sandbox import read_sandbox
from sandbox_components.spec.spending import DeclaredLimit

ID = "agents/dev/nightly"
THERE = Placement("nightly", "inference", "agents", "dev", "1.2.3")
HERE = replace(THERE, namespace="agents-dev")
STACK = "urn:pulumi:dev::agents::pulumi:pulumi:Stack::agents-dev"
SANDBOX = "urn:pulumi:dev::agents::sandbox-components:index:Sandbox::nightly"
_BELOW = "urn:pulumi:dev::agents::sandbox-components:index:Sandbox$"
LIMIT = f"{_BELOW}sandbox-components:index:SpendingLimit::nightly-month"
LIMIT_MAP = f"{_BELOW}sandbox-components:index:SpendingLimit$kubernetes:core/v1:ConfigMap::nightly-month"
IDENTITY_MAP = f"{_BELOW}kubernetes:core/v1:ConfigMap::nightly-identity"
WORKLOAD = f"{_BELOW}kubernetes:apps/v1:StatefulSet::nightly"
POLICY = f"{_BELOW}kubernetes:networking.k8s.io/v1:NetworkPolicy::nightly"
WANTED = Wanted("sandbox", "nightly", "month", 7)
IDENTITY = Identity(ID, limit_required=True)
ENTRY: dict[str, Any] = {"image": "a:1", "resourceLimits": {"cpu": "1", "memory": "1Gi"}}
PROXY = {"namespace": "inference", "name": "proxy"}


def limit(cents: int, **more: Any) -> dict[str, Any]:
    one = DeclaredLimit("sandbox", ID, "month", cents, "UTC", "agents/dev")
    return limit_config_map(THERE, "nightly-month-1a", replace(one, **more))


def identity(one: Identity) -> dict[str, Any]:
    return identity_config_map(THERE, one)


def step(operation: str, urn: str, parent: str, old: Any = None, new: Any = None) -> dict[str, Any]:
    sides = {"oldState": old, "newState": new}
    states = {key: None if one is None else {"urn": urn, "parent": parent, "inputs": one} for key, one in sides.items()}
    return {"op": operation, "urn": urn, **states, "detailedDiff": {"metadata.annotations": {"kind": "update"}}}


def plan_of(*steps: dict[str, Any]) -> Plan:
    component = step("same", SANDBOX, STACK, {}, {})
    return Plan.read({"steps": [component, *steps]})


def own(plan: Plan, wanted: Wanted = WANTED) -> list[str]:
    return [one.urn for one in limit_steps(plan, wanted, ID if wanted.actor_type == "sandbox" else wanted.name)]


SAME_LIMIT = step("same", LIMIT, SANDBOX, {}, {})
CHANGED_MAP = step("update", LIMIT_MAP, LIMIT, limit(5000), limit(7))


def test_a_changed_limit_takes_nothing_else_along() -> None:
    other = step("update", WORKLOAD, SANDBOX, {"spec": 1}, {"spec": 2})
    found = plan_of(SAME_LIMIT, CHANGED_MAP, other)
    assert own(found) == [LIMIT_MAP]
    assert limits_before_and_after(limit_steps(found, WANTED, ID), "month") == [("$50.00", "$0.07")]


def test_a_first_limit_comes_with_its_component_and_the_mark_that_one_is_required() -> None:
    found = plan_of(
        step("update", IDENTITY_MAP, SANDBOX, identity(Identity(ID)), identity(IDENTITY)),
        step("create", LIMIT, SANDBOX, None, {}),
        step("create", LIMIT_MAP, LIMIT, None, limit(7)),
    )
    assert own(found) == [IDENTITY_MAP, LIMIT, LIMIT_MAP]


def test_a_newer_key_generation_waits_for_the_sandboxs_own_update() -> None:
    """Without the Secret and the restart it would cut the agent off."""
    newer = replace(IDENTITY, generation=2)
    moved = step("update", IDENTITY_MAP, SANDBOX, identity(IDENTITY), identity(newer))
    assert own(plan_of(moved, SAME_LIMIT, CHANGED_MAP)) == [LIMIT_MAP]


def test_a_cleared_limit_goes_with_its_component() -> None:
    found = plan_of(step("delete", LIMIT, SANDBOX, {}), step("delete", LIMIT_MAP, LIMIT, limit(7)))
    assert own(found, replace(WANTED, limit_cents=None)) == [LIMIT, LIMIT_MAP]


def test_a_last_limit_is_not_cleared_while_the_sandbox_stays_marked_as_needing_one() -> None:
    wanted = replace(WANTED, limit_cents=None)
    gone = (step("delete", LIMIT, SANDBOX, {}), step("delete", LIMIT_MAP, LIMIT, limit(7)))

    def marked(after: Identity) -> dict[str, Any]:
        return step("update", IDENTITY_MAP, SANDBOX, identity(IDENTITY), identity(after))

    check(plan_of(*gone, marked(Identity(ID))), wanted)
    check(plan_of(*gone, marked(replace(IDENTITY, org="acme"))), wanted)
    for after in (Identity(ID, org="acme"), Identity(ID, generation=2)):
        with pytest.raises(Refused, match="still be marked as needing one"):
            check(plan_of(*gone, marked(after)), wanted)


def test_limits_of_others_and_of_other_periods_are_left_alone() -> None:
    week = step("update", LIMIT_MAP, LIMIT, limit(1, period="week"), limit(2, period="week"))
    org = step("update", LIMIT_MAP, LIMIT, *(limit(one, actor_type="org", actor_id="acme") for one in (1, 7)))
    assert own(plan_of(SAME_LIMIT, week)) == []
    assert own(plan_of(SAME_LIMIT, org)) == []
    assert own(plan_of(SAME_LIMIT, org), Wanted("org", "acme", "month", 7)) == [LIMIT_MAP]


def check(plan: Plan, wanted: Wanted = WANTED) -> None:
    engine = Engine(Project(Path(), "agents", Path(), "."), "dev")
    request = request_to_limit(engine, wanted)
    assert request.check is not None
    assert request.own is not None
    request.check(plan, request.own(plan), ())


def test_a_limit_that_nothing_would_keep_to_is_refused() -> None:
    check(plan_of(SAME_LIMIT, CHANGED_MAP))
    check(plan_of(SAME_LIMIT, step("same", LIMIT_MAP, LIMIT, limit(7), limit(7))))
    check(plan_of(), replace(WANTED, limit_cents=None))
    with pytest.raises(Refused, match="makes no sandbox of that name with inference"):
        check(plan_of())
    with pytest.raises(Refused, match="makes no InferenceProxy"):
        check(plan_of(SAME_LIMIT, CHANGED_MAP), Wanted("org", "acme", "month", 7))
    with pytest.raises(NotFound, match='has no sandbox "other"'):
        check(plan_of(), Wanted("sandbox", "other", "month", 7))


def told(*steps: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    found = sandbox_plan("nightly", plan_of(*steps).steps)
    return {one.field: (one.old, one.new) for one in found.changes}


def test_a_plan_tells_limits_and_payers_in_words() -> None:
    changes = told(
        CHANGED_MAP,
        step("update", IDENTITY_MAP, SANDBOX, identity(IDENTITY), identity(replace(IDENTITY, org="acme"))),
        step("same", WORKLOAD, SANDBOX, _workload({}), _workload({})),
    )
    assert changes == {
        "spendingLimits.month": ("$50.00 a month", "$0.07 a month"),
        "org": (None, "acme"),
    }


def _workload(more: dict[str, Any], secret: str = "") -> dict[str, Any]:
    return stateful_set(HERE, read_sandbox({**ENTRY, **more}), revision="{}", inference_secret=secret)


def _policy(more: dict[str, Any]) -> dict[str, Any]:
    return network_policy(HERE, read_sandbox({**ENTRY, **more}))


def test_a_plan_tells_inference_and_egress_apart() -> None:
    both = {"inference": PROXY}
    changes = told(
        step("update", POLICY, SANDBOX, _policy({}), _policy(both)),
        step("same", WORKLOAD, SANDBOX, _workload({}), _workload({})),
    )
    assert changes == {"inference": (None, "inference/proxy:8080")}
    changes = told(
        step("update", POLICY, SANDBOX, _policy(both), _policy({**both, "egress": "none"})),
        step("same", WORKLOAD, SANDBOX, _workload(both), _workload(both)),
    )
    assert changes == {"egress": ("internet", "none")}


def test_a_rotated_key_restarts_without_a_revision() -> None:
    both = {"inference": PROXY}
    update = step("update", WORKLOAD, SANDBOX, _workload(both, "k-1"), _workload(both, "k-2"))
    update["detailedDiff"] = {"spec.template.spec.containers[0].envFrom[0].secretRef.name": {"kind": "update"}}
    found = sandbox_plan("nightly", plan_of(update).steps)
    assert found.verdict == "restarts: platform change, no revision"
    assert found.restart is Restart.YES
    assert [one.field for one in found.changes] == ["inferenceKey"]
