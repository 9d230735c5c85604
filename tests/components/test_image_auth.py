"""A registry's credential: into a pull Secret and nowhere else."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import pytest

from sandbox_components import InvalidInput, Sandbox
from sandbox_components.spec.image import DOCKER_HUB, registry
from sandbox_components.spec.sandbox import read_sandbox
from tests.components.recorder import Elsewhere, Recording, Secret, record, registered_before_error

LIMITS = {"cpu": "500m", "memory": "2Gi"}
URI = "ghcr.io/acme/agent:1.2"
CANARY = "registry-canary"
SMALL: dict[str, Any] = {"image": URI, "resource_limits": LIMITS}
NAME = "nightly-pull-0a1b2c3d"


def auth() -> dict[str, Any]:
    return {"username": "robot", "password": pulumi.Output.secret(CANARY)}


def made(make: Any, preview: bool = False) -> Recording:
    """Record a sandbox; Outputs in its arguments have to be made within the run."""
    return record(lambda: Sandbox("nightly", make()).name, preview=preview)


def pull_secrets(recording: Recording) -> Any:
    return recording.one("StatefulSet").inputs["spec"]["template"]["spec"].get("imagePullSecrets")


@pytest.mark.parametrize(
    "make",
    [
        lambda: {**SMALL, "image_auth": auth()},
        lambda: {**SMALL, "imageAuth": auth()},
        lambda: {**SMALL, "image": {"uri": URI, "auth": auth()}},
        lambda: {**SMALL, "image_auth": {"username": "robot", "password": CANARY}},
    ],
)
def test_the_pull_secret_and_its_use(make: Any) -> None:
    recording = made(make)
    secret = recording.one("Secret", "nightly-pull")
    assert secret.inputs["type"] == "kubernetes.io/dockerconfigjson"
    assert "name" not in secret.inputs["metadata"]
    config = secret.inputs["stringData"][".dockerconfigjson"]
    assert isinstance(config, Secret)
    entry = {
        "username": "robot",
        "password": CANARY,
        "auth": base64.b64encode(f"robot:{CANARY}".encode()).decode(),
    }
    assert json.loads(config.value) == {"auths": {"ghcr.io": entry}}
    assert pull_secrets(recording) == [{"name": NAME}]
    for one in recording.registrations:
        if one.kind != "Secret":
            assert CANARY not in repr(one.inputs)
    annotation = recording.one("StatefulSet").inputs["metadata"]["annotations"]["sandbox-components/spec"]
    assert set(json.loads(annotation)) == {"v", "image", "resources"}


def test_it_goes_beside_the_users_own_pull_secrets() -> None:
    assert pull_secrets(made(lambda: {**SMALL, "image_auth": auth(), "image_pull_secrets": ["theirs"]})) == [
        {"name": "theirs"},
        {"name": NAME},
    ]


def test_without_it_the_template_is_as_before() -> None:
    assert pull_secrets(made(lambda: SMALL)) is None


def test_an_image_that_is_known_later() -> None:
    recording = made(lambda: {**SMALL, "image": Elsewhere("build", URI).value, "image_auth": auth()})
    assert "ghcr.io" in recording.one("Secret").inputs["stringData"][".dockerconfigjson"].value
    assert pull_secrets(recording) == [{"name": NAME}]


@pytest.mark.parametrize(
    ("given", "field", "problem"),
    [
        ({"username": "robot"}, "password", "is missing"),
        ({"username": "robot", "password": ""}, "password", "is blank"),
        ({"username": 5, "password": CANARY}, "username", "is not a string but of type int"),
        ({"username": "robot", "password": CANARY, "token": CANARY}, "token", "is not a known key"),
        ({"username": "robot", "password": CANARY + "\0"}, "password", "NUL"),
        ([CANARY], "", "is not a mapping of username and password"),
    ],
)
def test_wrong_ones_are_refused_without_being_shown(given: Any, field: str, problem: str) -> None:
    for args in ({**SMALL, "image_auth": given}, {**SMALL, "image": {"uri": URI, "auth": given}}):
        with pytest.raises(InvalidInput, match=problem) as caught:
            made(lambda args=args: args)
        assert caught.value.field.endswith(field)
        assert CANARY not in str(caught.value)
        assert registered_before_error() == []


def test_two_of_them_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"image_auth: is given beside image\.auth"):
        made(lambda: {**SMALL, "image": {"uri": URI, "auth": auth()}, "image_auth": auth()})


def test_plain_text_has_no_place_for_it() -> None:
    entry = {"image": {"uri": URI, "auth": {"username": "robot", "password": CANARY}}, "resourceLimits": LIMITS}
    with pytest.raises(InvalidInput, match="imagePullSecrets") as caught:
        read_sandbox(entry, "sandbox-components:sandboxes.nightly")
    assert caught.value.field == "sandbox-components:sandboxes.nightly.image.auth"
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("python", DOCKER_HUB),
        ("python:3.12-slim", DOCKER_HUB),
        ("acme/agent:1", DOCKER_HUB),
        ("docker.io/acme/agent:1", DOCKER_HUB),
        ("ghcr.io/acme/agent:1", "ghcr.io"),
        ("localhost/agent", "localhost"),
        ("localhost:5000/agent:1", "localhost:5000"),
        ("registry:5000/agent", "registry:5000"),
        ("REGISTRY/agent", "REGISTRY"),
    ],
)
def test_registries(uri: str, host: str) -> None:
    assert registry(uri) == host
