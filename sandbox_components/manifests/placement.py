"""Where a sandbox's objects live and what they are marked with, the same on every kind of object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox_components.spec import naming

Manifest = dict[str, Any]

SKIP_AWAIT = "pulumi.com/skipAwait"
"""Pulumi would wait for every object; one crash-looping agent must not block a stack of fifty."""


@dataclass(frozen=True)
class Placement:
    """Name, namespace and origin of one sandbox, and the platform's defaults that apply to it.

    Attributes:
        component: what the objects are part of: a sandbox, an inference proxy, a limit.
        label: the label that carries the name, and that selectors use.
        version: of this package; in a metadata label only, so that an upgrade restarts nobody.
        storage_class: the stack's default class, if it sets one.
        size: the stack's default size of a claim.
        blocked_cidrs: address ranges that `egress: internet` refuses besides the private ones.
    """

    name: str
    namespace: str
    project: str
    stack: str
    version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    storage_class: str | None = None
    size: str = "10Gi"
    blocked_cidrs: tuple[str, ...] = ()
    component: str = naming.COMPONENT_LABEL_VALUE
    label: str = naming.SANDBOX_LABEL

    @property
    def selector(self) -> dict[str, str]:
        """The one label that selectors use; user labels never do."""
        return {self.label: self.name}

    def metadata(
        self, name: str | None, *, await_ready: bool = False, annotations: Mapping[str, Any] | None = None
    ) -> Manifest:
        """Return an object's metadata: `name` (None: Pulumi makes one up), namespace, labels, annotations."""
        labels = {
            **self.labels,
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/component": self.component,
            "app.kubernetes.io/managed-by": naming.MANAGED_BY,
            "app.kubernetes.io/version": self.version.replace("+", "_"),
            **self.selector,
        }
        marks: dict[str, Any] = {
            naming.PROJECT_ANNOTATION: self.project,
            naming.STACK_ANNOTATION: self.stack,
            **(annotations or {}),
        }
        if not await_ready:
            marks[SKIP_AWAIT] = "true"
        metadata: Manifest = {"namespace": self.namespace, "labels": labels, "annotations": marks}
        return metadata if name is None else {"name": name, **metadata}
