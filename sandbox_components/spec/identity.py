"""What the proxy knows of a sandbox: who pays for its calls, which key is in force, whether it must have a limit.

A Sandbox component writes it as an annotation of a ConfigMap in the proxy's own namespace, which is where the proxy
reads it; without it a key opens nothing. Org, user and agent come from here alone, never from a request's headers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.inference_key import MOST_GENERATIONS, check_sandbox_id
from sandbox_components.spec.naming import PREFIX
from sandbox_components.spec.shown import show

IDENTITY_ANNOTATION = PREFIX + "identity"

_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@:/+-]{0,198}[A-Za-z0-9])?")
_FIELDS = {"v", "id", "org", "user", "agent", "generation", "limitRequired"}


@dataclass(frozen=True, slots=True)
class Identity:
    """A sandbox as the proxy sees it.

    Attributes:
        sandbox_id: PROJECT/STACK/NAME; it survives delete and re-create, and so does what it spent.
        org: whose it is, if that is said; likewise `user` and `agent`.
        generation: of the one key that is in force.
        limit_required: its stack gave it a limit: while none is loaded nothing may be spent.
    """

    sandbox_id: str
    org: str | None = None
    user: str | None = None
    agent: str | None = None
    generation: int = 1
    limit_required: bool = False

    def payers(self) -> tuple[tuple[str, str], ...]:
        """Return who pays for its calls, as type and name, always in the same order."""
        named = (("org", self.org), ("user", self.user), ("agent", self.agent), ("sandbox", self.sandbox_id))
        return tuple((kind, name) for kind, name in named if name is not None)


def check_payer(name: str, field: str) -> str:
    """Return the name of an org, user or agent.

    Raises:
        InvalidInput: it is empty, too long, or has characters that don't belong into a header or a log line.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            field, f"{show(name)} is not a name: accepted are up to 200 letters, digits and . _ - @ : / + between them"
        )
    return name


def print_identity(identity: Identity) -> str:
    """Return the annotation's text; equal identities print the same bytes."""
    document: dict[str, Any] = {"v": _VERSION, "id": identity.sandbox_id, "generation": identity.generation}
    for field in ("org", "user", "agent"):
        if (name := getattr(identity, field)) is not None:
            document[field] = name
    if identity.limit_required:
        document["limitRequired"] = True
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def parse_identity(text: str) -> Identity:
    """Read the annotation's text.

    Raises:
        InvalidInput: it isn't what `print_identity` writes; a newer version's identity is not half understood.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(IDENTITY_ANNOTATION, "is not JSON") from None
    if not isinstance(document, Mapping) or document.get("v") != _VERSION:
        raise InvalidInput(IDENTITY_ANNOTATION, f"has not version {_VERSION}, the one that this release reads")
    if unknown := sorted(set(document) - _FIELDS):
        raise InvalidInput(IDENTITY_ANNOTATION, f"has unknown fields: {', '.join(unknown)}")
    return Identity(
        check_sandbox_id(_text(document, "id") or "", "id"),
        _payer(document, "org"),
        _payer(document, "user"),
        _payer(document, "agent"),
        _generation(document.get("generation")),
        document.get("limitRequired") is not None and document["limitRequired"] is not False,
    )


def _text(document: Mapping[str, Any], field: str) -> str | None:
    value = document.get(field)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(field, f"{show(value)} is not text")
    return value


def _payer(document: Mapping[str, Any], field: str) -> str | None:
    name = _text(document, field)
    return None if name is None else check_payer(name, field)


def _generation(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_GENERATIONS:
        raise InvalidInput("generation", f"{show(value)} is not a whole number from 1 to {MOST_GENERATIONS}")
    return value
