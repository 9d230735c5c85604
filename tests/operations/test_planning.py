"""Plans out of previews that the real engine gave: what they say of every kind of change, and of what is refused."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput, NotFound, Refused
from sandbox_components.manifests.reading import UNKNOWN
from sandbox_components.operations import planning
from sandbox_components.operations.engine import Attempt
from sandbox_components.operations.plan import COMPONENT, Problem
from sandbox_components.operations.planning import StackPlan, named, read_attempts
from sandbox_components.operations.sandbox_plan import Restart, SandboxPlan
from tests.engine.plan_table import KINDS, NEW, REMOVED, REPLACED, RESTARTS, SAME
from tests.operations.recorded import attempt, attempts, plan_of, preview


@pytest.fixture(scope="module")
def kinds() -> dict[str, SandboxPlan]:
    return {one.name: one for one in plan_of("kinds").sandboxes}


def of(plan: StackPlan, name: str) -> SandboxPlan:
    (found,) = [one for one in plan.sandboxes if one.name == name]
    return found


def test_every_kind_is_recorded(kinds: dict[str, SandboxPlan]) -> None:
    assert set(kinds) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind(name: str, kinds: dict[str, SandboxPlan]) -> None:
    kind, found = KINDS[name], kinds[name]
    assert found.verdict == kind.verdict
    assert {one.field for one in found.changes} == set(kind.fields)
    assert found.disk.outcome == kind.disk
    assert not found.refusals
    assert found.is_revision == (kind.verdict in (RESTARTS, NEW, REPLACED) or name == "home")


@pytest.mark.parametrize(
    ("name", "field", "old", "new"),
    [
        ("image", "image", "localhost:5000/python:3.11", "localhost:5000/agent:2"),
        ("image-computed", "image", "localhost:5000/python:3.11", "localhost:5000/agent:2"),
        ("command", "entrypoint", ["sleep", "infinity"], None),
        ("command", "command", None, "sleep 1000"),
        ("requests", "resourceRequests.cpu", None, "10m"),
        ("env", "env.LEVEL", "info", "debug"),
        ("env-added", "env.LEVEL", None, "a|b `c` <d>\n$(E) $$"),
        ("env-removed", "env.A", "1", None),
        ("secret-rotated", "secretEnv.TOKEN", None, None),
        ("health-pace", "healthCheck.intervalSeconds", 10, 20),
        ("port-added", "ports.53/UDP", None, "port-53-udp"),
        ("port-name", "ports.8080", "port-8080", "web"),
        ("labels", "labels.acme.com/tier", None, "1"),
        ("egress-none", "egress", "internet", "none"),
        ("egress-rules", "egress", "internet", [{"cidr": "10.0.0.0/8", "ports": ["443/TCP"]}]),
        ("expose", "expose.8080", None, "public at a.example.org"),
        ("wait", "waitForReady", False, True),
        ("mount", "mountPath", "/workspace", "/data"),
        ("user", "runAsUser", 1000, 2000),
        ("security", "security", "restricted", "baseline"),
        ("pull-secrets", "imagePullSecrets", None, ["registry"]),
    ],
)
def test_values_are_those_of_the_config(
    name: str, field: str, old: Any, new: Any, kinds: dict[str, SandboxPlan]
) -> None:
    (change,) = [one for one in kinds[name].changes if one.field == field]
    assert (change.old, change.new) == (old, new)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("grow", "grow-workspace grows in place from 1Gi to 2Gi"),
        ("disk-added", "new: disk-added-workspace, 1Gi, class ready-made"),
        ("disk-gone", "deleted: disk-gone-workspace and all files on it"),
        ("disk-adopted", "the existing claim disk-adopted-spare is used as it is"),
        ("mount", "untouched (mount-workspace, 1Gi)"),
        ("deletion", "untouched (deletion-workspace, 1Gi); protected from now on"),
        ("image", "none: files go with the pod"),
        (
            "claim-name",
            "REPLACED by an empty one (claimName claim-name-workspace → claim-name-2): "
            "all files on claim-name-workspace are lost",
        ),
    ],
)
def test_the_disk_in_words(name: str, text: str, kinds: dict[str, SandboxPlan]) -> None:
    assert kinds[name].disk.text == text


def test_secrets_are_told_by_name_and_never_by_value(kinds: dict[str, SandboxPlan]) -> None:
    hidden = [
        one for plan in kinds.values() for one in plan.changes if one.field.startswith(("secretEnv", "imageAuth"))
    ]
    assert {one.change for one in hidden} == {"added", "removed", "changed"}
    for one in hidden:
        assert (one.is_secret, one.old, one.new) == (True, None, None)
    assert "canary" not in repr(kinds)


def test_what_is_outside_of_sandboxes_is_told_apart() -> None:
    plan = plan_of("kinds")
    assert [(one.operation, one.name) for one in plan.others] == [("protect", "namespace")]
    assert plan.changes
    assert plan.is_whole
    assert not plan.is_refused


PROTECTED = "the disk is protected (deletion: protect) and would be"


@pytest.mark.parametrize(
    ("title", "name", "disk", "reason"),
    [
        ("class", "kept", "REPLACED (refused): class ready-made → local-path", f"{PROTECTED} replaced by an empty one"),
        (
            "claim-name",
            "kept",
            "REPLACED (refused): claimName kept-workspace → b",
            f"{PROTECTED} replaced by an empty one",
        ),
        ("disk-gone", "kept", "DELETED (refused): kept-workspace", f"{PROTECTED} deleted"),
        ("removed", "kept", "DELETED (refused): kept-workspace", f"{PROTECTED} deleted"),
        ("namespace", "kept", "REPLACED (refused): namespace agents-test → agents-test-b", PROTECTED),
        ("shrunk", "loose", "loose-workspace would shrink from 2Gi to 1Gi", "a disk grows, it never shrinks"),
        (
            "class-unprotected",
            "loose",
            "REPLACED by an empty one (class ready-made → local-path): all files on loose-workspace are lost",
            "this version of the Kubernetes provider can't preview that a claim is replaced",
        ),
    ],
)
def test_what_is_refused_says_which_sandbox_and_why(title: str, name: str, disk: str, reason: str) -> None:
    plan = plan_of(title)
    found = of(plan, name)
    assert plan.is_refused
    assert found.disk.text.startswith(disk)
    (refusal,) = found.refusals
    assert refusal.reason.startswith(reason)
    assert refusal.suggestions
    assert not of(plan, "idle").refusals


def test_protection_that_the_same_update_takes_away_saves_no_disk() -> None:
    data = preview("kinds")
    for step in data["steps"]:
        if step["urn"].endswith("PersistentVolumeClaim::claim-name-workspace"):
            step["oldState"]["protect"] = True
    one = attempt(data)
    found = of(read_attempts("agents", "test", one, one), "claim-name")
    assert not found.refusals
    assert found.disk.text.endswith("all files on claim-name-workspace are lost")


CONFLICT = """error: Preview failed: 1 error occurred:
\t* the Kubernetes API server reported that "agents/image" failed to fully initialize or become live: Server-Side \
Apply field conflict detected. See https://www.example.org for troubleshooting help.
The resource managed by field manager "pulumi-kubernetes-1" had an apply conflict: Apply failed with 2 conflicts: \
conflicts with "{owner}" using apps/v1:
- .spec.template.spec.terminationGracePeriodSeconds
- .spec.template.spec.containers[name="agent"].image
"""


@pytest.mark.parametrize(("owner", "ways"), [("kubectl-edit", 2), ("somebody", 1)])
def test_a_field_that_somebody_else_owns(owner: str, ways: int) -> None:
    data = preview("kinds")
    (urn,) = [step["urn"] for step in data["steps"] if step["urn"].endswith("StatefulSet::image")]
    data["diagnostics"] = [{"severity": "error", "urn": urn, "message": CONFLICT.format(owner=owner)}]
    engine = Engine(attempt(data))
    (refusal,) = of(plan(engine), "image").refusals
    assert refusal.reason == (
        f"StatefulSet image was changed in the cluster by {owner}, who owns "
        '.spec.template.spec.terminationGracePeriodSeconds, .spec.template.spec.containers[name="agent"].image'
    )
    assert len(refusal.suggestions) == ways
    assert engine.asked == [False]


def test_what_the_cluster_refuses_is_in_its_own_words() -> None:
    data = preview("kinds")
    (urn,) = [step["urn"] for step in data["steps"] if step["urn"].endswith("StatefulSet::image")]
    message = 'error: Preview failed: 1 error occurred:\n\t* statefulsets.apps "image" is forbidden: no such quota\n\n'
    data["diagnostics"] = [{"severity": "error", "urn": urn, "message": message}]
    (refusal,) = of(plan(Engine(attempt(data))), "image").refusals
    assert (
        refusal.reason == 'the cluster refuses StatefulSet image: statefulsets.apps "image" is forbidden: no such quota'
    )


def test_a_protected_namespace_is_nobodys_own_refusal() -> None:
    plan = plan_of("namespace")
    (refusal,) = plan.refusals
    assert refusal.reason == "the Namespace agents-test is protected and would be replaced, with every claim in it"
    assert {one.verdict for one in plan.sandboxes} == {REPLACED}
    assert plan.is_whole  # the second preview, told to overlook protections, shows all of it


def test_a_removed_sandbox_says_how_to_delete_it() -> None:
    found = of(plan_of("removed"), "kept")
    assert found.verdict == REMOVED
    assert found.refusals[0].suggestions[0] == "sandbox delete kept: it asks, and deletes the disk too"


def test_a_preview_that_broke_off_before_the_workload_claims_nothing() -> None:
    plan = plan_of("class")
    assert not plan.is_whole
    assert of(plan, "kept").restart is not Restart.NO


class Engine:
    """Answers as recorded, and counts the questions."""

    stack = "test"
    project = SimpleNamespace(name="agents")

    def __init__(self, *answers: Attempt) -> None:
        self.answers, self.asked = list(answers), list[bool]()

    def attempt(self, *, ignore_protect: bool = False) -> Attempt:
        self.asked.append(ignore_protect)
        return self.answers[len(self.asked) - 1]


def plan(engine: Engine, *names: str) -> StackPlan:
    return planning.plan(engine, names)  # type: ignore[arg-type]


def test_one_preview_is_enough_where_nothing_is_refused() -> None:
    engine = Engine(attempt(preview("kinds")))
    assert len(plan(engine).sandboxes) == len(KINDS)
    assert engine.asked == [False]


def test_only_a_refused_one_is_asked_again_with_protections_overlooked() -> None:
    engine = Engine(*attempts("removed"))
    assert plan(engine).is_refused
    assert engine.asked == [False, True]
    engine = Engine(attempts("shrunk")[0])
    assert plan(engine).is_refused
    assert engine.asked == [False]


def test_wrong_config_is_the_error_that_it_always_is() -> None:
    with pytest.raises(InvalidInput, match=r"sandboxes\.idle\.egress"):
        plan(Engine(attempt(preview("wrong"))))


def test_a_fault_that_is_no_refusal_is_passed_on() -> None:
    data = preview("kinds") | {"diagnostics": [{"severity": "error", "message": "error: the program broke"}]}
    with pytest.raises(planning.SandboxError, match="the program broke"):
        plan(Engine(attempt(data)))


def test_named_ones_alone() -> None:
    found = plan(Engine(attempt(preview("kinds"))), "image", "idle")
    assert [(one.name, one.verdict) for one in found.sandboxes] == [("idle", SAME), ("image", RESTARTS)]
    assert found.others == ()
    assert found.left_out == sum(kind.verdict != SAME for kind in KINDS.values()) - 1


def test_an_unknown_name_is_not_found() -> None:
    with pytest.raises(NotFound) as raised:
        plan(Engine(attempt(preview("kinds"))), "imagee")
    assert raised.value.exit_code == 6
    assert raised.value.suggestions[0] == "did you mean image?"


def test_a_name_that_the_broken_off_preview_had_not_come_to_is_not_called_unknown() -> None:
    first, second = attempts("class")
    whole = read_attempts("agents", "test", first, second)
    with pytest.raises(Refused):
        named(whole, ["later"], first.fault)


def test_what_the_program_says_to_mind_stands_beside_its_sandbox() -> None:
    found = attempt(preview("kinds"))
    urns = {step.name: step.urn for step in found.plan.steps if step.type == COMPONENT}
    pinned = "idle is pinned to r2; what is declared otherwise (image) waits until: sandbox unpin idle"
    warnings = (Problem(urns["idle"], f"warning: {pinned}\n"), Problem("", "warning: something"))
    found = replace(found, plan=replace(found.plan, warnings=warnings))
    plan = read_attempts("agents", "test", found, found)
    assert of(plan, "idle").notes == (pinned,)
    assert [one.name for one in plan.notable if one.outcome == SAME] == ["idle"]
    assert not any(one.notes for one in plan.sandboxes if one.name != "idle")


def changed(title: str, urn: str, **states: Any) -> StackPlan:
    """The plan of a recorded preview with one resource's new state changed."""
    data = preview(title)
    for step in data["steps"]:
        if step["urn"].endswith(urn):
            step["newState"]["inputs"] |= states.pop("inputs", {})
            step |= states
    found = attempt(data)
    return read_attempts("agents", "test", found, found)


