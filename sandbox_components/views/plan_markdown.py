"""`sandbox plan` for a pull request's comment: one table, which no value can break out of.

Values are shown as `<code>` with everything that Markdown could take for its own written as an entity: fences and
escapes in cells of a table are read differently by different renderers, entities by none.
"""

from __future__ import annotations

import re

from sandbox_components.operations.field_changes import FieldChange
from sandbox_components.operations.planning import StackPlan
from sandbox_components.operations.sandbox_plan import NEW, Refusal, Restart, SandboxPlan
from sandbox_components.views.plan_words import left_out, nothing_differs, other, sides, sums, verdict

LARGEST, LARGEST_TABLE = 64_000, 45_000
"""GitHub refuses a comment of more than 65,536 characters."""
_PLAIN = re.compile(r"[^A-Za-z0-9 .,/=()-]")
_FOOTNOTE = (
    "*restarts*: the agent of a running sandbox is stopped and started anew; a paused one notices at its resume."
)
_BROKE_OFF = "The preview broke off there: more may change than is shown."


def plan_markdown(plan: StackPlan, *, is_named: bool = False) -> str:
    """Return the comment.

    Args:
        plan: what would be done.
        is_named: the user has named sandboxes, and wants to hear of the unchanged ones too.
    """
    shown = plan.sandboxes if is_named else plan.notable
    parts = [f"### Plan for stack {code(plan.stack)} of {code(plan.project)}", "", f"**{escaped(sums(plan))}**", ""]
    if shown:
        parts += _table(shown)
    parts += _refusals(plan)
    notes = [f"- {escaped(note)}" for one in shown for note in one.notes]
    parts += ["To mind:", "", *notes[:50], ""] if notes else []
    if not plan.is_whole:
        parts += [_BROKE_OFF, ""]
    if plan.others:
        parts += [f"Outside of sandboxes: {len(plan.others)}", ""]
        parts += [f"- {code(other(one))}" for one in plan.others[:50]]
        parts += [f"- and {len(plan.others) - 50} more"] if len(plan.others) > 50 else []
        parts += [""]
    if plan.left_out:
        parts += [left_out(plan), ""]
    if any(one.restart is not Restart.NO and not one.refusals for one in shown):
        parts += [_FOOTNOTE, ""]
    return _short_enough("\n".join(parts))


def _short_enough(text: str) -> str:
    if len(text) <= LARGEST:
        return text
    return f"{text[:LARGEST].rpartition(chr(10))[0]}\n\nThe rest is cut off: a comment has no room for it.\n"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, in one line."""
    found = _PLAIN.sub(lambda one: one[0] if one[0].isalnum() and ord(one[0]) > 127 else f"&#{ord(one[0])};", text)
    return re.sub(r"(?i)(www)\.", r"\1&#46;", found)


def code(text: str) -> str:
    """Return text as code that nothing in it can end."""
    return f"<code>{escaped(text)}</code>"


def _table(shown: tuple[SandboxPlan, ...]) -> list[str]:
    lines = ["| sandbox | agent | changes | disk |", "|---|---|---|---|"]
    size = 0
    for index, one in enumerate(shown):
        told = verdict(one)
        agent = f"**{escaped(told)}**" if told not in ("does not restart", "unchanged", "new") else escaped(told)
        line = f"| {code(one.name)} | {agent} | {_changes(one)} | {escaped(one.disk.text)} |"
        size += len(line)
        if size > LARGEST_TABLE:
            return [*lines, "", f"and {len(shown) - index} sandboxes more, which a comment has no room for", ""]
        lines.append(line)
    return [*lines, ""]


def _changes(one: SandboxPlan) -> str:
    if nothing_differs(one):
        return "nothing differs: what failed before is tried again"
    lines = [_change(change, is_new=one.outcome == NEW) for change in one.changes[:40]]
    if len(one.changes) > 40:
        lines.append(f"and {len(one.changes) - 40} more")
    return "<br>".join(lines)


def _change(change: FieldChange, *, is_new: bool) -> str:
    old, new = sides(change, is_new=is_new)
    if old is None:
        hidden = change.is_secret or change.is_known_later or change.new is None
        return f"{code(change.field)}: {escaped(new or '') if hidden else code(new or '')}"
    after = escaped(new or "") if change.is_known_later or change.new is None else code(new or "")
    before = escaped(old) if change.old is None else code(old)
    return f"{code(change.field)}: {before} → {after}"


def _refusals(plan: StackPlan) -> list[str]:
    told = [("", one) for one in plan.refusals]
    told += [(one.name, refusal) for one in plan.sandboxes for refusal in one.refusals]
    if not told:
        return []
    lines = ["**Refused**: `pulumi up` changes nothing as long as this stands.", ""]
    return [*lines, *(_refusal(name, one) for name, one in told), ""]


def _refusal(name: str, one: Refusal) -> str:
    whose = f"{code(name)}: " if name else ""
    ways = "".join(f"<br>try: {escaped(step)}" for step in one.suggestions)
    return f"- {whose}{escaped(one.reason)}{ways}"
