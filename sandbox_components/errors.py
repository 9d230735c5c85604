"""The one exception tree, so that every surface tells a fault in the same words and exit code.

The exit codes are Pulumi's own table (`sdk/go/common/util/cmdutil/exit.go`), so that a script that drives
`pulumi` and `sandbox` needs one table for both. Nothing here knows Kubernetes, Pulumi or the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence


class SandboxError(Exception):
    """A fault that the user can act on: what happened, a stable code, and what to type next.

    Args:
        message: lower-case sentence that names the thing, the value seen and what would be accepted.
        suggestions: next steps, most useful first; shown as `try:` lines.
        code: stable snake_case word for machines (`-o json` errors); defaults to the class's own.
    """

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, suggestions: Sequence[str] = (), code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = tuple(suggestions)
        if code is not None:
            self.code = code


class InvalidInput(SandboxError, ValueError):
    """A request, flag, config key or argument is wrong; nothing was created.

    Args:
        field: the path of the field in the words of the door it came through, such as `resourceLimits.memory`.
        problem: what is wrong with the value and what would be accepted.
        suggestions: corrected spellings or commands.
    """

    code = "invalid_input"
    exit_code = 2

    def __init__(self, field: str, problem: str, *, suggestions: Sequence[str] = ()) -> None:
        super().__init__(f"{field}: {problem}" if field else problem, suggestions=suggestions)
        self.field = field
        self.problem = problem

    def within(self, prefix: str) -> InvalidInput:
        """Return the same error with the field's path put below `prefix`."""
        joint = "." if self.field and not self.field.startswith("[") else ""
        field = f"{prefix}{joint}{self.field}"
        return InvalidInput(field, self.problem, suggestions=self.suggestions)


class ConfirmationNeeded(SandboxError):
    """A verb would ask, but there is no terminal to ask on: the flag that answers is named."""

    code = "confirmation_needed"
    exit_code = 2


class AccessDenied(SandboxError):
    """The cluster answered 401 or 403."""

    code = "access_denied"
    exit_code = 3
    right = ""
    """The one that is missing, such as `list events`; empty where it isn't for want of one."""


class Refused(SandboxError):
    """The cluster refused an object, or the sandbox is in error."""

    code = "refused"
    exit_code = 4


class NotFound(SandboxError):
    """The stack, sandbox or revision isn't there."""

    code = "not_found"
    exit_code = 6


class Declined(SandboxError):
    """The user said no at the prompt; nothing was changed."""

    code = "declined"
    exit_code = 8


class TimedOut(SandboxError):
    """`--timeout` ran out; what was asked for goes on without us."""

    code = "timed_out"
    exit_code = 9


class Interrupted(SandboxError):
    """SIGINT or SIGTERM came while the engine worked; it has ended, and the message says what stays."""

    code = "interrupted"
    exit_code = 130


class Unreachable(SandboxError):
    """The cluster or backend can't be reached, or broke off in the middle."""

    code = "unreachable"
    exit_code = 1
