"""The limits that `sandbox set-limit` wrote into the stack's config, laid over those that the program declares.

An override that no component takes would be a cap that isn't there: it is told of when the program has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulumi

from sandbox_components.components.platform import CONFIG, config_object
from sandbox_components.spec.limit_config import Overrides, actor_key, read_overrides

LIMITS = f"{CONFIG}:spendingLimits"
_TAKEN = "_sandbox_components_limits"


def stack_overrides() -> Overrides:
    """Return what the stack's config sets.

    Raises:
        InvalidInput: naming the config key.
    """
    return read_overrides(config_object(pulumi.Config(CONFIG), "spendingLimits", {}), LIMITS)


def take_overrides(actor_type: str, name: str, periods: Iterable[str]) -> None:
    """Note that a component sees to what is set for an actor and these periods, so that it is no stray."""
    root = pulumi.runtime.get_root_resource()
    if root is not None:
        setattr(root, _TAKEN, _taken() | {(actor_key(actor_type, name), period) for period in periods})


def warn_of_stray_limits() -> None:
    """Have overrides told of that nothing in the program takes, once it has made all."""
    overrides = stack_overrides()
    if not overrides:
        return

    async def look() -> None:
        everything = {(key, period) for key, periods in overrides.items() for period in periods}
        for key, period in sorted(everything - _taken()):
            what = "InferenceProxy or SpendingLimit of it" if "/" in key else "sandbox of that name with inference"
            pulumi.log.warn(f"{LIMITS}.{key}.{period} is not in force: this program makes no {what}")

    later: Any = look()
    pulumi.Output.from_input(later)


def _taken() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = getattr(pulumi.runtime.get_root_resource(), _TAKEN, set())
    return found
