"""Kubernetes quantities: parse, check, and print in one canonical spelling.

Quantities are compared by value, so that `"2"`, `2` and `2.0` make no phantom revision. Three kinds are told apart,
because the same suffix is right for one and a trap for another: `512m` of CPU is half a core, `512m` of memory is
half a byte. Source of the grammar: Kubernetes' `resource.Quantity`.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,2}))?")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_LARGEST = Decimal(2**63 - 1)
_SMALLEST_MEMORY = 4 * 1024**2
"""Container runtimes need a few MiB to start a process at all; below it the pod could only fail."""


def cpu(value: object, field: str) -> str:
    """Return CPU cores as Kubernetes prints them: `2`, `500m`.

    Raises:
        InvalidInput: unless `value` is a positive number of cores, in steps of 1m.
    """
    text = _text(value, field, "500m, 0.5 or 2")
    number, suffix = _split(text)
    if number is None:
        _not_negative(text, field)
    if number is not None and suffix == "M":
        raise InvalidInput(field, f"{show(text)} is millions of cores: write {number}m", suggestions=[f"{number}m"])
    if number is None or suffix not in ("", "m"):
        raise InvalidInput(
            field, f"{show(text)} is not an amount of CPU: accepted are cores (2, 0.5) or thousandths (500m)"
        )
    millis = number if suffix == "m" else number * 1000
    _positive(millis, text, field)
    if millis != millis.to_integral_value():
        raise InvalidInput(field, f"{show(text)} is finer than 1m, the smallest amount of CPU")
    if millis > 10_000_000:
        raise InvalidInput(field, f"{show(text)} is more CPU than any node has (at most 10000 cores)")
    whole = int(millis)
    return f"{whole // 1000}" if whole % 1000 == 0 else f"{whole}m"


def memory(value: object, field: str) -> str:
    """Return an amount of memory as Kubernetes prints it: `2Gi`, `512Mi`.

    Raises:
        InvalidInput: unless `value` is a whole number of bytes, at least 4Mi.
    """
    number = _bytes(value, field, "512Mi or 2Gi")
    if number < _SMALLEST_MEMORY:
        raise InvalidInput(field, f"{show(value)} is less than a container can start with: at least 4Mi is accepted")
    return _print_bytes(number)


def storage(value: object, field: str) -> str:
    """Return a claim's size as Kubernetes prints it: `50Gi`.

    Raises:
        InvalidInput: unless `value` is a positive whole number of bytes, at least 1Mi.
    """
    number = _bytes(value, field, "10Gi or 50Gi")
    if number < 1024**2:
        raise InvalidInput(field, f"{show(value)} is too small for a disk: at least 1Mi is accepted")
    return _print_bytes(number)


def as_number(canonical: str) -> Decimal:
    """Return the value of a quantity that one of the functions above has accepted, to compare two of a kind."""
    number, suffix = _split(canonical)
    if number is None:
        raise ValueError(f"not a canonical quantity: {canonical!r}")
    if suffix == "m":
        return number / 1000
    return number * _factor(suffix)


def _text(value: object, field: str, examples: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value in (1e999, -1e999):
        raise InvalidInput(field, f"{show(value)} is not a quantity: accepted is a string such as {examples}")
    if not isinstance(value, str):
        if abs(value) >= 10**20:
            raise InvalidInput(field, f"{show(value)} is not a quantity: accepted is a string such as {examples}")
        return f"{Decimal(repr(value)).normalize():f}" if value == value else "nan"
    text = value
    if not text.strip():
        raise InvalidInput(field, f"is blank: accepted is a quantity such as {examples}")
    return text


def _split(text: str) -> tuple[Decimal | None, str]:
    match = _NUMBER.match(text)
    if match is None or len(text) > 40:
        return None, ""
    suffix = text[match.end() :]
    if suffix and match.group(2) is not None:
        return None, ""
    try:
        return Decimal(match.group()), suffix
    except InvalidOperation:
        return None, ""


def _factor(suffix: str) -> int:
    if suffix in _BINARY:
        return int(1024 ** _BINARY[suffix])
    return int(1000 ** _DECIMAL[suffix]) if suffix else 1


def _bytes(value: object, field: str, examples: str) -> int:
    text = _text(value, field, examples)
    number, suffix = _split(text)
    if number is None:
        _not_negative(text, field)
        raise InvalidInput(field, f"{show(text)} is not a quantity: accepted is a number of bytes such as {examples}")
    if suffix == "m":
        raise InvalidInput(
            field,
            f"{show(text)} means thousandths of a byte: write {number}Mi or {number}M",
            suggestions=[f"{number}Mi", f"{number}M"],
        )
    if suffix and suffix not in _BINARY and suffix not in _DECIMAL:
        unit = suffix.lstrip()[:1].upper() or "?"
        if unit in "KMGTPE" and suffix.lstrip()[1:].lower() in ("", "b", "i", "ib"):
            good = [f"{number}{'k' if unit == 'K' else unit}", f"{number}{unit}i"]
            raise InvalidInput(field, f"{show(text)} is not a quantity: write {good[0]} or {good[1]}", suggestions=good)
        raise InvalidInput(field, f'{show(text)} has an unknown unit "{suffix}": accepted are Ki Mi Gi Ti and k M G T')
    total = number * _factor(suffix)
    _positive(total, text, field)
    if total != total.to_integral_value():
        raise InvalidInput(field, f"{show(text)} is not a whole number of bytes")
    if total > _LARGEST:
        raise InvalidInput(field, f"{show(text)} is more than Kubernetes can count (8Ei)")
    return int(total)


def _not_negative(text: str, field: str) -> None:
    if re.match(r"\s*-\s*\.?[0-9]", text):
        raise InvalidInput(field, f"{show(text)} is not more than zero")


def _positive(number: Decimal, text: str, field: str) -> None:
    if number <= 0:
        raise InvalidInput(field, f"{show(text)} is not more than zero")


def _print_bytes(number: int) -> str:
    factors = {suffix: _factor(suffix) for suffix in ("", *_DECIMAL, *_BINARY)}
    whole = {suffix: number // factor for suffix, factor in factors.items() if number % factor == 0}
    suffix = min(whole, key=whole.__getitem__)
    return f"{whole[suffix]}{suffix}"
