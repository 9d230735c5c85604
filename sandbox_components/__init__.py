"""Pulumi components that make an AI agent's sandbox out of plain Kubernetes objects.

The public names load when they are first used: importing Pulumi takes long, and the command doesn't always need it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox_components.components.args import HealthProbeArgs as HealthProbeArgs
    from sandbox_components.components.args import InferenceProxyArgs as InferenceProxyArgs
    from sandbox_components.components.args import PersistentWorkspaceArgs as PersistentWorkspaceArgs
    from sandbox_components.components.args import SandboxArgs as SandboxArgs
    from sandbox_components.components.args import SpendingLimitArgs as SpendingLimitArgs
    from sandbox_components.components.health_probe import HealthProbe as HealthProbe
    from sandbox_components.components.inference_proxy import InferenceProxy as InferenceProxy
    from sandbox_components.components.persistent_workspace import PersistentWorkspace as PersistentWorkspace
    from sandbox_components.components.sandbox import Sandbox as Sandbox
    from sandbox_components.components.spending_limit import SpendingLimit as SpendingLimit
    from sandbox_components.components.stack_config import StackConfig as StackConfig
    from sandbox_components.errors import InvalidInput as InvalidInput
    from sandbox_components.errors import SandboxError as SandboxError

__version__ = "0.1.0"

_HOMES = {
    "HealthProbe": "components.health_probe",
    "HealthProbeArgs": "components.args",
    "InferenceProxy": "components.inference_proxy",
    "InferenceProxyArgs": "components.args",
    "InvalidInput": "errors",
    "PersistentWorkspace": "components.persistent_workspace",
    "PersistentWorkspaceArgs": "components.args",
    "Sandbox": "components.sandbox",
    "SandboxArgs": "components.args",
    "SandboxError": "errors",
    "SpendingLimit": "components.spending_limit",
    "SpendingLimitArgs": "components.args",
    "StackConfig": "components.stack_config",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import the home of a public name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
