"""The stack's own settings: namespace and defaults that the platform sets for all sandboxes of a stack."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pulumi

from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.placement import Placement
from sandbox_components.spec import naming, network, quantity
from sandbox_components.spec.workspace import DEFAULT_SIZE

CONFIG = "sandbox-components"
_VERSION = version("sandbox-components")


def config_object(config: pulumi.Config, key: str, default: Any) -> Any:
    """Return a structured config value, `default` if it isn't set.

    Raises:
        InvalidInput: never with the value, which may be a secret.
    """
    text = config.get(key)
    try:
        value = None if text is None else json.loads(text)
    except ValueError:
        problem = "is plain text: it is a mapping or list, set by --path or in the stack's file"
        raise InvalidInput(f"{CONFIG}:{key}", problem) from None
    return default if value is None else value


@dataclass(frozen=True)
class Platform:
    """Settings of one stack.

    Attributes:
        namespace: where sandboxes live: config `namespace`, else `PROJECT-STACK`.
        storage_class: config `agentVolumeStorageClass`, or None for the cluster's default.
        size: config `agentVolumeSize`, else 10Gi.
        blocked_cidrs: config `blockedCidrs`, refused by `egress: internet` besides the private ranges.
    """

    namespace: str
    storage_class: str | None
    size: str
    blocked_cidrs: tuple[str, ...]

    @staticmethod
    def read() -> Platform:
        """Read the settings from the stack's config.

        Raises:
            InvalidInput: naming the config key.
        """
        config = pulumi.Config(CONFIG)
        namespace = naming.stack_namespace(pulumi.get_project(), pulumi.get_stack(), config.get("namespace"))
        if not naming.is_dns_label(namespace):
            raise InvalidInput(
                f"{CONFIG}:namespace",
                f'"{namespace}" is not a namespace: at most 63 lower-case letters, digits and "-"',
            )
        storage_class = config.get("agentVolumeStorageClass")
        if storage_class is not None and not naming.is_dns_subdomain(storage_class):
            raise InvalidInput(
                f"{CONFIG}:agentVolumeStorageClass", f'"{storage_class}" is not the name of a StorageClass'
            )
        blocked = config_object(config, "blockedCidrs", [])
        if not isinstance(blocked, list):
            raise InvalidInput(f"{CONFIG}:blockedCidrs", "is not a list of address ranges")
        for index, text in enumerate(blocked):
            field = f"{CONFIG}:blockedCidrs[{index}]"
            if network.check_cidr(text, field).prefixlen == 0:
                raise InvalidInput(field, f'"{text}" is everything: give the sandboxes egress none instead')
        return Platform(
            namespace=namespace,
            storage_class=storage_class,
            size=quantity.storage(config.get("agentVolumeSize") or DEFAULT_SIZE, f"{CONFIG}:agentVolumeSize"),
            blocked_cidrs=tuple(blocked),
        )

    def place(self, name: str, namespace: object, labels: Mapping[str, object]) -> Placement:
        """Return where the objects of `name` go, and with what marks.

        Raises:
            InvalidInput: unless the namespace is plain and valid: it decides the objects' identity.
        """
        if namespace is not None and not isinstance(namespace, str):
            raise InvalidInput("namespace", "must be a plain string: it decides which objects these are")
        if namespace is not None and not naming.is_dns_label(namespace):
            raise InvalidInput("namespace", f'"{namespace}" is not a namespace: lower-case letters, digits and "-"')
        return Placement(
            name=name,
            namespace=namespace or self.namespace,
            project=pulumi.get_project(),
            stack=pulumi.get_stack(),
            version=_VERSION,
            labels=labels,  # type: ignore[arg-type]
            storage_class=self.storage_class,
            size=self.size,
            blocked_cidrs=self.blocked_cidrs,
        )
