"""Secrets against the real engine: what a new value changes, and what it leaves alone."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = pytest.mark.engine

SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config, app = StackConfig.read(), pulumi.Config("app")
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={"name": config.namespace})
after = pulumi.ResourceOptions(depends_on=[namespace])
args = app.require_object("args")
args["env"] = {"PLAIN": app.require("plain"), "TOKEN": pulumi.Output.secret(app.require("token"))}
args["image_auth"] = {"username": "robot", "password": pulumi.Output.secret(app.require("password"))}
Sandbox("guarded", args, pulumi.ResourceOptions(depends_on=[namespace], protect=True))
for name, args in config.sandboxes.items():
    Sandbox(name, args, after)
"""


@pytest.fixture(scope="module")
def stack(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A protected sandbox of the program's, and one of the config's with a secret there."""
    folder = tmp_path_factory.mktemp("secrets") / "stack"
    with engine_ground.stack(folder, program="secrets", source=SOURCE) as stack:
        stack.configure(
            {
                "app:args": engine_ground.sandbox(),
                "app:plain": "one",
                "app:token": "first",
                "app:password": "first",
                "sandboxes": {"declared": engine_ground.sandbox()},
            }
        )
        stack.set_secret('secretEnv["declared"]["TOKEN"]', "first")
        stack.up().ok()
        yield stack


def workload(ground: Ground, stack: Stack, name: str = "guarded") -> Any:
    return ground.api.get("StatefulSet", name, stack.namespace)


def pod_of(found: Any) -> Any:
    return found["spec"]["template"]["spec"]


def secret_name(found: Any) -> str:
    env = pod_of(found)["containers"][0]["env"]
    return str(next(one["valueFrom"]["secretKeyRef"]["name"] for one in env if one["name"] == "TOKEN"))


def revision(found: Any) -> Any:
    return json.loads(found["metadata"]["annotations"]["sandbox-components/spec"])


def value(ground: Ground, stack: Stack, name: str, key: str = "TOKEN") -> str:
    return b64decode(ground.api.get("Secret", name, stack.namespace)["data"][key]).decode()


def test_nothing_changes_by_itself(stack: Stack) -> None:
    assert not stack.preview().ok().changed


def test_a_rotated_secret_has_a_new_name_and_restarts(stack: Stack, engine_ground: Ground) -> None:
    before = workload(engine_ground, stack)
    stack.configure({"app:token": "second", "app:plain": "two"})
    shown = stack.preview().ok().output
    assert '"one"' in shown
    assert '"two"' in shown  # one secret doesn't hide the rest of the diff
    assert "second" not in shown
    assert stack.up().ok().changed == {"Secret": 3, "StatefulSet": 1}  # create, replace, delete
    after = workload(engine_ground, stack)
    assert secret_name(after) != secret_name(before)
    assert value(engine_ground, stack, secret_name(after)) == "second"
    assert engine_ground.api.find("Secret", secret_name(before), stack.namespace) is None
    assert revision(after)["secretEnv"] == {"names": ["TOKEN"], "secret": secret_name(after)}
    assert revision(after)["env"] == {"PLAIN": "two"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_plain_change_leaves_the_secret_alone(stack: Stack, engine_ground: Ground) -> None:
    before = workload(engine_ground, stack)
    stack.configure({"app:plain": "three"})
    assert stack.up().ok().changed == {"StatefulSet": 1}
    assert secret_name(workload(engine_ground, stack)) == secret_name(before)


def test_a_registrys_new_password_restarts_and_is_no_revision(stack: Stack, engine_ground: Ground) -> None:
    before = workload(engine_ground, stack)
    stack.configure({"app:password": "second"})
    assert stack.up().ok().changed == {"Secret": 3, "StatefulSet": 1}
    after = workload(engine_ground, stack)
    (old,), (new,) = pod_of(before)["imagePullSecrets"], pod_of(after)["imagePullSecrets"]
    assert old != new
    assert engine_ground.api.find("Secret", old["name"], stack.namespace) is None
    config = json.loads(value(engine_ground, stack, new["name"], ".dockerconfigjson"))
    assert config["auths"]["localhost:5000"]["password"] == "second"
    assert revision(after) == revision(before)


def test_a_secret_of_the_config(stack: Stack, engine_ground: Ground) -> None:
    assert value(engine_ground, stack, secret_name(workload(engine_ground, stack, "declared"))) == "first"
    stack.set_secret('secretEnv["declared"]["TOKEN"]', "second")
    assert stack.up().ok().changed == {"Secret": 3, "StatefulSet": 1}
    name = secret_name(workload(engine_ground, stack, "declared"))
    assert value(engine_ground, stack, name) == "second"
    stack.configure({"secretEnv": None})
    assert stack.up().ok().changed == {"Secret": 1, "StatefulSet": 1}
    assert engine_ground.api.find("Secret", name, stack.namespace) is None
    assert "secretEnv" not in revision(workload(engine_ground, stack, "declared"))


def test_state_holds_them_encrypted(stack: Stack) -> None:
    text = json.dumps(stack.export())
    assert "ciphertext" in text
    assert '"second"' not in text
