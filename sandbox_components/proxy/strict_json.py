"""Request bodies as JSON that every parser reads alike.

The proxy bounds what it has read; the provider charges for what it reads. So anything that two parsers could read
differently is refused: a key given twice, NaN, another encoding than UTF-8. What passes is sent on as the client wrote
it, byte for byte, but for one field when usage has to be asked for.
"""

from __future__ import annotations

import json
from typing import Any

from sandbox_components.proxy.fault import BadRequest

_WHITE = " \t\n\r"


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body's JSON object.

    Raises:
        BadRequest: it isn't one, or could be read in two ways. Nothing of it is shown but the name of a key.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8: accepted is a JSON object", code="invalid_json") from None
    try:
        read = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise BadRequest(
            f"the body is not JSON, from line {error.lineno} column {error.colno} on", code="invalid_json"
        ) from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply", code="invalid_json") from None
    except ValueError:
        raise BadRequest("the body has a number that is too long", code="invalid_json") from None
    if not isinstance(read, dict):
        raise BadRequest("the body is not a JSON object", code="invalid_json")
    return read


def put(body: bytes, key: str, value: object) -> bytes:
    """Return a body that `read_object` has accepted with one top-level field set, and all other bytes as they were."""
    text = body.decode("utf-8")
    new = json.dumps(value, separators=(",", ":"))
    begin = text.index("{") + 1
    at = _skip(text, begin)
    if text[at] == "}":
        return f"{text[:begin]}{json.dumps(key)}:{new}{text[begin:]}".encode()
    decoder = json.JSONDecoder()
    while True:
        name, at = decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = decoder.raw_decode(text, start)
        if name == key:
            return f"{text[:start]}{new}{text[end:]}".encode()
        at = _skip(text, end)
        if text[at] == "}":
            return f"{text[:begin]}{json.dumps(key)}:{new},{text[begin:]}".encode()
        at = _skip(text, at + 1)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = key if key.isascii() and key.isprintable() and len(key) <= 60 else "?"
                raise BadRequest(f'the key "{shown}" is given twice in one object', param=shown, code="invalid_json")
            seen.add(key)
    return read


def _no_constant(name: str) -> Any:
    raise BadRequest(f"the body has {name}, which is not JSON", code="invalid_json")


def _skip(text: str, at: int) -> int:
    while text[at] in _WHITE:
        at += 1
    return at
