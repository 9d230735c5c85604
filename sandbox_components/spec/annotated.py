"""Documents that stand in annotations of ConfigMaps: what is the same in reading each of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show


def read_annotated(text: str, annotation: str, fields: Set[str], version: int) -> Mapping[str, Any]:
    """Return the mapping in an annotation's text; a newer version's is not half understood.

    Raises:
        InvalidInput: it isn't JSON of that version with these fields alone, naming the annotation.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(annotation, "is not JSON") from None
    if not isinstance(document, Mapping) or document.get("v") != version:
        raise InvalidInput(annotation, f"has not version {version}, the one that this release reads")
    if unknown := sorted(set(document) - fields):
        raise InvalidInput(annotation, f"has unknown fields: {', '.join(map(show, unknown))}")
    return document
