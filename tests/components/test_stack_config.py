"""The stack config's contract: what is read, what is refused, and where secrets go."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components import InvalidInput, Sandbox, StackConfig
from tests.components.recorder import Recording, Secret, record

ENTRY: dict[str, Any] = {"image": {"uri": "a:1"}, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}


def program() -> StackConfig:
    config = StackConfig.read()
    for name, args in config.sandboxes.items():
        Sandbox(name, args)
    return config


def read(**config: Any) -> StackConfig:
    found = []
    record(lambda: found.append(StackConfig.read()), config=config)
    return found[0]


def applied(config: dict[str, Any], secrets: dict[str, Any] | None = None) -> Recording:
    return record(program, config=config, secret_config=secrets)


def test_nothing_declared() -> None:
    config = read()
    assert config.sandboxes == {}
    assert config.namespace == "agents-dev"
    assert not config.protects_a_disk
    assert config.pod_security == "restricted"


def test_declared_sandboxes_become_components() -> None:
    recording = applied({"sandboxes": {"one": ENTRY, "two": {**ENTRY, "volumes": [{"mountPath": "/data"}]}}})
    assert [one.name for one in recording.of("Sandbox")] == ["one", "two"]
    assert [one.name for one in recording.of("PersistentVolumeClaim")] == ["two-workspace"]


@pytest.mark.parametrize(
    ("entry", "protects"),
    [
        ({}, False),
        ({"volumes": [{"mountPath": "/data"}]}, True),
        ({"volumes": [{"mountPath": "/data"}], "deletion": "delete"}, False),
        ({"volumes": []}, False),
    ],
)
def test_whether_the_namespace_needs_protection(entry: dict[str, Any], protects: bool) -> None:
    assert read(sandboxes={"one": {**ENTRY, **entry}}).protects_a_disk is protects


def test_one_baseline_sandbox_lowers_the_namespaces_level() -> None:
    assert read(sandboxes={"one": ENTRY, "two": {**ENTRY, "security": "baseline"}}).pod_security == "baseline"


def test_secret_env_goes_into_the_secret_alone() -> None:
    sandboxes = {"one": {**ENTRY, "env": {"A": "1"}}}
    recording = applied({"sandboxes": sandboxes}, {"secretEnv": {"one": {"TOKEN": "canary"}}})
    assert recording.one("Secret").inputs["stringData"] == {"TOKEN": Secret("canary")}
    for one in recording.registrations:
        if one.kind != "Secret":
            assert "canary" not in repr(one.inputs)
    names = [
        one["name"] for one in recording.one("StatefulSet").inputs["spec"]["template"]["spec"]["containers"][0]["env"]
    ]
    assert names == ["HOME", "A", "TOKEN"]


@pytest.mark.parametrize("key", ["expiresAt"])
def test_sandbox_keys_of_features_that_are_not_built(key: str) -> None:
    with pytest.raises(InvalidInput, match=f"sandbox-components:sandboxes.one.{key}: is not available yet"):
        read(sandboxes={"one": {**ENTRY, key: "x"}})


@pytest.mark.parametrize(
    ("config", "field", "says"),
    [
        ({"sandboxs": {}}, "sandboxs", "did you mean sandboxes?"),
        ({"agentVolumeStorageclass": "x"}, "agentVolumeStorageclass", "did you mean agentVolumeStorageClass?"),
        ({"sandboxes": []}, "sandboxes", "is not a mapping of names to sandboxes"),
        ({"sandboxes": "nightly"}, "sandboxes", "is plain text"),
        ({"sandboxes": {"Nightly": ENTRY}}, "sandboxes", "is not a sandbox name"),
        ({"sandboxes": {"one": None}}, "sandboxes.one", "is not a mapping"),
        ({"sandboxes": {"one": {**ENTRY, "imag": 1}}}, "sandboxes.one.imag", "did you mean image?"),
        ({"sandboxes": {"one": {**ENTRY, "ports": [{"port": 0}]}}}, "sandboxes.one.ports[0].port", "is not a port"),
        ({"configVersion": "2"}, "configVersion", "is not 1"),
        ({"sandboxes": {"one": ENTRY}, "secretEnv": {"two": {"A": "b"}}}, "secretEnv.two", "there is no sandbox"),
        ({"sandboxes": {"one": ENTRY}, "secretEnv": {"one": {"1A": "canary"}}}, "secretEnv.one.1A", "variable name"),
        ({"sandboxes": {"one": ENTRY}, "secretEnv": {"one": {"A": 5150}}}, "secretEnv.one.A", "of type int"),
        ({"sandboxes": {"one": ENTRY}, "secretEnv": {"one": ["canary"]}}, "secretEnv.one", "is not a mapping"),
        ({"secretEnv": ["canary"]}, "secretEnv", "is not a mapping"),
        ({"secretEnv": "canary"}, "secretEnv", "is plain text"),
        (
            {"sandboxes": {"one": {**ENTRY, "env": {"A": "1"}}}, "secretEnv": {"one": {"A": "canary"}}},
            "secretEnv.one.A",
            "stands in env of the sandbox too",
        ),
        ({"inferenceSigningKey": "canary"}, "inferenceSigningKey", "is not a secret"),
        ({"spendingLimits": []}, "spendingLimits", "is not a mapping of sandbox names"),
        ({"spendingLimits": {"One": {}}}, "spendingLimits", "is not a sandbox name"),
        ({"spendingLimits": {"team/a": {}}}, "spendingLimits", "neither a sandbox's name nor one of agent/NAME"),
        ({"spendingLimits": {"sandbox/a": {}}}, "spendingLimits", "neither a sandbox's name nor one of agent/NAME"),
        ({"spendingLimits": {"org/": {}}}, "spendingLimits", "is not a name"),
        ({"spendingLimits": {"one": []}}, "spendingLimits.one", "is not a mapping of day, week or month"),
        ({"spendingLimits": {"one": {"year": {}}}}, "spendingLimits.one", "is not a period"),
        ({"spendingLimits": {"one": {"day": 5}}}, "spendingLimits.one.day", "is not a mapping of limitCents"),
        ({"spendingLimits": {"one": {"day": {}}}}, "spendingLimits.one.day.limitCents", "is missing: for example"),
        ({"spendingLimits": {"one": {"day": {"limit": 5}}}}, "spendingLimits.one.day.limit", "is not a known key"),
        (
            {"spendingLimits": {"one": {"day": {"limitCents": 0.5}}}},
            "spendingLimits.one.day.limitCents",
            "is not a whole number of cents",
        ),
        (
            {"spendingLimits": {"org/acme": {"day": {"limitCents": 5, "timeZone": "Tokyo"}}}},
            "spendingLimits.org/acme.day.timeZone",
            "is not a time zone",
        ),
        ({"namespace": "Not_One"}, "namespace", "is not a namespace"),
    ],
)
def test_one_clear_error_that_names_the_key(config: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(**config)
    assert caught.value.field == f"sandbox-components:{field}"
    assert says in caught.value.problem
    assert "canary" not in str(caught.value)
    assert "5150" not in str(caught.value)


def test_a_secret_anywhere_else_is_refused() -> None:
    entry = {**ENTRY, "env": {"TOKEN": "canary"}}
    with pytest.raises(InvalidInput, match="holds a secret: secrets stand in sandbox-components:secretEnv") as caught:
        applied({}, {"sandboxes": {"one": entry}})
    assert "canary" not in str(caught.value)


def test_keys_of_other_packages_are_theirs() -> None:
    assert read(**{"kubernetes:context": "x", "agents:whatever": "y"}).sandboxes == {}
