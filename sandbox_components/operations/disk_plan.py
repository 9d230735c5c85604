"""What an update does to a sandbox's disk, in plain words, and the way out where the engine refuses it.

A lost disk is the one mistake that nothing undoes, so this is said for every sandbox, also where nothing happens to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.reading import UNKNOWN, Reading
from sandbox_components.operations.object_words import mapping
from sandbox_components.operations.plan import CLAIM, PROTECT, UNPROTECT, Step
from sandbox_components.spec import quantity

UNTOUCHED, GROWN, SHRUNK, REPLACED = "untouched", "grown", "shrunk", "replaced"
NEW, DELETED, KEPT, EXISTING, NONE = "new", "deleted", "kept", "existing", "none"
LOSES_FILES = (REPLACED, DELETED)


@dataclass(frozen=True)
class Disk:
    """What becomes of a disk.

    Attributes:
        outcome: untouched, grown, shrunk, replaced, new, deleted, kept (it outlives the sandbox), existing (a claim
            that isn't the sandbox's own) or none (files go with the pod).
        text: the same for a reader, in one line.
        claim: its name, where it has one.
        old_size: before, where it is known.
        new_size: afterwards, where it is known.
    """

    outcome: str
    text: str
    claim: str | None = None
    old_size: str | None = None
    new_size: str | None = None

    @property
    def loses_files(self) -> bool:
        """Whether what is on it would be gone."""
        return self.outcome in LOSES_FILES


def disk_plan(own: Sequence[Step], before: Reading | None, after: Reading | None, *, is_refused: bool = False) -> Disk:
    """Return what becomes of a sandbox's disk.

    Args:
        own: the sandbox's steps.
        before: what its pod mounts now; None where there is none.
        after: what it will mount; None where it goes.
        is_refused: the engine has said that it won't do it, because the disk is protected.
    """
    step = next((one for one in own if one.type == CLAIM), None)
    if step is None:
        return _without_own(before, after)
    name = _name(step.old) or _name(step.new) or step.name
    sizes = _size(step.old), _size(step.new)
    if step.operation == "delete":
        return _deleted(step, name, sizes[0], after, is_refused=is_refused)
    if "replace" in step.operation:
        why = ", ".join(_differing(step.old, step.new)) or "the engine replaces it"
        if is_refused:
            return Disk(REPLACED, f"REPLACED (refused): {why} would make an empty disk instead of {name}", name, *sizes)
        return Disk(REPLACED, f"REPLACED by an empty one ({why}): all files on {name} are lost", name, *sizes)
    if step.operation in ("create", "import"):
        claim = _name(step.new) or name
        told = ", ".join([*([sizes[1]] if sizes[1] else []), _class(step.new)])
        beside = ""
        if before is not None and before.claim not in (None, claim):
            beside = f"; the existing claim {before.claim} stays, and isn't mounted any more"
        return Disk(NEW, f"new: {claim}, {told}{beside}", claim, None, sizes[1])
    return _kept_in_place(step, name, sizes)


def _kept_in_place(step: Step, name: str, sizes: tuple[str | None, str | None]) -> Disk:
    old, new = sizes
    if step.changes and old != new and old is not None and new is not None:
        if _is_less(new, old):
            return Disk(
                SHRUNK, f"{name} would shrink from {old} to {new}: a disk grows, it never shrinks", name, *sizes
            )
        return Disk(GROWN, f"{name} grows in place from {old} to {new}", name, *sizes)
    guard = {PROTECT: "; protected from now on", UNPROTECT: "; not protected any more: it can be deleted from now on"}
    told = f"untouched ({', '.join(one for one in (name, old or new) if one)}){guard.get(step.operation, '')}"
    return Disk(UNTOUCHED, told, name, *sizes)


def _deleted(step: Step, name: str, size: str | None, after: Reading | None, *, is_refused: bool) -> Disk:
    if step.is_retained:
        return Disk(KEPT, f"kept: the claim {name} outlives its resource (retainOnDelete)", name, size, size)
    if is_refused:
        return Disk(DELETED, f"DELETED (refused): {name} and all files on it would be gone", name, size)
    if after is None:
        return Disk(DELETED, f"deleted with the sandbox: {name} and all files on it", name, size)
    instead = f"; the existing claim {after.claim} is mounted instead" if after.claim not in (None, name) else ""
    return Disk(DELETED, f"deleted: {name} and all files on it{instead}", name, size)


def _without_own(before: Reading | None, after: Reading | None) -> Disk:
    old = before.claim if before is not None else None
    new = after.claim if after is not None else None
    if after is None:
        if old is None:
            return Disk(NONE, "none: files go with the pod")
        return Disk(KEPT, f"kept: the claim {old} isn't the sandbox's own", old)
    if new is None:
        instead = f"; the existing claim {old} stays, and isn't mounted any more" if old is not None else ""
        return Disk(NONE, f"none: files go with the pod{instead}")
    if new == UNKNOWN:
        return Disk(EXISTING, "an existing claim, known after the update")
    instead = f", instead of {old}" if before is not None and old not in (None, new) else ""
    return Disk(EXISTING, f"the existing claim {new} is used as it is{instead}", new)


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Name what makes it another claim, in the config's words."""
    found = []
    for word, path in (
        ("claimName", ("metadata", "name")),
        ("namespace", ("metadata", "namespace")),
        ("class", ("spec", "storageClassName")),
        ("access modes", ("spec", "accessModes")),
    ):
        values = [mapping(side.get(path[0])).get(path[1]) for side in (old, new)]
        if values[0] != values[1]:
            shown = [", ".join(one) if isinstance(one, list) else one or "the cluster's default" for one in values]
            found.append(f"{word} {shown[0]} → {'known after the update' if shown[1] == UNKNOWN else shown[1]}")
    return found


def _name(inputs: Mapping[str, Any]) -> str | None:
    found = mapping(inputs.get("metadata")).get("name")
    return found if isinstance(found, str) and found != UNKNOWN else None


def _size(inputs: Mapping[str, Any]) -> str | None:
    requests = mapping(mapping(mapping(inputs.get("spec")).get("resources")).get("requests"))
    found = requests.get("storage")
    return found if isinstance(found, str) and found != UNKNOWN else None


def _class(inputs: Mapping[str, Any]) -> str:
    found = mapping(inputs.get("spec")).get("storageClassName")
    return f"class {found}" if isinstance(found, str) and found != UNKNOWN else "the cluster's default class"


def _is_less(one: str, other: str) -> bool:
    try:
        return quantity.as_number(quantity.storage(one, "")) < quantity.as_number(quantity.storage(other, ""))
    except (InvalidInput, ValueError):
        return False
