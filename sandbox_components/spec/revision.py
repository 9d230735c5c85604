"""The six groups that make a revision, as one canonical JSON text.

It stands in the annotation `sandbox-components/spec` and is the truth of the revision history: image, command,
resources, env, health check and ports. What is the default is left out, so that a default written out is no change.
Secret variables are there by name, with the generated name of their Secret (new whenever a value changes), never by
value and never by a hash of one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox_components.errors import InvalidInput

if TYPE_CHECKING:  # those who read a history pay for no models
    from sandbox_components.spec.health import HealthCheck
    from sandbox_components.spec.sandbox import SandboxSpec

VERSION = 1
LARGEST_BYTES = 200 * 1024
"""Kubernetes allows 256 KiB for all annotations of an object together."""
_SECRET_NAME_ROOM = "x" * 80


def revision_groups(spec: SandboxSpec, secret_env: Sequence[str] = (), secret_name: str = "") -> dict[str, Any]:
    """Return the six groups of `spec` as plain data, defaults left out."""
    from sandbox_components.spec import network

    groups: dict[str, Any] = {"v": VERSION, "image": {"uri": spec.image.uri}}
    if spec.entrypoint is not None:
        groups["command"] = {"entrypoint": list(spec.entrypoint)}
    elif spec.command is not None:
        groups["command"] = {"command": spec.command}
    limits = spec.resource_limits
    groups["resources"] = {"limits": {"cpu": limits.cpu, "memory": limits.memory}}
    requests = {
        kind: value
        for kind, value in (("cpu", spec.resource_requests.cpu), ("memory", spec.resource_requests.memory))
        if value is not None and value != getattr(limits, kind)
    }
    if requests:
        groups["resources"]["requests"] = requests
    if spec.env:
        groups["env"] = dict(spec.env)
    if secret_env:
        groups["secretEnv"] = {"names": sorted(secret_env), "secret": secret_name}
    if spec.health_check.type == "http":
        groups["healthCheck"] = health_check_data(spec.health_check)
    if spec.ports:
        groups["ports"] = [
            {"port": port.port, "name": port.port_name, "protocol": port.protocol}
            for port in network.in_order(spec.ports)
        ]
    return groups


def health_check_data(check: HealthCheck) -> dict[str, Any]:
    """Return a health check in the config's form, defaults left out."""
    data: dict[str, Any] = check.model_dump(by_alias=True, exclude_defaults=True)
    data["type"] = check.type
    return data


def canonical(groups: Mapping[str, Any]) -> str:
    """Return `groups` as the one JSON text that equal revisions share."""
    return json.dumps(groups, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def check_size(spec: SandboxSpec, secret_env: Sequence[str] = (), field: str = "") -> None:
    """Refuse a spec that the annotation has no room for, before anything is registered.

    Raises:
        InvalidInput: with the size and the limit.
    """
    size = len(canonical(revision_groups(spec, secret_env, _SECRET_NAME_ROOM)).encode())
    if size > LARGEST_BYTES:
        raise InvalidInput(
            field,
            f"image, command, env and the like have {size} bytes together, at most {LARGEST_BYTES} are accepted: "
            "put large texts into the image or onto the disk",
        )


def parse(text: str) -> dict[str, Any]:
    """Return the groups in an annotation's text.

    Raises:
        InvalidInput: if it isn't JSON of a version that this package reads.
    """
    try:
        groups = json.loads(text)
    except ValueError:
        raise InvalidInput("sandbox-components/spec", "is not JSON") from None
    if not isinstance(groups, dict) or groups.get("v") != VERSION:
        raise InvalidInput("sandbox-components/spec", f"is not of version {VERSION}: a newer package wrote it")
    return groups
