"""Reads a `*.history.json`: one update as Pulumi recorded it, and of its config nothing but the pins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sandbox_components.revisions.compression import BrokenFile, plain
from sandbox_components.revisions.model import Entry

PINS = "sandbox-components:pins"
_KEPT = ("git.", "ci.", "exec.", "pulumi.")
_NOISE = ("pulumi.env.", "pulumi.flag.")
"""Which variables and flags were set, hardly ever to what."""


class _Config(msgspec.Struct):
    pins: msgspec.Raw = msgspec.field(name=PINS, default_factory=msgspec.Raw)


class _File(msgspec.Struct, rename="camel"):
    kind: str
    start_time: int
    end_time: int
    result: str
    message: str = ""
    environment: dict[str, str] | None = None
    config: _Config | None = None
    resource_changes: dict[str, int] | None = None


_FILE = msgspec.json.Decoder(_File)


def read_entry(entry_id: str, data: bytes) -> Entry:
    """Return the entry in a file's bytes.

    Raises:
        BrokenFile: it isn't one.
    """
    try:
        found = _FILE.decode(plain(data))
        started, ended = (datetime.fromtimestamp(time, UTC) for time in (found.start_time, found.end_time))
    except BrokenFile:
        raise
    except (ValueError, OverflowError, OSError, RecursionError):
        raise BrokenFile("broken: not the JSON of a history entry") from None
    return Entry(
        id=entry_id,
        kind=found.kind,
        result=found.result,
        started_at=started,
        ended_at=ended,
        message=found.message,
        environment=environment(found.environment or {}),
        changes=found.resource_changes,
        pins=pins(_value(found.config.pins)) if found.config is not None else {},
    )


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return what an entry keeps of the updater's environment."""
    return {key: value for key, value in given.items() if key.startswith(_KEPT) and not key.startswith(_NOISE)}


def pins(value: Any) -> dict[str, Mapping[str, Any]]:
    """Return the pins in the config's value, without ciphertexts: pins are plain, and what isn't is no pin of ours."""
    if not isinstance(value, dict):
        return {}
    return {name: _plain(pin) for name, pin in value.items() if isinstance(pin, dict) and not _is_secret(pin)}


def _value(raw: msgspec.Raw) -> Any:
    value = msgspec.json.decode(raw) if raw else None
    if not isinstance(value, str):
        return value
    try:  # an object that was set as text
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: None if _is_secret(inner) else _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [None if _is_secret(inner) else _plain(inner) for inner in value]
    return value


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("secure"), str)
