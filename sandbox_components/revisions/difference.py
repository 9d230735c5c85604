"""What differs between two revisions, field by field, in the words of the config; secrets by name alone.

It compares the six groups as they stand in the annotation, or as they were read back from the cluster. Whether a secret
variable's value differs is the caller's to find out where the Secret isn't the same one: here are no values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_components.revisions.timeline import GROUPS

CHANGED, UNCHANGED, UNKNOWN, ADDED, REMOVED = "changed", "unchanged", "unknown", "added", "removed"


@dataclass(frozen=True, slots=True)
class Field:
    """One field that differs.

    Attributes:
        group: image, command, resources, env, healthCheck or ports.
        name: its path, such as `resourceLimits.cpu` or `env.LEVEL`.
        old: plain data; None where it wasn't set.
        new: plain data; None where it isn't set.
    """

    group: str
    name: str
    old: Any
    new: Any

    @property
    def operation(self) -> str:
        """`added`, `removed` or `changed`."""
        return ADDED if self.old is None else REMOVED if self.new is None else CHANGED


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret variable.

    Attributes:
        name: the variable's.
        verdict: `added`, `removed`, `changed`, `unchanged` or `unknown`.
    """

    name: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs, and every secret variable.

    Attributes:
        fields: in the order of the groups.
        secrets: by name.
        is_resealed: the Secret is another object, which restarts the agent also where no value changed.
    """

    fields: Sequence[Field] = ()
    secrets: Sequence[Secret] = ()
    is_resealed: bool = False

    @property
    def changed(self) -> tuple[str, ...]:
        """Groups in which anything differs."""
        found = {field.group for field in self.fields}
        if self.is_resealed or any(secret.verdict not in (UNCHANGED, UNKNOWN) for secret in self.secrets):
            found.add("env")
        return tuple(group for group in GROUPS if group in found)

    @property
    def is_empty(self) -> bool:
        """Whether both are the same."""
        return not self.changed


def difference(old: Mapping[str, Any], new: Mapping[str, Any], verdicts: Mapping[str, str] | None = None) -> Difference:
    """Compare the six groups of two revisions.

    Args:
        old: as in the annotation.
        new: as in the annotation.
        verdicts: secret variable → `changed`, `unchanged` or `unknown`, where values were compared. Without one it is
            `unchanged` in the same Secret and `unknown` in another.
    """
    before, after = _flat(old), _flat(new)
    fields = [
        Field(*key, before.get(key), after.get(key))
        for key in sorted({*before, *after}, key=lambda key: (tuple(GROUPS).index(key[0]), key[1]))
        if before.get(key) != after.get(key)
    ]
    return Difference(tuple(fields), _secrets(old, new, verdicts or {}), _is_resealed(old, new))


def values(groups: Mapping[str, Any]) -> dict[str, list[tuple[str, Any]]]:
    """Return by group the fields that are set and their values, in the words of the config; all but the secrets."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for (group, name), value in _flat(groups).items():
        if value is not None:
            found.setdefault(group, []).append((name, value))
    return found


def unsure_secrets(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the secret variables of which only their values tell whether they changed."""
    if not _is_resealed(old, new):
        return ()
    return tuple(sorted(_names(old) & _names(new)))


def _secrets(old: Mapping[str, Any], new: Mapping[str, Any], verdicts: Mapping[str, str]) -> tuple[Secret, ...]:
    before, after = _names(old), _names(new)
    is_resealed = _is_resealed(old, new)
    found = []
    for name in sorted(before | after):
        if name not in before:
            verdict = ADDED
        elif name not in after:
            verdict = REMOVED
        else:
            verdict = verdicts.get(name, UNKNOWN if is_resealed else UNCHANGED)
        found.append(Secret(name, verdict))
    return tuple(found)


def _names(groups: Mapping[str, Any]) -> set[str]:
    return set((groups.get("secretEnv") or {}).get("names") or ())


def _is_resealed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tell whether both have a Secret, but not the same one: its generated name is new whenever a value changes."""
    names = [(groups.get("secretEnv") or {}).get("secret") for groups in (old, new)]
    return None not in names and names[0] != names[1]


def _flat(groups: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return group and field -> value, all but the secrets, in the order of the groups."""
    found: dict[tuple[str, str], Any] = {("image", "image"): (groups.get("image") or {}).get("uri")}
    found |= {("command", key): value for key, value in (groups.get("command") or {}).items()}
    resources = groups.get("resources") or {}
    for part, word in (("limits", "resourceLimits"), ("requests", "resourceRequests")):
        found |= {("resources", f"{word}.{kind}"): value for kind, value in (resources.get(part) or {}).items()}
    found |= {("env", f"env.{key}"): value for key, value in (groups.get("env") or {}).items()}
    check = _whole_check(groups.get("healthCheck") or {})
    found |= {("healthCheck", f"healthCheck.{key}"): value for key, value in check.items()}
    for one in groups.get("ports") or []:
        suffix = "" if one.get("protocol") == "TCP" else f"/{one.get('protocol')}"
        found["ports", f"ports.{one.get('port')}{suffix}"] = one.get("name")
    return found


def _whole_check(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a health check with its defaults: from a default to another value, both are to be seen."""
    if value.get("type", "none") == "none":
        return {}
    from pydantic.alias_generators import to_camel

    from sandbox_components.spec.health import HealthCheck

    usual = {to_camel(name): field.default for name, field in HealthCheck.model_fields.items()}
    return {**(value.get("http") or {}), **{key: one for key, one in (usual | dict(value)).items() if key != "http"}}
