"""Why an update can't be done: what engine and cluster say against it, in plain words, and the ways on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox_components.operations.disk_plan import DELETED, REPLACED, SHRUNK
from sandbox_components.operations.object_words import mapping
from sandbox_components.operations.plan import CLAIM, Plan, Problem, Step
from sandbox_components.operations.sandbox_plan import REMOVED, Refusal, SandboxPlan

NAMESPACE = "kubernetes:core/v1:Namespace"
GUARDED = re.compile(r"currently marked for protection|because it is protected")
_REFUSED = re.compile(r"is forbidden|is invalid|Forbidden|denied the request|exceeded quota|apply conflict")
_CLAIM = CLAIM.rsplit(":", 1)[-1]
_IMMUTABLE = re.compile(r"spec is immutable after creation")


def is_guarded_claim(problem: Problem) -> bool:
    """Tell whether the engine refuses it because a disk is protected."""
    return _kind(problem.urn) == _CLAIM and bool(GUARDED.search(problem.message))


def sorted_refusals(
    stack: str, problems: Sequence[Problem], found: Plan, owners: dict[str, str]
) -> tuple[dict[str, list[Problem]], tuple[Refusal, ...]]:
    """Sort what was said against the update by the sandbox that it is about; the rest is the stack's."""
    by_sandbox: dict[str, list[Problem]] = {}
    elsewhere: list[Refusal] = []
    guarded = {problem.urn for problem in problems if GUARDED.search(problem.message)}
    steps = {step.urn: step for step in found.steps}
    for problem in dict.fromkeys(problems):
        is_guarded = bool(GUARDED.search(problem.message))
        if not problem.urn or not (is_guarded or _REFUSED.search(problem.message)):
            continue
        if not is_guarded and problem.urn in guarded:
            continue  # that the cluster refuses it as well is no news
        if problem.urn in owners:
            by_sandbox.setdefault(owners[problem.urn], []).append(problem)
        else:
            elsewhere.append(_outside(problem, steps.get(problem.urn), stack, is_guarded=is_guarded))
    return by_sandbox, tuple(dict.fromkeys(elsewhere))


def reason(one: SandboxPlan, problem: Problem, stack: str) -> Refusal:
    """Return why a sandbox's part can't be done, in plain words."""
    kind, name = _kind(problem.urn), problem.urn.split("::")[-1]
    if "apply conflict" in problem.message:
        return _conflict(kind, name, problem.message, stack)
    if kind != _CLAIM:
        if GUARDED.search(problem.message):
            return Refusal(
                f"{kind} {name} is protected by the program", ("take the protection out of the program first",)
            )
        return Refusal(f"the cluster refuses {kind} {name}: {_short(problem.message)}")
    if one.disk.outcome == SHRUNK:
        return Refusal("a disk grows, it never shrinks", ("keep the size, or make it larger",))
    if GUARDED.search(problem.message):
        return _disk_is_protected(one, stack)
    if one.disk.outcome == REPLACED and _IMMUTABLE.search(problem.message):
        return Refusal(
            "this version of the Kubernetes provider can't preview that a claim is replaced",
            (f"pulumi up --stack {stack} --skip-preview, if the files may go", "keep the class as it is"),
        )
    return Refusal(f"the cluster refuses the claim {name}: {_short(problem.message)}")


def _conflict(kind: str, name: str, message: str, stack: str) -> Refusal:
    """Return the refusal of what somebody else has changed in the cluster, and so owns."""
    owners = list(dict.fromkeys(re.findall(r'conflicts? with "([^"]+)"', message)))
    fields = ", ".join(re.findall(r"^\s*- (\.\S.*)$", message, re.MULTILINE)[:10])
    ways = ["take that change back in the cluster by the same means, then run it again"]
    if owners and all(owner.startswith("kubectl") for owner in owners):  # the provider takes over what kubectl owns
        ways.append(f"or pulumi up --stack {stack} --skip-preview, which undoes it")
    who = ", ".join(owners) or "another field manager"
    return Refusal(f"{kind} {name} was changed in the cluster by {who}, who owns {fields or 'a field'}", tuple(ways))


def _disk_is_protected(one: SandboxPlan, stack: str) -> Refusal:
    lost = "be replaced by an empty one" if one.disk.outcome != DELETED else "be deleted"
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
    lines = [line.strip(" \t*") for line in text.splitlines() if not line.rstrip().endswith("occurred:")]
    line = " ".join(" ".join(lines[:1]).split()) or "no reason given"
    return line if len(line) <= 300 else f"{line[:297]}..."
