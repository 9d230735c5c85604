"""What was found in a request's input: how much of it there can be at most.

The providers' tokenizers work on bytes: a token stands for one or more, so the bytes of a body bound the tokens of what
is written in it. Beside that counts what providers add of their own, and what isn't written in the body: pictures have
a documented maximum, stored output that of the model, and for all else there is only the window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sandbox_components.proxy.fault import BadRequest

MOST_TOKENS = 10_000_000
"""No model reads or writes more; what asks for more is a mistake or an attack on our sums."""

BASE_TOKENS = 64
"""What providers wrap around the shortest request."""
TOOLS_TOKENS = 1024
"""Instructions added as soon as there are tools or a schema for the answer. Anthropic documents up to 804 for tools."""
READY_MADE_TOOL_TOKENS = 4096
"""For a tool whose description the provider brings along; Anthropic documents up to 735 for one of its own."""
TOOLSET_TOKENS = 32 * 768
"""For a whole family of such tools, of which the largest has 31."""
SENTENCE_TOKENS = 16
"""Around each sentence of a text that is to be cited. Anthropic cuts such texts up, and doesn't say what that adds."""

_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp);base64,", re.IGNORECASE)


@dataclass(slots=True)
class Found:
    """Adds up what a request's input can be.

    Attributes:
        inline_bytes: of the body, those that are no text but pictures.
        pictures: the places of those that are in the body.
        stored_outputs: the places of outputs of earlier calls that the provider kept and reads again.
        tool_references: names of tools whose definitions the provider puts in, as often as they are named.
        added_tokens: what the provider adds.
        window_because: the field whose input isn't in the body, so that only the window bounds it; empty if none.
    """

    inline_bytes: int = 0
    pictures: list[str] = field(default_factory=list)
    stored_outputs: list[str] = field(default_factory=list)
    tool_references: list[str] = field(default_factory=list)
    added_tokens: int = BASE_TOKENS
    window_because: str = ""

    def picture_url(self, url: object, where: str) -> None:
        """Count a picture given as `data:` or `https:` URL."""
        if isinstance(url, str) and (head := _PICTURE.match(url)):
            self.picture(url[head.end() :], where)
        elif isinstance(url, str) and re.match(r"https?://", url, re.IGNORECASE):
            self.window(where)
        else:
            raise BadRequest(
                f"{where} is neither an https URL nor a data URL of a PNG, JPEG, GIF or WebP picture in base64",
                param=where,
            )

    def picture(self, data: object, where: str) -> None:
        """Count an inline picture, given in base64."""
        if not isinstance(data, str) or not data.isascii():
            raise BadRequest(f"{where} is not base64", param=where)
        self.inline_bytes += len(data)
        self.pictures.append(where)

    def window(self, where: str) -> None:
        """Note that there is input which isn't in the body."""
        self.window_because = self.window_because or where


def objects(value: object, where: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects of a list, each with its path.

    Raises:
        BadRequest: it is no list, or has something else in it.
    """
    if not isinstance(value, list):
        raise BadRequest(f"{where} is not a list", param=where)
    for at, one in enumerate(value):
        if not isinstance(one, dict):
            raise BadRequest(f"{where}[{at}] is not an object", param=f"{where}[{at}]")
        yield one, f"{where}[{at}]"


def kind_of(one: dict[str, Any], where: str) -> str:
    """Return an object's `type`; empty when it has none.

    Raises:
        BadRequest: it is no text.
    """
    kind = one.get("type")
    if kind is not None and not isinstance(kind, str):
        raise BadRequest(f"{where}.type is not text", param=f"{where}.type")
    return kind or ""


def not_passed_on(kind: str, where: str, why: str) -> BadRequest:
    """Return the refusal of a part, named by its type and place."""
    shown = kind if kind.isascii() and kind.isprintable() and len(kind) <= 60 else "?"
    return BadRequest(f'{where}: "{shown}" is not passed on: {why}', param=where, code="cannot_be_capped")


UNKNOWN_PART = "what it can cost isn't known here"
HOSTED_TOOL = (
    "tools that run at the provider are charged beside the tokens, by amounts that can't be known beforehand; tools "
    "that the agent runs itself pass"
)
