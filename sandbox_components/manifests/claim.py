"""The PersistentVolumeClaim: its own object, not the StatefulSet's, so that it grows in place and outlives images."""

from __future__ import annotations

from sandbox_components.manifests.placement import Manifest, Placement
from sandbox_components.spec.workspace import Workspace


def persistent_volume_claim(placement: Placement, workspace: Workspace, name: str) -> Manifest:
    """Return the claim `name`; class left out means the cluster's default."""
    storage_class = workspace.storage_class or placement.storage_class
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": workspace.size or placement.size}},
    }
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": placement.metadata(name),
        "spec": spec,
    }
