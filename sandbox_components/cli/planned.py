"""A plan on a terminal: what happens to each sandbox, its fields from old to new, and its disk."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sandbox_components.operations.planning import StackPlan
from sandbox_components.operations.sandbox_plan import NEW, REMOVED, REPLACED, SAME, Refusal, Restart, SandboxPlan
from sandbox_components.views.plan_words import left_out, nothing_differs, other, sides, sums, verdict

_SIGNS = {NEW: ("+", "green"), REMOVED: ("-", "red"), REPLACED: ("±", "yellow"), SAME: ("=", None)}
RESTARTS = "restarts: the agent of a running sandbox is stopped and started anew; a paused one notices at its resume"


def print_plan(plan: StackPlan, *, is_named: bool) -> None:
    """Print a stack's plan on standard output.

    Args:
        plan: what would be done.
        is_named: the user has named sandboxes, and wants to hear of the unchanged ones too.
    """
    click.echo(f"stack {plan.stack} of {plan.project}: {sums(plan)}")
    for one in plan.sandboxes if is_named else plan.changed:
        click.echo("")
        for line in sandbox_lines(one):
            click.echo(line)
    if plan.others:
        click.echo(f"\noutside of sandboxes: {len(plan.others)}")
        for changed in plan.others:
            click.echo(f"  {other(changed)}")
    if plan.left_out:
        click.echo(f"\n{left_out(plan)}")
    if any(one.restart is not Restart.NO and not one.refusals for one in plan.sandboxes):
        click.echo(f"\n{RESTARTS}")
    if plan.is_refused:
        click.echo(click.style("\nrefused: pulumi up changes nothing as long as this stands", fg="red"))
        for line in refusal_lines(plan.refusals, "  "):
            click.echo(line)
    if not plan.is_whole:
        click.echo("the preview broke off there: more may change than is shown")


def sandbox_lines(one: SandboxPlan, *, indent: str = "") -> list[str]:
    """Return the lines that tell of one sandbox."""
    sign, color = ("!", "red") if one.refusals else _SIGNS.get(one.outcome, ("~", "yellow"))
    if color == "yellow" and one.restart is Restart.NO:
        color = None
    told = verdict(one)
    lines = [f"{indent}{click.style(sign, fg=color)} {one.name}: {click.style(told, fg=color)}"]
    rows = [
        (change.field, " → ".join(side for side in sides(change, is_new=one.outcome == NEW) if side is not None))
        for change in one.changes
    ]
    if nothing_differs(one):
        rows.append(("", "nothing differs: what failed before is tried again"))
    if one.outcome != SAME or one.disk.outcome != "none":
        is_lost = one.disk.loses_files
        rows.append(("disk", click.style(one.disk.text, fg="red") if is_lost else one.disk.text))
    width = min(max((len(field) for field, _ in rows), default=0), 40)
    lines += [f"{indent}    {field.ljust(width)}   {shown}" for field, shown in rows]
    return [*lines, *refusal_lines(one.refusals, f"{indent}    ")]


def refusal_lines(refusals: Sequence[Refusal], indent: str) -> list[str]:
    """Return why it can't be done, and the ways on."""
    lines = []
    for one in refusals:
        lines.append(f"{indent}{click.style('refused:', fg='red')} {one.reason}")
        lines += [f"{indent}  try: {step}" for step in one.suggestions]
    return lines
