"""`Sandbox(inference=..., spending_limits=...)`: identity, limits, key and policy, and what of it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pulumi
import pytest

from sandbox_components import InvalidInput, Sandbox, SpendingLimit, StackConfig
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, Identity, parse_identity
from sandbox_components.spec.inference_key import KeyClaims, read_key
from sandbox_components.spec.spending import (
    IDENTITY,
    INFERENCE_LABEL,
    LIMIT_ANNOTATION,
    DeclaredLimit,
    config_map_name,
    parse_limit,
)
from tests.components.recorder import UNKNOWN, Elsewhere, Recording, Secret, record, registered_before_error

SIGNING_KEY = "0123456789abcdef0123456789abcdef"
SMALL: dict[str, Any] = {"image": "ghcr.io/acme/agent:1.2", "resource_limits": {"cpu": "500m", "memory": "2Gi"}}
PROXY = {"namespace": "inference", "name": "proxy"}
MONTH = {"period": "month", "limit_cents": 5000}
FULL = {**SMALL, "inference": PROXY, "spending_limits": [MONTH], "org": "acme", "agent": "researcher"}
ID = "agents/dev/nightly"


def made(args: Any, config: dict[str, Any] | None = None, key: Any = SIGNING_KEY, **how: Any) -> Recording:
    secret = {} if key is None else {"inferenceSigningKey": key}
    return record(lambda: Sandbox("nightly", args).name, config=config, secret_config=secret, **how)


def limits_of(recording: Recording) -> list[DeclaredLimit]:
    notes = [one.inputs["metadata"]["annotations"] for one in recording.of("ConfigMap")]
    return in_order(parse_limit(one[LIMIT_ANNOTATION]) for one in notes if LIMIT_ANNOTATION in one)


def in_order(limits: Iterable[DeclaredLimit]) -> list[DeclaredLimit]:
    """Return them in an order that doesn't hang on which request was first."""
    return sorted(limits, key=lambda one: (one.actor_type, one.period))


