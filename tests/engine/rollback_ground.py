"""A stack with revisions to go back to, made by plain updates of its config; and what the API server holds of it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.harness.ground import Ground
from tests.harness.stack import Stack

NAME = "one"
PINS, PIN_SECRETS = "sandbox-components:pins", "sandbox-components:pinSecrets"
BUSYBOX = "localhost:5000/busybox:1"


@contextmanager
def two_revisions(ground: Ground, folder: Path, **second: Any) -> Iterator[Stack]:
    """A stack whose sandbox has revision 1, and 2 with another image or with `second`."""
    with ground.stack(folder) as stack:
        declare(stack, ground.sandbox(env={"LEVEL": "info"}))
        declare(stack, ground.sandbox(env={"LEVEL": "info"}, **(second or {"image": {"uri": BUSYBOX}})))
        yield stack


def declare(stack: Stack, entry: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> None:
    """Write the sandbox into the config and bring it up."""
    stack.configure({"sandboxes": {NAME: dict(entry)}})
    for key, value in (secrets or {}).items():
        stack.set_secret(f'secretEnv["{NAME}"]["{key}"]', value)
    stack.up().ok()


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


def image(ground: Ground, stack: Stack) -> str:
    """The image in the live pod template."""
    found: str = held(ground, stack)["container"]["image"]
    return found


def config_of(stack: Stack) -> dict[str, Any]:
    """The stack's config as it is written."""
    found: dict[str, Any] = yaml.safe_load(stack.config_file.read_text())["config"]
    return found
