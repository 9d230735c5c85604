"""Money as whole nano-dollars: exact to add and compare, and fine enough for a call of twelve embedding tokens.

One nano-dollar is 10^-9 US dollar. Limits are given in whole cents. A price becomes nano-dollars once per call, rounded
up, so that sums never carry dust. Every amount fits a signed 64-bit column.
"""

from __future__ import annotations

from typing import cast

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

NANOS_PER_DOLLAR = 10**9
NANOS_PER_CENT = 10**7
MOST_CENTS = 10**11
"""The highest limit, a thousand million dollars: what stays below it can be added up in 64 bits."""


def cents(value: object, field: str) -> int:
    """Return a limit in cents, given as a whole number or as its digits.

    Raises:
        InvalidInput: unless `value` is a whole number of cents from 0 to 100000000000.
    """
    has_digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    is_whole = isinstance(value, float) and value.is_integer()
    number = int(cast(str | float, value)) if has_digits or is_whole else value
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidInput(field, f"{show(value)} is not a whole number of cents: $50 is 5000")
    if number < 0:
        raise InvalidInput(field, f"{show(value)} is less than nothing: 0 blocks all calls")
    if number > MOST_CENTS:
        raise InvalidInput(field, f"{show(value)} is more than {MOST_CENTS} cents, the highest limit")
    return number


def from_cents(amount: int) -> int:
    """Return cents as nano-dollars."""
    return amount * NANOS_PER_CENT


def print_dollars(nanos: int) -> str:
    """Return nano-dollars as dollars, with two to nine decimals and nothing rounded: `$50.00`, `$0.054399`."""
    whole, rest = divmod(abs(nanos), NANOS_PER_DOLLAR)
    decimals = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{'-' if nanos < 0 else ''}${whole}.{decimals}"
