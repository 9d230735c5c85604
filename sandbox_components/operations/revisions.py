"""Reads a sandbox's revisions out of the history of the engine's stack."""

from __future__ import annotations

import difflib

from sandbox_components.errors import NotFound
from sandbox_components.operations.engine import Engine
from sandbox_components.revisions.model import History
from sandbox_components.revisions.timeline import Timeline, timeline
from sandbox_components.spec.naming import check_name


def read_timeline(engine: Engine, name: str, history: History | None = None) -> Timeline:
    """Return the revisions of the sandbox `name`.

    Args:
        engine: of the stack.
        name: of the sandbox.
        history: the stack's, where it is open already.

    Raises:
        InvalidInput: that is no sandbox's name, or the backend isn't understood.
        NotFound: the history knows no such sandbox.
    """
    from sandbox_components.operations.history import open_history

    check_name(name, "NAME")
    history = history or open_history(engine)
    found = timeline(history, name)
    if not found.revisions:
        raise _unknown(engine, name, history, found)
    return found


def _unknown(engine: Engine, name: str, history: History, found: Timeline) -> NotFound:
    names = sorted({one for kept in history.checkpoints(found.entries) for one in kept.sandboxes})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    suggestions = [f"did you mean: {', '.join(near)}"] if near else []
    if not found.entries:
        message = f"stack {engine.stack} has no history"
        suggestions.append(f"pulumi up --stack {engine.stack}")
    else:
        message = f'the history of stack {engine.stack} knows no sandbox "{name}"'
        if found.problems:
            message += f", as far as it can be read ({found.problems[0]})"
        suggestions.append(
            f"sandbox list --stack {engine.stack}" if names else f"pulumi stack history -s {engine.stack}"
        )
    return NotFound(message, suggestions=suggestions, code="sandbox_not_found")
