"""`HealthProbe`: a health check as a component of its own, for pods that aren't sandboxes too.

No `from __future__ import annotations`: Pulumi's analyser reads the annotations.
"""

from typing import Any

import pulumi

from sandbox_components.components.args import HealthProbeArgs
from sandbox_components.components.refusal import at_once
from sandbox_components.manifests.probes import probes
from sandbox_components.spec import naming
from sandbox_components.spec.health import HealthCheck
from sandbox_components.spec.reading import read


class HealthProbe(pulumi.ComponentResource):
    """The probes of a container, made from the platform's four tunables; makes no Kubernetes object itself.

    Raises:
        InvalidInput: for a wrong argument, before anything is registered.
    """

    liveness_probe: pulumi.Output[dict[str, Any] | None]
    """The Kubernetes `livenessProbe`, or None for type none."""
    readiness_probe: pulumi.Output[dict[str, Any] | None]
    """The Kubernetes `readinessProbe` on the same endpoint, or None for type none."""

    def __init__(self, name: str, args: HealthProbeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with at_once():
            naming.check_name(name)
            check = read(HealthCheck, args, name)
        self._register(name, check, opts)

    @classmethod
    def below(cls, parent: pulumi.Resource, name: str, check: HealthCheck) -> "HealthProbe":
        """Make the health check of a sandbox, whose arguments are checked already."""
        self = cls.__new__(cls)
        self._register(name, check, pulumi.ResourceOptions(parent=parent, protect=False))
        return self

    def _register(self, name: str, check: HealthCheck, opts: pulumi.ResourceOptions | None) -> None:
        super().__init__("sandbox-components:index:HealthProbe", name, None, opts)
        found = probes(check)
        liveness, readiness = found.get("livenessProbe"), found.get("readinessProbe")
        self.liveness_probe = pulumi.Output.from_input(liveness)
        self.readiness_probe = pulumi.Output.from_input(readiness)
        self.register_outputs({"liveness_probe": liveness, "readiness_probe": readiness})
