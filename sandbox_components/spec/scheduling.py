"""Where the pod may run: tolerations, node labels, priorities of Kubernetes' own kind, checked before it sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import model_validator

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.reading import Model, Text, Whole
from sandbox_components.spec.shown import show


class Toleration(Model):
    """A Kubernetes toleration, field by field."""

    key: Text | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: Text | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: Whole | None = None

    @model_validator(mode="after")
    def _coherent(self) -> Toleration:
        if self.key is not None and not naming.is_label_key(self.key):
            raise InvalidInput("key", f"{show(self.key)} is not a label key")
        if self.value is not None and not naming.is_label_text(self.value, empty=True):
            raise InvalidInput("value", f"{show(self.value)} is not a label value")
        if self.operator == "Exists" and self.value is not None:
            raise InvalidInput("value", "can't be given with operator Exists")
        if self.operator == "Equal" and self.key is None:
            raise InvalidInput("key", "is missing: only operator Exists goes without a key")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            raise InvalidInput("tolerationSeconds", "is only for effect NoExecute")
        return self


def check_node_selector(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return `labels` if each is a label of a node.

    Raises:
        InvalidInput: naming the key.
    """
    for key, value in labels.items():
        if not naming.is_label_key(key):
            raise InvalidInput(key[:80], f"{show(key)} is not a label key")
        if not naming.is_label_text(value, empty=True):
            raise InvalidInput(key[:80], f"{show(value)} is not a label value")
    return labels
