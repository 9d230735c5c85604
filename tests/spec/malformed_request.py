"""The valid request that malformed ones are made of, and what one of them is."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SECRET = "s3cr3t-never-shown"
"""Stands in env values; no error may hold it."""

BASE: dict[str, Any] = {
    "image": {"uri": "python:3.12-slim"},
    "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
    "env": {"TOKEN": SECRET},
}
"""A valid request: the first seed's, with one variable."""

PROBE: dict[str, Any] = {"type": "http", "http": {"path": "/healthz", "port": 8080}}


@dataclass(frozen=True)
class Malformed:
    """One request that is refused.

    Attributes:
        id: name of the test case.
        data: the whole request.
        field: path that the error begins with.
        says: part of the rest of the error.
    """

    id: str
    data: Mapping[Any, Any]
    field: str
    says: str


REMOVED = object()


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the valid request with one value put, or `REMOVED`, at a dotted path."""
    data = copy.deepcopy(BASE)
    *parents, last = path.split("/")
    inner: Any = data
    for part in parents:
        inner = inner.setdefault(part, {})
    if value is REMOVED:
        inner.pop(last)
    else:
        inner[last] = value
    return data


def probe(**changes: object) -> dict[str, Any]:
    return {**PROBE, **changes}


def http(**changes: object) -> dict[str, Any]:
    return {"type": "http", "http": {**PROBE["http"], **changes}}


def extensions(**changes: object) -> dict[str, Any]:
    return {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi", **changes}


LONG = "x" * 5000

Row = tuple[str, str, object, str, str]
"""Name of the test case, path in the request, value put there, field of the error, part of the message."""