def test_a_template_that_is_not_known_yet_may_restart() -> None:
    found = of(
        changed(
            "kinds", "StatefulSet::image", op="replace", inputs={"spec": UNKNOWN}, detailedDiff={"spec.template": {}}
        ),
        "image",
    )
    assert found.verdict == "may restart: known after the update"
    assert [(one.field, one.is_known_later) for one in found.changes] == [("template", True)]


def test_a_new_secret_restarts_though_the_template_is_not_known_yet() -> None:
    found = of(
        changed("kinds", "StatefulSet::secret-computed", inputs={"spec": UNKNOWN}, detailedDiff={"spec": {}}),
        "secret-computed",
    )
    assert found.verdict == RESTARTS
    assert "secretEnv.TOKEN" in {one.field for one in found.changes}


def test_a_single_value_that_is_not_known_yet() -> None:
    data = preview("kinds")
    for step in data["steps"]:
        if step["urn"].endswith("StatefulSet::image"):
            inputs = step["newState"]["inputs"]
            inputs["spec"]["template"]["spec"]["containers"][0]["image"] = UNKNOWN
            inputs["metadata"]["annotations"]["sandbox-components/spec"] = UNKNOWN
    one = attempt(data)
    found = of(read_attempts("agents", "test", one, one), "image")
    assert found.verdict == "may restart: known after the update"
    assert found.is_revision is None
    assert [(one.field, one.new, one.is_known_later) for one in found.changes] == [("image", None, True)]


