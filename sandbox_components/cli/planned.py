"""A plan on a terminal: what happens to each sandbox, its fields from old to new, and its disk."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sandbox_components.cli.output import harmless
from sandbox_components.operations.change import Change
from sandbox_components.operations.disk_plan import GROWN, disk_plan
from sandbox_components.operations.field_changes import FieldChange, differences
from sandbox_components.operations.object_words import CONFIG_MAP
from sandbox_components.operations.plan import CLAIM, STATEFUL_SET, Plan
from sandbox_components.operations.planning import StackPlan
from sandbox_components.operations.sandbox_plan import NEW, REMOVED, REPLACED, SAME, Refusal, Restart, SandboxPlan
from sandbox_components.views.plan_words import left_out, nothing_differs, other, sides, sums, verdict

_SIGNS = {NEW: ("+", "green"), REMOVED: ("-", "red"), REPLACED: ("±", "yellow"), SAME: ("=", None)}
_GUARDS = {
    "protect": "  [protected from now on: the engine refuses to delete it]",
    "unprotect": "  [not protected any more: it can be deleted from now on]",
}
_OPERATIONS = {"create": "+", "update": "~", "delete": "-"}
RESTARTS = "restarts: the agent of a running sandbox is stopped and started anew; a paused one notices at its resume"


def print_plan(plan: StackPlan, *, is_named: bool) -> None:
    """Print a stack's plan on standard output.

    Args:
        plan: what would be done.
        is_named: the user has named sandboxes, and wants to hear of the unchanged ones too.
    """
    click.echo(f"stack {plan.stack} of {plan.project}: {sums(plan)}")
    for one in plan.sandboxes if is_named else plan.notable:
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


def sandbox_lines(one: SandboxPlan) -> list[str]:
    """Return the lines that tell of one sandbox."""
    sign, color = ("!", "red") if one.refusals else _SIGNS.get(one.outcome, ("~", "yellow"))
    if color == "yellow" and one.restart is Restart.NO:
        color = None
    told = verdict(one)
    lines = [f"{click.style(sign, fg=color)} {one.name}: {click.style(told, fg=color)}"]
    rows = [_row(change, is_new=one.outcome == NEW) for change in one.changes]
    if nothing_differs(one):
        rows.append(("", "nothing differs: what failed before is tried again"))
    if one.outcome != SAME or one.disk.outcome != "none":
        is_lost = one.disk.loses_files
        rows.append(("disk", click.style(one.disk.text, fg="red") if is_lost else one.disk.text))
    notes = [f"    note: {harmless(note)}" for note in one.notes]
    return [*lines, *_aligned(rows), *notes, *refusal_lines(one.refusals, "    ")]


def _row(change: FieldChange, *, is_new: bool = False) -> tuple[str, str]:
    return harmless(change.field), " → ".join(
        harmless(side) for side in sides(change, is_new=is_new) if side is not None
    )


def _aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = min(max((len(field) for field, _ in rows), default=0), 40)
    return [f"    {field.ljust(width)}   {shown}" for field, shown in rows]


def refusal_lines(refusals: Sequence[Refusal], indent: str) -> list[str]:
    """Return why it can't be done, and the ways on."""
    lines = []
    for one in refusals:
        lines.append(f"{indent}{click.style('refused:', fg='red')} {harmless(one.reason)}")
        lines += [f"{indent}  try: {step}" for step in one.suggestions]
    return lines


def show_plan(planned: Change) -> None:
    """Print on stderr what a verb would do to its sandbox, before it asks.

    What comes and goes is told by object, what differs by field, and last what becomes of agent and disk. The limit of
    an org, user or agent has neither, also where a sandbox declares it.
    """
    click.echo(f"plan for {planned.name}:", err=True)
    owners = Plan(planned.steps).owners()
    own = [step for step in planned.steps if step.urn in owners]
    own = own or [step for step in planned.steps if step.type == CONFIG_MAP]
    is_deletion = any(step.type == STATEFUL_SET and step.operation == "delete" for step in own)
    changes = () if planned.is_new or is_deletion else differences(own)
    for step in planned.steps:
        if step.operation == "update" and step in own and changes:
            continue
        sign = _OPERATIONS.get(step.operation, "±" if "replace" in step.operation else "·")
        fields = f"  [{', '.join(step.fields)}]" if step.operation == "update" and step.fields else ""
        told = _GUARDS.get(step.operation, fields)
        click.echo(f"  {sign} {step.type.rsplit(':', 1)[-1]} {step.name}{told}", err=True)
    for line in _aligned([_row(change) for change in changes]):
        click.echo(line, err=True)
    if not planned.steps:
        click.echo("  no changes", err=True)
    elif planned.deletes_disk:
        for claim in planned.deletes_disk:
            click.echo(f"  disk: the claim {claim} and all files on it are deleted with the sandbox", err=True)
    elif is_deletion:
        click.echo("  no disk is deleted", err=True)
    elif "/" not in planned.name and not planned.is_new:  # else it is `org/acme` or the like
        disk = next((disk_plan(own, None, None) for step in own if step.type == CLAIM), None)
        stays = f"disk: {disk.text}" if disk is not None and disk.outcome == GROWN else "the disk stays"
        agent = "restarts the agent (a paused one takes it over at resume)" if planned.restarts else "no restart"
        click.echo(f"  {agent}; {stays}", err=True)
    for note in planned.notes:
        click.echo(f"  note: {harmless(note)}", err=True)
