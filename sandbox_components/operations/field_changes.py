"""What differs between a sandbox's objects before and after an update, in the words of its config.

The values come from the inputs that the engine compares. Secrets are told by name alone, and what the engine can't
know before the update is said to be known later, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_components.manifests.reading import (
    DEFAULTS,
    GROUPS,
    SECRET_VALUE,
    UNKNOWN,
    Reading,
    group_of,
    own_labels,
    read_workload,
)
from sandbox_components.operations.object_words import CONFIG_MAP, INGRESS, POLICY, SECRET, metadata_words, words_of
from sandbox_components.operations.plan import CLAIM, PROTECT, STATEFUL_SET, UNPROTECT, Step

SERVICE = "kubernetes:core/v1:Service"
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
_ORDER = {word: index for index, word in enumerate(GROUPS)}
_DATA = re.compile(r'(?:data|stringData)(?:\.(?P<plain>[^.\["]+)|\["(?P<quoted>[^"]+)"\])$')
_USUAL = {**DEFAULTS, "egress": "internet", "waitForReady": False, "keyGeneration": 1}
_NOT_SAID_OF_NEW = ("name", "namespace", "packageVersion", "annotations", "mountPath", "inferenceKey")
_RAW = ("pod.", "container.", "spec.")


@dataclass(frozen=True)
class FieldChange:
    """One field that differs.

    Attributes:
        field: in the config's words (`env.LEVEL`), or a path of Kubernetes' where it has none.
        change: added, removed or changed.
        old: value before; None where there was none, or where it is a secret.
        new: value afterwards; None likewise, or where only the update will tell.
        is_secret: the values are not shown.
        is_known_later: the new value is known after the update.
    """

    field: str
    change: str
    old: Any = None
    new: Any = None
    is_secret: bool = False
    is_known_later: bool = False

    @property
    def group(self) -> str | None:
        """Which of a revision's six groups it belongs to; None for what makes no revision."""
        return group_of(self.field)


def differences(own: Sequence[Step]) -> tuple[FieldChange, ...]:
    """Return what differs in a sandbox that stays, of all its objects."""
    is_known = all(_reading(own, side).is_known for side in ("old", "new"))
    before, after = (words_of(own, side, with_template=is_known) for side in ("old", "new"))
    found = [*_secret_env(own, before.pop("secretEnv", {}), after.pop("secretEnv", {})), *_compared(before, after)]
    if not is_known:
        found.append(FieldChange("template", CHANGED, is_known_later=True))
    has_ports = any(one.group == "ports" for one in found)
    return _in_order([*found, *_rest(own, has_ports=has_ports)])


def beginnings(own: Sequence[Step]) -> tuple[FieldChange, ...]:
    """Return what a new sandbox is declared to be, defaults left out."""
    words = words_of(own, "new")
    words["labels"] = own_labels(words.get("labels"))
    for key in list(words):
        is_default = key in _USUAL and words[key] == _USUAL[key]
        if is_default or key.startswith(_RAW) or key in _NOT_SAID_OF_NEW:
            del words[key]
    secret = [FieldChange(f"secretEnv.{key}", ADDED, is_secret=True) for key in words.pop("secretEnv", {})]
    return _in_order([*_compared({}, words), *secret])


def _reading(own: Sequence[Step], side: str) -> Reading:
    inputs: Mapping[str, Any] = next((getattr(step, side) for step in own if step.type == STATEFUL_SET), {})
    return read_workload(inputs) if inputs else Reading({})


def _compared(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[FieldChange]:
    for key in dict.fromkeys([*before, *after]):
        field, old, new = f"{path}{key}", before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping) and not _is_whole(key, old, new):
            yield from _compared(old or {}, new or {}, f"{field}.")
        else:
            yield _changed(field, old, new)


def _is_whole(key: str, old: object, new: object) -> bool:
    """A health check that comes or goes is one change, and so is the whole of what has no words of ours."""
    return (key == "healthCheck" and (old is None or new is None)) or key.startswith(_RAW)


