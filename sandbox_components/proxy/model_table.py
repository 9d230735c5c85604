"""How much a model can read and write in one call: `models.json`, which also says where the figures come from.

Price lists don't have this, and a call without `max_tokens` can't be held without it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

_DATE = re.compile(r"[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6})")
_FINE_TUNED = re.compile(r"ft:([^:]+):.+")


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one call of a model can use at most. None: nobody documents it.

    Attributes:
        window: tokens of input and output together.
        output: output tokens, reasoning included.
        image: input tokens of one inline image.
        refused: why the model can't be capped; empty if it can.
    """

    window: int | None = None
    output: int | None = None
    image: int | None = None
    refused: str = ""


def capacity(model: str) -> Capacity:
    """Return what is documented of a model; all None for one that isn't in the table."""
    table = _table()
    name = model.lower()
    if tuned := _FINE_TUNED.fullmatch(name):
        name = tuned.group(1)
    found = table.get(name)
    if found is None and (date := _DATE.search(name)) and date.end() == len(name):
        found = table.get(name[: date.start()])
    return found or Capacity()


@functools.cache
def _table() -> Mapping[str, Capacity]:
    read = json.loads((files("sandbox_components.proxy") / "models.json").read_text("utf-8"))
    return {
        name: Capacity(family["window"], family["output"], family["image"], family.get("refused", ""))
        for family in read["families"]
        for name in family["names"]
    }