def container(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = recording.one("StatefulSet").inputs["spec"]["template"]["spec"]["containers"][0]
    return found


def test_children() -> None:
    recording = made(FULL)
    assert sorted(recording.names) == [
        "kubernetes:apps/v1:StatefulSet::nightly",
        "kubernetes:core/v1:ConfigMap::nightly-identity",
        "kubernetes:core/v1:ConfigMap::nightly-month",
        "kubernetes:core/v1:Secret::nightly-inference",
        "kubernetes:core/v1:Service::nightly-headless",
        "kubernetes:core/v1:ServiceAccount::nightly",
        "kubernetes:networking.k8s.io/v1:NetworkPolicy::nightly",
        "sandbox-components:index:Sandbox::nightly",
        "sandbox-components:index:SpendingLimit::nightly-month",
    ]
    assert recording.one("ConfigMap", "nightly-month").parent == "sandbox-components:index:SpendingLimit::nightly-month"
    assert not any(one.protect for one in recording.registrations)


def test_the_identity_is_where_the_proxy_looks_for_it() -> None:
    found = made(FULL).one("ConfigMap", "nightly-identity").inputs
    assert found["metadata"]["namespace"] == "inference"
    assert found["metadata"]["name"] == config_map_name("nightly", ID, IDENTITY)
    assert found["metadata"]["labels"][INFERENCE_LABEL] == IDENTITY
    assert "data" not in found
    identity = parse_identity(found["metadata"]["annotations"][IDENTITY_ANNOTATION])
    assert identity == Identity(ID, "acme", None, "researcher", 1, limit_required=True)


def test_a_limit_says_whose_it_is() -> None:
    recording = made(FULL)
    assert limits_of(recording) == [DeclaredLimit("sandbox", ID, "month", 5000, "UTC", "agents/dev")]
    metadata = recording.one("ConfigMap", "nightly-month").inputs["metadata"]
    assert metadata["namespace"] == "inference"
    assert metadata["name"].startswith("nightly-month-")
    assert metadata["labels"]["sandbox-components/sandbox"] == "nightly"


def test_limits_of_who_pays_too() -> None:
    limits = [
        MONTH,
        {"actor_type": "org", "period": "day", "limit_cents": 1, "time_zone": "Asia/Tokyo"},
        {"actor_type": "agent", "actor_id": "researcher", "period": "week", "limit_cents": 2.0},
        {"actor_id": ID, "period": "day", "limit_cents": 0},
    ]
    recording = made({**FULL, "spending_limits": limits})
    assert limits_of(recording) == [
        DeclaredLimit("agent", "researcher", "week", 2, "UTC", "agents/dev"),
        DeclaredLimit("org", "acme", "day", 1, "Asia/Tokyo", "agents/dev"),
        DeclaredLimit("sandbox", ID, "day", 0, "UTC", "agents/dev"),
        DeclaredLimit("sandbox", ID, "month", 5000, "UTC", "agents/dev"),
    ]
    names = [one.inputs["metadata"]["name"] for one in recording.of("ConfigMap")]
    assert len(set(names)) == 5


def test_without_a_limit_none_is_required() -> None:
    recording = made({**SMALL, "inference": PROXY})
    note = recording.one("ConfigMap").inputs["metadata"]["annotations"][IDENTITY_ANNOTATION]
    assert not parse_identity(note).limit_required
    assert not recording.warnings


def test_the_key_is_the_sandboxs_and_stands_in_a_secret_alone() -> None:
    recording = made({**FULL, "key_generation": 3})
    secret = recording.one("Secret")
    assert "name" not in secret.inputs["metadata"]
    assert secret.inputs["metadata"]["namespace"] == "agents-dev"
    values = {key: one.value for key, one in secret.inputs["stringData"].items()}
    key = values["OPENAI_API_KEY"]
    assert values == {
        "OPENAI_API_KEY": key,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_BASE_URL": "http://proxy.inference.svc:8080/v1",
        "ANTHROPIC_BASE_URL": "http://proxy.inference.svc:8080",
    }
    assert read_key(key, SIGNING_KEY.encode()) == KeyClaims(ID, 3)
    note = recording.one("ConfigMap", "nightly-identity").inputs["metadata"]["annotations"][IDENTITY_ANNOTATION]
    assert parse_identity(note).generation == 3
    for one in recording.registrations:
        if one.kind != "Secret":
            assert key not in repr(one.inputs)
            assert SIGNING_KEY not in repr(one.inputs)


def test_the_key_is_outside_the_six_groups() -> None:
    with_key, without = made({**SMALL, "inference": PROXY}), made(SMALL)
    found = container(with_key)
    assert found.pop("envFrom") == [{"secretRef": {"name": "nightly-inference-0a1b2c3d"}}]
    assert found == container(without)
    specs = [
        one.one("StatefulSet").inputs["metadata"]["annotations"]["sandbox-components/spec"]
        for one in (with_key, without)
    ]
    assert specs[0] == specs[1]


def test_the_workload_waits_for_identity_and_limits_and_names_the_proxy() -> None:
    workload = made(FULL).one("StatefulSet")
    assert workload.depends_on >= {"kubernetes:core/v1:ConfigMap::nightly-identity"}
    assert workload.inputs["metadata"]["annotations"]["sandbox-components/inference"] == "inference/proxy"


def test_other_limits_and_payers_leave_the_workload_as_it_is() -> None:
    other = {**FULL, "spending_limits": [{**MONTH, "limit_cents": 1}], "org": "other", "user": "ann"}
    assert made(other).one("StatefulSet").inputs == made(FULL).one("StatefulSet").inputs


def test_the_policy_leads_to_the_proxys_pods_at_the_serving_port() -> None:
    egress = made({**FULL, "egress": "none"}).one("NetworkPolicy").inputs["spec"]["egress"]
    assert egress[1:] == [
        {
            "to": [
                {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "inference"}},
                    "podSelector": {"matchLabels": {"sandbox-components/proxy": "proxy"}},
                }
            ],
            "ports": [{"port": 8080, "protocol": "TCP"}],
        }
    ]


def test_outputs_elsewhere_and_a_preview() -> None:
    recording = record(
        lambda: Sandbox("nightly", {**FULL, "image": Elsewhere("build", "a:1").value}).name,
        secret_config={"inferenceSigningKey": SIGNING_KEY},
    )
    assert container(recording)["envFrom"] == [{"secretRef": {"name": "nightly-inference-0a1b2c3d"}}]
    preview = made(FULL, preview=True)
    assert container(preview)["envFrom"] == [{"secretRef": {"name": UNKNOWN}}]


