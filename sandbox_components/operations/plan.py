"""A preview, read for one sandbox: which resources are its own, what happens to them, and does the agent restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

COMPONENT = "sandbox-components:index:Sandbox"
STATEFUL_SET = "kubernetes:apps/v1:StatefulSet"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
UNCHANGED = ("same", "read", "refresh")
PROTECT, UNPROTECT = "protect", "unprotect"
"""Our words for what the engine counts as no change: the object stays, but what may delete it differs."""


@dataclass(frozen=True)
class Step:
    """One operation of a preview.

    Attributes:
        fields: paths of what differs, as the provider found it out.
        is_protected: the state says so, and the engine refuses to delete it.
        old: the object's inputs before; empty where it is new. Secret values aren't in it.
        new: its inputs afterwards; empty where it goes. What only the update will tell is a placeholder.
        is_retained: the state says that the object outlives its resource.
        provider: reference to the one that makes it; the engine's own is named `default_VERSION`.
    """

    operation: str
    urn: str
    parent: str
    depends_on: frozenset[str]
    fields: tuple[str, ...]
    is_protected: bool
    old: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    new: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    is_retained: bool = False
    provider: str = field(default="", repr=False, compare=False)

    @property
    def type(self) -> str:
        """The resource's own type token."""
        return self.urn.split("::")[2].rsplit("$", 1)[-1]

    @property
    def name(self) -> str:
        """The resource's Pulumi name."""
        return self.urn.split("::")[-1]

    @property
    def changes(self) -> bool:
        """Whether the operation does anything."""
        return self.operation not in UNCHANGED

    @property
    def restarts(self) -> bool:
        """Whether it changes the pod template of a running sandbox."""
        if self.type != STATEFUL_SET or not self.changes or self.operation in (PROTECT, UNPROTECT):
            return False
        if self.operation != "update":
            return True
        if not self.fields:  # a provider that doesn't say what differs
            return bool(_template(self.old) != _template(self.new))
        return any(path == "spec" or path.startswith("spec.template") for path in self.fields)


@dataclass(frozen=True)
class Problem:
    """What the engine or the cluster says against one resource, or against the whole where `urn` is empty."""

    urn: str
    message: str

    @staticmethod
    def read(data: Mapping[str, Any], severity: str = "error") -> tuple[Problem, ...]:
        """Read the errors, or what else of that severity, in the answer of `pulumi preview --json`."""
        told = [one for one in data.get("diagnostics") or [] if one.get("severity") == severity]
        return tuple(Problem(str(one.get("urn") or ""), str(one.get("message") or "").strip()) for one in told)


@dataclass(frozen=True)
class Plan:
    """All operations of a preview.

    Attributes:
        warnings: what the program said to mind, by resource.
    """

    steps: tuple[Step, ...]
    warnings: tuple[Problem, ...] = ()

    @staticmethod
    def read(data: Mapping[str, Any]) -> Plan:
        """Read the answer of `pulumi preview --json --show-sames`."""
        return Plan(tuple(_step(one) for one in data.get("steps") or []), Problem.read(data, "warning"))

    def of_sandbox(self, name: str) -> tuple[Step, ...]:
        """Return the operations that change the sandbox `name` or what lies below it."""
        parents = {step.urn: step.parent for step in self.steps}
        return tuple(step for step in self.steps if step.changes and _is_below(step.urn, name, parents))

    def knows(self, name: str) -> bool:
        """Tell whether the stack has, or would have, a sandbox of that name."""
        return self.component(name) is not None

    def component(self, name: str) -> Step | None:
        """Return what happens to the sandbox's own component, if there is one."""
        return next((step for step in self.steps if _is_component(step.urn, name)), None)

    def owners(self) -> dict[str, str]:
        """Return by URN the component of the sandbox that a resource belongs to; what belongs to none is absent."""
        parents = {step.urn: step.parent for step in self.steps}
        found: dict[str, str] = {}
        for step in self.steps:
            urn, seen = step.urn, set[str]()
            while urn and urn not in seen:
                if _token(urn) == COMPONENT:
                    found[step.urn] = urn
                    break
                seen.add(urn)
                urn = parents.get(urn) or ("" if urn in parents else _by_name(urn))
        return found

    def notes(self) -> dict[str, tuple[str, ...]]:
        """Return by component what the program said to mind about that sandbox, each thing once."""
        owners, found = self.owners(), dict[str, dict[str, None]]()
        for one in self.warnings:
            if one.urn in owners:
                text = one.message.removeprefix("warning: ").strip()
                found.setdefault(owners[one.urn], {})[text] = None
        return {component: tuple(texts) for component, texts in found.items()}

    def needed_for(self, own: Iterable[Step]) -> tuple[Step, ...]:
        """Return `own`, and every parent or dependency of it that doesn't exist yet or whose protection changes.

        The program protects the Namespace as long as it holds a protected disk: deleting it would delete every claim.
        """
        by_urn = {step.urn: step for step in self.steps}
        wanted = {step.urn for step in own}
        seen: set[str] = set()
        queue = list(wanted)
        while queue:
            step = by_urn.get(queue.pop())
            if step is None or step.urn in seen:
                continue
            seen.add(step.urn)
            if step.operation in ("create", PROTECT, UNPROTECT):
                wanted.add(step.urn)
            queue += [step.parent, *step.depends_on]
        return tuple(step for step in self.steps if step.urn in wanted)


def _token(urn: str) -> str:
    parts = urn.split("::")
    return parts[2].rsplit("$", 1)[-1] if len(parts) >= 4 else ""


def _by_name(urn: str) -> str:
    """Return the sandbox that a resource below it is named after, where the preview broke off before that resource."""
    stack, _, rest = urn.rpartition(f"{COMPONENT}$")
    return f"{stack}{COMPONENT}::{rest.split('::')[-1]}" if stack else ""


def _is_component(urn: str, name: str) -> bool:
    return _token(urn) == COMPONENT and urn.split("::")[-1] == name


def _is_below(urn: str, name: str, parents: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while urn and urn not in seen:
        if _is_component(urn, name):
            return True
        seen.add(urn)
        urn = parents.get(urn, "")
    return False


def _template(inputs: Mapping[str, Any]) -> Any:
    spec = inputs.get("spec")
    return spec.get("template") if isinstance(spec, Mapping) else spec


def _step(data: Mapping[str, Any]) -> Step:
    old, new = data.get("oldState") or {}, data.get("newState") or {}
    state = new or old
    depends = {*(state.get("dependencies") or [])}
    for urns in (state.get("propertyDependencies") or {}).values():
        depends |= set(urns or [])
    operation, is_protected = str(data.get("op")), bool(old.get("protect"))
    if operation == "same" and bool(new.get("protect")) != is_protected:
        operation = UNPROTECT if is_protected else PROTECT
    return Step(
        operation=operation,
        urn=str(data.get("urn")),
        parent=str(state.get("parent") or ""),
        depends_on=frozenset(depends),
        fields=tuple(data.get("detailedDiff") or ()),
        is_protected=is_protected,
        old=old.get("inputs") or {},
        new=new.get("inputs") or {},
        is_retained=bool(old.get("retainOnDelete")),
        provider=str(state.get("provider") or ""),
    )
