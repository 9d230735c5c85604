"""`sandbox plan` for machines."""

from __future__ import annotations

from typing import Any

from sandbox_components.operations.field_changes import FieldChange
from sandbox_components.operations.planning import StackPlan
from sandbox_components.operations.sandbox_plan import Refusal, SandboxPlan
from sandbox_components.views.wire import envelope, wired


def plan_document(plan: StackPlan) -> dict[str, Any]:
    """Return the whole plan; unchanged sandboxes are there too."""
    return envelope(
        "StackPlan",
        {
            "project": plan.project,
            "stack": plan.stack,
            "outcome": "refused" if plan.is_refused else "changed" if plan.changes else "unchanged",
            "isWhole": plan.is_whole,
            "sandboxes": [_sandbox(one) for one in plan.sandboxes],
            "others": [wired(one) for one in plan.others],
            "refusals": [_refusal(one) for one in plan.refusals],
            "leftOut": plan.left_out,
        },
    )


def _sandbox(one: SandboxPlan) -> dict[str, Any]:
    return {
        "name": one.name,
        "namespace": one.namespace,
        "outcome": one.outcome,
        "verdict": one.verdict,
        "restarts": one.restart.value,
        "isRevision": one.is_revision,
        "isRefused": bool(one.refusals),
        "changes": [_change(change) for change in one.changes],
        "disk": wired(one.disk),
        "refusals": [_refusal(refusal) for refusal in one.refusals],
        "isPinned": one.is_pinned,
        "notes": list(one.notes),
    }


def _change(one: FieldChange) -> dict[str, Any]:
    return {**wired(one), "group": one.group}


def _refusal(one: Refusal) -> dict[str, Any]:
    return {"reason": one.reason, "suggestions": list(one.suggestions)}