def test_a_warning_where_the_cap_can_be_gone_round() -> None:
    assert "only what goes through the inference proxy" in made(FULL).warnings[0]
    assert not made({**FULL, "egress": "none"}).warnings


def test_what_was_set_wins_over_what_is_declared() -> None:
    config = {
        "spendingLimits": {"nightly": {"month": {"limitCents": 7, "timeZone": "Asia/Tokyo"}, "day": {"limitCents": 1}}}
    }
    assert limits_of(made(FULL, config)) == [
        DeclaredLimit("sandbox", ID, "day", 1, "UTC", "agents/dev"),
        DeclaredLimit("sandbox", ID, "month", 7, "Asia/Tokyo", "agents/dev"),
    ]
    tokyo = {**FULL, "spending_limits": [{**MONTH, "time_zone": "Asia/Tokyo"}]}
    only_cents = {"spendingLimits": {"nightly": {"month": {"limitCents": 7}}}}
    assert limits_of(made(tokyo, only_cents))[0].time_zone == "Asia/Tokyo"


def test_a_limit_that_was_set_is_required_too() -> None:
    recording = made({**SMALL, "inference": PROXY}, {"spendingLimits": {"nightly": {"day": {"limitCents": 1}}}})
    note = recording.one("ConfigMap", "nightly-identity").inputs["metadata"]["annotations"][IDENTITY_ANNOTATION]
    assert parse_identity(note).limit_required


def test_set_limits_of_a_sandboxs_payers() -> None:
    args = {**FULL, "spending_limits": [{"actor_type": "org", "period": "day", "limit_cents": 5}]}
    assert limits_of(made(args, {"spendingLimits": {"org/acme": {"day": {"limitCents": 9}}}})) == [
        DeclaredLimit("org", "acme", "day", 9, "UTC", "agents/dev")
    ]


