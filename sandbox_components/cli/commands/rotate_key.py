"""`sandbox rotate-key`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sandbox_components.cli.changing import Run, Telling, carry_out, changing_options, engine_of, tell_to_commit
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.options import Target, target_options

if TYPE_CHECKING:
    from sandbox_components.operations.change import Change


@click.command("rotate-key")
@click.argument("name", shell_complete=complete_sandbox)
@changing_options
@target_options
def command(target: Target, name: str, run: Run) -> None:
    """Give a sandbox a new key for the inference proxy; the old one is refused at once, and the agent restarts.

    \b
    sandbox rotate-key nightly
    """  # noqa: D301
    from sandbox_components.operations.rotate_key import request_to_rotate

    engine = engine_of(target)

    def after(done: Change) -> tuple[str, dict[str, Any]]:
        if done.outcome not in ("planned", "unchanged"):
            tell_to_commit(engine, f"new key of {name}")
        return "", {}

    carry_out(target, request_to_rotate(name), run, engine=engine, telling=Telling(after=after))
