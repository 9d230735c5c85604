"""One sandbox's part of a loaded config file, changed with the comments, order and quotes of what stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString, SingleQuotedScalarString

from sandbox_components.errors import InvalidInput
from sandbox_components.operations.config_file import OF_ONE_SANDBOX, SANDBOXES, plain
from sandbox_components.operations.config_text import Edit


def alone(name: str, edit: Edit) -> Edit:
    """Return the edit, refused if it would change another sandbox too: YAML's anchors can tie them together."""

    def others(config: CommentedMap) -> dict[str, Any]:
        found = plain(config)
        for key in (SANDBOXES, *OF_ONE_SANDBOX):
            part = found.get(key)
            if isinstance(part, dict):
                found[key] = {one: value for one, value in part.items() if one != name}
            if not found.get(key):
                found.pop(key, None)
        return dict(found)

    def edit_alone(config: CommentedMap) -> None:
        before = others(config)
        edit(config)
        if others(config) != before:
            raise InvalidInput(
                f"{SANDBOXES}.{name}", "shares a part with others by a YAML anchor: change the file by hand"
            )

    return edit_alone


def sandboxes_in(config: CommentedMap) -> CommentedMap:
    """Return what the config declares, made where it declares nothing yet."""
    found = config.get(SANDBOXES)
    if found is None:
        config[SANDBOXES] = found = CommentedMap()
    if not isinstance(found, CommentedMap):
        raise InvalidInput(SANDBOXES, "is not a mapping of names to sandboxes")
    return found


def drop(config: CommentedMap, key: str, name: str) -> CommentedMap | None:
    """Take a sandbox out of one of the config's mappings, and that away with its last one; return what was taken."""
    found = config.get(key)
    if not isinstance(found, CommentedMap) or name not in found:
        return None
    taken: CommentedMap = found[name]
    del found[name]
    if not found:
        del config[key]
    return taken


def merge(old: CommentedMap, new: Mapping[str, Any]) -> None:
    """Make `old` equal to `new`, leaving comments and order of what doesn't change."""
    for key in [key for key in old if key not in new]:
        del old[key]
    for key, value in new.items():
        if key not in old or plain(old[key]) != value:
            old[key] = _renewed(old.get(key), value)


def _renewed(old: Any, value: Any) -> Any:
    """Return `value` in the form of what stood there: mappings and lists with their comments, texts in their quotes."""
    if isinstance(old, CommentedMap) and isinstance(value, Mapping):
        merge(old, value)
        return old
    if isinstance(old, CommentedSeq) and isinstance(value, list) and len(old) == len(value):
        for index, one in enumerate(value):
            if plain(old[index]) != one:
                old[index] = _renewed(old[index], one)
        return old
    is_quoted = isinstance(old, SingleQuotedScalarString | DoubleQuotedScalarString)
    if is_quoted and isinstance(value, str) and value.isprintable():
        return type(old)(value)
    return commented(value)


def commented(value: Any) -> Any:
    """Return plain data as the library writes it well: texts of several lines as blocks."""
    if isinstance(value, Mapping):
        return CommentedMap((key, commented(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return [commented(one) for one in value]
    if isinstance(value, str) and not value.isprintable():
        is_literal = "\n" in value and _is_literal(value)
        return LiteralScalarString(value) if is_literal else DoubleQuotedScalarString(value)
    return value


def _is_literal(text: str) -> bool:
    """Whether a YAML literal block gives back exactly this text: no odd characters, no trailing blanks."""
    lines = text.split("\n")
    return all(line.isprintable() and line == line.rstrip() for line in lines) and not text.startswith((" ", "\n"))