@pytest.mark.parametrize(
    ("args", "config", "key", "field", "says"),
    [
        (FULL, {}, None, "sandbox-components:inferenceSigningKey", "is missing, and nightly.inference needs it"),
        (FULL, {}, "canary", "sandbox-components:inferenceSigningKey", "is too short for a signing key"),
        (
            FULL,
            {"inferenceSigningKey": "canary" * 9},
            None,
            "sandbox-components:inferenceSigningKey",
            "is not a secret",
        ),
        (
            {**FULL, "inference": {"namespace": "agents-dev", "name": "proxy"}},
            {},
            SIGNING_KEY,
            "nightly.inference.namespace",
            "a proxy has a namespace of its own",
        ),
        (
            {**FULL, "spending_limits": [{**MONTH, "actor_id": "agents/prod/nightly"}]},
            {},
            SIGNING_KEY,
            "nightly.spendingLimits[0].actorId",
            "is not this sandbox, which is agents/dev/nightly",
        ),
        (
            SMALL,
            {"spendingLimits": {"nightly": {"day": {"limitCents": 5}}}},
            SIGNING_KEY,
            "sandbox-components:spendingLimits.nightly",
            "a sandbox without inference",
        ),
    ],
)
def test_refused(args: Any, config: dict[str, Any], key: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(args, config, key)
    assert caught.value.field == field
    assert says in caught.value.problem
    assert "canary" not in str(caught.value)
    assert registered_before_error() == []


def test_a_refusal_says_what_to_type_next() -> None:
    with pytest.raises(InvalidInput) as caught:
        made(FULL, {}, None)
    key = "sandbox-components:inferenceSigningKey"
    assert str(caught.value).splitlines() == [
        f"{key}: is missing, and nightly.inference needs it",
        f"try: openssl rand -base64 32 | pulumi config set --secret {key}",
    ]


def test_the_proxys_variables_may_be_nobody_elses() -> None:
    with pytest.raises(InvalidInput, match=r"nightly.env.OPENAI_API_KEY: is set by inference"):
        made({**FULL, "env": {"OPENAI_API_KEY": pulumi.Output.secret("canary")}})
    with pytest.raises(InvalidInput, match=r"secretEnv.one.ANTHROPIC_BASE_URL: is set by inference"):
        record(
            lambda: StackConfig.read(),
            config={"sandboxes": {"one": {**SMALL, "inference": PROXY}}},
            secret_config={"secretEnv": {"one": {"ANTHROPIC_BASE_URL": "x"}}, "inferenceSigningKey": SIGNING_KEY},
        )


def test_outputs_are_refused_where_the_shape_is_decided() -> None:
    with pytest.raises(InvalidInput, match=r"inference.name: must be a plain value"):
        made({**FULL, "inference": {**PROXY, "name": pulumi.Output.from_input("proxy")}})


def test_same_named_sandboxes_of_two_stacks_dont_collide() -> None:
    names = {config_map_name("nightly", f"agents/{stack}/nightly", IDENTITY) for stack in ("dev", "prod")}
    assert len(names) == 2


def limit(args: Any, config: dict[str, Any] | None = None) -> Recording:
    return record(lambda: SpendingLimit("acme", args).config_map_name, config=config)


ACME = {"namespace": "inference", "actor_type": "org", "actor_id": "acme", **MONTH}


def test_a_limit_alone() -> None:
    recording = limit({**ACME, "labels": {"team": "red"}})
    assert recording.names == [
        "sandbox-components:index:SpendingLimit::acme",
        "kubernetes:core/v1:ConfigMap::acme",
    ]
    metadata = recording.one("ConfigMap").inputs["metadata"]
    assert recording.result == metadata["name"]
    assert metadata["labels"]["team"] == "red"
    assert metadata["labels"]["app.kubernetes.io/component"] == "spending-limit"
    assert "sandbox-components/sandbox" not in metadata["labels"]
    assert limits_of(recording) == [DeclaredLimit("org", "acme", "month", 5000, "UTC", "agents/dev")]


def test_a_limit_alone_gives_way_to_what_was_set() -> None:
    recording = limit(ACME, {"spendingLimits": {"org/acme": {"month": {"limitCents": 1}, "day": {"limitCents": 2}}}})
    assert [one.limit_cents for one in limits_of(recording)] == [1]


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"namespace": None}, "acme.namespace", "is missing: the inference proxy's own namespace"),
        ({"actor_type": None}, "acme.actorType", "is not one of"),
        ({"actor_id": "a b"}, "acme.actorId", "is not a name"),
        ({"actor_type": "sandbox", "actor_id": "nightly"}, "acme.actorId", "accepted is PROJECT/STACK/NAME"),
        ({"labels": {"sandbox-components/inference": "x"}}, "acme.labels.sandbox-components/inference", "are ours"),
        ({"cents": 1}, "acme.cents", "is not a known key"),
    ],
)
def test_wrong_limits_alone(change: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        limit({**ACME, **change})
    assert caught.value.field == field
    assert says in caught.value.problem
    assert registered_before_error() == []


def test_overrides_that_nothing_takes_are_told() -> None:
    config = {
        "sandboxes": {
            "one": {
                "image": "a:1",
                "resourceLimits": {"cpu": "1", "memory": "1Gi"},
                "inference": PROXY,
                "org": "acme",
                "spendingLimits": [{"actorType": "org", "period": "day", "limitCents": 5}],
            }
        },
        "spendingLimits": {
            "one": {"day": {"limitCents": 1}},
            "gone": {"day": {"limitCents": 1}},
            "org/acme": {"day": {"limitCents": 1}, "week": {"limitCents": 1}},
        },
    }

    def program() -> None:
        for name, args in StackConfig.read().sandboxes.items():
            Sandbox(name, args)

    recording = record(program, config=config, secret_config={"inferenceSigningKey": SIGNING_KEY})
    strays = [text for text in recording.warnings if "is not in force" in text]
    assert [text.split(" is not")[0] for text in strays] == [
        "sandbox-components:spendingLimits.gone.day",
        "sandbox-components:spendingLimits.org/acme.week",
    ]


def test_secrets_in_the_recorder_are_what_the_engine_keeps_encrypted() -> None:
    values = made(FULL).one("Secret").inputs["stringData"].values()
    assert all(isinstance(one, Secret) for one in values)
    assert json.dumps([one.value for one in values])