def _changed(field: str, old: Any, new: Any) -> FieldChange:
    is_secret, is_later = _holds(old, SECRET_VALUE) or _holds(new, SECRET_VALUE), _holds(new, UNKNOWN)
    change = ADDED if _is_nothing(old) else REMOVED if _is_nothing(new) else CHANGED
    if is_secret:
        return FieldChange(field, change, is_secret=True, is_known_later=is_later)
    return FieldChange(
        field,
        change,
        None if _is_nothing(old) or _holds(old, UNKNOWN) else old,
        None if _is_nothing(new) or is_later else new,
        is_known_later=is_later,
    )


def _secret_env(own: Sequence[Step], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    """Tell secret variables by name: which came, which went, and whose value the provider says is another."""
    touched = set(changed_secrets(own))
    for key in sorted({*before, *after, *(touched - {"*"} if not before and not after else ())}):
        change = CHANGED if (key in before) == (key in after) else REMOVED if key in before else ADDED
        if change != CHANGED or key in touched or "*" in touched:
            yield FieldChange(f"secretEnv.{key}", change, is_secret=True)


def changed_secrets(own: Sequence[Step]) -> Iterator[str]:
    """Yield the secret variables whose values differ; `*` where the provider doesn't say which."""
    for step in own:
        if step.type != SECRET or not step.name.endswith("-env") or step.operation in ("create", "delete"):
            continue
        for path in step.fields:
            named = _DATA.match(path)
            if named is not None:
                yield named["plain"] or named["quoted"]
            elif path in ("data", "stringData"):
                yield "*"
        if not step.fields and step.changes and step.operation not in (PROTECT, UNPROTECT):
            yield "*"


def _rest(own: Sequence[Step], *, has_ports: bool) -> Iterator[FieldChange]:
    """Yield what differs in the other objects and isn't said yet, so that nothing goes unsaid."""
    for step in own:
        if not step.changes or step.type == STATEFUL_SET or not step.type.startswith("kubernetes:"):
            continue
        if step.operation in (PROTECT, UNPROTECT) or step.type == CONFIG_MAP:
            continue
        kind = step.type.rsplit(":", 1)[-1]
        if step.type == SECRET and step.name.endswith("-pull") and _touches_data(step):
            change = {"create": ADDED, "delete": REMOVED}.get(step.operation, CHANGED)
            yield FieldChange("imageAuth", change, is_secret=True)
        is_said = step.type in (CLAIM, SECRET, INGRESS) or (step.type == SERVICE and has_ports)
        if step.operation in ("create", "delete"):
            if not is_said:
                yield FieldChange(f"{kind} {step.name}", ADDED if step.operation == "create" else REMOVED)
            continue
        old, new = metadata_words(step.old), metadata_words(step.new)
        for made_up in ("name", "waitForReady"):
            old.pop(made_up, None), new.pop(made_up, None)
        yield from _compared(old, new)
        if is_said:
            continue
        for path in step.fields:
            is_port = has_ports and step.type == POLICY and path.startswith("spec.ingress")
            is_egress = step.type == POLICY and path.startswith("spec.egress")
            is_empty = all(_is_nothing(_at(side, path)) for side in (step.old, step.new))
            if not path.startswith("metadata") and not is_port and not is_egress and not is_empty:
                yield FieldChange(f"{kind} {path}", CHANGED)


def _touches_data(step: Step) -> bool:
    return step.operation in ("create", "delete") or not step.fields or any(_DATA.match(one) for one in step.fields)


def _in_order(found: Sequence[FieldChange]) -> tuple[FieldChange, ...]:
    """Return them by group, each once: a label stands on all objects."""
    once = {(one.field, repr(one.old), repr(one.new)): one for one in reversed(found)}
    first = {one.field: index for index, one in enumerate(found)}
    return tuple(
        sorted(
            once.values(),
            key=lambda one: (_ORDER.get(one.field.partition(".")[0], len(_ORDER)), first[one.field]),
        )
    )


def _holds(value: object, mark: str) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(one, mark) for one in value.values())
    if isinstance(value, list):
        return any(_holds(one, mark) for one in value)
    return value == mark


def _at(inputs: Any, path: str) -> Any:
    for key in path.split("."):
        inputs = inputs.get(key) if isinstance(inputs, Mapping) else inputs
    return inputs


def _is_nothing(value: object) -> bool:
    return value is None or value in ({}, [])
