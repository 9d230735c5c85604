"""Identities: what a Sandbox writes is what the proxy reads, and anything else is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.identity import Identity, check_payer, parse_identity, print_identity

FULL = Identity("shop/dev/nightly", "acme", "ada@example.com", "reviewer", 4, True)
NAMES = st.none() | st.from_regex(r"\A[A-Za-z0-9](?:[A-Za-z0-9._@:/+-]{0,20}[A-Za-z0-9])?\Z")


@given(NAMES, NAMES, NAMES, st.integers(1, 10**9), st.booleans())
def test_what_is_written_is_read(
    org: str | None, user: str | None, agent: str | None, generation: int, required: bool
) -> None:
    identity = Identity("shop/dev/nightly", org, user, agent, generation, required)
    assert parse_identity(print_identity(identity)) == identity


def test_the_text_is_short_and_always_the_same() -> None:
    assert print_identity(Identity("shop/dev/nightly")) == '{"generation":1,"id":"shop/dev/nightly","v":1}'


def test_who_pays_comes_in_a_fixed_order() -> None:
    assert FULL.payers() == (
        ("org", "acme"),
        ("user", "ada@example.com"),
        ("agent", "reviewer"),
        ("sandbox", "shop/dev/nightly"),
    )
    assert Identity("shop/dev/nightly").payers() == (("sandbox", "shop/dev/nightly"),)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": 2}, "version 1"),
        ({"v": None}, "version 1"),
        ({"id": "nightly"}, "PROJECT/STACK/NAME"),
        ({"id": 7}, "not text"),
        ({"id": None}, "PROJECT/STACK/NAME"),
        ({"generation": 0}, "whole number"),
        ({"generation": "1"}, "whole number"),
        ({"generation": True}, "whole number"),
        ({"org": ""}, "not a name"),
        ({"org": "a\nb"}, "not a name"),
        ({"user": ["x"]}, "not text"),
        ({"colour": "red"}, "unknown fields: colour"),
    ],
)
def test_anything_else_is_refused(change: dict[str, object], told: str) -> None:
    document = {**json.loads(print_identity(FULL)), **change}
    with pytest.raises(InvalidInput, match=told):
        parse_identity(json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "[" * 100_000])
def test_broken_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_identity(text)


def test_an_odd_limit_required_is_taken_as_required() -> None:
    document = json.loads(print_identity(FULL)) | {"limitRequired": "false"}
    assert parse_identity(json.dumps(document)).limit_required


def test_names_of_payers() -> None:
    assert check_payer("team:a/b+c@x", "org") == "team:a/b+c@x"
    with pytest.raises(InvalidInput, match="org"):
        check_payer("x" * 300, "org")
