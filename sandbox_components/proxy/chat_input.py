"""Chat completions: what a request's messages and tools can amount to."""

from __future__ import annotations

from typing import Any

from sandbox_components.proxy.fault import BadRequest
from sandbox_components.proxy.found import (
    HOSTED_TOOL,
    TOOLS_TOKENS,
    UNKNOWN_PART,
    Found,
    kind_of,
    not_passed_on,
    objects,
)


def read_chat(document: dict[str, Any], found: Found) -> None:
    """Add up a request's input.

    Raises:
        BadRequest: a part is malformed, or its cost can't be known beforehand.
    """
    for message, where in objects(document.get("messages"), "messages"):
        if message.get("audio") is not None:
            found.window(f"{where}.audio")
        _read_content(message.get("content"), f"{where}.content", found)
    if document.get("tools") is not None:
        for tool, where in objects(document["tools"], "tools"):
            if (kind := kind_of(tool, where)) not in ("function", "custom"):
                raise not_passed_on(kind, f"{where}.type", HOSTED_TOOL)
    if any(document.get(name) for name in ("tools", "functions", "response_format")):
        found.added_tokens += TOOLS_TOKENS


def _read_content(content: object, where: str, found: Found) -> None:
    if content is None or isinstance(content, str):
        return
    for part, at in objects(content, where):
        kind = kind_of(part, at)
        if kind == "image_url":
            image = part.get("image_url")
            url = image.get("url") if isinstance(image, dict) else image
            found.picture_url(url, f"{at}.image_url.url")
        elif kind == "file":
            found.window(f"{at}.file")
        elif kind == "input_audio":
            # Its bytes stay counted: a second of the most compressed audio has more of them than tokens.
            if not isinstance(part.get("input_audio"), dict):
                raise BadRequest(f"{at}.input_audio is not an object", param=f"{at}.input_audio")
        elif kind not in ("text", "refusal"):
            raise not_passed_on(kind, f"{at}.type", UNKNOWN_PART)
