"""Pins: what a rollback wrote into stack config, laid over whatever a program or the config declares.

Only the six groups are replaced, secret variables among them; volume, labels, egress and the rest stay as declared.
A pin wins until `sandbox unpin`, and says so at every `up`: it would be worse to forget one than to read a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from sandbox_components.components.arguments import Arguments
from sandbox_components.components.platform import CONFIG, config_object
from sandbox_components.components.taken import is_made
from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming
from sandbox_components.spec.pin import Pin, read_pin
from sandbox_components.spec.sandbox import check_text

PINS, PIN_SECRETS = f"{CONFIG}:pins", f"{CONFIG}:pinSecrets"


@dataclass(frozen=True)
class Pinned:
    """A sandbox that is pinned.

    Attributes:
        name: the sandbox's.
        pin: which revision it keeps.
        secrets: that revision's secret variables.
        declared: the arguments without the pin.
        given: the arguments with it.
        dropped: exposed ports that the pin doesn't have.
    """

    name: str
    pin: Pin
    secrets: Mapping[str, pulumi.Output[str]]
    declared: Arguments
    given: Arguments
    dropped: tuple[int, ...]

    @staticmethod
    def over(args: Mapping[str, Any], declared: Arguments, name: str) -> Pinned | None:
        """Put the pin of the sandbox `name` over its arguments; None if it has none.

        Raises:
            InvalidInput: the pins in the config are wrong, naming the key.
        """
        pins, secrets = read_pins(name)
        pin = pins.get(name)
        if pin is None:
            return None
        values, dropped = pin.over(args)
        values["env"] = {**values.get("env", {}), **secrets.get(name, {})}
        return Pinned(name, pin, secrets.get(name, {}), declared, Arguments.split(values, name), dropped)

    def warn(self, sandbox: pulumi.Resource) -> None:
        """Tell that the pin wins, over what, and how to be rid of it."""
        by = f" by {self.pin.by}" if self.pin.by else ""
        since = f" since {self.pin.at}" if self.pin.at else ""
        told = f"{self.name} is pinned to {self.pin.title}{by}{since}"

        def say(groups: tuple[str, ...]) -> None:
            if groups:
                text = f"what is declared otherwise ({', '.join(groups)}) waits until: sandbox unpin {self.name}"
            else:
                text = f"what is declared is the same by now, so this is safe: sandbox unpin {self.name}"
            pulumi.log.warn(f"{told}; {text}", resource=sandbox)

        for port in self.dropped:
            problem = f"expose.{port} is left out: the pinned revision has no TCP port {port}"
            pulumi.log.warn(f"{self.name}: {problem}", resource=sandbox)
        names = tuple(sorted(self.declared.secret_env))
        groups = () if self.declared.later is not None else self.pin.differences(self.declared.spec, names)
        if groups:
            say(groups)
            return
        if self.declared.later is None and not names:
            say(())
            return
        # What can be compared only once it is known may never be in a preview: the pin itself is told in any case.
        pulumi.log.warn(f"{told}; to take what is declared again: sandbox unpin {self.name}", resource=sandbox)
        self._differences(names).apply(lambda found: None if found else say(()))

    def _differences(self, names: tuple[str, ...]) -> pulumi.Output[list[str]]:
        keys = sorted(self.secrets)

        def compare(parts: list[Any]) -> list[str]:
            spec, *values = parts
            found = list(self.pin.differences(spec, names))
            if found:
                return found
            return [] if values[: len(keys)] == values[len(keys) :] else ["env"]

        spec = self.declared.later if self.declared.later is not None else self.declared.spec
        if keys != list(names):
            return pulumi.Output.from_input(["env"])
        both = [self.secrets[key] for key in keys] + [self.declared.secret_env[key] for key in keys]
        return pulumi.Output.unsecret(pulumi.Output.all(spec, *both).apply(compare))


def read_pins(only: str | None = None) -> tuple[dict[str, Pin], dict[str, dict[str, pulumi.Output[str]]]]:
    """Return the pins of the stack's config by sandbox, and the secret variables of each.

    Args:
        only: one sandbox's alone.

    Raises:
        InvalidInput: naming the config key; never with a secret.
    """
    config = pulumi.Config(CONFIG)
    written, values = config.get("pins"), config.get("pinSecrets")
    if written is None and values is None:
        return {}, {}
    pins = {}
    for name, data in _mapping(config, "pins", only).items():
        pins[naming.check_name(name, PINS)] = read_pin(data, f"{PINS}.{name}")
    secrets: dict[str, dict[str, pulumi.Output[str]]] = {}
    for name, variables in _mapping(config, "pinSecrets", only).items():
        field = f"{PIN_SECRETS}.{name}"
        if name not in pins:
            raise InvalidInput(field, "there is no pin of that name", suggestions=[f"sandbox unpin {name}"])
        if not isinstance(variables, Mapping):
            raise InvalidInput(field, "is not a mapping of variables to secrets")
        secrets[name] = {}
        for key, value in variables.items():
            if key not in pins[name].secret_env:
                raise InvalidInput(f"{field}.{key}", f"is not in {PINS}.{name}.spec.secretEnv.names")
            if not isinstance(value, str):
                raise InvalidInput(f"{field}.{key}", f"is not a string but of type {type(value).__name__}")
            secrets[name][key] = pulumi.Output.secret(check_text(value, f"{field}.{key}"))
    for name, pin in pins.items():
        missing = [key for key in pin.secret_env if key not in secrets.get(name, {})]
        if missing:
            problem = f"is missing, though {PINS}.{name}.spec.secretEnv names it"
            hint = f"sandbox rollback {name} --to-revision {pin.id}"
            raise InvalidInput(f"{PIN_SECRETS}.{name}.{missing[0]}", problem, suggestions=[hint])
    return pins, secrets


def warn_of_strays() -> None:
    """Have pins told of which the program makes no sandbox, once it has made all: such a pin waits for its name."""
    pins, _ = read_pins()
    if not pins:
        return

    async def look() -> None:
        for name, pin in pins.items():
            if not is_made(name):
                pulumi.log.warn(
                    f"{PINS}.{name} pins a sandbox to {pin.title} that this program doesn't make: sandbox unpin {name}"
                )

    later: Any = look()
    pulumi.Output.from_input(later)


def _mapping(config: pulumi.Config, key: str, only: str | None) -> Mapping[str, Any]:
    found = config_object(config, key, {})
    if not isinstance(found, Mapping):
        raise InvalidInput(f"{CONFIG}:{key}", "is not a mapping of sandbox names")
    return found if only is None else {name: one for name, one in found.items() if name == only}
