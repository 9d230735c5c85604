"""Who a sandbox is, in two objects: a ConfigMap that the proxy reads, and a Secret with the key that it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec import naming
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, Identity, print_identity
from sandbox_components.spec.spending import IDENTITY, INFERENCE_LABEL, config_map_name


def identity_config_map(placement: Placement, identity: Identity) -> Manifest:
    """Return the sandbox's ConfigMap in the proxy's namespace; without it the sandbox's key opens nothing."""
    name = config_map_name(placement.name, identity.sandbox_id, IDENTITY)
    metadata = placement.metadata(name, annotations={IDENTITY_ANNOTATION: print_identity(identity)})
    metadata["labels"][INFERENCE_LABEL] = IDENTITY
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def inference_secret(placement: Placement, variables: Mapping[str, Any]) -> Manifest:
    """Return the Secret with base URLs and key; its name is made up, so that a new key rolls the pod."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": placement.metadata(None),
        "type": "Opaque",
        "stringData": dict(variables),
    }


def inference_secret_name(sandbox: str) -> str:
    """Pulumi name of that Secret; its name in the cluster is made up."""
    return f"{sandbox}-inference"


def proxy_of(annotations: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return namespace and name of the proxy that a StatefulSet's annotations name."""
    text = annotations.get(naming.INFERENCE_ANNOTATION)
    namespace, slash, name = str(text or "").partition("/")
    return (namespace, name) if slash and naming.is_dns_label(namespace) and naming.is_dns_label(name) else None
