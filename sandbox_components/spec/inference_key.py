"""The keys of the inference proxy: each sandbox's own, and the one that may read spending.

A sandbox's key says who it is and is signed, so that the proxy needs no list of secrets:
`sbx1.<id>.<generation>.<mac>`, where the id is PROJECT/STACK/NAME and the MAC is HMAC-SHA256 under a signing key that
only the proxy and the stacks that use it hold. It fits where the official SDKs want an API key. Rotation raises the
generation; a key of another generation than the sandbox's own is worth nothing.

What is read here has a right signature and nothing more: whether the sandbox still exists, and which generation is in
force, is the proxy's to know.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

LONGEST_KEY = 512
MOST_GENERATIONS = 10**9

_PREFIX = "sbx1"
_READ_PREFIX = "sbxr1"
_PART = r"[A-Za-z0-9_.-]{1,100}"
_ID = re.compile(rf"{_PART}/{_PART}/[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
_GENERATION = re.compile(r"[1-9][0-9]{0,9}")
_SHORTEST_SIGNING_KEY = 32


@dataclass(frozen=True, slots=True)
class KeyClaims:
    """Who a key with a right signature says it is.

    Attributes:
        sandbox_id: PROJECT/STACK/NAME.
        generation: counts from 1; raised by every rotation.
    """

    sandbox_id: str
    generation: int


def signing_key(text: object, field: str = "inferenceSigningKey") -> bytes:
    """Return the signing key's bytes.

    Raises:
        InvalidInput: the text is too short to keep anybody from guessing it. The message never shows it.
    """
    if not isinstance(text, str) or len(text.strip()) < _SHORTEST_SIGNING_KEY:
        raise InvalidInput(
            field,
            f"is too short for a signing key: accepted are {_SHORTEST_SIGNING_KEY} characters or more, made at random",
            suggestions=["openssl rand -base64 32"],
        )
    return text.strip().encode()


def check_sandbox_id(sandbox_id: str, field: str = "id") -> str:
    """Return the id, which is safe in a header and a log line.

    Raises:
        InvalidInput: unless it is PROJECT/STACK/NAME.
    """
    if not _ID.fullmatch(sandbox_id):
        raise InvalidInput(field, f"{show(sandbox_id)} is not a sandbox's id: accepted is PROJECT/STACK/NAME")
    return sandbox_id


def make_key(key: bytes, sandbox_id: str, generation: int) -> str:
    """Return a sandbox's key for the inference proxy.

    Raises:
        InvalidInput: the id is not PROJECT/STACK/NAME, or the generation isn't a whole number from 1.
    """
    check_sandbox_id(sandbox_id)
    if isinstance(generation, bool) or not 1 <= generation <= MOST_GENERATIONS:
        raise InvalidInput("generation", f"{show(generation)} is not a whole number from 1 to {MOST_GENERATIONS}")
    return f"{_PREFIX}.{sandbox_id}.{generation}.{_mac(key, 'key', sandbox_id, str(generation))}"


def read_key(text: str, key: bytes) -> KeyClaims | None:
    """Return whose key this is, or None if this signing key didn't make it. Never raises, whatever it is given."""
    if len(text) > LONGEST_KEY or not text.isascii() or text.count(".") < 3:
        return None
    prefix, _, rest = text.partition(".")
    sandbox_id, generation, mac = rest.rsplit(".", 2)
    if prefix != _PREFIX or not _ID.fullmatch(sandbox_id) or not _GENERATION.fullmatch(generation):
        return None
    if not hmac.compare_digest(mac, _mac(key, "key", sandbox_id, generation)):
        return None
    return KeyClaims(sandbox_id, int(generation))


def make_read_key(key: bytes) -> str:
    """Return the key that reads spending at the proxy's admin port; it can call no model."""
    return f"{_READ_PREFIX}.{_mac(key, 'read')}"


def is_read_key(text: str, key: bytes) -> bool:
    """Tell whether this is the key that reads spending."""
    return text.isascii() and hmac.compare_digest(text, make_read_key(key))


def _mac(key: bytes, purpose: str, *parts: str) -> str:
    signed = "\0".join(("sandbox-components", purpose, *parts)).encode()
    return base64.urlsafe_b64encode(hmac.new(key, signed, hashlib.sha256).digest()).rstrip(b"=").decode()
