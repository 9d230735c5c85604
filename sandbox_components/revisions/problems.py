"""What could not be read of a history, one line each, and one line where it is the same of many."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 3


class Problems:
    """Collects them, each once."""

    def __init__(self) -> None:
        self._by_reason: dict[str, dict[str, None]] = {}

    def add(self, what: str, reason: str) -> None:
        """Note that `what` can't be read."""
        self._by_reason.setdefault(reason, {})[what] = None

    def lines(self) -> Sequence[str]:
        """Return them, in an order that doesn't depend on what was read first."""
        found = []
        for reason, names in self._by_reason.items():
            several = sorted(names)
            if len(several) > FEW:
                found.append(f"{several[0]} and {len(several) - 1} more: {reason}")
            else:
                found.extend(f"{name}: {reason}" for name in several)
        return sorted(found)
