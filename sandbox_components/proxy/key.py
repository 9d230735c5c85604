"""A request's key, taken out of its headers. Whether it is in force is the directory's to say.

SDKs of OpenAI send `Authorization: Bearer KEY`, those of Anthropic `x-api-key: KEY`. Two keys that differ are refused,
because one of them may be meant for a check that the other one isn't.
"""

from __future__ import annotations

from collections.abc import Iterable

from sandbox_components.proxy.fault import BadKey
from sandbox_components.spec.inference_key import LONGEST_KEY, KeyClaims, read_key

_NO_KEY = "there is no key in the request: the sandbox's own stands in OPENAI_API_KEY and in ANTHROPIC_API_KEY"
_FORGED = "this is no key of this proxy: send the one in OPENAI_API_KEY or ANTHROPIC_API_KEY, as it stands there"


def claims_of(headers: Iterable[tuple[bytes, bytes]], signing_key: bytes) -> KeyClaims:
    """Return whose key the request carries.

    Args:
        headers: as ASGI gives them: names in lower case.
        signing_key: see `spec.inference_key`.

    Raises:
        BadKey: there is none, there are several, or the proxy's signing key didn't make it.
    """
    found: set[bytes] = set()
    for name, value in headers:
        if name == b"x-api-key":
            found.add(value.strip())
        elif name == b"authorization":
            scheme, _, rest = value.strip().partition(b" ")
            found.add(rest.strip() if scheme.lower() == b"bearer" else b"?")
    if not found or found == {b""}:
        raise BadKey(_NO_KEY)
    if len(found) > 1:
        raise BadKey("the request carries two keys that differ: send one")
    text = found.pop()
    claims = read_key(text.decode("latin-1"), signing_key) if len(text) <= LONGEST_KEY else None
    if claims is None:
        raise BadKey(_FORGED)
    return claims
