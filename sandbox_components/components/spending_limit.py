"""`SpendingLimit`: what an actor may spend in a period, kept by the inference proxy whose namespace it is in.

No `from __future__ import annotations`: Pulumi's analyser reads the annotations.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from sandbox_components.components.args import SpendingLimitArgs
from sandbox_components.components.limit_overrides import stack_overrides, take_overrides
from sandbox_components.components.objects import KubernetesObject
from sandbox_components.components.platform import Platform
from sandbox_components.components.refusal import at_once
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.limit import limit_config_map
from sandbox_components.manifests.placement import Placement
from sandbox_components.spec import naming
from sandbox_components.spec.identity import check_payer
from sandbox_components.spec.inference import SpendingLimitSpec
from sandbox_components.spec.inference_key import check_sandbox_id
from sandbox_components.spec.limit_config import overridden
from sandbox_components.spec.reading import read
from sandbox_components.spec.shown import show
from sandbox_components.spec.spending import LIMIT, DeclaredLimit, config_map_name


class SpendingLimit(pulumi.ComponentResource):
    """A spending limit: one ConfigMap in the proxy's namespace. A change is in force within seconds.

    Raises:
        InvalidInput: for a wrong argument, before anything is registered.
    """

    config_map_name: pulumi.Output[str]
    """Kubernetes name of the ConfigMap."""
    namespace: pulumi.Output[str]
    """Its namespace, which is the proxy's."""

    def __init__(self, name: str, args: SpendingLimitArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with at_once():
            naming.check_name(name)
            values: dict[str, Any] = dict(args or {})
            namespace, labels = values.pop("namespace", None), values.pop("labels", None) or {}
            if namespace is None:
                raise InvalidInput(f"{name}.namespace", "is missing: the inference proxy's own namespace")
            if not isinstance(labels, Mapping):
                raise InvalidInput(f"{name}.labels", f"{show(labels)} is not a mapping")
            for key, value in labels.items():
                if not isinstance(value, pulumi.Output):
                    naming.check_label(key, value, f"{name}.labels")
            limit = read(SpendingLimitSpec, values, name)
            check = check_sandbox_id if limit.actor_type == "sandbox" else check_payer
            check(limit.actor_id, f"{name}.actorId")
            place = Platform.read().place(name, namespace, labels)
            place = replace(place, component="spending-limit", label=naming.LIMIT_LABEL)
            declared = limit.declared(limit.actor_id, f"{place.project}/{place.stack}")
            if limit.actor_type != "sandbox":  # a sandbox's override belongs to the stack's own sandbox of that name
                declared = overridden(declared, stack_overrides(), limit.actor_id)
                take_overrides(limit.actor_type, limit.actor_id, [limit.period])
        identifier = naming.sandbox_id(place.project, place.stack, name)
        self._register(name, config_map_name(name, identifier, LIMIT), declared, place, opts)

    @classmethod
    def below(cls, parent: pulumi.Resource, limit: DeclaredLimit, placement: Placement) -> "SpendingLimit":
        """Make a limit of a sandbox or proxy, whose arguments are checked already.

        Args:
            parent: the component that it belongs to.
            limit: what is declared, with what was set over it.
            placement: of the parent, but in the proxy's namespace.
        """
        self = cls.__new__(cls)
        name = limit_name(placement, limit)
        # With more parts than a standalone limit's, so that it can't be one's.
        identifier = f"{placement.project}/{placement.stack}/{placement.name}/{limit.actor_type}/{limit.actor_id}"
        config_map = config_map_name(name, f"{identifier}/{limit.period}", LIMIT)
        self._register(name, config_map, limit, placement, pulumi.ResourceOptions(parent=parent, protect=False))
        return self

    def _register(
        self,
        name: str,
        config_map: str,
        limit: DeclaredLimit,
        placement: Placement,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__("sandbox-components:index:SpendingLimit", name, None, opts)
        manifest = limit_config_map(placement, config_map, limit)
        KubernetesObject(name, manifest, pulumi.ResourceOptions(parent=self, protect=False))
        self.config_map_name = pulumi.Output.from_input(config_map)
        self.namespace = pulumi.Output.from_input(placement.namespace)
        self.register_outputs({"config_map_name": config_map, "namespace": placement.namespace})


def limit_name(placement: Placement, limit: DeclaredLimit) -> str:
    """Return the Pulumi name of a limit below a sandbox or proxy.

    A sandbox has one limit of each type and period. A proxy can have those of many orgs, whose names aren't names of
    Kubernetes' objects: there a digest tells them apart.
    """
    if placement.label == naming.SANDBOX_LABEL:
        kind = "" if limit.actor_type == "sandbox" else f"{limit.actor_type}-"
        return f"{placement.name}-{kind}{limit.period}"
    digest = config_map_name("", limit.actor_id, limit.actor_type)
    return f"{placement.name}-{limit.actor_type}{digest}-{limit.period}"
