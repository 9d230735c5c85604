"""The pins in a stack's config: read, set, taken away, and folded into what the config declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox_components.errors import InvalidInput
from sandbox_components.operations.config_entry import alone, commented, drop, merge
from sandbox_components.operations.config_file import PIN_SECRETS, PINS, SANDBOXES, SECRET_ENV, plain
from sandbox_components.operations.config_text import Edit
from sandbox_components.operations.project import Project
from sandbox_components.spec import naming

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

    from sandbox_components.spec.pin import Pin

_KEYS_OF_GROUP = {
    "image": ("image",),
    "command": ("entrypoint", "command"),
    "resources": ("resourceLimits", "resourceRequests"),
    "env": ("env",),
    "healthCheck": ("healthCheck",),
    "ports": ("ports", "expose"),
}


@dataclass(frozen=True, slots=True)
class PinnedSandbox:
    """One pin of a stack's config.

    Attributes:
        name: the sandbox's.
        pin: which revision it keeps.
        is_declared: the config declares the sandbox; else the program does, or nobody.
    """

    name: str
    pin: Pin
    is_declared: bool


def pins_of(project: Project, stack: str) -> list[PinnedSandbox]:
    """Return the stack's pins by name.

    Raises:
        InvalidInput: one of them is broken.
    """
    from sandbox_components.spec.pin import read_pin

    config = _config(project, stack)
    found, declared = config.get(PINS) or {}, config.get(SANDBOXES)
    if not isinstance(found, Mapping):
        raise InvalidInput(PINS, "is not a mapping of sandbox names")
    return [
        PinnedSandbox(str(name), read_pin(found[name], f"{PINS}.{name}"), name in (declared or {}))
        for name in sorted(found, key=str)
    ]


def pin_of(project: Project, stack: str, name: str) -> Pin | None:
    """Return the pin of a sandbox.

    Raises:
        InvalidInput: it is broken.
    """
    from sandbox_components.spec.pin import read_pin

    found = _config(project, stack).get(PINS)
    return read_pin(found[name], f"{PINS}.{name}") if isinstance(found, Mapping) and name in found else None


def _config(project: Project, stack: str) -> Mapping[str, Any]:
    """Return the stack's config by YAML 1.2, as it is written and as Pulumi reads it: `yes` and `on` are texts."""
    from ruamel.yaml import YAML

    project.config(stack)  # tells in clear words what can't be read
    file = project.config_file(stack)
    data = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8-sig")) if file.exists() else None
    config = data.get("config") if isinstance(data, dict) else None
    return config if isinstance(config, dict) else {}


def pinned_id(project: Project, stack: str, name: str) -> str | None:
    """Return the id of the revision that a sandbox is pinned to; None also where its pin is broken."""
    pins = project.config(stack).get(PINS)
    pin = pins.get(name) if isinstance(pins, Mapping) else None
    found = pin.get("id") if isinstance(pin, Mapping) else None
    return found if isinstance(found, str) else None


def pinning(name: str, pin: Mapping[str, Any]) -> Edit:
    """Return the edit that pins a sandbox, in the place of an older pin; its secrets are encrypted apart from it."""
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        from ruamel.yaml.comments import CommentedMap

        drop(config, PIN_SECRETS, name)
        config.setdefault(PINS, CommentedMap())[name] = commented(pin)

    return alone(name, edit)


def unpinning(name: str) -> Edit:
    """Return the edit that takes a sandbox's pin away, whole or broken; none is no change."""
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        drop(config, PINS, name)
        drop(config, PIN_SECRETS, name)

    return alone(name, edit)


def fold(config: CommentedMap, name: str) -> None:
    """Make what is pinned the declaration of a sandbox that the config declares, and take the pin away.

    Groups that mean the same already keep their spelling. Secrets are moved as they are encrypted.

    Raises:
        InvalidInput: the pin is broken.
    """
    from sandbox_components.spec.pin import camel, read_pin
    from sandbox_components.spec.sandbox import read_sandbox

    if name not in (config.get(PINS) or {}):
        return
    pin = read_pin(plain(config[PINS][name]), f"{PINS}.{name}")
    declared = config[SANDBOXES][name]
    old = plain(declared)
    secrets = plain(config.get(SECRET_ENV) or {}).get(name) or {}
    try:
        changed = pin.differences(read_sandbox(old), tuple(secrets))
    except InvalidInput:
        changed = tuple(_KEYS_OF_GROUP)
    over, _ = pin.over(old)
    keys = [key for group in changed for key in _KEYS_OF_GROUP[group]]
    new = {key: value for key, value in old.items() if camel(key) not in keys}
    new |= {key: over[key] for key in keys if over.get(key)}
    if isinstance(old.get("image"), str) and "image" in changed:
        new["image"] = over["image"]["uri"]
    merge(declared, new)
    drop(config, PINS, name)
    drop(config, SECRET_ENV, name)
    moved = drop(config, PIN_SECRETS, name)
    if moved is not None:
        from ruamel.yaml.comments import CommentedMap

        config.setdefault(SECRET_ENV, CommentedMap())[name] = moved
