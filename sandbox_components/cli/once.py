"""Options that are given once, on verbs where others may be repeated."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from sandbox_components.errors import InvalidInput


class Once(click.Option):
    """An option that may be given once: where some may be repeated, the last of several must not win in silence.

    Args:
        why: what to say of several.
    """

    def __init__(self, *args: Any, why: str = "keep one", **kwargs: Any) -> None:
        kwargs |= {"multiple": True, "callback": self._only}
        super().__init__(*args, **kwargs)
        self._why = why

    def _only(self, ctx: click.Context, param: click.Parameter, values: tuple[Any, ...]) -> Any:
        if len(values) > 1:
            times = "twice" if len(values) == 2 else f"{len(values)} times"
            raise InvalidInput(self.opts[-1], f"is given {times} ({', '.join(map(str, values))}): {self._why}")
        return values[0] if values else None


class OnceCommand(click.Command):
    """A command that no longer offers what may be given once and is."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of options."""
        once = [one for one in self.params if isinstance(one, Once)]
        given = {
            name
            for one in once
            if ctx.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
            for name in one.opts
        }
        return [item for item in super().shell_complete(ctx, incomplete) if item.value not in given]
