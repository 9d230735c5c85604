"""Edits YAML text so that only the lines that change are touched: comments, blank lines, indentation, CRLF stay.

The library that loads and dumps with comments settles the meaning; lines that it would only format anew are taken from
the text as it was. Whatever comes out is read again, and must mean the same.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from difflib import SequenceMatcher

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from sandbox_components.errors import InvalidInput

Edit = Callable[[CommentedMap], None]
"""Changes the document's mapping in place."""

_KEY = re.compile(r"( *)(?:- +)?[^\s#'\"{\[-][^#]*:\s*(?:#.*)?")
_ITEM = re.compile(r"( *)- ")


def edited(text: str, edit: Edit, source: str) -> str:
    """Return `text` with its mapping edited; an edit that changes nothing returns the very text.

    Args:
        text: YAML; blank or only comments is an empty mapping.
        edit: what to do.
        source: what errors call the text.

    Raises:
        InvalidInput: the text is no YAML mapping, naming the line.
    """
    is_dos = "\r\n" in text
    before = text.replace("\r\n", "\n")
    yaml = _yaml(before)
    data = _load(yaml, before, source)
    plain = _dumped(yaml, data) if data else ""
    edit(data)
    after = _dumped(yaml, data) if data else ""
    if after == plain:
        return text
    if plain:
        forms = [_merged(plain, before, after), after]
    elif _has_document(before):
        forms = [after]
    else:
        forms = [(before if not before or before.endswith("\n") else before + "\n") + after]
    result = next((form for form in forms if _meaning(form) == data), None)
    if result is None:
        raise InvalidInput(source, "can't be edited without changing what it means: edit it by hand")
    return result.replace("\n", "\r\n") if is_dos else result


def _load(yaml: YAML, text: str, source: str) -> CommentedMap:
    try:
        data = yaml.load(text)
    except YAMLError as error:
        raise InvalidInput(source, problem_of(error)) from None
    if data is None:
        return CommentedMap()
    if not isinstance(data, CommentedMap):
        raise InvalidInput(source, "is not a mapping")
    return data


def problem_of(error: Exception) -> str:
    """Tell what is wrong with a YAML text, by line and without its values, which may be secrets."""
    twice = re.search(r'found duplicate key "(?P<key>[^"\n]{1,80})', str(error))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = f"line {mark.line + 1}: " if mark is not None else ""
    if twice is not None:
        return f'{line}the key "{twice["key"]}" is given twice'
    said = str(getattr(error, "problem", None) or getattr(error, "context", None) or "it can't be read")
    return f"{line}not YAML: {said.splitlines()[0]}"


def _has_document(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.split("\n"))


def _yaml(text: str) -> YAML:
    """Return the library, set to the text's own indentation."""
    mapping, offset = 2, 2
    is_mapping_known = is_offset_known = False
    above = -1
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if indent and not is_mapping_known and not line.lstrip().startswith("- "):
            mapping, is_mapping_known = min(indent, 8), True
        item = _ITEM.match(line)
        if item and above >= 0 and not is_offset_known and 0 <= indent - above <= 8:
            offset, is_offset_known = indent - above, True
        key = _KEY.fullmatch(line)
        above = len(key[1]) if key and not item else -1
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10**6
    yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)
    return yaml


def _dumped(yaml: YAML, data: CommentedMap) -> str:
    stream = io.StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def _meaning(text: str) -> object:
    try:
        return YAML().load(text)
    except YAMLError:
        return None


def _merged(plain: str, before: str, after: str) -> str:
    """Put what the edit changed between `plain` and `after` into `before`, which only looks different from `plain`."""
    base, mine, new = (text.split("\n") for text in (plain, before, after))
    place = _Places(base, mine)
    result, done = [], 0
    for tag, low, high, start, stop in SequenceMatcher(None, base, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if tag == "delete":
            low, high = _with_its_comments(base, low, high)
        while tag == "replace" and high > low + 1 and _is_remark(base[high - 1]) and base[high - 1] != new[stop - 1]:
            high -= 1
        begin, end = place.of(low, is_end=tag == "insert"), place.of(high, is_end=True)
        if begin is None or end is None or begin < done:
            return after
        if tag == "insert":
            begin = end = _before_outer_remarks(mine, begin, done, _indent(new[start]))
        result += mine[done:begin] + new[start:stop]
        done = end
    return "\n".join(result + mine[done:])


def _with_its_comments(lines: list[str], low: int, high: int) -> tuple[int, int]:
    """Shift a deletion: comments above it go with it, comments behind it are about what follows."""
    indent = _indent(lines[low])
    while high > low + 1 and _is_remark(lines[high - 1]):
        high -= 1
    while low > 0 and lines[low - 1].startswith(" " * indent + "#"):
        low -= 1
    return low, high


def _before_outer_remarks(lines: list[str], place: int, first: int, indent: int) -> int:
    """Move an insertion up: comments less indented than it is are about what follows the mapping that it is put in."""
    above = place
    while above > first and _is_remark(lines[above - 1]):
        if lines[above - 1].strip() and _indent(lines[above - 1]) >= indent:
            return place
        above -= 1
    return above


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_remark(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


class _Places:
    """Where a boundary between lines of one text is in another, of which most lines are the same."""

    def __init__(self, base: list[str], mine: list[str]) -> None:
        self._after: dict[int, int] = {}
        self._before: dict[int, int] = {}
        matcher = SequenceMatcher(None, base, mine) if base != mine else None
        codes = matcher.get_opcodes() if matcher else [("equal", 0, len(base), 0, len(mine))]
        for tag, low, high, start, stop in codes:
            if tag == "equal" or high - low == stop - start:
                for step in range(high - low + 1):
                    self._before.setdefault(low + step, start + step)
                    self._after[low + step] = start + step
            else:
                self._before.setdefault(low, start)
                self._after[high] = stop

    def of(self, boundary: int, *, is_end: bool) -> int | None:
        """Return the place; where lines stand in between that the other text doesn't have: before or behind them."""
        return (self._before if is_end else self._after).get(boundary)
