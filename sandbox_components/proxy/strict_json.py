"""Request bodies as JSON that every parser reads alike.

The proxy bounds what it has read; the provider charges for what it reads. So anything that two parsers could read
differently is refused: a key given twice, NaN, another encoding than UTF-8. What passes is sent on as the client wrote
it, byte for byte, but for one field when usage has to be asked for.
"""

from __future__ import annotations

import json
from typing import Any

from sandbox_components.proxy.fault import BadRequest

MOST_OBJECTS = 200_000
"""In one body. No request has as many, and reading more would keep all other calls waiting."""
MOST_VALUES = 4_000_000
"""In the lists of one body, told by its commas and brackets, also those in text; for the same reason."""
MOST_KEYS = 1_000_000
"""In one body, told by its colons. A key costs ten times as much as another value to read."""

_WHITE = " \t\n\r"


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body's JSON object.

    Raises:
        BadRequest: it isn't one, or could be read in two ways. Nothing of it is shown but the name of a key.
    """
    if body.count(b",") + body.count(b"[") > MOST_VALUES:
        raise BadRequest(f"the body has more than {MOST_VALUES} values", code="invalid_json", status=413)
    if body.count(b":") > MOST_KEYS:
        raise BadRequest(f"the body has more than {MOST_KEYS} keys", code="invalid_json", status=413)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("the body is not UTF-8: accepted is a JSON object", code="invalid_json") from None
    try:
        read = json.loads(text, object_pairs_hook=_Once(), parse_constant=_no_constant)
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


class _Once:
    """Makes objects of their pairs, and refuses a key that comes twice."""

    def __init__(self) -> None:
        self._left = MOST_OBJECTS

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        self._left -= 1
        if self._left < 0:
            raise BadRequest(f"the body has more than {MOST_OBJECTS} objects", code="invalid_json")
        read = dict(pairs)
        if len(read) != len(pairs):
            raise _twice([key for key, _ in pairs])
        return read


def _twice(keys: list[str]) -> BadRequest:
    seen: set[str] = set()
    key = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    shown = key if key.isascii() and key.isprintable() and len(key) <= 60 else "?"
    return BadRequest(f'the key "{shown}" is given twice in one object', param=shown, code="invalid_json")


def _no_constant(name: str) -> Any:
    raise BadRequest(f"the body has {name}, which is not JSON", code="invalid_json")


def _skip(text: str, at: int) -> int:
    while text[at] in _WHITE:
        at += 1
    return at
