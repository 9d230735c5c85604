"""A pin: the six groups of an earlier revision, which a rollback writes into stack config over whatever is declared.

Its `spec` is that revision's canonical data without the generated name of its Secret, so that a pin can be compared
with the history it came from; here it is checked, and turned into the words of the config and of `SandboxArgs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import revision
from sandbox_components.spec.reading import Model, Text, Whole, read, unknown_key
from sandbox_components.spec.sandbox import SandboxSpec, check_env_name, read_sandbox

GROUP_KEYS = (
    "image",
    "entrypoint",
    "command",
    "resourceLimits",
    "resourceRequests",
    "env",
    "healthCheck",
    "ports",
)
"""Keys of a sandbox's arguments that a pin decides; an absent one means the default, not what is declared."""

_OF_GROUP = {"image": ("uri",), "command": ("entrypoint", "command"), "resources": ("limits", "requests")}
_GROUPS = ("v", *_OF_GROUP, "env", "secretEnv", "healthCheck", "ports")


class _Written(Model):
    revision: Whole | None = None
    id: Text
    spec: Any
    by: Text = ""
    at: Text = ""


@dataclass(frozen=True)
class Pin:
    """A pin that is whole and right.

    Attributes:
        id: of the revision.
        revision: its number, where the history tells it.
        groups: canonical data; secret variables by name.
        spec: the same, read; what isn't in the six groups is the default.
        by: who pinned.
        at: when.
    """

    id: str
    revision: int | None
    groups: Mapping[str, Any]
    spec: SandboxSpec
    by: str
    at: str

    @property
    def secret_env(self) -> tuple[str, ...]:
        """Names of the secret variables; their values stand in `sandbox-components:pinSecrets`."""
        return tuple((self.groups.get("secretEnv") or {}).get("names", ()))

    @property
    def title(self) -> str:
        """The revision as texts call it."""
        return title_of(self.revision, self.id)

    def over(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Put the pin over a sandbox's arguments or config entry.

        Returns:
            The arguments, and the exposed ports that were left out because the pin doesn't have them.
        """
        values = {key: value for key, value in args.items() if camel(key) not in GROUP_KEYS}
        groups = config_groups(self.groups)
        image = args.get("image")
        if isinstance(image, Mapping):
            groups["image"] = {**{key: value for key, value in image.items() if key != "uri"}, **groups["image"]}
        dropped: list[int] = []
        if isinstance(values.get("expose"), Mapping):
            exposed = dict(values["expose"])
            dropped = [int(str(port)) for port in exposed if not self.has_port(port)]
            values["expose"] = {port: one for port, one in exposed.items() if self.has_port(port)}
        return {**values, **groups}, tuple(dropped)

    def has_port(self, number: object) -> bool:
        """Tell whether a TCP port of that number is pinned, as `expose` needs it."""
        return any(str(port.port) == str(number) and port.protocol == "TCP" for port in self.spec.ports)

    def differences(self, spec: SandboxSpec, secret_env: tuple[str, ...]) -> tuple[str, ...]:
        """Return the groups in which a declaration differs from the pin; values of secrets aren't looked at."""
        declared = without_secret_name(revision.revision_groups(spec, secret_env))
        pinned = without_secret_name(revision.revision_groups(self.spec, self.secret_env))
        changed = [group for group in _GROUPS if declared.get(group) != pinned.get(group)]
        return tuple(dict.fromkeys("env" if group == "secretEnv" else group for group in changed))


def title_of(number: int | None, stamp: str) -> str:
    """Return how texts call a revision: by its number where that is known, and its id."""
    return f"revision {stamp}" if number is None else f"revision {number} ({stamp})"


def without_secret_name(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return canonical groups as a pin has them: a Secret's generated name is another one each time it is made."""
    found = dict(groups)
    if "secretEnv" in found:
        found["secretEnv"] = {"names": list(found["secretEnv"]["names"])}
    return found


def config_groups(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return canonical groups in the words of the config, secret variables left out."""
    found: dict[str, Any] = {"image": dict(groups["image"]), **(groups.get("command") or {})}
    resources = groups["resources"]
    found["resourceLimits"] = dict(resources["limits"])
    if resources.get("requests"):
        found["resourceRequests"] = dict(resources["requests"])
    for key in ("env", "healthCheck", "ports"):
        if groups.get(key):
            found[key] = groups[key]
    return found


def read_pin(data: object, field: str) -> Pin:
    """Read one entry of `sandbox-components:pins`.

    Raises:
        InvalidInput: for the first thing that is wrong, with its path below `field`.
    """
    written = read(_Written, data, field)
    if not written.id:
        raise InvalidInput(f"{field}.id", "is blank: it is the id of a revision")
    if written.revision is not None and written.revision < 1:
        raise InvalidInput(f"{field}.revision", f"{written.revision} is not the number of a revision, 1 or more")
    groups = _groups(written.spec, f"{field}.spec")
    spec = read_sandbox(config_groups(groups), f"{field}.spec")
    for key in (groups.get("secretEnv") or {}).get("names", ()):
        if key in spec.env:
            raise InvalidInput(f"{field}.spec.secretEnv", f'"{key}" stands in env too')
    return Pin(written.id, written.revision, groups, spec, written.by, written.at)


def written_spec(groups: Mapping[str, Any]) -> Any:
    """Return canonical groups as they are written into config: readable data, or their JSON text.

    When Pulumi reads config it drops a line break that a text begins with; in the JSON text there is none.
    """
    found = without_secret_name(groups)
    return revision.canonical(found) if _begins_with_break(found) else found


def _begins_with_break(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_begins_with_break(one) for one in value.values())
    if isinstance(value, list | tuple):
        return any(_begins_with_break(one) for one in value)
    return isinstance(value, str) and value.startswith("\n")


def _groups(spec: object, field: str) -> dict[str, Any]:
    if isinstance(spec, str):
        try:
            spec = json.loads(spec)
        except ValueError:
            raise InvalidInput(field, "is not JSON") from None
    if not isinstance(spec, Mapping):
        raise InvalidInput(field, "is not a mapping of image, command, resources, env, healthCheck and ports")
    for key in spec:
        if key not in _GROUPS:
            raise unknown_key(str(key), list(_GROUPS), field)
    if spec.get("v") != revision.VERSION:
        raise InvalidInput(f"{field}.v", f"is not {revision.VERSION}: another version of this package wrote it")
    for group, keys in _OF_GROUP.items():
        value = spec.get(group)
        if value is None and group == "command":
            continue
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{field}.{group}", f"is missing or not a mapping of {', '.join(keys)}")
        for key in value:
            if key not in keys:
                raise unknown_key(str(key), list(keys), f"{field}.{group}")
    if not isinstance(spec["resources"].get("limits"), Mapping):
        raise InvalidInput(f"{field}.resources.limits", "is missing: cpu and memory")
    if not isinstance(spec["resources"].get("requests", {}), Mapping):
        raise InvalidInput(f"{field}.resources.requests", "is not a mapping of cpu and memory")
    _check_secret_env(spec.get("secretEnv"), f"{field}.secretEnv")
    return dict(spec)


def _check_secret_env(value: object, field: str) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping) or set(value) != {"names"} or not isinstance(value["names"], list):
        raise InvalidInput(field, "is not a mapping with names, a list: their values stand in pinSecrets")
    for key in value["names"]:
        if not isinstance(key, str):
            raise InvalidInput(f"{field}.names", "holds something else than names")
        check_env_name(key, f"{field}.names")
    if len(set(value["names"])) < len(value["names"]) or not value["names"]:
        raise InvalidInput(f"{field}.names", "is empty, or names a variable twice")


def camel(key: object) -> object:
    """Return an argument's name as the config spells it."""
    if not isinstance(key, str):
        return key
    head, *rest = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
