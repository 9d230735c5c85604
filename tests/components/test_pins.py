"""Pins over arguments: the six groups and nothing else, what is told, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest

from sandbox_components import InvalidInput, Sandbox, StackConfig
from tests.components.recorder import UNKNOWN, Elsewhere, Recording, Secret, record

DECLARED: dict[str, Any] = {
    "image": {"uri": "a:2"},
    "entrypoint": ["new"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
    "resourceRequests": {"cpu": "1"},
    "env": {"NEW": "1"},
    "volumes": [{"mountPath": "/data", "size": "5Gi"}],
    "healthCheck": {"type": "http", "http": {"path": "/new", "port": 9000}},
    "ports": [{"port": 9000}, {"port": 80}],
    "expose": {"9000": {"visibility": "private"}, "80": {"visibility": "private"}},
    "labels": {"team": "core"},
    "egress": "none",
    "terminationGracePeriodSeconds": 7,
}
SPEC: dict[str, Any] = {
    "v": 1,
    "image": {"uri": "a:1"},
    "command": {"command": "./old"},
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    "env": {"OLD": "1"},
    "ports": [{"port": 80, "name": "port-80", "protocol": "TCP"}],
}
PIN: dict[str, Any] = {"revision": 2, "id": "17", "spec": SPEC, "by": "ann@host", "at": "2026-11-29T20:00:00Z"}
SECRET_PIN = {**PIN, "spec": {**SPEC, "secretEnv": {"names": ["TOKEN"]}}}
TITLE = "nightly is pinned to revision 2 (17) by ann@host since 2026-11-29T20:00:00Z; "


def from_config() -> None:
    for name, args in StackConfig.read().sandboxes.items():
        Sandbox(name, args)


def applied(
    pin: Any = PIN, declared: dict[str, Any] = DECLARED, secrets: dict[str, Any] | None = None, **how: Any
) -> Recording:
    config = {"sandboxes": {"nightly": declared}, **({} if pin is None else {"pins": {"nightly": pin}})}
    return record(from_config, config=config, secret_config=secrets, **how)


def container(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = recording.one("StatefulSet").inputs["spec"]["template"]["spec"]["containers"][0]
    return found


def annotation(recording: Recording) -> Any:
    text = recording.one("StatefulSet").inputs["metadata"]["annotations"]["sandbox-components/spec"]
    return json.loads(text) if isinstance(text, str) else text


def test_the_six_groups_are_the_pins_and_the_rest_is_declared() -> None:
    recording = applied()
    assert annotation(recording) == SPEC
    main = container(recording)
    assert main["image"] == "a:1"
    assert main["command"][-1] == "./old"
    assert main["resources"] == {kind: {"cpu": "1", "memory": "1Gi"} for kind in ("limits", "requests")}
    assert main["env"] == [{"name": "HOME", "value": "/data"}, {"name": "OLD", "value": "1"}]
    assert "livenessProbe" not in main
    assert [port["containerPort"] for port in main["ports"]] == [80]
    pod = recording.one("StatefulSet").inputs["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 7
    assert recording.one("PersistentVolumeClaim").inputs["spec"]["resources"]["requests"]["storage"] == "5Gi"
    assert recording.one("StatefulSet").inputs["metadata"]["labels"]["team"] == "core"
    assert [port["port"] for port in recording.one("Service", "nightly").inputs["spec"]["ports"]] == [80]


def test_what_a_pinned_sandbox_registers_is_what_the_declaration_of_its_groups_would() -> None:
    plain = {**DECLARED, "image": {"uri": "a:1"}, "command": "./old", "env": {"OLD": "1"}, "ports": [{"port": 80}]}
    plain |= {"resourceLimits": {"cpu": "1", "memory": "1Gi"}, "expose": {"80": {"visibility": "private"}}}
    for key in ("entrypoint", "resourceRequests", "healthCheck"):
        plain.pop(key)
    pinned, declared = applied(), applied(None, plain)
    assert sorted(pinned.names) == sorted(declared.names)  # requests are on their way side by side
    inputs = [{(one.type, one.name): one.inputs for one in made.registrations} for made in (pinned, declared)]
    assert inputs[0] == inputs[1]
    assert declared.warnings == []


def test_every_up_tells_the_pin_and_what_waits() -> None:
    recording = applied()
    waits = "what is declared otherwise (image, command, resources, env, healthCheck, ports)"
    assert recording.warnings == [
        "nightly: expose.9000 is left out: the pinned revision has no TCP port 9000",
        f"{TITLE}{waits} waits until: sandbox unpin nightly",
    ]
    only_image = {**DECLARED, "command": "./old", "resourceLimits": SPEC["resources"]["limits"], "env": {"OLD": "1"}}
    only_image |= {"ports": [{"port": 80.0}], "healthCheck": {"type": "none"}, "expose": {}}
    for key in ("entrypoint", "resourceRequests"):
        only_image.pop(key)
    assert applied(PIN, only_image).warnings == [
        f"{TITLE}what is declared otherwise (image) waits until: sandbox unpin nightly"
    ]
    safe = f"{TITLE}what is declared is the same by now, so this is safe: sandbox unpin nightly"
    assert applied(PIN, {**only_image, "image": "a:1"}).warnings == [safe]
    unnumbered = {key: value for key, value in PIN.items() if key in ("id", "spec")}
    assert (
        applied(unnumbered, {**only_image, "image": "a:1"}).warnings[0].startswith("nightly is pinned to revision 17;")
    )


def test_secrets_come_from_pin_secrets_alone() -> None:
    secrets = {"pinSecrets": {"nightly": {"TOKEN": "canary-old"}}, "secretEnv": {"nightly": {"OTHER": "canary-new"}}}
    recording = applied(SECRET_PIN, secrets=secrets)
    assert recording.one("Secret").inputs["stringData"] == {"TOKEN": Secret("canary-old")}
    assert annotation(recording)["secretEnv"] == {"names": ["TOKEN"], "secret": "nightly-env-0a1b2c3d"}
    rest = [one.inputs for one in recording.registrations if one.kind != "Secret"]
    assert "canary" not in repr(rest) + repr(recording.warnings)


@pytest.mark.parametrize(("value", "is_safe"), [("same", True), ("other", False)])
def test_values_of_secrets_are_compared_and_not_shown(value: str, is_safe: bool) -> None:
    declared = {**DECLARED, "image": "a:1", "command": "./old", "env": {"OLD": "1"}, "ports": [{"port": 80}]}
    declared |= {"resourceLimits": {"cpu": "1", "memory": "1Gi"}, "expose": {}}
    for key in ("entrypoint", "resourceRequests", "healthCheck"):
        declared.pop(key)
    secrets = {"pinSecrets": {"nightly": {"TOKEN": "same"}}, "secretEnv": {"nightly": {"TOKEN": value}}}
    told = applied(SECRET_PIN, declared, secrets).warnings
    assert told[0] == f"{TITLE}to take what is declared again: sandbox unpin nightly"
    assert [text for text in told[1:] if "is safe" in text] == told[1:]
    assert (len(told) == 2) is is_safe


@pytest.mark.parametrize("preview", [False, True])
def test_a_programs_own_sandbox(preview: bool) -> None:
    args: dict[str, Any] = {
        "resource_limits": {"cpu": "2", "memory": "2Gi"},
        "image_auth": {"username": "robot", "password": "canary"},
        "health_check": {"type": "http", "http": {"path": "/new", "port": 9000}},
        "labels": {"team": "core"},
    }

    def program() -> None:
        image = Elsewhere("image", "a:2").value
        env = {"NEW": "1", "TOKEN": pulumi.Output.secret("canary-new")}
        Sandbox("nightly", {**args, "image": image, "env": env})  # type: ignore[typeddict-item]

    secrets = {"pinSecrets": {"nightly": {"TOKEN": "canary-old"}}}
    recording = record(program, config={"pins": {"nightly": SECRET_PIN}}, secret_config=secrets, preview=preview)
    main = container(recording)
    assert (main["image"], main["command"][-1]) == ("a:1", "./old")
    assert "livenessProbe" not in main
    env = [one for one in recording.of("Secret") if one.name == "nightly-env"]
    assert env[0].inputs["stringData"] == {"TOKEN": Secret("canary-old")}
    if preview:
        assert annotation(recording) is UNKNOWN
    assert recording.warnings == [f"{TITLE}to take what is declared again: sandbox unpin nightly"]


def test_a_request_with_a_credential_keeps_it() -> None:
    image = {"uri": "reg.example/a:2", "auth": {"username": "robot", "password": "canary"}}
    request = {"image": image, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}
    spec = {**SPEC, "image": {"uri": "other.example/a:1"}}
    recording = record(
        lambda: Sandbox.from_request("nightly", request), config={"pins": {"nightly": {**PIN, "spec": spec}}}
    )
    assert "other.example" in repr(recording.one("Secret", "nightly-pull").inputs)


def test_a_pin_of_nobody_is_told_and_stops_nothing() -> None:
    recording = record(from_config, config={"sandboxes": {}, "pins": {"gone": PIN}})
    assert recording.warnings == [
        "sandbox-components:pins.gone pins a sandbox to revision 2 (17) that this program doesn't make: "
        "sandbox unpin gone"
    ]

    def both() -> None:
        StackConfig.read()
        Sandbox("gone", DECLARED)  # type: ignore[arg-type]

    told = record(both, config={"pins": {"gone": PIN}}).warnings
    assert not any("doesn't make" in text for text in told)


def test_texts_that_config_would_not_keep_stand_in_json() -> None:
    spec = {**SPEC, "env": {"A": "\nx"}, "command": {"entrypoint": ["sh", "-c", "\ntrue"]}}
    recording = applied({**PIN, "spec": json.dumps(spec)})
    assert annotation(recording) == spec


@pytest.mark.parametrize(
    ("pin", "field", "says"),
    [
        ("17", "", "is not a mapping of"),
        ({**PIN, "idd": "1"}, ".idd", "did you mean id?"),
        ({**PIN, "id": None}, ".id", ""),
        ({**PIN, "id": ""}, ".id", "is blank"),
        ({**PIN, "id": 17}, ".id", 'write it in quotes, as "17"'),
        ({**PIN, "revision": 0}, ".revision", "is not the number of a revision"),
        ({"id": "17"}, ".spec", "is missing"),
        ({**PIN, "spec": "{"}, ".spec", "is not JSON"),
        ({**PIN, "spec": []}, ".spec", "is not a mapping"),
        ({**PIN, "spec": {**SPEC, "v": 2}}, ".spec.v", "is not 1"),
        ({**PIN, "spec": {**SPEC, "port": []}}, ".spec.port", "did you mean ports?"),
        ({**PIN, "spec": {**SPEC, "image": "a:1"}}, ".spec.image", "not a mapping of uri"),
        ({**PIN, "spec": {**SPEC, "image": {"uri": "A"}}}, ".spec.image.uri", "is not an image reference"),
        ({**PIN, "spec": {**SPEC, "resources": {}}}, ".spec.resources.limits", "is missing"),
        ({**PIN, "spec": {**SPEC, "resources": {"limit": {}}}}, ".spec.resources.limit", "did you mean limits?"),
        ({**PIN, "spec": {**SPEC, "env": {"A": 1}}}, ".spec.env.A", "is not a string"),
        ({**PIN, "spec": {**SPEC, "ports": [{"port": 0}]}}, ".spec.ports[0].port", "is not a port"),
        ({**PIN, "spec": {**SPEC, "secretEnv": ["A"]}}, ".spec.secretEnv", "is not a mapping with names"),
        ({**PIN, "spec": {**SPEC, "secretEnv": {"names": ["1A"]}}}, ".spec.secretEnv.names", "variable name"),
        ({**PIN, "spec": {**SPEC, "secretEnv": {"names": ["A", "A"]}}}, ".spec.secretEnv.names", "twice"),
        ({**PIN, "spec": {**SPEC, "secretEnv": {"names": ["OLD"]}}}, ".spec.secretEnv", "stands in env too"),
    ],
)
def test_broken_pins(pin: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        applied(pin)
    assert caught.value.field == f"sandbox-components:pins.nightly{field}"
    assert says in caught.value.problem


@pytest.mark.parametrize(
    ("pin", "secrets", "field", "says"),
    [
        (SECRET_PIN, {}, "pinSecrets.nightly.TOKEN", "is missing"),
        (SECRET_PIN, {"nightly": {"TOKEN": "canary", "MORE": "canary"}}, "pinSecrets.nightly.MORE", "is not in"),
        (SECRET_PIN, {"nightly": {"TOKEN": 5150}}, "pinSecrets.nightly.TOKEN", "of type int"),
        (SECRET_PIN, {"nightly": ["canary"]}, "pinSecrets.nightly", "is not a mapping"),
        (SECRET_PIN, ["canary"], "pinSecrets", "is not a mapping"),
        (PIN, {"other": {"A": "canary"}}, "pinSecrets.other", "there is no pin"),
        (None, {"nightly": {"A": "canary"}}, "pinSecrets.nightly", "there is no pin"),
    ],
)
def test_broken_secrets_of_pins(pin: Any, secrets: Any, field: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        applied(pin, secrets={"pinSecrets": secrets})
    assert caught.value.field == f"sandbox-components:{field}"
    assert says in caught.value.problem
    assert "canary" not in str(caught.value)
    assert "5150" not in str(caught.value)


def test_pins_hold_no_secret() -> None:
    with pytest.raises(InvalidInput, match="holds a secret"):
        record(from_config, config={"sandboxes": {}}, secret_config={"pins": {}})
