"""Names and labels: what Kubernetes takes, at both ends of every length."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import naming


@pytest.mark.parametrize("name", ["a", "nightly-refactor", "a1", "a" * 52, "a-" * 25 + "bc", "s--1"])
def test_names_that_are_accepted(name: str) -> None:
    assert naming.check_name(name) == name


@pytest.mark.parametrize(
    ("name", "says", "suggestion"),
    [
        ("a" * 53, "has 53 characters, at most 52 are accepted", None),
        ("a" * 10_000, "has 10000 characters", None),
        ("1st", "beginning with a letter", "s-1st"),
        ("Nightly", "lower-case letters", "nightly"),
        ("nightly_refactor", "lower-case letters", "nightly-refactor"),
        ("nightly.refactor", "lower-case letters", "nightly-refactor"),
        ("nightly refactor", "lower-case letters", "nightly-refactor"),
        ("-a", "beginning with a letter", "a"),
        ("a-", "ending with a letter or digit", "a"),
        ("zürich", "lower-case letters a-z", "z-rich"),
        ("名前", "lower-case letters a-z", None),
        ("a\n", "lower-case letters a-z", "a"),
        ("", "lower-case letters a-z", None),
        ("---", "lower-case letters a-z", None),
        ("А", "lower-case letters a-z", None),
        (5, "5 is not a string", None),
        (None, "null is not a string", None),
        (True, 'write it in quotes, as "true"', None),
    ],
)
def test_names_that_are_refused(name: object, says: str, suggestion: str | None) -> None:
    with pytest.raises(InvalidInput) as caught:
        naming.check_name(name)
    assert caught.value.field == "name"
    assert says in caught.value.problem
    assert caught.value.suggestions == (() if suggestion is None else (suggestion,))
    assert len(str(caught.value)) < 250


@given(st.text(max_size=70) | st.from_regex(r"[a-z0-9-]{1,60}", fullmatch=True))
def test_every_name_fits_all_that_is_made_of_it(name: str) -> None:
    try:
        naming.check_name(name)
    except InvalidInput as error:
        for suggestion in error.suggestions:
            naming.check_name(suggestion)
        return
    dns_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
    for made in (name, naming.claim_name(name), naming.headless_service_name(name), naming.pod_name(name)):
        assert dns_1035.fullmatch(made)
        assert len(made) <= 63
    assert len(f"{name}-{'0' * 10}") <= 63
    assert naming.is_label_text(name, empty=False)


def test_long_names_with_one_beginning_do_not_collide() -> None:
    one, other = "a" * 51 + "b", "a" * 51 + "c"
    for made in (naming.claim_name, naming.headless_service_name, naming.pod_name):
        assert made(one) != made(other)
    assert naming.sandbox_id("p", "s", one) == f"p/s/{one}"


@pytest.mark.parametrize(
    ("key", "value"),
    [("team", "core"), ("acme.com/team", ""), ("a" * 63, "a" * 63), ("A_b.c-d", "A_b.c-d"), ("a." * 126 + "a/b", "1")],
)
def test_labels_that_are_accepted(key: str, value: str) -> None:
    assert naming.check_label(key, value) == value


@pytest.mark.parametrize("key", ["a" * 64, "-a", "a-", "a b", "", "/a", "a/", "ä", "a" * 254 + "/b", "a_b/c"])
def test_label_keys_that_are_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="is not a label key"):
        naming.check_label(key, "x")


@pytest.mark.parametrize(
    ("text", "label", "subdomain"),
    [
        ("default", True, True),
        ("a.b", False, True),
        ("1a", True, True),
        ("A", False, False),
        ("a_b", False, False),
        ("a..b", False, False),
        ("", False, False),
        ("a" * 63, True, True),
        ("a" * 64, False, True),
        ("a" * 254, False, False),
        ("a\n", False, False),
    ],
)
def test_dns_names(text: str, label: bool, subdomain: bool) -> None:
    assert naming.is_dns_label(text) is label
    assert naming.is_dns_subdomain(text) is subdomain
