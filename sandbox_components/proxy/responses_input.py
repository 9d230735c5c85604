"""Responses: what a request's items and tools can amount to, and what of it the provider keeps."""

from __future__ import annotations

from typing import Any

from sandbox_components.proxy.fault import BadRequest
from sandbox_components.proxy.found import (
    HOSTED_TOOL,
    READY_MADE_TOOL_TOKENS,
    TOOLS_TOKENS,
    UNKNOWN_PART,
    Found,
    kind_of,
    not_passed_on,
    objects,
)

_PLAIN_ITEMS = {
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "tool_search_call",
    "configuration_update",
}
_PLAIN_PARTS = {"input_text", "output_text", "refusal", "summary_text", "reasoning_text", "text", "input_audio"}
_READY_MADE = {"computer", "computer_use_preview", "local_shell", "apply_patch"}
_OWN = {"function", "custom"}
_CHOICES = {*_OWN, *_READY_MADE, "shell", "allowed_tools"}


def read_responses(document: dict[str, Any], found: Found) -> None:
    """Add up a request's input.

    Raises:
        BadRequest: a part is malformed, or its cost can't be known beforehand.
    """
    for name in ("previous_response_id", "conversation"):
        if document.get(name) is not None:
            found.window(name)
    given = document.get("input")
    if given is not None and not isinstance(given, str):
        for item, where in objects(given, "input"):
            _read_item(item, where, found)
    if document.get("tools") is not None:
        _read_tools(document["tools"], "tools", found)
    choice = document.get("tool_choice")
    if isinstance(choice, dict) and (kind := kind_of(choice, "tool_choice")) not in _CHOICES:
        raise not_passed_on(kind, "tool_choice.type", HOSTED_TOOL)
    text = document.get("text")
    if isinstance(text, dict) and text.get("format") is not None:
        found.added_tokens += TOOLS_TOKENS
    reasoning = document.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("mode") not in (None, "standard"):
        raise BadRequest(
            'reasoning.mode is not passed on but as "standard": in others one call runs the model several times',
            param="reasoning.mode",
            code="cannot_be_capped",
        )


def _read_item(item: dict[str, Any], where: str, found: Found) -> None:
    kind = kind_of(item, where)
    if kind == "message" or (not kind and "role" in item):
        _read_content(item.get("content"), f"{where}.content", found)
    elif kind == "item_reference" or not kind:
        found.window(f"{where}.id")
    elif kind == "reasoning":
        # With its encrypted content it is in the body; without, the provider looks up what an earlier call thought.
        content = item.get("encrypted_content")
        if not isinstance(content, str) or not content:
            found.stored_outputs.append(f"{where}.encrypted_content")
    elif kind == "compaction":
        found.window(f"{where}.encrypted_content")
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _read_content(item.get("output"), f"{where}.output", found)
    elif kind == "computer_call_output":
        output = item.get("output")
        if not isinstance(output, dict):
            raise BadRequest(f"{where}.output is not an object", param=f"{where}.output")
        _read_picture(output, f"{where}.output", found)
    elif kind in ("tool_search_output", "additional_tools"):
        _read_tools(item.get("tools"), f"{where}.tools", found)
    elif kind not in _PLAIN_ITEMS:
        raise not_passed_on(kind, f"{where}.type", UNKNOWN_PART)


def _read_content(content: object, where: str, found: Found) -> None:
    if content is None or isinstance(content, str):
        return
    for part, at in objects(content, where):
        kind = kind_of(part, at)
        if kind == "input_image":
            _read_picture(part, at, found)
        elif kind == "input_file":
            found.window(at)
        elif kind not in _PLAIN_PARTS:
            raise not_passed_on(kind, f"{at}.type", UNKNOWN_PART)


def _read_picture(part: dict[str, Any], where: str, found: Found) -> None:
    if part.get("file_id") is not None:
        found.window(f"{where}.file_id")
    elif part.get("image_url") is None:
        raise BadRequest(f"{where}.image_url is missing", param=f"{where}.image_url")
    if part.get("image_url") is not None:
        found.picture_url(part["image_url"], f"{where}.image_url")


def _read_tools(tools: object, where: str, found: Found) -> None:
    for tool, at in objects(tools, where):
        kind = kind_of(tool, at)
        found.added_tokens += TOOLS_TOKENS if at.endswith("[0]") else 0
        if kind == "namespace":
            _read_own_tools(tool, at)
        elif kind in _READY_MADE or (kind == "shell" and _is_local(tool)):
            found.added_tokens += READY_MADE_TOOL_TOKENS
        elif kind not in _OWN and not (kind == "tool_search" and tool.get("execution") == "client"):
            raise not_passed_on(kind, f"{at}.type", HOSTED_TOOL)


def _read_own_tools(tool: dict[str, Any], where: str) -> None:
    for inner, at in objects(tool.get("tools"), f"{where}.tools"):
        if (kind := kind_of(inner, at)) not in _OWN:
            raise not_passed_on(kind, f"{at}.type", HOSTED_TOOL)


def _is_local(tool: dict[str, Any]) -> bool:
    environment = tool.get("environment")
    return isinstance(environment, dict) and environment.get("type") == "local"
