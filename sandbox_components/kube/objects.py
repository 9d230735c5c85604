"""Reading raw Kubernetes JSON without model classes.

Model classes cost more time at import than a whole `sandbox pause` does on the wire, so objects stay the plain
dictionaries that the API server sent, and these few functions read them without a chain of `.get(..., {})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


def dig(value: Any, *path: str | int) -> Any:
    """Return what lies at `path` inside nested dictionaries and lists, or None when any step is missing."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def items(value: Any, *path: str | int) -> list[Json]:
    """Return the list of objects at `path`, empty when there is none."""
    found = dig(value, *path)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def text(value: Any, *path: str | int) -> str:
    """Return the string at `path`, empty when there is none."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def named(entries: list[Json], name: str) -> Json | None:
    """Return the entry whose `name` is `name`."""
    return next((entry for entry in entries if entry.get("name") == name), None)


def condition(obj: Json | None, kind: str) -> Json | None:
    """Return the status condition of type `kind`."""
    return next((c for c in items(obj, "status", "conditions") if c.get("type") == kind), None)


def is_true(obj: Json | None, kind: str) -> bool:
    """Tell whether the status condition of type `kind` is there and true."""
    return bool(dig(condition(obj, kind), "status") == "True")


def moment(value: Any) -> datetime | None:
    """Read a Kubernetes timestamp, which is RFC 3339 in UTC, with or without fractions of a second."""
    if not isinstance(value, str) or not value:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def uid(obj: Json | None) -> str:
    """Return the object's UID, empty for no object."""
    return text(obj, "metadata", "uid")


def name_of(obj: Json | None) -> str:
    """Return the object's name, empty for no object."""
    return text(obj, "metadata", "name")
