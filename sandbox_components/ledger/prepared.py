"""Statements that are compiled once and then go to the driver as text: what every call waits for must be quick.

Going through SQLAlchemy's execution costs a quarter of a millisecond for each statement, a hold and its settlement need
nine of them. Lists are padded to a power of two by repeating their last value, so that there are few texts to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ClauseElement, Connection, Dialect

Values = Mapping[str, Any]


class Prepared:
    """A statement with named parameters. Of a SELECT one may be a list."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._texts: dict[tuple[str, int], str] = {}

    def text(self, dialect: Dialect, values: Values) -> str:
        """Return the text for a dialect and for lists as long as those among the values."""
        length = next((len(value) for value in values.values() if isinstance(value, list)), 0)
        text = self._texts.get((dialect.name, length))
        if text is None:
            statement = self._statement.params(dict(values)) if length else self._statement
            options = {"render_postcompile": True} if length else {}
            text = str(statement.compile(dialect=dialect, compile_kwargs=options))
            self._texts[dialect.name, length] = text
        return text


class Session:
    """The driver below a connection, inside the connection's transaction."""

    def __init__(self, connection: Connection) -> None:
        self._dialect = connection.dialect
        self._cursor = connection.connection.cursor()

    def select(self, statement: Prepared, **values: Any) -> list[tuple[Any, ...]]:
        """Return all rows. A list must not be empty."""
        padded = {name: _padded(value) if isinstance(value, list) else value for name, value in values.items()}
        self._cursor.execute(statement.text(self._dialect, padded), _flat(padded))
        return list(self._cursor.fetchall())

    def run_each(self, statement: Prepared, rows: Sequence[Values]) -> None:
        """Run a statement once for each row of values."""
        if len(rows) == 1:
            self._cursor.execute(statement.text(self._dialect, rows[0]), rows[0])
        elif rows:
            self._cursor.executemany(statement.text(self._dialect, rows[0]), rows)


def _padded(values: list[Any]) -> list[Any]:
    room = 1 << (len(values) - 1).bit_length()
    return values + values[-1:] * (room - len(values))


def _flat(values: Values) -> dict[str, Any]:
    """Name the members of a list as the compiled text does."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, list):
            flat[name] = value
            continue
        flat.update({f"{name}_{number}": one for number, one in enumerate(value, 1)})
    return flat
