"""Register a Kubernetes manifest as a Pulumi resource, byte for byte.

The generated classes of `pulumi_kubernetes` would rewrite keys and cost a second of import at every preview and
update; their type tokens and provider version are kept, so the state is the same as theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import pulumi

_PROVIDER_VERSION = version("pulumi-kubernetes")
_SECRET_OUTPUTS = {"Secret": ["data", "stringData"]}


class KubernetesObject(pulumi.CustomResource):
    """One object of the cluster, as the Kubernetes provider keeps it."""

    metadata: pulumi.Output[dict[str, Any]]

    def __init__(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        group_version, kind = manifest["apiVersion"], manifest["kind"]
        module = group_version if "/" in group_version else f"core/{group_version}"
        defaults = pulumi.ResourceOptions(
            version=_PROVIDER_VERSION, additional_secret_outputs=_SECRET_OUTPUTS.get(kind)
        )
        super().__init__(
            f"kubernetes:{module}:{kind}", name, dict(manifest), pulumi.ResourceOptions.merge(defaults, opts)
        )

    @property
    def object_name(self) -> pulumi.Output[str]:
        """The object's name in the cluster, made up by the provider where the manifest gives none."""
        return self.metadata.apply(lambda metadata: str(metadata["name"]))
