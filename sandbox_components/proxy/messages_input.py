"""Messages (Anthropic): what a request's content and tools can amount to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sandbox_components.proxy.fault import BadRequest
from sandbox_components.proxy.found import (
    HOSTED_TOOL,
    READY_MADE_TOOL_TOKENS,
    SENTENCE_TOKENS,
    TOOLS_TOKENS,
    TOOLSET_TOKENS,
    UNKNOWN_PART,
    Found,
    kind_of,
    not_passed_on,
    objects,
)

_PLAIN_BLOCKS = {
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "search_result",
    "browser_state",
}
_READY_MADE = ("bash_", "text_editor_", "computer_", "browser_toolset_", "memory_")
_SENTENCE_ENDS = ".!?\n。！？"
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def read_messages(document: dict[str, Any], found: Found) -> None:
    """Add up a request's input.

    Raises:
        BadRequest: a part is malformed, or its cost can't be known beforehand.
    """
    for message, where in objects(document.get("messages"), "messages"):
        _read_content(message.get("content"), f"{where}.content", found)
    _read_content(document.get("system"), "system", found)
    if document.get("tools") is not None:
        for tool, where in objects(document["tools"], "tools"):
            kind = kind_of(tool, where)
            if kind.startswith(_READY_MADE):
                found.added_tokens += TOOLSET_TOKENS if "_toolset_" in kind else READY_MADE_TOOL_TOKENS
            elif kind not in ("", "custom"):
                raise not_passed_on(kind, f"{where}.type", HOSTED_TOOL)
        found.added_tokens += _repeated(document["tools"], found.tool_references)
    output = document.get("output_config")
    if document.get("tools") or (isinstance(output, dict) and output.get("format") is not None):
        found.added_tokens += TOOLS_TOKENS
    management = document.get("context_management")
    if management is not None:
        edits = management.get("edits") if isinstance(management, dict) else management
        for edit, where in objects(edits, "context_management.edits"):
            if not (kind := kind_of(edit, where)).startswith("clear_"):
                raise not_passed_on(kind, f"{where}.type", "it runs the model once more within the call")


def _repeated(tools: Sequence[dict[str, Any]], references: Sequence[str]) -> int:
    """Return how much there is of tools that are put in again wherever a block refers to them."""
    if not references:
        return 0
    sizes = {str(tool.get("name")): len(json.dumps(tool)) + TOOLS_TOKENS for tool in tools}
    return sum(sizes.get(name, 0) for name in references)


def _read_content(content: object, where: str, found: Found) -> None:
    if content is None or isinstance(content, str):
        return
    for block, at in objects(content, where):
        kind = kind_of(block, at)
        if kind == "image":
            _read_image(block, at, found)
        elif kind == "document":
            _read_document(block, at, found)
        elif kind == "tool_result":
            _read_content(block.get("content"), f"{at}.content", found)
        elif kind == "tool_reference":
            found.tool_references.append(str(block.get("tool_name")))
        elif kind not in _PLAIN_BLOCKS:
            raise not_passed_on(kind, f"{at}.type", UNKNOWN_PART)


def _source(block: dict[str, Any], where: str) -> dict[str, Any]:
    source = block.get("source")
    if not isinstance(source, dict):
        raise BadRequest(f"{where}.source is not an object", param=f"{where}.source")
    return source


def _read_image(block: dict[str, Any], where: str, found: Found) -> None:
    source = _source(block, where)
    kind = kind_of(source, f"{where}.source")
    if kind == "base64":
        if source.get("media_type") not in _PICTURES:
            raise BadRequest(
                f"{where}.source.media_type is none of {', '.join(_PICTURES)}", param=f"{where}.source.media_type"
            )
        found.picture(source.get("data"), f"{where}.source.data")
        if block.get("transformations") is not None:
            found.window(f"{where}.transformations")
    elif kind in ("url", "file"):
        found.window(f"{where}.source")
    else:
        raise not_passed_on(kind, f"{where}.source.type", UNKNOWN_PART)


def _read_document(block: dict[str, Any], where: str, found: Found) -> None:
    source = _source(block, where)
    kind = kind_of(source, f"{where}.source")
    if kind == "text" and block.get("citations") is not None:
        data = str(source.get("data"))
        found.added_tokens += SENTENCE_TOKENS * (1 + sum(data.count(end) for end in _SENTENCE_ENDS))
    if kind == "content":
        _read_content(source.get("content"), f"{where}.source.content", found)
    elif kind in ("base64", "url", "file"):
        # A PDF's pages are read as text and as pictures, and how many there are can't be seen from outside.
        found.window(f"{where}.source")
    elif kind != "text":
        raise not_passed_on(kind, f"{where}.source.type", UNKNOWN_PART)
