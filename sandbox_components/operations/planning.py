"""`sandbox plan`: what `pulumi up` would do now, from the engine's own preview, sandbox by sandbox.

A preview that would lose a protected disk fails, and says no more than that. Then a second one, told to overlook the
protection, shows the rest; it changes nothing either.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox_components.errors import InvalidInput, NotFound, SandboxError
from sandbox_components.operations.engine import Attempt, Engine
from sandbox_components.operations.plan import Step
from sandbox_components.operations.plan_refusals import GUARDED, is_guarded_claim, reason, sorted_refusals
from sandbox_components.operations.sandbox_plan import SAME, Refusal, SandboxPlan, sandbox_plan


@dataclass(frozen=True)
class Other:
    """A change outside of every sandbox."""

    operation: str
    type: str
    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class StackPlan:
    """What `pulumi up` would do.

    Attributes:
        sandboxes: by name; the unchanged ones too.
        others: changes outside of them.
        refusals: why it can't be done, where no single sandbox is the reason.
        is_whole: False where the preview broke off, so that more may change than is known.
        left_out: sandboxes that change too, and weren't asked for.
    """

    project: str
    stack: str
    sandboxes: tuple[SandboxPlan, ...]
    others: tuple[Other, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    is_whole: bool = True
    left_out: int = 0

    @property
    def is_refused(self) -> bool:
        """Whether the engine or the cluster would refuse it."""
        return bool(self.refusals) or any(one.refusals for one in self.sandboxes)

    @property
    def changes(self) -> bool:
        """Whether anything would change."""
        return bool(self.others) or any(one.outcome != SAME for one in self.sandboxes)

    @property
    def changed(self) -> tuple[SandboxPlan, ...]:
        """The sandboxes that something happens to."""
        return tuple(one for one in self.sandboxes if one.outcome != SAME or one.refusals)

    @property
    def notable(self) -> tuple[SandboxPlan, ...]:
        """These, and those that a pin keeps from changing."""
        return tuple(one for one in self.sandboxes if one.outcome != SAME or one.refusals or one.is_pinned)


def plan(engine: Engine, names: Sequence[str] = ()) -> StackPlan:
    """Return what `pulumi up` would do, to the named sandboxes or to all.

    Raises:
        NotFound: the stack has no sandbox of that name, nor would have.
        SandboxError: the preview failed for another reason than a refusal of what it would do.
    """
    first = engine.attempt()
    attempt = first
    if first.fault is not None:
        if isinstance(first.fault, InvalidInput):
            raise first.fault
        if any(GUARDED.search(problem.message) for problem in first.problems):
            attempt = engine.attempt(ignore_protect=True)
    whole = read_attempts(engine.project.name, engine.stack, first, attempt)
    if first.fault is not None and not whole.is_refused:
        raise first.fault
    return named(whole, names, first.fault)


def read_attempts(project: str, stack: str, first: Attempt, attempt: Attempt) -> StackPlan:
    """Return the plan out of a preview, and of a second one that overlooked protections where there was one."""
    found = max(attempt.plan, first.plan, key=lambda one: len(one.steps))
    owners = found.owners()
    by_owner: dict[str, list[Step]] = {}
    for step in found.steps:
        if step.urn in owners:
            by_owner.setdefault(owners[step.urn], []).append(step)
    refused, elsewhere = sorted_refusals(stack, (*first.problems, *attempt.problems), found, owners)
    notes = replace(found, warnings=attempt.plan.warnings).notes()
    sandboxes = []
    for component, own in by_owner.items():
        against = refused.get(component, ())
        # By the engine's word, not by the state's: a disk that the same update takes the protection from can be lost.
        is_refused = any(is_guarded_claim(one) for one in against)
        one = sandbox_plan(component.split("::")[-1], own, is_refused=is_refused)
        reasons = tuple(reason(one, problem, stack) for problem in against)
        sandboxes.append(replace(one, refusals=tuple(dict.fromkeys(reasons)), notes=notes.get(component, ())))
    others = tuple(
        Other(step.operation, step.type, step.name, step.fields)
        for step in found.steps
        if step.changes and step.urn not in owners and not step.type.startswith("pulumi:")
    )
    return StackPlan(
        project,
        stack,
        tuple(sorted(sandboxes, key=lambda one: (one.name, one.namespace or ""))),
        others,
        elsewhere,
        is_whole=attempt.fault is None,
    )


def named(whole: StackPlan, names: Sequence[str], fault: SandboxError | None = None) -> StackPlan:
    """Return the same plan for the named sandboxes alone, without what changes outside of sandboxes.

    Raises:
        NotFound: one of them is none.
    """
    known = [one.name for one in whole.sandboxes]
    for name in names:
        if name in known:
            continue
        if fault is not None and not whole.is_whole:
            raise fault  # it broke off before that one
        near = difflib.get_close_matches(name, known, n=1)
        hints = [f"did you mean {near[0]}?"] if near else []
        raise NotFound(
            f'stack {whole.stack} has no sandbox "{name}", and would have none',
            suggestions=[*hints, "sandbox plan", f"sandbox create {name} ..."],
        )
    if not names:
        return whole
    asked = tuple(one for one in whole.sandboxes if one.name in names)
    left_out = sum(one.name not in names for one in whole.changed)
    return replace(whole, sandboxes=asked, others=(), left_out=left_out)
