"""A first line break is refused where config would lose it."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.operations.declare import check

ENTRY: dict[str, Any] = {"image": {"uri": "a:1"}, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"env": {"A": "\nx"}}, "env.A"),
        ({"env": {"A": "\n"}}, "env.A"),
        ({"command": "\n./start.sh"}, "command"),
        ({"entrypoint": ["sh", "-c", "\ntrue"]}, "entrypoint[2]"),
    ],
)
def test_refused(more: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check({**ENTRY, **more}, {}, "request")
    assert str(caught.value) == f"request.{field}: begins with a line break, which Pulumi's config would lose"


def test_taken() -> None:
    check({**ENTRY, "env": {"A": "x\n\ny\n"}, "command": " \ntrue\n"}, {"S": "\nx"}, "")
