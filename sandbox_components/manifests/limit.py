"""A spending limit as the ConfigMap that the proxy reads: an annotation, because that is changed in place.

Pulumi replaces a ConfigMap whose data changes, and between the old one and the new there would be no cap.
"""

from __future__ import annotations

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec.spending import INFERENCE_LABEL, LIMIT, LIMIT_ANNOTATION, DeclaredLimit, print_limit


def limit_config_map(placement: Placement, name: str, limit: DeclaredLimit) -> Manifest:
    """Return the ConfigMap `name` of a limit, in the proxy's namespace."""
    metadata = placement.metadata(name, annotations={LIMIT_ANNOTATION: print_limit(limit)})
    metadata["labels"][INFERENCE_LABEL] = LIMIT
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
