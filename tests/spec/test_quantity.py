"""Quantities: the value is kept, one spelling comes out, and lightkube's parser agrees where both read."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lightkube.utils.quantity import parse_quantity

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import quantity

Reader = Callable[[object, str], str]
READERS: list[Reader] = [quantity.cpu, quantity.memory, quantity.storage]


def value(text: str) -> Decimal:
    if re.search("[eE][0-9+-]", text):  # powers of ten, which lightkube reads in lower case only
        return Decimal(text)
    found = parse_quantity(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seen", "printed"),
    [
        ("500m", "500m"),
        ("0.5", "500m"),
        (0.5, "500m"),
        (".5", "500m"),
        ("1", "1"),
        ("1.", "1"),
        ("2", "2"),
        (2, "2"),
        (2.0, "2"),
        ("2.0", "2"),
        ("2000m", "2"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        (0.001, "1m"),
        ("1e3", "1000"),
        ("02", "2"),
        ("10000", "10000"),
    ],
)
def test_cpu(seen: object, printed: str) -> None:
    assert quantity.cpu(seen, "cpu") == printed


@pytest.mark.parametrize(
    ("seen", "printed"),
    [
        ("2Gi", "2Gi"),
        ("2048Mi", "2Gi"),
        (2147483648, "2Gi"),
        (2147483648.0, "2Gi"),
        ("2147483648", "2Gi"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("2G", "2G"),
        ("1e9", "1G"),
        ("1E9", "1G"),
        (1e9, "1G"),
        ("50000k", "50M"),
        ("1E", "1E"),
        ("1Ei", "1Ei"),
        ("4Mi", "4Mi"),
        ("5000001", "5000001"),
    ],
)
def test_memory(seen: object, printed: str) -> None:
    assert quantity.memory(seen, "memory") == printed


@pytest.mark.parametrize(("seen", "printed"), [("50Gi", "50Gi"), ("1Mi", "1Mi"), ("10G", "10G"), ("1Ti", "1Ti")])
def test_storage(seen: object, printed: str) -> None:
    assert quantity.storage(seen, "size") == printed


@pytest.mark.parametrize(
    ("seen", "spellings"),
    [
        ("50GB", ("50G", "50Gi")),
        ("50gib", ("50G", "50Gi")),
        ("512m", ("512Mi", "512M")),
        ("1.5g", ("1.5G", "1.5Gi")),
        ("64kb", ("64k", "64Ki")),
        ("100 MB", ("100M", "100Mi")),
    ],
)
@pytest.mark.parametrize("read", [quantity.memory, quantity.storage])
def test_refused_with_the_right_spelling(read: Reader, seen: str, spellings: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(seen, "size")
    assert caught.value.suggestions == spellings
    assert all(spelling in caught.value.problem for spelling in spellings)
    for spelling in spellings:
        assert value(spelling) > 0


NEVER: list[object] = ["", " ", "0", 0, 0.0, "0.0", "-1", -1, -0.5, "-1Gi", None, True, [], {}, "x", "1 x"]
NEVER += [float("nan"), float("inf"), 10**5000, "1e99", "1e999999999", "NaN", "Infinity", "1_0", "+1", "1\n", "٣"]


@pytest.mark.parametrize("read", READERS)
def test_refused_everywhere(read: Reader) -> None:
    for seen in NEVER:
        with pytest.raises(InvalidInput) as caught:
            read(seen, "size")
        assert str(caught.value).startswith("size: ")
        assert len(str(caught.value)) < 200


NUMBERS = st.one_of(
    st.integers(1, 10**6).map(str),
    st.decimals(min_value=Decimal("0.001"), max_value=10**4, places=3).map(str),
    st.integers(1, 10**12),
    st.floats(0.001, 10**9).map(lambda number: round(number, 3)),
)


@given(
    NUMBERS,
    st.sampled_from(["", "m", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T", "e3", "E2"]),
    st.sampled_from(READERS),
)
def test_value_is_kept_and_printing_settles(number: object, suffix: str, read: Reader) -> None:
    seen = f"{number}{suffix}" if isinstance(number, str) else number
    try:
        printed = read(seen, "size")
    except InvalidInput:
        assume(False)
    assert value(printed) == value(f"{seen:.3f}" if isinstance(seen, float) else str(seen))
    assert quantity.as_number(printed) == value(printed)
    assert read(printed, "size") == printed


@given(st.integers(4 * 1024**2, 2**63 - 1))
def test_every_number_of_bytes_has_one_spelling(number: int) -> None:
    printed = quantity.memory(str(number), "memory")
    assert value(printed) == number
    assert printed == quantity.storage(printed, "size")


@given(st.integers(1, 10**7))
def test_every_number_of_millis_has_one_spelling(millis: int) -> None:
    printed = quantity.cpu(f"{millis}m", "cpu")
    assert value(printed) == Decimal(millis) / 1000
    assert quantity.cpu(f"{Decimal(millis) / 1000:f}", "cpu") == printed
    assert quantity.cpu(millis / 1000, "cpu") == printed


@given(st.text(max_size=12), st.sampled_from(READERS))
def test_any_text_is_read_as_kubernetes_does_or_refused(text: str, read: Reader) -> None:
    try:
        printed = read(text, "size")
    except InvalidInput:
        return
    assert value(printed) == value(text)


def test_as_number_reads_only_what_was_accepted() -> None:
    assert quantity.as_number("1500m") == Decimal("1.5")
    with pytest.raises(ValueError, match="not a canonical quantity"):
        quantity.as_number("lots")
