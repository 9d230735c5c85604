"""The sandbox `nightly`, small and full, as tests of its component and of the stack's settings declare it."""

from __future__ import annotations

from typing import Any

import pulumi

from sandbox_components import Sandbox
from tests.components.recorder import Recording, record

SMALL: dict[str, Any] = {"image": "ghcr.io/acme/agent:1.2", "resource_limits": {"cpu": "500m", "memory": "2Gi"}}
FULL: dict[str, Any] = {
    **SMALL,
    "command": "./start.sh",
    "env": {"A": "1"},
    "workspace": {"mount_path": "/data", "size": "50Gi", "storage_class": "abs"},
    "health_check": {"type": "http", "http": {"path": "/healthz", "port": 8080}},
    "ports": [{"port": 8080}],
    "labels": {"team": "red"},
}


def made(args: Any, opts: pulumi.ResourceOptions | None = None, **how: Any) -> Recording:
    """Register it with these arguments."""
    return record(lambda: Sandbox("nightly", args, opts).name, **how)