def test_an_update_without_a_difference_tries_again_what_failed() -> None:
    data = preview("kinds")
    for step in data["steps"]:
        if step["urn"].endswith("StatefulSet::image"):
            step |= {"detailedDiff": None, "newState": step["oldState"]}
    one = attempt(data)
    found = of(read_attempts("agents", "test", one, one), "image")
    assert (found.verdict, found.changes) == ("does not restart", ())


def test_a_cluster_change_that_a_refresh_took_in_is_undone_without_a_revision() -> None:
    data = preview("kinds")
    for step in data["steps"]:
        if step["urn"].endswith("StatefulSet::image"):
            notes = step["newState"]["inputs"]["metadata"]["annotations"]
            step["oldState"]["inputs"]["metadata"]["annotations"] = notes
    one = attempt(data)
    found = of(read_attempts("agents", "test", one, one), "image")
    assert found.verdict == "restarts: a change of the cluster is undone, no revision"
    assert found.is_revision is False


def test_a_provider_that_does_not_say_what_differs() -> None:
    for name, verdict in (("image", RESTARTS), ("labels", "does not restart")):
        found = of(changed("kinds", f"StatefulSet::{name}", detailedDiff=None), name)
        assert found.verdict == verdict


def test_a_step_that_is_nobodys_by_its_parents_is_somebodys_by_its_name() -> None:
    data = preview("kinds")
    data["steps"] = [step for step in data["steps"] if not step["urn"].endswith("PersistentWorkspace::disk-gone")]
    one = attempt(data)
    assert of(read_attempts("agents", "test", one, one), "disk-gone").disk.outcome == "deleted"
