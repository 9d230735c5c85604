"""`sandbox rollback`, `unpin` and `pins` with the real engine and a kwok node: exact, planned first, easily undone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.sandbox_command import SandboxCommand
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = [pytest.mark.engine]

NAME = "one"
PINS, PIN_SECRETS = "sandbox-components:pins", "sandbox-components:pinSecrets"
BUSYBOX = "localhost:5000/busybox:1"


@pytest.fixture
def stack(engine_ground: Ground, tmp_path: Path) -> Iterator[Stack]:
    """A stack without sandboxes."""
    with engine_ground.stack(tmp_path / "stack") as made:
        yield made


@pytest.fixture
def sandbox(stack: Stack) -> SandboxCommand:
    """The command on that stack."""
    return SandboxCommand(stack)


@pytest.fixture
def request_file(engine_ground: Ground, tmp_path: Path) -> str:
    """A request that fits the kwok node."""
    file = tmp_path / "request.yaml"
    file.write_text(yaml.safe_dump(engine_ground.sandbox(env={"LEVEL": "info"}, ports=[{"port": 80}])))
    return str(file)


def held(ground: Ground, stack: Stack) -> dict[str, Any]:
    """What the API server holds of the six groups: the container, env by value, and the Service's ports."""
    found = ground.api.get("StatefulSet", NAME, stack.namespace)
    (container,) = found["spec"]["template"]["spec"]["containers"]
    env = {}
    for one in container.pop("env"):
        if "valueFrom" in one:
            reference = one["valueFrom"]["secretKeyRef"]
            secret = ground.api.get("Secret", reference["name"], stack.namespace)
            env[one["name"]] = "secret " + base64.b64decode(secret["data"][reference["key"]]).decode()
        else:
            env[one["name"]] = one.get("value", "")
    service = ground.api.find("Service", NAME, stack.namespace)
    return {"container": container, "env": env, "ports": service and service["spec"]["ports"]}


def config_of(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(stack.config_file.read_text())["config"]
    return found


def replicas(ground: Ground, stack: Stack) -> int:
    found: int = ground.api.get("StatefulSet", NAME, stack.namespace)["spec"]["replicas"]
    return found


def test_there_and_back_with_secrets(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground, tmp_path: Path
) -> None:
    odd = "\n  s3cr3t-ä\r\n"
    (tmp_path / "odd").write_text(odd)
    first = ("--secret-env", "TOKEN", "--secret-env", f"ODD=@{tmp_path / 'odd'}")
    sandbox("create", NAME, "-f", request_file, *first, "-y", given="t0ken-1").ok()
    r1 = held(engine_ground, stack)
    sandbox("update", NAME, "--image", BUSYBOX, "--secret-env", "TOKEN", "-y", given="t0ken-2").ok()
    changed = ("--secret-env", "TOKEN-", "--env", "LEVEL=debug", "--port", "81", "--cpu", "25m")
    sandbox("update", NAME, *changed, "--health-check", "path=/,port=81", "--command", "./run", "-y").ok()
    sandbox("update", NAME, "--label", "team=core", "-y").ok()
    r3 = held(engine_ground, stack)
    before = stack.config_file.read_bytes()

    planned = sandbox("rollback", NAME, "--to-revision", "1", "--dry-run", "-y").ok()
    assert "goes back to revision 1 (" in planned.err
    assert "restarts the agent" in planned.err
    assert sandbox("rollback", NAME, "--to-revision", "1").code == 2
    refused = sandbox("rollback", NAME, "--to-revision", "1", "-y", env={"PULUMI_CONFIG_PASSPHRASE": "wrong"})
    assert (refused.code, len(refused.errors)) == (1, 1)
    assert "nothing was changed: the secrets that one had then can't be decrypted" in refused.errors[0]
    assert stack.config_file.read_bytes() == before
    declined = sandbox.at_terminal("rollback", NAME, "--to-revision", "1", answer="n\n")
    assert (declined.code, stack.config_file.read_bytes()) == (8, before)

    done = sandbox("rollback", NAME, "--to-revision", "r1", "-m", "it forgets", "-y").ok()
    assert done.out.startswith("one rolled back to revision 1 (")
    assert done.out.endswith("), as revision 4\n")
    assert "one: ready" in done.err
    assert held(engine_ground, stack) == r1
    assert "t0ken" not in stack.config_file.read_text() + done.err + done.out
    labels = engine_ground.api.get("StatefulSet", NAME, stack.namespace)["metadata"]["labels"]
    assert labels["team"] == "core"
    assert stack.preview("--expect-no-changes").ok()
    (pinned,) = sandbox("pins", "-o", "json").ok().document["items"]
    assert (pinned["name"], pinned["revision"], pinned["declaredIn"]) == (NAME, 1, "config")
    assert pinned["spec"]["secretEnv"] == {"names": ["ODD", "TOKEN"]}
    told = stack.up().ok().diagnostics
    assert "one is pinned to revision 1 (" in told
    assert "waits until: sandbox unpin one" in told
    entries = json.loads(stack.pulumi("stack", "history", "--json", "-s", stack.name).ok().output)
    assert f"rollback one to r1 ({pinned['id']}): it forgets" in [one["message"] for one in entries]

    again = sandbox("rollback", NAME, "--to-revision", "1", "-y").ok()
    assert again.out == "one unchanged\n"
    assert "is pinned to revision 1" in again.err

    back = sandbox("rollback", NAME, "-y", "-o", "json").ok().document
    assert (back["outcome"], back["revision"], back["toRevision"]["number"]) == ("rolled back", 5, 3)
    assert held(engine_ground, stack) == r3
    assert list(config_of(stack)[PIN_SECRETS][NAME]) == ["ODD"]

    unpinned = sandbox("unpin", NAME, "-y").ok()
    assert unpinned.out == "one unpinned\n"
    assert stack.config_file.read_bytes() == before
    assert held(engine_ground, stack) == r3
    assert sandbox("unpin", NAME, "-y").ok().out == "one unchanged\n"
    same = sandbox("rollback", NAME, "--to-revision", "5", "-y").ok()
    assert same.out == "one unchanged\n"
    assert stack.config_file.read_bytes() == before
