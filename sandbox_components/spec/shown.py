"""How an error shows a value that came in: short, in one line, in JSON's words, whatever it is.

Apart from the models, so that modules which only check names needn't import pydantic.
"""

from __future__ import annotations

from datetime import date


def show(value: object, limit: int = 60) -> str:
    """Return a value as an error shows it: strings in double quotes, words as JSON writes them, cut at `limit`."""
    if isinstance(value, str):
        text = value if value.isprintable() else repr(value)[1:-1]
        return f'"{text}"' if len(text) <= limit else f'"{text[:limit]}..."'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if not abs(value) >= 10**20 or value in (1e999, -1e999) else "a number of over 20 digits"
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    named = {type(None): "null", dict: "a mapping", list: "a list", tuple: "a list"}
    return named.get(type(value), f"a {type(value).__name__}")


def in_quotes(value: object) -> str:
    """Return the advice for a value that YAML or JSON took for something else than a string."""
    if not isinstance(value, int | float | date):
        return ""
    text = show(value).strip('"')
    return f': write it in quotes, as "{text}"'
