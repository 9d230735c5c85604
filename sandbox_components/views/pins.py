"""The answer of `pins` for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox_components.operations.pins import PinnedSandbox
from sandbox_components.views.wire import envelope


def pins_document(found: Sequence[PinnedSandbox], project: str, stack: str) -> dict[str, Any]:
    """Return the pins of a stack; secret variables by name."""
    items = [
        {
            "name": one.name,
            "project": project,
            "stack": stack,
            "revision": one.pin.revision,
            "id": one.pin.id,
            "by": one.pin.by or None,
            "at": one.pin.at or None,
            "spec": dict(one.pin.groups),
            "declaredIn": "config" if one.is_declared else "program",
        }
        for one in found
    ]
    return envelope("PinList", {"items": items})
