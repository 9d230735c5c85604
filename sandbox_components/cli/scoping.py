"""Whose spending a verb is about: a sandbox by its name, or an org, user or agent by two flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sandbox_components.cli.once import Once
from sandbox_components.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])
SCOPES = ("org", "user", "agent")


def scope_options(command: F) -> F:
    """Add `--scope` and `--subject`."""
    command = click.option("--subject", cls=Once, metavar="ID", help="Name of the org, user or agent.")(command)
    return click.option("--scope", cls=Once, type=click.Choice(SCOPES), help="Instead of NAME: an org, user or agent.")(
        command
    )


def check_whose(name: str | None, scope: str | None, subject: str | None) -> tuple[str, str] | None:
    """Return type and name of the org, user or agent that is meant, None where it is a sandbox.

    Raises:
        InvalidInput: neither or both are given, or half of it.
    """
    from sandbox_components.spec.identity import check_payer

    if scope is None and subject is None:
        if name is None:
            raise InvalidInput("NAME", "is missing: a sandbox, or --scope org|user|agent with --subject ID")
        return None
    if name is not None:
        raise InvalidInput("NAME", "is given beside --scope: keep one")
    if scope is None or subject is None:
        raise InvalidInput("--subject" if subject is None else "--scope", "is missing: the two go together")
    return scope, check_payer(subject, "--subject")
