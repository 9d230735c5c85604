"""Where sandboxes of a tier stand: which node takes them, which class gives them a disk, which image they run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.harness.api import Api, eventually
from tests.harness.kwok import MARK, KwokNode
from tests.harness.stack import Stack

Json = dict[str, Any]
READY_MADE = "ready-made"
"""A class whose volumes are made by the tests; nobody provisions or deletes them."""
TOOLS = ("pulumi", "pulumi-resource-kubernetes", "kubectl", "kwok")


@dataclass(frozen=True)
class Ground:
    """A cluster, and a part of it.

    Attributes:
        placement: arguments of a sandbox (in the config's words) that send its pod to the right node.
        storage_class: for claims.
        image: that runs there.
    """

    api: Api
    kubeconfig: Path
    tools: Path
    home: Path
    placement: Json
    storage_class: str
    image: str = "localhost:5000/python:3.11"
    volumes: list[str] = field(default_factory=list)

    def sandbox(self, **changes: Any) -> Json:
        """An entry of `sandbox-components:sandboxes` that fits here, with `changes`."""
        entry = {
            "image": {"uri": self.image},
            "entrypoint": ["sleep", "infinity"],
            "resourceLimits": {"cpu": "50m", "memory": "64Mi"},
            "terminationGracePeriodSeconds": 1,
            "deletion": "delete",
            **self.placement,
        }
        return entry | changes

    def volume(self, **changes: Any) -> list[Json]:
        """The entry's `volumes`, of the class that fits here."""
        return [{"mountPath": "/workspace", "storageClass": self.storage_class, "size": "1Gi"} | changes]

    def prepare_claim(self, namespace: str, name: str, size: str = "1Gi") -> None:
        """Have a volume ready for that claim, where no provisioner makes one."""
        if self.storage_class != READY_MADE:
            return
        volume = f"ready-{uuid.uuid4().hex[:12]}"
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {
                    "capacity": {"storage": size},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": READY_MADE,
                    "persistentVolumeReclaimPolicy": "Retain",
                    "claimRef": claim,
                    "hostPath": {"path": "/nonexistent/ready-made"},
                },
            }
        )
        self.volumes.append(volume)

    @contextmanager
    def stack(self, folder: Path, **options: Any) -> Iterator[Stack]:
        """A stack whose namespace is its own; both are gone afterwards, and whatever of the engine was left behind."""
        namespace = options.pop("namespace", None) or new_namespace()
        stack = Stack(folder, tools=self.tools, kubeconfig=self.kubeconfig, home=self.home, **options)
        stack.configure({"namespace": namespace})
        stack.namespace = namespace
        try:
            yield stack
        finally:
            stack.end_all()
            self.api.delete("Namespace", namespace)

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """A namespace for objects that no stack makes."""
        name = new_namespace()
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        eventually(lambda: self.api.find("ServiceAccount", "default", name), "the namespace's service account")
        try:
            yield name
        finally:
            self.api.delete("Namespace", name)


def new_namespace() -> str:
    """A name that no other test has."""
    return f"t-{uuid.uuid4().hex[:10]}"


def on_kwok(node: KwokNode, api: Api, kubeconfig: Path, tools: Path, home: Path) -> Ground:
    """The ground of engine tests."""
    if api.find("StorageClass", READY_MADE) is None:
        api.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": READY_MADE},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
            }
        )
    toleration = {"key": MARK, "operator": "Exists", "effect": "NoSchedule"}
    placement = {"nodeSelector": node.selector, "tolerations": [toleration]}
    return Ground(api, kubeconfig, tools, home, placement, READY_MADE)


def on_the_node(api: Api, kubeconfig: Path, tools: Path, home: Path) -> Ground:
    """The ground of node tests."""
    return Ground(api, kubeconfig, tools, home, {}, "local-path")
