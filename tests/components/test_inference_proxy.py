"""`InferenceProxy`: exact children in both forms, where secrets go, limits, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest

from sandbox_components import InferenceProxy, InvalidInput, Sandbox
from sandbox_components.spec.spending import LIMIT_ANNOTATION, DeclaredLimit, parse_limit
from tests.components.recorder import Elsewhere, Recording, Secret, record, registered_before_error

SIGNING_KEY = "0123456789abcdef0123456789abcdef"
UPSTREAM: dict[str, Any] = {
    "name": "openai",
    "api": "openai",
    "base_url": "https://api.openai.com",
    "key": "provider-canary",
}
SMALL: dict[str, Any] = {"namespace": "inference", "image": "acme/proxy:1", "upstreams": [UPSTREAM]}
POSTGRES = {**SMALL, "database_url": "postgresql://u:canary@db/ledger", "replicas": 2}


def made(args: Any, config: dict[str, Any] | None = None, key: Any = SIGNING_KEY, **how: Any) -> Recording:
    secret = {} if key is None else {"inferenceSigningKey": key}
    return record(lambda: InferenceProxy("proxy", args).name, config=config, secret_config=secret, **how)


def limits_of(recording: Recording) -> list[DeclaredLimit]:
    notes = [one.inputs["metadata"]["annotations"] for one in recording.of("ConfigMap")]
    return [parse_limit(one[LIMIT_ANNOTATION]) for one in notes if LIMIT_ANNOTATION in one]


COMMON = {
    "sandbox-components:index:InferenceProxy::proxy",
    "kubernetes:core/v1:ConfigMap::proxy-settings",
    "kubernetes:core/v1:Secret::proxy-keys",
    "kubernetes:core/v1:ServiceAccount::proxy",
    "kubernetes:core/v1:Service::proxy",
    "kubernetes:rbac.authorization.k8s.io/v1:Role::proxy",
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding::proxy",
    "kubernetes:networking.k8s.io/v1:NetworkPolicy::proxy",
}


def test_one_pod_and_a_claim_for_sqlite() -> None:
    recording = made(SMALL)
    own = {"kubernetes:apps/v1:StatefulSet::proxy", "kubernetes:core/v1:PersistentVolumeClaim::proxy-ledger"}
    assert set(recording.names) == COMMON | own
    assert {one.kind for one in recording.registrations if one.protect} == {"PersistentVolumeClaim"}
    workload = recording.one("StatefulSet")
    assert workload.inputs["spec"]["replicas"] == 1
    assert workload.request.deleteBeforeReplace
    assert "kubernetes:core/v1:PersistentVolumeClaim::proxy-ledger" in workload.depends_on
    assert not any(one.protect for one in made({**SMALL, "deletion": "delete"}).registrations)


def test_a_deployment_and_no_claim_for_postgres() -> None:
    recording = made(POSTGRES)
    assert set(recording.names) == COMMON | {"kubernetes:apps/v1:Deployment::proxy"}
    assert recording.one("Deployment").inputs["spec"]["replicas"] == 2


@pytest.mark.parametrize("args", [SMALL, POSTGRES])
def test_keys_stand_in_one_secret_alone(args: dict[str, Any]) -> None:
    recording = made(args)
    found = {key: one.value for key, one in recording.one("Secret").inputs["stringData"].items()}
    assert found["signing-key"] == SIGNING_KEY
    assert found["upstream-openai"] == "provider-canary"
    assert ("database-url" in found) is (args is POSTGRES)
    for one in recording.registrations:
        if one.kind != "Secret":
            assert "canary" not in repr(one.inputs)
            assert SIGNING_KEY not in repr(one.inputs)


def test_other_settings_or_keys_make_the_pods_anew() -> None:
    """Both objects have made-up names, which the pod template holds."""
    recording = made(SMALL)
    assert "name" not in recording.one("ConfigMap").inputs["metadata"]
    assert "name" not in recording.one("Secret").inputs["metadata"]
    volumes = recording.one("StatefulSet").inputs["spec"]["template"]["spec"]["volumes"]
    assert volumes[0]["configMap"]["name"] == "proxy-settings-0a1b2c3d"
    assert volumes[1]["secret"]["secretName"] == "proxy-keys-0a1b2c3d"


def test_a_signing_key_of_its_own_and_an_image_built_in_the_program() -> None:
    def program() -> Any:
        outputs = {
            "signing_key": pulumi.Output.secret("x" * 40),
            "image": Elsewhere("build", "a:2").value,
            "upstreams": [{**UPSTREAM, "key": pulumi.Output.secret("another")}],
        }
        return InferenceProxy("proxy", {**SMALL, **outputs}).name  # type: ignore[typeddict-item]

    recording = record(program)
    assert recording.one("Secret").inputs["stringData"]["upstream-openai"] == Secret("another")
    assert recording.one("Secret").inputs["stringData"]["signing-key"] == Secret("x" * 40)
    container = recording.one("StatefulSet").inputs["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "a:2"
    assert "imagePullPolicy" not in container


def test_settings_hold_names_of_secrets() -> None:
    text = made({**SMALL, "prices": {"m": {"input": "1"}}}).one("ConfigMap").inputs["data"]["settings.yaml"]
    settings = json.loads(text)
    assert settings["prices"] == {"m": {"input": "1"}}
    assert settings["upstreams"][0]["key"] == {"file": "/etc/sandbox-proxy/keys/upstream-openai"}


def test_limits_of_payers_declared_and_set() -> None:
    args = {
        **SMALL,
        "spending_limits": [
            {"actor_type": "org", "actor_id": "acme", "period": "month", "limit_cents": 100},
            {"actor_type": "user", "actor_id": "ann@acme", "period": "day", "limit_cents": 5},
        ],
    }
    config = {
        "spendingLimits": {
            "org/acme": {"month": {"limitCents": 7}, "week": {"limitCents": 3}},
            "agent/bot": {"day": {"limitCents": 1, "timeZone": "Asia/Tokyo"}},
            "nightly": {"day": {"limitCents": 9}},
        }
    }
    recording = made(args, config)
    assert sorted(limits_of(recording), key=lambda one: (one.actor_type, one.period)) == [
        DeclaredLimit("agent", "bot", "day", 1, "Asia/Tokyo", "agents/dev"),
        DeclaredLimit("org", "acme", "month", 7, "UTC", "agents/dev"),
        DeclaredLimit("org", "acme", "week", 3, "UTC", "agents/dev"),
        DeclaredLimit("user", "ann@acme", "day", 5, "UTC", "agents/dev"),
    ]
    names = [one.inputs["metadata"].get("name") for one in recording.of("ConfigMap")]
    assert len(set(names)) == len(names)
    assert len({one.name for one in recording.of("SpendingLimit")}) == 4


def test_a_limit_makes_no_pod_anew() -> None:
    limits = [{"actor_type": "org", "actor_id": "acme", "period": "month", "limit_cents": 100}]
    workloads = [made(args).one("StatefulSet") for args in (SMALL, {**SMALL, "spending_limits": limits})]
    assert workloads[0].inputs == workloads[1].inputs


def test_its_inference_is_what_a_sandbox_takes() -> None:
    def program() -> Any:
        proxy = InferenceProxy("proxy", {**SMALL, "port": 9000})
        small = {"image": "a:1", "resource_limits": {"cpu": "1", "memory": "1Gi"}, "inference": proxy.inference}
        return Sandbox("nightly", small).name  # type: ignore[arg-type]

    recording = record(program, secret_config={"inferenceSigningKey": SIGNING_KEY})
    rule = recording.one("NetworkPolicy", "nightly").inputs["spec"]["egress"][1]
    assert rule["ports"] == [{"port": 9000, "protocol": "TCP"}]
    labels = recording.one("StatefulSet", "proxy").inputs["spec"]["template"]["metadata"]["labels"]
    assert rule["to"][0]["podSelector"]["matchLabels"].items() <= labels.items()


def changed(**change: Any) -> dict[str, Any]:
    return {**SMALL, **change}


@pytest.mark.parametrize(
    ("args", "field", "says"),
    [
        ({}, "proxy.image", "is missing: for example ghcr.io/acme"),
        (changed(namespace=None), "proxy.namespace", "is missing: a proxy has a namespace of its own"),
        (changed(namespace="agents-dev"), "proxy.namespace", "is where the sandboxes are"),
        (changed(replicas=2), "proxy.replicas", "a SQLite file has one writer"),
        (changed(replicas=0), "proxy.replicas", "is not between 1 and 20"),
        (changed(port=80), "proxy.port", "is below 1024"),
        (changed(port=8081), "proxy.adminPort", "is the port of models too"),
        (changed(admin_cidrs=["0.0.0.0/0"]), "proxy.adminCidrs[0]", "is everything"),
        (changed(admin_cidrs=["10.0.0.1"]), "proxy.adminCidrs[0]", "is not an address range"),
        (changed(admin_namespaces=["A"]), "proxy.adminNamespaces[0]", "is not a namespace"),
        (changed(upstreams=[]), "proxy.upstreams", "at least 1 item"),
        (changed(upstreams=["openai"]), "proxy.upstreams[0]", "is not a mapping"),
        (changed(upstreams=[{**UPSTREAM, "key": None}]), "proxy.upstreams[0].key", "is missing: the provider's key"),
        (changed(upstreams=[{**UPSTREAM, "key": "canary\n"}]), "proxy.upstreams[0].key", "is no key"),
        (changed(upstreams=[UPSTREAM, UPSTREAM]), "proxy.upstreams[1].name", "is given twice"),
        (changed(upstreams=[{**UPSTREAM, "api": "gemini"}]), "proxy.upstreams[0].api", "is not one of openai or"),
        (
            changed(upstreams=[{**UPSTREAM, "base_url": "https://u:canary@x"}]),
            "proxy.upstreams[0].baseUrl",
            "keys have a field of their own",
        ),
        (changed(database_url="sqlite:///x?canary"), "proxy.databaseUrl", "is not postgresql://"),
        ({**POSTGRES, "storage": {"size": "1Gi"}}, "proxy.storage", "is given beside databaseUrl"),
        (changed(storage={"size": "1GB"}), "proxy.storage.size", "1GB"),
        (changed(signing_key="canary"), "proxy.signingKey", "is too short"),
        (changed(is_postgres=True), "proxy.isPostgres", "is not a known key"),
        (changed(repliacs=2), "proxy.repliacs", "did you mean replicas?"),
        (changed(databaseUrl="x", database_url="y"), "proxy.databaseUrl", "is given twice"),
        (
            changed(
                spending_limits=[{"actor_type": "sandbox", "actor_id": "a/b/c", "period": "day", "limit_cents": 1}]
            ),
            "proxy.spendingLimits[0].actorType",
            "among the sandbox's own arguments",
        ),
        (
            changed(spending_limits=2 * [{"actor_type": "org", "actor_id": "a", "period": "day", "limit_cents": 1}]),
            "proxy.spendingLimits[1]",
            "a second one",
        ),
    ],
)
def test_nothing_is_registered_for_wrong_arguments(args: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(args)
    assert caught.value.field == field
    assert says in caught.value.problem
    assert "canary" not in str(caught.value)
    assert registered_before_error() == []


def test_outputs_are_refused_where_the_shape_is_decided() -> None:
    with pytest.raises(InvalidInput, match=r"proxy.port: must be a plain value"):
        made(changed(port=pulumi.Output.from_input(1)))


def test_the_signing_key_is_needed() -> None:
    with pytest.raises(InvalidInput, match="inferenceSigningKey: is missing, and proxy needs it"):
        made(SMALL, key=None)


def test_a_second_proxy_of_that_name_is_refused() -> None:
    def program() -> Any:
        return [InferenceProxy("proxy", SMALL) for _ in range(2)]  # type: ignore[arg-type]

    with pytest.raises(InvalidInput, match="is declared already"):
        record(program, secret_config={"inferenceSigningKey": SIGNING_KEY})
