"""The words of the ConfigMaps between stacks and an inference proxy."""

from __future__ import annotations

import json

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.naming import is_dns_subdomain
from sandbox_components.spec.spending import IDENTITY, LIMIT, DeclaredLimit, config_map_name, parse_limit, print_limit


def test_a_limit_is_read_as_it_was_written() -> None:
    limit = DeclaredLimit("org", "acme", "week", 0, "Asia/Tokyo", "proj/prod")
    assert parse_limit(print_limit(limit)) == limit
    assert print_limit(limit) == (
        '{"actorId":"acme","actorType":"org","limitCents":0,"period":"week","source":"proj/prod",'
        '"timeZone":"Asia/Tokyo","v":1}'
    )
    short = '{"v":1,"actorType":"user","actorId":"kim@acme","period":"day","limitCents":5}'
    assert parse_limit(short) == DeclaredLimit("user", "kim@acme", "day", 5)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"v": 2}, "version"),
        ({"v": "1"}, "version"),
        ({"limit": 3}, "unknown fields"),
        ({"actorType": "team"}, "actorType"),
        ({"actorType": ["org"]}, "actorType"),
        ({"actorType": "sandbox"}, "actorId"),
        ({"actorId": ""}, "actorId"),
        ({"actorId": "a\nb"}, "actorId"),
        ({"actorId": 7}, "actorId"),
        ({"period": "year"}, "period"),
        ({"timeZone": "Mars/Base"}, "timeZone"),
        ({"timeZone": None}, "timeZone"),
        ({"limitCents": 1.5}, "limitCents"),
        ({"limitCents": "5"}, "limitCents"),
        ({"limitCents": -1}, "limitCents"),
        ({"limitCents": True}, "limitCents"),
        ({"limitCents": 10**12}, "limitCents"),
        ({"source": ["x"]}, "source"),
    ],
)
def test_a_limit_that_is_none_names_the_field(change: dict[str, object], field: str) -> None:
    words = json.loads(print_limit(DeclaredLimit("org", "acme", "day", 5))) | change
    with pytest.raises(InvalidInput, match=field):
        parse_limit(json.dumps(words))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 10_000])
def test_what_is_no_object_is_said(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_limit(text)


def test_names_of_two_stacks_and_kinds_differ() -> None:
    longest = "n" * 52
    names = {
        config_map_name(longest, f"p/{stack}/{longest}", kind) for stack in ("a", "b") for kind in (IDENTITY, LIMIT)
    }
    assert len(names) == 4
    assert all(is_dns_subdomain(name) and len(name) == 61 for name in names)
