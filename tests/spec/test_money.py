"""Money: whole cents in, nano-dollars inside, dollars in print, and nothing rounded but prices, upwards."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import money


@pytest.mark.parametrize(
    ("seen", "number"),
    [(0, 0), (5000, 5000), ("5000", 5000), ("007", 7), (5000.0, 5000), (money.MOST_CENTS, money.MOST_CENTS)],
)
def test_cents(seen: object, number: int) -> None:
    assert money.cents(seen, "limitCents") == number


NEVER: list[object] = [-1, "-1", 0.5, "0.5", "$50", "", " ", "5 000", "5_000", "1e3", "٣", None, True, [], {}, 10**12]
NEVER += [float("nan"), float("inf"), 10**5000, "9" * 21, 1e300]


def test_no_cents() -> None:
    for seen in NEVER:
        with pytest.raises(InvalidInput) as caught:
            money.cents(seen, "limitCents")
        assert str(caught.value).startswith("limitCents: ")
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("nanos", "printed"),
    [
        (0, "$0.00"),
        (1, "$0.000000001"),
        (54_399_000, "$0.054399"),
        (240, "$0.00000024"),
        (10_000_000, "$0.01"),
        (500_000_000, "$0.50"),
        (50_000_000_000, "$50.00"),
        (1_234_567_890_123, "$1234.567890123"),
        (-10_000_000, "-$0.01"),
    ],
)
def test_printing(nanos: int, printed: str) -> None:
    assert money.print_dollars(nanos) == printed


@given(st.integers(-(2**62), 2**62))
def test_printing_loses_nothing(nanos: int) -> None:
    printed = money.print_dollars(nanos)
    assert Decimal(printed.replace("$", "")) * 10**9 == nanos
    assert 2 <= len(printed.split(".")[1]) <= 9


@given(st.integers(0, money.MOST_CENTS))
def test_cents_are_exact(amount: int) -> None:
    assert Decimal(money.print_dollars(money.from_cents(amount)).replace("$", "")) * 100 == amount
