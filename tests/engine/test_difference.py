"""`sandbox diff` against the real engine and API server: secrets by name, and drift shown as such."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.sandbox_command import Done, SandboxCommand
from tests.harness.ground import Ground
from tests.harness.stack import Stack

pytestmark = pytest.mark.engine

NAME = "one"


@pytest.fixture(scope="module")
def stack(engine_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One sandbox with something in each group, in its second revision."""
    with engine_ground.stack(tmp_path_factory.mktemp("difference") / "stack") as stack:
        for value in ("first-value", "second-value"):
            stack.set_secret(f'secretEnv["{NAME}"]["TOKEN"]', value)
            stack.set_secret(f'secretEnv["{NAME}"]["KEPT"]', "kept-value")
            entry = engine_ground.sandbox(
                env={"LEVEL": "info", "PRICE": "5$ $(x)"},
                command="sleep infinity # $HOME",
                healthCheck={"type": "http", "http": {"path": "/", "port": 80}, "initialDelaySeconds": 0},
                ports=[{"port": 80}, {"port": 53, "protocol": "UDP"}],
                resourceLimits={"cpu": "0.5", "memory": "1024Mi"},
            )
            del entry["entrypoint"]
            stack.configure({"sandboxes": {NAME: entry}})
            stack.up().ok()
        yield stack


@pytest.fixture
def sandbox(stack: Stack) -> SandboxCommand:
    """The command on that stack."""
    return SandboxCommand(stack)


def without_values(done: Done) -> Done:
    """Return the answer, after a look for secret values in it."""
    assert "-value" not in done.out + done.err
    return done


def test_secrets_are_compared_by_value_and_shown_by_name(sandbox: SandboxCommand) -> None:
    found = without_values(sandbox("diff", NAME, "-o", "json").ok()).document
    assert found["changed"] == ["env"]
    assert found["fields"] == []
    assert {one["name"]: one["verdict"] for one in found["secrets"]} == {"TOKEN": "changed", "KEPT": "unchanged"}
    wrong = without_values(sandbox("diff", NAME, "-o", "json", env={"PULUMI_CONFIG_PASSPHRASE": "wrong"}).ok())
    assert {one["verdict"] for one in wrong.document["secrets"]} == {"unknown"}
    assert wrong.document["problems"]
    assert sandbox("revisions", NAME, "-o", "name", env={"PULUMI_CONFIG_PASSPHRASE": "wrong"}).ok().out == "2\n1\n"


def test_drift(sandbox: SandboxCommand, stack: Stack, engine_ground: Ground) -> None:
    done = without_values(sandbox("diff", NAME, "live", "--exit-code").ok())
    assert "no drift" in done.out
    by_hand(engine_ground, stack)
    done = without_values(sandbox("diff", NAME, "live", "--exit-code"))
    assert done.code == 1, done.err
    for line in (
        f"{NAME}: revision 2 → live",
        "    ~ image: localhost:5000/python:3.11 → localhost:5000/agent:1",
        "    ~ env.LEVEL: info → debug",
        "    ~ env.KEPT: changed (secret)",
        "    ~ ports.80: port-80 → port-80 (leads to 8080)",
        "drift in image, env, ports: the cluster doesn't hold revision 2, which the stack has now",
    ):
        assert line in done.out.splitlines()
    assert "kubectl-edit" in done.out
    back = sandbox("diff", NAME, "live", "1", "-o", "json").ok().document
    assert back["from"]["live"] is True
    assert back["drift"] == ["image", "env", "ports"]
    assert {one["name"]: one["verdict"] for one in back["secrets"]} == {"TOKEN": "changed", "KEPT": "changed"}


def test_drift_is_taken_back_by_a_refresh(sandbox: SandboxCommand, stack: Stack) -> None:
    stack.up("--refresh").ok()
    done = without_values(sandbox("diff", NAME, "live").ok())
    assert "no drift" in done.out, done.out
    # The refresh took no revision in: the annotation was left alone.
    found = sandbox("revisions", NAME, "-o", "json").ok().document["items"]
    assert {one["cause"] for one in found} <= {"created", "update"}


def by_hand(ground: Ground, stack: Stack) -> None:
    """Change image, env, the Service and the Secret, as `kubectl edit` does."""
    api, namespace = ground.api, stack.namespace
    workload = api.get("StatefulSet", NAME, namespace)
    container: dict[str, Any] = workload["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "localhost:5000/agent:1"
    next(one for one in container["env"] if one["name"] == "LEVEL")["value"] = "debug"
    secret = next(
        one["valueFrom"]["secretKeyRef"]["name"]
        for one in container["env"]
        if "secretKeyRef" in one.get("valueFrom", {})
    )
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    api.patch("StatefulSet", NAME, namespace, template, "kubectl-edit")
    service = api.get("Service", NAME, namespace)
    ports = [{**one, "targetPort": 8080} if one["port"] == 80 else one for one in service["spec"]["ports"]]
    api.patch("Service", NAME, namespace, {"spec": {"ports": ports}}, "kubectl-edit")
    changed = {"data": {"KEPT": base64.b64encode(b"other-value").decode()}}
    api.patch("Secret", secret, namespace, changed, "kubectl-edit")
