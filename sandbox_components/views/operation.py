"""The answer of pause and resume for machines: one item for each sandbox, whatever the verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sandbox_components.views.wire import envelope

if TYPE_CHECKING:
    from sandbox_components.operations.pause import Paused
    from sandbox_components.operations.resume import Resumed


def operations_document(
    results: Sequence[Paused | Resumed], namespace: str, warnings: Sequence[str | None]
) -> dict[str, Any]:
    """Return what became of each sandbox.

    Args:
        results: in the order in which the names were given.
        namespace: where all of them are.
        warnings: for each result what to mind, None where there is nothing.
    """
    items = [
        {"name": result.name, "namespace": namespace, "outcome": result.outcome, "warning": warning}
        for result, warning in zip(results, warnings, strict=True)
    ]
    return envelope("SandboxOperationList", {"items": items})
