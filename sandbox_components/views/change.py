"""The answer of create, update and delete for machines."""

from __future__ import annotations

from typing import Any

from sandbox_components.operations.change import Change
from sandbox_components.views.wire import envelope


def change_document(done: Change, project: str, stack: str, namespace: str) -> dict[str, Any]:
    """Return what was done, or would be."""
    return envelope(
        "SandboxChange",
        {
            "name": done.name,
            "namespace": namespace,
            "project": project,
            "stack": stack,
            "outcome": done.outcome,
            "restarts": done.restarts,
            "deletesDisk": list(done.deletes_disk),
            "notes": list(done.notes),
            "steps": [
                {"operation": step.operation, "type": step.type, "name": step.name, "fields": list(step.fields)}
                for step in done.steps
            ],
        },
    )
