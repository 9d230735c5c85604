"""Which texts a process can be given through the API server, and which are refused by name."""

from __future__ import annotations

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.sandbox import check_text


@pytest.mark.parametrize("character", ["\x01", "\x1b", "\t", "\ufeff", "\ufffd", "\U0001fffe", "\xa0"])
def test_taken(character: str) -> None:
    assert check_text(f"a{character}b", "env.A") == f"a{character}b"


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\x85", "\x9f", "\u2028", "\u2029", "\ufffe", "\uffff"])
def test_refused(character: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_text(f"secret{character}", "env.A")
    assert (
        str(caught.value)
        == f"env.A: holds the character U+{ord(character):04X}, which doesn't survive the way through the API server"
    )
