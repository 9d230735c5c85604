"""Turning frozen data into the JSON that every surface sends: camelCase keys, RFC 3339 times, nothing left out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

SCHEMA_VERSION = 1
"""Fields get added, never renamed or dropped, as long as this number stays."""


def envelope(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole answer: version, kind, then the body."""
    return {"schemaVersion": SCHEMA_VERSION, "kind": kind, **body}


def camel(name: str) -> str:
    """Return `last_error` as `lastError`."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def stamp(at: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC with whole seconds."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def wired(value: Any) -> Any:
    """Return a frozen dataclass, and what is in it, as plain JSON values."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return stamp(value)
    if hasattr(value, "__dataclass_fields__"):
        return {camel(name): wired(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): wired(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [wired(entry) for entry in value]
    return value
