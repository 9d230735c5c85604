"""A program whose sandboxes stand in a file beside it, and the folders on the host that their disks are."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devcluster.cluster import Cluster
from tests.harness.api import Json, eventually
from tests.harness.ground import Ground
from tests.harness.outcome import Outcome
from tests.harness.pods import ready
from tests.harness.stack import Stack

SOURCE = """
import json, pathlib
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
plan = json.loads((pathlib.Path(__file__).parent / "plan.json").read_text())
before = []
if plan["namespace"]:
    before.append(pulumi_kubernetes.core.v1.Namespace(
        "namespace", metadata={"name": config.namespace}, opts=pulumi.ResourceOptions(protect=plan["protect"])))
for name, one in plan["sandboxes"].items():
    aliases = [pulumi.Alias(name=old) for old in one["aliases"]]
    args = {**one["args"], "env": {key: pulumi.Output.secret(value) for key, value in one["secrets"].items()}}
    Sandbox(name, args, pulumi.ResourceOptions(protect=one["protect"], aliases=aliases, depends_on=before))
for name, args in config.sandboxes.items():
    Sandbox(name, args, pulumi.ResourceOptions(depends_on=before))
"""

MARKER = "marker"


class Disks:
    """The stack, what its program is to declare, and the disks.

    Attributes:
        plan: what the program declares; `declare` writes it.
    """

    def __init__(self, ground: Ground, cluster: Cluster, stack: Stack) -> None:
        self.ground, self.cluster, self.stack, self.api = ground, cluster, stack, ground.api
        self.namespace = stack.namespace
        self.plan: Json = {"namespace": True, "protect": True, "sandboxes": {}}

    def add(self, name: str, *, deletion: str, claim: str = "local-path", **changes: Any) -> None:
        """Plan a sandbox with a disk of class `claim`."""
        args = self.ground.sandbox(deletion=deletion)
        args["workspace"] = {"mount_path": "/workspace", "size": "1Gi", "storage_class": claim} | changes
        self.plan["sandboxes"][name] = {"args": args, "protect": False, "aliases": [], "secrets": {}}

    def workspace(self, name: str) -> Json:
        """The planned workspace of a sandbox."""
        found: Json = self.plan["sandboxes"][name]["args"]["workspace"]
        return found

    def rename(self, old: str, new: str, **changes: Any) -> None:
        """Plan another name for a sandbox."""
        self.plan["sandboxes"][new] = self.plan["sandboxes"].pop(old) | changes

    @contextmanager
    def another_plan(self) -> Iterator[None]:
        """Plan something else for a while."""
        before = copy.deepcopy(self.plan)
        try:
            yield
        finally:
            self.plan = before
            self.write()

    def write(self) -> None:
        (self.stack.program.parent / "plan.json").write_text(json.dumps(self.plan))

    def up(self, *, preview: bool = True) -> Outcome:
        """`pulumi up` of the plan, by default with the preview that users get."""
        self.write()
        return self.stack.pulumi("up", "--yes") if preview else self.stack.up()

    def preview(self) -> Outcome:
        self.write()
        return self.stack.preview()

    def claim(self, name: str, namespace: str = "") -> Json:
        """A claim, bound."""

        def bound() -> Json | None:
            found = self.api.find("PersistentVolumeClaim", name, namespace or self.namespace)
            return found if found is not None and found["spec"].get("volumeName") else None

        return eventually(bound, f"claim {name} bound", 90)

    def folder(self, claim: Json) -> Path:
        """The folder on the host that is a claim's disk."""
        (found,) = (self.cluster.folder / "volumes").glob(f"{claim['spec']['volumeName']}_*")
        return found

    def mark(self, claim: str, text: str) -> None:
        """Write a file onto a disk."""
        (self.folder(self.claim(claim)) / MARKER).write_text(text)

    def marked(self, claim: str) -> str | None:
        """What stands in the file on a disk; None for an empty disk."""
        file = self.folder(self.claim(claim)) / MARKER
        return file.read_text() if file.exists() else None

    def ready(self, name: str) -> Json:
        return ready(self.ground, f"{name}-0", self.namespace)

    def uid(self, kind: str, name: str) -> str:
        return str(self.api.get(kind, name, self.namespace)["metadata"]["uid"])
