"""`PersistentWorkspace`: a claim that the engine itself guards.

A component can't see old state, so it can't tell a new disk from a lost one. The engine can: `protect` makes it
refuse every delete and replace of the claim. No `from __future__ import annotations`: Pulumi's analyser reads it.
"""

from collections.abc import Mapping
from typing import Any

import pulumi

from sandbox_components.components.args import PersistentWorkspaceArgs
from sandbox_components.components.objects import KubernetesObject
from sandbox_components.components.platform import Platform
from sandbox_components.components.refusal import at_once
from sandbox_components.components.taken import take_claim
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.claim import persistent_volume_claim
from sandbox_components.manifests.placement import Placement
from sandbox_components.spec import naming
from sandbox_components.spec.reading import read
from sandbox_components.spec.shown import show
from sandbox_components.spec.workspace import Workspace


class PersistentWorkspace(pulumi.ComponentResource):
    """A persistent workspace: one PersistentVolumeClaim, protected unless `deletion: delete`.

    Raises:
        InvalidInput: for a wrong argument, before anything is registered.
    """

    claim_name: pulumi.Output[str]
    """Kubernetes name of the claim."""
    mount_path: pulumi.Output[str]
    """Where a container mounts it."""

    def __init__(self, name: str, args: PersistentWorkspaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with at_once():
            naming.check_name(name)
            values: dict[str, Any] = dict(args or {})
            namespace, labels = values.pop("namespace", None), values.pop("labels", None) or {}
            deletion = values.pop("deletion", None) or "protect"
            if deletion not in ("protect", "delete"):
                raise InvalidInput(f"{name}.deletion", f"{show(deletion)} is not one of protect or delete")
            if not isinstance(labels, Mapping):
                raise InvalidInput(f"{name}.labels", f"{show(labels)} is not a mapping")
            for key, value in labels.items():
                if not isinstance(value, pulumi.Output):
                    naming.check_label(key, value, f"{name}.labels")
            workspace = read(Workspace, values, name)
            placement = Platform.read().place(name, namespace, labels)
            if workspace.existing_claim is None:
                claim = workspace.claim_name or naming.claim_name(name)
                take_claim(placement.namespace, claim, f"{name}.claim_name")
        self._register(name, workspace, placement, deletion, opts)

    @classmethod
    def below(
        cls, parent: pulumi.Resource, workspace: Workspace, placement: Placement, deletion: str
    ) -> "PersistentWorkspace":
        """Make the workspace of a sandbox, whose arguments are checked already."""
        self = cls.__new__(cls)
        self._register(
            placement.name, workspace, placement, deletion, pulumi.ResourceOptions(parent=parent, protect=False)
        )
        return self

    def _register(
        self,
        name: str,
        workspace: Workspace,
        placement: Placement,
        deletion: str,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__("sandbox-components:index:PersistentWorkspace", name, None, opts)
        claim_name = workspace.existing_claim or workspace.claim_name or naming.claim_name(name)
        self.claim: KubernetesObject | None = None  # not in the class: the analyser would call it an output
        if workspace.existing_claim is None:
            self.claim = KubernetesObject(
                naming.claim_name(name),
                persistent_volume_claim(placement, workspace, claim_name),
                pulumi.ResourceOptions(parent=self, protect=deletion == "protect"),
            )
        self.claim_name = pulumi.Output.from_input(claim_name)
        self.mount_path = pulumi.Output.from_input(workspace.mount_path)
        self.register_outputs({"claim_name": claim_name, "mount_path": workspace.mount_path})
