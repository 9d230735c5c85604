"""A plan in words that text and Markdown share: values in one line, whatever they hold, and the sums."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sandbox_components.operations.field_changes import ADDED, CHANGED, REMOVED, FieldChange
from sandbox_components.operations.planning import Other, StackPlan
from sandbox_components.operations.sandbox_plan import SAME, SandboxPlan

LONGEST = 160
LATER = "known after the update"
_SECRET = {ADDED: "set (a secret)", REMOVED: "taken out (a secret)", CHANGED: "another value (a secret)"}
_SUMS = (
    ("refused", "refused"),
    ("restarts", "restarts"),
    ("may restart", "may restart"),
    ("replaced", "replaced"),
    ("does not restart", "changed without restart"),
    ("new", "new"),
    ("removed", "removed"),
    ("unchanged", "unchanged"),
)


def said(value: Any) -> str:
    """Return a value in one printable line, cut where it is long."""
    if isinstance(value, Mapping) and set(value) >= {"http", "intervalSeconds", "failureThreshold"}:
        return _health_check(value)
    is_plain = isinstance(value, str) and value != "" and value.isprintable() and value == value.strip()
    text = value if is_plain else json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text)} characters)"


def _health_check(check: Mapping[str, Any]) -> str:
    http = check["http"]
    return (
        f"GET {said(http.get('path'))} on port {http.get('port')} every {check['intervalSeconds']}s"
        f" after {check.get('initialDelaySeconds')}s, {check.get('timeoutSeconds')}s each,"
        f" restarts after {check['failureThreshold']} failures"
    )


def sides(change: FieldChange, *, is_new: bool = False) -> tuple[str | None, str | None]:
    """Return what a change shows of before and afterwards; None where there is nothing to show on that side.

    Args:
        change: of one field.
        is_new: the whole sandbox is, so that nothing was before.
    """
    if change.is_secret:
        return None, _SECRET[change.change]
    new = LATER if change.is_known_later else None if change.new is None else said(change.new)
    old = None if change.old is None else said(change.old)
    if old is None and new is None:
        return None, change.change
    if change.change == REMOVED:
        return old, "none"
    return ("none" if change.change == ADDED and new != LATER and not is_new else old), new


def verdict(one: SandboxPlan) -> str:
    """Return what happens to the agent, or that it is refused."""
    return "refused" if one.refusals else one.verdict


def sums(plan: StackPlan) -> str:
    """Return how many sandboxes of each verdict there are: `1 restarts, 2 new, 3 unchanged`."""
    counted: Counter[str] = Counter()
    for one in plan.sandboxes:
        counted[next(word for begins, word in _SUMS if verdict(one).startswith(begins))] += 1
    return ", ".join(f"{counted[word]} {word}" for _, word in _SUMS if counted[word]) or "no sandboxes"


def other(one: Other) -> str:
    """Return a change outside of sandboxes in one line."""
    fields = f" [{', '.join(one.fields)}]" if one.fields else ""
    return f"{one.operation} {one.type.rsplit(':', 1)[-1]} {one.name}{fields}"


def left_out(plan: StackPlan) -> str:
    """Return how many sandboxes change besides the named ones; empty where none does."""
    if not plan.left_out:
        return ""
    return f"not shown: {plan.left_out} other {'sandbox changes' if plan.left_out == 1 else 'sandboxes change'}"


def nothing_differs(one: SandboxPlan) -> bool:
    """Whether the engine updates without a difference: it waits again for what failed before."""
    return (
        one.outcome != SAME
        and not one.changes
        and one.disk.outcome in ("untouched", "none", "existing")
        and (one.restart.value == "no" and ";" not in one.disk.text)
    )
