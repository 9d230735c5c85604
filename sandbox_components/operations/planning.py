"""`sandbox plan`: what `pulumi up` would do now, from the engine's own preview, sandbox by sandbox.

A preview that would lose a protected disk fails, and says no more than that. Then a second one, told to overlook the
protection, shows the rest; it changes nothing either.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox_components.errors import InvalidInput, NotFound, SandboxError
from sandbox_components.operations.disk_plan import LOSES_FILES, REPLACED, SHRUNK
from sandbox_components.operations.engine import Attempt, Engine
from sandbox_components.operations.object_words import mapping
from sandbox_components.operations.plan import CLAIM, Plan, Problem, Step
from sandbox_components.operations.sandbox_plan import REMOVED, SAME, Refusal, SandboxPlan, sandbox_plan

NAMESPACE = "kubernetes:core/v1:Namespace"
_GUARDED = re.compile(r"currently marked for protection|because it is protected")
_REFUSED = re.compile(r"is forbidden|is invalid|Forbidden|denied the request|exceeded quota")
_IMMUTABLE = re.compile(r"spec is immutable after creation")


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
        if any(_GUARDED.search(problem.message) for problem in first.problems):
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
    refused, elsewhere = _refusals(stack, (*first.problems, *attempt.problems), found, owners)
    sandboxes = []
    for component, own in by_owner.items():
        one = sandbox_plan(component.split("::")[-1], own)
        reasons = tuple(_reason(one, problem, stack) for problem in refused.get(component, ()))
        told = (warning.message for warning in attempt.warnings if owners.get(warning.urn) == component)
        notes = (text.removeprefix("warning: ").strip() for text in told)
        sandboxes.append(replace(one, refusals=tuple(dict.fromkeys(reasons)), notes=tuple(dict.fromkeys(notes))))
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


def _refusals(
    stack: str, problems: Sequence[Problem], found: Plan, owners: dict[str, str]
) -> tuple[dict[str, list[Problem]], tuple[Refusal, ...]]:
    """Sort what was said against the update by the sandbox that it is about; the rest is the stack's."""
    by_sandbox: dict[str, list[Problem]] = {}
    elsewhere: list[Refusal] = []
    guarded = {problem.urn for problem in problems if _GUARDED.search(problem.message)}
    steps = {step.urn: step for step in found.steps}
    for problem in dict.fromkeys(problems):
        is_guarded = bool(_GUARDED.search(problem.message))
        if not problem.urn or not (is_guarded or _REFUSED.search(problem.message)):
            continue
        if not is_guarded and problem.urn in guarded:
            continue  # that the cluster refuses it as well is no news
        if problem.urn in owners:
            by_sandbox.setdefault(owners[problem.urn], []).append(problem)
        else:
            elsewhere.append(_outside(problem, steps.get(problem.urn), stack, is_guarded=is_guarded))
    return by_sandbox, tuple(dict.fromkeys(elsewhere))


def _reason(one: SandboxPlan, problem: Problem, stack: str) -> Refusal:
    """Return why a sandbox's part can't be done, in plain words."""
    kind, name = _kind(problem.urn), problem.urn.split("::")[-1]
    if kind != CLAIM.rsplit(":", 1)[-1]:
        if _GUARDED.search(problem.message):
            return Refusal(
                f"{kind} {name} is protected by the program", ("take the protection out of the program first",)
            )
        return Refusal(f"the cluster refuses {kind} {name}: {_short(problem.message)}")
    if one.disk.outcome == SHRUNK:
        return Refusal("a disk grows, it never shrinks", ("keep the size, or make it larger",))
    if _GUARDED.search(problem.message):
        return _disk_is_protected(one, stack)
    if one.disk.outcome == REPLACED and _IMMUTABLE.search(problem.message):
        return Refusal(
            "this version of the Kubernetes provider can't preview that a claim is replaced",
            (f"pulumi up --stack {stack} --skip-preview, if the files may go", "keep the class as it is"),
        )
    return Refusal(f"the cluster refuses the claim {name}: {_short(problem.message)}")


def _disk_is_protected(one: SandboxPlan, stack: str) -> Refusal:
    lost = "be replaced by an empty one" if one.disk.outcome not in LOSES_FILES[1:] else "be deleted"
    reason = f"the disk is protected (deletion: protect) and would {lost}"
    if one.outcome == REMOVED:
        return Refusal(
            reason,
            (
                f"sandbox delete {one.name}: it asks, and deletes the disk too",
                "or declare the sandbox again as it was",
            ),
        )
    return Refusal(
        reason,
        (
            "keep class, claimName, namespace and volume as they are; size may grow",
            f"if the files may go: sandbox delete {one.name}, then sandbox create {one.name}",
            f"or set deletion: delete, run pulumi up --stack {stack}, then make this change",
        ),
    )


def _outside(problem: Problem, step: Step | None, stack: str, *, is_guarded: bool) -> Refusal:
    kind, name = _kind(problem.urn), problem.urn.split("::")[-1]
    if step is not None:
        name = str(mapping((step.old or step.new).get("metadata")).get("name") or name)
    if not is_guarded:
        return Refusal(f"the cluster refuses {kind} {name}: {_short(problem.message)}")
    does = "replaced" if step is None or "delete" not in step.operation else "deleted"
    if problem.urn.split("::")[-2].rsplit("$", 1)[-1] == NAMESPACE:
        return Refusal(
            f"the Namespace {name} is protected and would be {does}, with every claim in it",
            (
                "keep sandbox-components:namespace as it is",
                f"if all its disks may go: set deletion: delete, run pulumi up --stack {stack}, then make this change",
            ),
        )
    return Refusal(f"{kind} {name} is protected and would be {does}", ("take the protection out of the program first",))


def _kind(urn: str) -> str:
    return urn.split("::")[-2].rsplit("$", 1)[-1].rsplit(":", 1)[-1]


def _short(message: str) -> str:
    """Return the cluster's own words without the engine's around them."""
    text = re.sub(r"^error: (Preview failed: )?", "", message)
    text = re.sub(r'^resource "?urn:\S+ was not successfully \w+ by the Kubernetes API server: ', "", text)
    line = " ".join(text.splitlines()[0].split()) if text else "no reason given"
    return line if len(line) <= 300 else f"{line[:297]}..."
