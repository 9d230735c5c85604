"""The result of `sandbox doctor` as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox_components.views.wire import envelope, wired


def checks_view(checks: Iterable[object], *, is_well: bool) -> dict[str, Any]:
    """Return all checks as `kind: Checks`."""
    return envelope("Checks", {"ok": is_well, "checks": [wired(check) for check in checks]})
