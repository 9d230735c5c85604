"""`Sandbox`: exact children, names, inputs and options; nothing is registered for wrong arguments."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import pulumi
import pytest

from sandbox_components import InvalidInput, Sandbox
from sandbox_components.manifests.placement import Placement
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.spec.sandbox import read_sandbox
from tests.components.nightly import FULL, SMALL, made
from tests.components.recorder import UNKNOWN, Elsewhere, Recording, Secret, record, registered_before_error
from tests.spec.malformed import MALFORMED, SECRET, Malformed

SPEC = "sandbox-components/spec"


def template(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = recording.one("StatefulSet").inputs["spec"]["template"]
    return found


def container(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = template(recording)["spec"]["containers"][0]
    return found


def test_children_of_the_smallest_sandbox() -> None:
    assert made(SMALL).names == [
        "sandbox-components:index:Sandbox::nightly",
        "kubernetes:core/v1:ServiceAccount::nightly",
        "kubernetes:core/v1:Service::nightly-headless",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy::nightly",
        "kubernetes:apps/v1:StatefulSet::nightly",
    ]


def test_children_of_a_full_sandbox() -> None:
    args = {**FULL, "env": {"A": "1", "TOKEN": pulumi.Output.secret("t")}}
    args["expose"] = {"8080": {"visibility": "public", "host": "a.example", "tls_secret": "tls"}}
    recording = made(args)
    assert sorted(recording.names) == sorted(
        [
            "sandbox-components:index:Sandbox::nightly",
            "sandbox-components:index:PersistentWorkspace::nightly",
            "sandbox-components:index:HealthProbe::nightly",
            "kubernetes:core/v1:PersistentVolumeClaim::nightly-workspace",
            "kubernetes:core/v1:Secret::nightly-env",
            "kubernetes:core/v1:ServiceAccount::nightly",
            "kubernetes:core/v1:Service::nightly-headless",
            "kubernetes:core/v1:Service::nightly",
            "kubernetes:networking.k8s.io/v1:NetworkPolicy::nightly",
            "kubernetes:networking.k8s.io/v1:Ingress::nightly",
            "kubernetes:apps/v1:StatefulSet::nightly",
        ]
    )
    sandbox = "sandbox-components:index:Sandbox::nightly"
    parents = {one.kind: one.parent for one in recording.registrations}
    assert parents.pop("PersistentVolumeClaim") == "sandbox-components:index:PersistentWorkspace::nightly"
    assert parents.pop("Sandbox") == "pulumi:pulumi:Stack::agents-dev"
    assert set(parents.values()) == {sandbox}


def test_kubernetes_names_are_pulumi_names_and_the_secret_has_none() -> None:
    recording = made({**FULL, "env": {"TOKEN": pulumi.Output.secret("t")}})
    for one in recording.registrations:
        if one.type.startswith("kubernetes:"):
            assert one.inputs["metadata"].get("name") == (None if one.kind == "Secret" else one.name)
            assert one.inputs["metadata"]["namespace"] == "agents-dev"
            assert one.inputs["kind"] == one.kind


def test_no_word_about_replicas_and_none_about_others_scaling() -> None:
    workload = made(FULL).one("StatefulSet")
    assert "replicas" not in workload.inputs["spec"]
    assert list(workload.request.ignoreChanges) == ["spec.replicas"]
    assert workload.inputs["spec"]["podManagementPolicy"] == "Parallel"
    assert "volumeClaimTemplates" not in workload.inputs["spec"]


def test_the_workload_waits_for_disk_account_service_and_policy() -> None:
    assert made(FULL).one("StatefulSet").depends_on >= {
        "kubernetes:core/v1:PersistentVolumeClaim::nightly-workspace",
        "kubernetes:core/v1:ServiceAccount::nightly",
        "kubernetes:core/v1:Service::nightly-headless",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy::nightly",
    }


def test_a_replaced_claim_takes_the_workload_along() -> None:
    recording = made(FULL)
    assert [urn.split("::")[-1] for urn in recording.one("StatefulSet").request.replace_with] == ["nightly-workspace"]
    assert not made(SMALL).one("StatefulSet").request.replace_with


def test_a_replaced_workload_is_deleted_first_and_at_once() -> None:
    """Made anew under the same name it would be taken for the old one, or go with it."""
    workload = made(FULL).one("StatefulSet")
    assert workload.request.deleteBeforeReplace
    assert workload.inputs["metadata"]["annotations"]["pulumi.com/deletionPropagationPolicy"] == "background"


@pytest.mark.parametrize(("deletion", "protect"), [({}, True), ({"deletion": "protect"}, True)])
def test_only_the_claim_is_protected(deletion: dict[str, str], protect: bool) -> None:
    recording = made({**FULL, **deletion, "env": {"T": pulumi.Output.secret("t")}})
    assert {one.kind: one.protect for one in recording.registrations if one.protect} == {
        "PersistentVolumeClaim": protect
    }


def test_deletion_delete_protects_nothing() -> None:
    assert not any(one.protect for one in made({**FULL, "deletion": "delete"}).registrations)


def test_a_protected_sandbox_protects_itself_and_the_claim_alone() -> None:
    args = {**FULL, "env": {"T": pulumi.Output.secret("t")}}
    recording = made(args, pulumi.ResourceOptions(protect=True))
    assert {one.kind for one in recording.registrations if one.protect} == {"Sandbox", "PersistentVolumeClaim"}
    assert {one.protect for one in recording.registrations if one.kind not in ("Sandbox", "PersistentVolumeClaim")} == {
        False
    }


def test_users_options_reach_the_component() -> None:
    recording = made(SMALL, pulumi.ResourceOptions(aliases=[pulumi.Alias(name="old")]))
    assert [alias.spec.name for alias in recording.one("Sandbox").request.aliases] == ["old"]


def test_every_object_is_skipped_by_pulumis_waiting_unless_asked_for() -> None:
    for args, waits in ((FULL, set()), ({**FULL, "wait_for_ready": True}, {"StatefulSet"})):
        found = {
            one.kind
            for one in made(args).registrations
            if one.type.startswith("kubernetes:")
            and "pulumi.com/skipAwait" not in one.inputs["metadata"]["annotations"]
        }
        assert found == waits


def test_labels_stay_out_of_template_and_selectors() -> None:
    plain, labelled = made({**FULL, "labels": {}}), made({**FULL, "labels": {"team": "blue", "tier": "x"}})
    assert template(plain) == template(labelled)
    assert plain.one("StatefulSet").inputs["spec"] == labelled.one("StatefulSet").inputs["spec"]
    for one in labelled.registrations:
        if one.type.startswith("kubernetes:"):
            assert one.inputs["metadata"]["labels"]["team"] == "blue"
            assert one.inputs["metadata"]["labels"]["sandbox-components/sandbox"] == "nightly"
    assert template(labelled)["metadata"]["labels"] == {"sandbox-components/sandbox": "nightly"}


def test_the_annotation_is_the_six_groups() -> None:
    spec = json.loads(made(FULL).one("StatefulSet").inputs["metadata"]["annotations"][SPEC])
    assert spec == {
        "v": 1,
        "image": {"uri": "ghcr.io/acme/agent:1.2"},
        "command": {"command": "./start.sh"},
        "resources": {"limits": {"cpu": "500m", "memory": "2Gi"}},
        "env": {"A": "1"},
        "healthCheck": {"type": "http", "http": {"path": "/healthz", "port": 8080}},
        "ports": [{"port": 8080, "name": "port-8080", "protocol": "TCP"}],
    }


def test_both_casings_and_floats_mean_the_same() -> None:
    camel = {
        "image": {"uri": "ghcr.io/acme/agent:1.2"},
        "command": "./start.sh",
        "resourceLimits": {"cpu": 0.5, "memory": "2048Mi"},
        "env": {"A": "1"},
        "volumes": [{"mountPath": "/data", "size": "50Gi", "storageClass": "abs"}],
        "healthCheck": {"type": "http", "http": {"path": "/healthz", "port": 8080.0}},
        "ports": [{"port": 8080.0}],
        "labels": {"team": "red"},
    }
    assert [one.inputs for one in made(camel).registrations] == [one.inputs for one in made(FULL).registrations]


def test_outputs_of_the_component() -> None:
    def program() -> pulumi.Output[Any]:
        one = Sandbox("nightly", FULL)
        return pulumi.Output.all(one.name, one.namespace, one.sandbox_id, one.claim_name, one.endpoints)

    assert record(program).result == [
        "nightly",
        "agents-dev",
        "agents/dev/nightly",
        "nightly-workspace",
        {"port-8080": "nightly.agents-dev.svc:8080"},
    ]


def test_an_ephemeral_one_has_no_claim() -> None:
    recording = record(lambda: Sandbox("nightly", SMALL).claim_name)
    assert recording.result is None
    assert template(recording)["spec"]["volumes"] == [{"name": "workspace", "emptyDir": {}}]


def test_an_existing_claim_is_mounted_and_not_made() -> None:
    recording = made({**FULL, "workspace": {"mount_path": "/data", "existing_claim": "theirs"}})
    assert not recording.of("PersistentVolumeClaim")
    assert template(recording)["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "theirs"}
    assert not recording.one("StatefulSet").request.replace_with


def test_a_claims_name_can_be_kept_through_a_rename() -> None:
    recording = made({**FULL, "workspace": {"claim_name": "old-workspace"}})
    assert recording.one("PersistentVolumeClaim").inputs["metadata"]["name"] == "old-workspace"
    assert template(recording)["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "old-workspace"}


class TestOutputs:
    """Values that other resources give."""

    def test_in_env_they_go_into_the_secret_and_nowhere_else(self) -> None:
        args = {**FULL, "env": {"A": "1", "TOKEN": pulumi.Output.from_input("plain-canary")}}
        recording = made(args)
        assert recording.one("Secret").inputs["stringData"] == {"TOKEN": Secret("plain-canary")}
        for one in recording.registrations:
            if one.kind != "Secret":
                assert "plain-canary" not in repr(one.inputs)
        assert {"name": "A", "value": "1"} in container(recording)["env"]
        reference = {"name": "nightly-env-0a1b2c3d", "key": "TOKEN"}
        assert {"name": "TOKEN", "valueFrom": {"secretKeyRef": reference}} in container(recording)["env"]
        annotation = json.loads(recording.one("StatefulSet").inputs["metadata"]["annotations"][SPEC])
        assert annotation["secretEnv"] == {"names": ["TOKEN"], "secret": "nightly-env-0a1b2c3d"}

    def test_a_secret_stays_one_in_the_secrets_inputs(self) -> None:
        recording = made({**SMALL, "env": {"TOKEN": pulumi.Output.secret("canary")}})
        assert recording.one("Secret").inputs["stringData"] == {"TOKEN": Secret("canary")}
        assert set(recording.one("Secret").request.additionalSecretOutputs) >= {"data", "stringData"}
        assert not isinstance(recording.one("StatefulSet").inputs["spec"], Secret)

    def test_a_preview_knows_all_but_the_secrets_name(self) -> None:
        recording = made({**SMALL, "env": {"TOKEN": pulumi.Output.secret("canary")}}, preview=True)
        one = container(recording)
        assert one["image"] == "ghcr.io/acme/agent:1.2"
        assert one["env"][1] == {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": UNKNOWN, "key": "TOKEN"}}}
        assert recording.one("StatefulSet").inputs["metadata"]["annotations"][SPEC] is UNKNOWN

    def test_an_image_that_a_preview_does_not_know(self) -> None:
        def program() -> None:
            Sandbox("nightly", {**FULL, "image": Elsewhere("build", "ghcr.io/acme/built:7").value})

        planned, applied = record(program, preview=True), record(program)
        assert planned.names == applied.names
        assert planned.one("StatefulSet").inputs["spec"]["template"] is UNKNOWN
        assert planned.one("StatefulSet").inputs["spec"]["serviceName"] == "nightly-headless"
        assert planned.one("StatefulSet").inputs["metadata"]["name"] == "nightly"
        assert container(applied)["image"] == "ghcr.io/acme/built:7"
        assert "built:7" in applied.one("StatefulSet").inputs["metadata"]["annotations"][SPEC]
        known = made({**FULL, "image": "ghcr.io/acme/built:7"}).one("StatefulSet")
        assert applied.one("StatefulSet").inputs == known.inputs

    @pytest.mark.parametrize(
        ("args", "value", "read"),
        [
            ({"command": "X"}, "./go", lambda one: one["command"][-1]),
            ({"entrypoint": ["./go", "X"]}, "--fast", lambda one: one["command"][1]),
            ({"resource_limits": {"cpu": "X", "memory": "1Gi"}}, "250m", lambda one: one["resources"]["limits"]["cpu"]),
            ({"resource_limits": {"cpu": "1", "memory": "X"}}, "3Gi", lambda one: one["resources"]["limits"]["memory"]),
            (
                {"health_check": {"type": "http", "http": {"path": "X", "port": 80}}},
                "/z",
                lambda one: one["livenessProbe"]["httpGet"]["path"],
            ),
        ],
    )
    def test_where_else_they_may_stand(self, args: Any, value: str, read: Any) -> None:
        recording = made(_put({**SMALL, **args}, pulumi.Output.from_input(value)))
        assert read(container(recording)) == value

    def test_a_label(self) -> None:
        recording = made({**FULL, "labels": {"team": pulumi.Output.from_input("green")}})
        assert recording.one("StatefulSet").inputs["metadata"]["labels"]["team"] == "green"
        assert recording.one("PersistentVolumeClaim").inputs["metadata"]["labels"]["team"] == "green"

    @pytest.mark.parametrize(
        ("args", "field"),
        [
            ({"image": "X"}, "image"),
            ({"command": "X"}, "command"),
            ({"entrypoint": ["X"]}, "entrypoint.0"),
            ({"labels": {"team": "X"}}, "labels.team"),
            ({"resource_limits": {"cpu": "X", "memory": "1Gi"}}, "resource_limits.cpu"),
        ],
    )
    def test_a_secret_is_for_env_alone(self, args: Any, field: str) -> None:
        with pytest.raises(Exception, match="is a secret: secrets are for env alone") as caught:
            made(_put({**SMALL, **args}, pulumi.Output.secret("canary")))
        assert field in str(caught.value)
        assert "canary" not in str(caught.value)

    @pytest.mark.parametrize(
        ("args", "field"),
        [
            ({"workspace": "X"}, "workspace"),
            ({"workspace": {"size": "X"}}, "workspace.size"),
            ({"ports": "X"}, "ports"),
            ({"ports": [{"port": "X"}]}, "ports.0.port"),
            ({"health_check": "X"}, "health_check"),
            ({"deletion": "X"}, "deletion"),
            ({"env": "X"}, "env"),
            ({"labels": "X"}, "labels"),
            ({"namespace": "X"}, "namespace"),
            ({"wait_for_ready": "X"}, "wait_for_ready"),
            ({"egress": "X"}, "egress"),
        ],
    )
    def test_what_decides_the_shape_must_be_plain(self, args: Any, field: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            made(_put({**SMALL, **args}, pulumi.Output.from_input("x")))
        assert field.split(".")[0] in caught.value.field
        assert "plain" in caught.value.problem
        assert registered_before_error() == []

    @pytest.mark.parametrize(
        ("args", "value", "message"),
        [
            ({"image": "X"}, "Not An Image", "is not an image reference"),
            ({"resource_limits": {"cpu": "X", "memory": "1Gi"}}, "512MB", "is not an amount of CPU"),
            ({"labels": {"team": "X"}}, "not a label!", "is not a label value"),
        ],
    )
    def test_a_wrong_value_is_told_when_it_is_known(self, args: Any, value: str, message: str) -> None:
        with pytest.raises(Exception, match=message):
            made(_put({**SMALL, **args}, pulumi.Output.from_input(value)))

    @pytest.mark.parametrize("args", [{"image": "X"}, {"env": {"A": "X"}}])
    def test_a_late_error_is_one_line_without_the_inputs(self, args: Any) -> None:
        with pytest.raises(pulumi.RunError) as caught:
            made(_put({**SMALL, **args}, pulumi.Output.from_input("No\0t one")))
        assert str(caught.value).startswith("nightly.")
        assert "\n" not in str(caught.value)
        assert "metadata" not in str(caught.value)

    def test_an_env_value_that_is_no_string(self) -> None:
        with pytest.raises(Exception, match=r"env\.N: is not a string but of type int"):
            made({**SMALL, "env": {"N": pulumi.Output.from_input(5)}})


def _put(value: Any, output: pulumi.Output[Any]) -> Any:
    if value == "X":
        return output
    if isinstance(value, dict):
        return {key: _put(one, output) for key, one in value.items()}
    if isinstance(value, list):
        return [_put(one, output) for one in value]
    return value


@pytest.mark.parametrize("case", MALFORMED, ids=lambda case: case.id)
def test_nothing_is_registered_for_wrong_arguments(case: Malformed) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(dict(case.data))
    assert caught.value.field.startswith("nightly")
    assert case.says in caught.value.problem
    assert SECRET not in str(caught.value)
    assert isinstance(caught.value, pulumi.RunError)  # shown without a traceback
    assert registered_before_error() == []


@pytest.mark.parametrize("name", ["", "Nightly", "1st", "a_b", "x" * 53, "ends-", "ä"])
def test_nothing_is_registered_for_a_wrong_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        record(lambda: Sandbox(name, SMALL))  # type: ignore[arg-type]
    assert registered_before_error() == []


@pytest.mark.parametrize("args", [None, [], "x", {"image": "a:1", "Image": "b:1", **SMALL}])
def test_nothing_is_registered_for_arguments_of_a_wrong_kind(args: Any) -> None:
    with pytest.raises(InvalidInput):
        made(args)
    assert registered_before_error() == []


def test_a_second_one_of_that_name_is_refused() -> None:
    def twice(other: dict[str, Any]) -> None:
        Sandbox("nightly", SMALL)
        Sandbox("nightly", {**SMALL, **other})  # type: ignore[typeddict-item]

    with pytest.raises(InvalidInput, match='"nightly" is declared already in namespace "agents-dev"'):
        record(lambda: twice({}))
    record(lambda: twice({"namespace": "elsewhere"}))


class TestRequests:
    """`Sandbox.from_request`: both requests of the platform this follows."""

    EPHEMERAL = """{
      "image": {"uri": "python:3.12-slim"},
      "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
      "resourceLimits": {"cpu": "2", "memory": "2Gi"}
    }"""

    def persistent(self, **changes: Any) -> dict[str, Any]:
        extensions = {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi", **changes}
        return {**json.loads(self.EPHEMERAL), "extensions": extensions}

    def test_ephemeral(self) -> None:
        recording = record(lambda: Sandbox.from_request("nightly", self.EPHEMERAL))
        one = container(recording)
        assert one["image"] == "python:3.12-slim"
        assert one["command"] == ["/bin/sh", "-c", "python3 -m http.server 8000"]
        assert one["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}
        assert not recording.of("PersistentVolumeClaim")

    def test_persistent(self) -> None:
        recording = record(lambda: Sandbox.from_request("nightly", self.persistent()))
        claim = recording.one("PersistentVolumeClaim").inputs
        assert claim["spec"] == {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local-path",
            "resources": {"requests": {"storage": "50Gi"}},
        }
        assert container(recording)["volumeMounts"] == [{"name": "workspace", "mountPath": "/workspace"}]

    def test_the_same_text_in_yaml(self) -> None:
        text = "image: {uri: 'a:1'}\nresourceLimits: {cpu: 1, memory: 1Gi}\n"
        assert container(record(lambda: Sandbox.from_request("nightly", text)))["image"] == "a:1"

    @pytest.mark.parametrize("missing", ["storageClass", "storageSize"])
    def test_persistence_needs_class_and_size(self, missing: str) -> None:
        request = self.persistent()
        del request["extensions"][missing]
        with pytest.raises(InvalidInput, match=missing):
            record(lambda: Sandbox.from_request("nightly", request))
        assert registered_before_error() == []


def test_inputs_are_the_rendered_manifest() -> None:
    """What is rendered reaches the engine key by key: no translation of casing on the way."""
    placement = Placement(
        name="nightly",
        namespace="agents-dev",
        project="agents",
        stack="dev",
        version=version("sandbox-components"),
        labels={"team": "red"},
    )
    spec = read_sandbox({key: value for key, value in FULL.items() if key != "namespace"})
    one = made(FULL).one("StatefulSet").inputs
    assert one == stateful_set(placement, spec, revision=one["metadata"]["annotations"][SPEC])
