"""End a rollback: take the pin away, or make what is pinned the declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_components.errors import NotFound, Refused
from sandbox_components.operations import declare
from sandbox_components.operations.change import Request
from sandbox_components.operations.config_file import PIN_SECRETS, PINS
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.pins import pin_of, unpinning
from sandbox_components.operations.plan import Plan, Step


def request_to_unpin(engine: Engine, name: str, *, adopt: bool) -> Request:
    """Return the edit.

    Args:
        engine: of the stack.
        name: of the sandbox; a pin of one that isn't there, or a broken one, can be taken away too.
        adopt: fold the pin into the config's declaration instead of going back to that.
    """
    config = engine.project.config(engine.stack)
    is_pinned = any(isinstance(found := config.get(key), Mapping) and name in found for key in (PINS, PIN_SECRETS))

    def check(plan: Plan, own: tuple[Step, ...], needed: tuple[Step, ...]) -> None:
        component = plan.component(name)
        if component is None and not is_pinned:
            raise NotFound(
                f'stack {engine.stack} has no sandbox "{name}"', suggestions=["sandbox pins", "sandbox list"]
            )
        if component is not None and "delete" in component.operation:
            raise Refused(
                f"{name}: it isn't declared any more, and the update would delete it",
                suggestions=[f"sandbox delete {name}", "or declare it again first"],
            )

    verb = f"unpin {name} --adopt" if adopt else f"unpin {name}"
    done = "adopted" if adopt else "unpinned"
    return Request(
        name,
        declare.adopt(name) if adopt else unpinning(name),
        done,
        arguments=_arguments(engine, name) if adopt else {},
        message=verb,
        edited=done,
        check=check,
        again=f"sandbox {verb}",
    )


def _arguments(engine: Engine, name: str) -> dict[str, Any]:
    """Return what is pinned in the words of a program's arguments; secret values aren't in it."""
    from sandbox_components.spec.pin import config_groups

    pin = pin_of(engine.project, engine.stack, name)
    if pin is None:
        return {}
    found = config_groups(pin.groups)
    secret = dict.fromkeys(pin.secret_env, "<secret Output>")
    return {**found, "env": {**found.get("env", {}), **secret}} if secret else found
