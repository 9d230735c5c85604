"""Refuse wrong input the way Pulumi shows as one line: what is wrong, without a traceback through this package.

Pulumi knows `RunError` as the user's own fault. It wraps a `ValueError` that comes out of an `apply` in a dump of the
resource's inputs, so there a plain `RunError` has to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pulumi

from sandbox_components.errors import InvalidInput


class WrongArgument(InvalidInput, pulumi.RunError):
    """An `InvalidInput` in a Pulumi program, which shows no more of it than its text."""

    def __str__(self) -> str:
        return _with_next_steps(self)


@contextmanager
def at_once() -> Iterator[None]:
    """Turn `InvalidInput` into `WrongArgument`, for what is checked before anything is registered."""
    try:
        yield
    except InvalidInput as error:
        raise WrongArgument(error.field, error.problem, suggestions=error.suggestions) from None


@contextmanager
def once_known() -> Iterator[None]:
    """Turn `InvalidInput` into `RunError`, for what is checked in an `apply`."""
    try:
        yield
    except InvalidInput as error:
        raise pulumi.RunError(_with_next_steps(error)) from None


def _with_next_steps(error: InvalidInput) -> str:
    return "\n".join([error.message, *(f"try: {one}" for one in error.suggestions)])
