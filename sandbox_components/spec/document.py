"""From the text of a request file to plain data: JSON or YAML, with every trap of the two formats refused by line.

A key given twice, a second document or an alias that grows without end would each be taken silently by a plain
loader. No value of the text is ever shown in an error, for any of them may be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

LARGEST_BYTES = 1024**2
"""Of a document; and twice as many characters once its aliases are written out."""
DEEPEST = 40
_TAG = "tag:yaml.org,2002:"
_TAGS = {None, "!", *(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))}


class _NotYaml(InvalidInput):
    """The text is not YAML at all, so that what was wrong with it as JSON is the better answer."""


def load_document(text: bytes | str, source: str) -> dict[str, Any]:
    """Return the one mapping that `text` holds, as JSON if it begins with `{`, else as YAML 1.2.

    YAML's flow style begins with `{` too and is read as such, unless `source` ends in `.json`. Dates stay strings.

    Args:
        text: UTF-8 if bytes; at most 1 MiB.
        source: what errors call it: a file's name, or the flag that it came by.

    Raises:
        InvalidInput: with the line, never with a value.
    """
    plain = _decode(text, source)
    if not plain.strip():
        raise InvalidInput(source, "is empty: accepted is a mapping with image, resourceLimits and more")
    data = _from_json(plain, source) if plain.lstrip().startswith("{") else _from_yaml(plain, source)
    if not isinstance(data, dict):
        raise InvalidInput(source, f"is {_kind(data)}, not a mapping with image, resourceLimits and more")
    return data


def _decode(text: bytes | str, source: str) -> str:
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="surrogatepass"))
    if size > LARGEST_BYTES:
        raise InvalidInput(source, f"has {size} bytes, at most {LARGEST_BYTES} are accepted")
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise InvalidInput(source, f"line {line}: is not UTF-8: byte 0x{text[error.start]:02x}") from None
    return text.removeprefix("\ufeff")


def _from_json(text: str, source: str) -> object:
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(found)
        if len(result) < len(found):
            keys = [key for key, _ in found]
            twice.extend(key for key in result if keys.count(key) > 1)
        return result

    def constant(name: str) -> object:
        raise InvalidInput(source, f"{name} is not a number that JSON knows")

    try:
        data: object = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        if source.endswith(".json"):
            raise InvalidInput(source, _json_problem(error)) from None
        try:
            return _from_yaml(text, source)
        except _NotYaml:
            raise InvalidInput(source, _json_problem(error)) from None
    except RecursionError:
        raise InvalidInput(source, f"is nested more than {DEEPEST} deep") from None
    except InvalidInput:
        raise
    except ValueError:  # a number of thousands of digits
        raise InvalidInput(source, "holds a number that is too long to read") from None
    if twice:
        _Walk(source).over(_events(text, source))
        raise InvalidInput(source, f"the key {show(twice[0])} is given twice")
    _check_depth(data, source)
    return data


def _json_problem(error: json.JSONDecodeError) -> str:
    return f"line {error.lineno}, column {error.colno}: not JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _check_depth(data: object, source: str) -> None:
    layer, depth = [data], 0
    while layer:
        depth += 1
        if depth > DEEPEST:
            raise InvalidInput(source, f"is nested more than {DEEPEST} deep")
        layer = [
            inner
            for one in layer
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]


def _from_yaml(text: str, source: str) -> object:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    class Constructor(SafeConstructor):
        """Leaves dates as the strings that they are in a request."""

    Constructor.add_constructor(f"{_TAG}timestamp", SafeConstructor.construct_yaml_str)
    _Walk(source).over(_events(text, source))
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = Constructor
    try:
        return yaml.load(text)
    except YAMLError as error:
        raise _yaml_problem(error, text, source) from None
    except ValueError:
        raise InvalidInput(source, "holds a number that is too long to read") from None


def _events(text: str, source: str) -> Iterable[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except YAMLError as error:
        raise _yaml_problem(error, text, source) from None


def _yaml_problem(error: Any, text: str, source: str) -> _NotYaml:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        return _NotYaml(source, f"line {line}: not YAML: holds a character that YAML doesn't allow")
    problem = re.sub(r"'(?!<)[^']{3,}'|\"[^\"]{3,}\"", "it", str(error.problem or error.context))
    if "'\\t'" in problem:
        problem = "a tab where blanks are needed: indent with blanks"
    return _NotYaml(source, f"line {mark.line + 1}, column {mark.column + 1}: not YAML: {problem.splitlines()[0]}")


@dataclass
class _Open:
    """A mapping or list that the walk is in: its keys by line, and what it costs written out."""

    mapping: bool
    anchor: str | None
    keys: dict[str, int] = field(default_factory=dict)
    key_next: bool = True
    cost: int = 1


class _Walk:
    """Checks a stream of YAML events without building anything, so that nothing can blow up."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[_Open] = []
        self._anchors: dict[str, int | None] = {}
        self._documents = 0

    def over(self, events: Iterable[Any]) -> None:
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise self._wrong(event, "a second document begins: one file makes one sandbox")
            elif kind in ("MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"):
                self._node(event, kind)
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                self._close(event)

    def _node(self, event: Any, kind: str) -> None:
        around = self._open[-1] if self._open else None
        if around is not None and around.mapping:
            if around.key_next:
                self._key(event, kind, around)
            around.key_next = not around.key_next
        if kind == "AliasEvent":
            self._spend(event, self._alias(event))
            return
        tag = event.tag
        if (None if tag is None else str(tag)) not in _TAGS:
            raise self._wrong(event, 'a tag ("!...") is not accepted: put a text that begins with "!" in quotes')
        if event.anchor is not None:
            if event.anchor in self._anchors:
                raise self._wrong(event, 'an anchor ("&...") is given twice')
            self._anchors[event.anchor] = None if kind != "ScalarEvent" else 1 + len(event.value)
        if kind == "ScalarEvent":
            self._spend(event, 1 + len(event.value))
        else:
            self._open.append(_Open(kind == "MappingStartEvent", event.anchor))
            if len(self._open) > DEEPEST:
                raise self._wrong(event, f"is nested more than {DEEPEST} deep")

    def _key(self, event: Any, kind: str, around: _Open) -> None:
        if kind != "ScalarEvent":
            raise self._wrong(event, "a key is not a plain word")
        line = event.start_mark.line + 1
        if event.value in around.keys:
            first = around.keys[event.value]
            raise self._wrong(event, f"the key {show(event.value)} is given twice, first in line {first}")
        around.keys[event.value] = line

    def _alias(self, event: Any) -> int:
        if event.anchor not in self._anchors:
            raise self._wrong(event, 'an alias ("*...") of nothing: put a text that begins with "*" in quotes')
        cost = self._anchors[event.anchor]
        if cost is None:
            raise self._wrong(event, "an alias stands inside of what it stands for")
        return cost

    def _close(self, event: Any) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = done.cost
        self._spend(event, done.cost)

    def _spend(self, event: Any, cost: int) -> None:
        if self._open:
            self._open[-1].cost += cost
        if cost > 2 * LARGEST_BYTES or (self._open and self._open[-1].cost > 2 * LARGEST_BYTES):
            raise self._wrong(event, f"aliases written out make more than {2 * LARGEST_BYTES} characters")

    def _wrong(self, event: Any, problem: str) -> InvalidInput:
        mark = event.start_mark
        return InvalidInput(self._source, f"line {mark.line + 1}, column {mark.column + 1}: {problem}")


def _kind(data: object) -> str:
    return {list: "a list", str: "a text", type(None): "empty"}.get(type(data), "a single value")
