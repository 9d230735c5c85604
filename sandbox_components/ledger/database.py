"""The data base behind the ledger, SQLite or Postgres, and how one transaction at a time writes to it.

All writers of a ledger stand in one line: on SQLite by `BEGIN IMMEDIATE`, on Postgres by an advisory lock, which covers
all processes. So a transaction sees everything that was committed before it and nothing changes until its own commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from sandbox_components.errors import InvalidInput
from sandbox_components.ledger.model import StoreDown

T = TypeVar("T")

WAIT_SECONDS = 5
"""How long one transaction may wait for the lock, and a statement for its answer."""
_LOCK = 7_302_411_860_053
"""The advisory lock's number, ours alone in a data base of ours."""
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_POSTGRES_ARGUMENTS = {
    "connect_timeout": 3,
    "tcp_user_timeout": WAIT_SECONDS * 1000,
    "keepalives_idle": WAIT_SECONDS,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "application_name": "sandbox-components",
}
_POSTGRES_SETTINGS = (
    f"SET statement_timeout = '{WAIT_SECONDS}s'",
    f"SET idle_in_transaction_session_timeout = '{WAIT_SECONDS}s'",
)


class Database:
    """A ledger's data base.

    Args:
        url: `sqlite:////folder/file`, or `postgresql://user:password@host/name`.

    Raises:
        InvalidInput: the URL is none, or of another kind.
    """

    def __init__(self, url: str) -> None:
        read = _read_url(url)
        self.name = read.render_as_string(hide_password=True)
        self._is_sqlite = read.get_backend_name() == "sqlite"
        arguments = {"timeout": WAIT_SECONDS} if self._is_sqlite else _POSTGRES_ARGUMENTS
        try:
            self._engine = create_engine(read, connect_args=arguments, pool_size=4, pool_timeout=WAIT_SECONDS)
        except ImportError:
            raise InvalidInput(
                "ledger",
                "a Postgres ledger needs the extra `postgres`",
                suggestions=["pip install 'sandbox-components[proxy,postgres]'"],
            ) from None
        event.listen(self._engine, "connect", _set_up_sqlite if self._is_sqlite else _set_up_postgres)
        if self._is_sqlite:
            event.listen(self._engine, "begin", _begin_sqlite)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do work in one transaction, alone among all writers, and commit it.

        Raises:
            StoreDown: the store failed. Where that was during the commit, the work may have been done or not.
        """
        return self._run(work, is_writing=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Do work that sees the state of one instant and writes nothing.

        Raises:
            StoreDown: the store failed.
        """
        return self._run(work, is_writing=False)

    def _run(self, work: Callable[[Connection], T], *, is_writing: bool) -> T:
        """A connection that turns out to be gone is replaced once, as long as nothing can have been committed."""
        for attempt in (1, 2):
            is_committing = False
            try:
                with self._engine.connect() as plain:
                    connection = self._begin(plain, is_writing=is_writing)
                    result = work(connection)
                    is_committing = is_writing
                    connection.commit() if is_writing else connection.rollback()
                    return result
            except Exception as error:
                is_stale = isinstance(error, DBAPIError) and error.connection_invalidated and not is_committing
                if not is_stale or attempt == 2:
                    self._raise(error)
        raise AssertionError("the second attempt returns or raises")

    def _begin(self, plain: Connection, *, is_writing: bool) -> Connection:
        if self._is_sqlite:
            connection = plain.execution_options(is_writing=is_writing)
            connection.begin()
        elif is_writing:
            connection = plain
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        else:
            connection = plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _raise(self, error: Exception) -> NoReturn:
        """Raise the store's failures as StoreDown, in the driver's words without statement and values."""
        assert self._engine.dialect.dbapi is not None
        drivers: type[Exception] = self._engine.dialect.dbapi.Error
        if not isinstance(error, SQLAlchemyError | OSError | drivers):
            raise error
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        said = next(iter(str(cause).strip().splitlines()), "")
        raise StoreDown(f"the ledger at {self.name} doesn't answer: {type(cause).__name__}: {said[:200]}") from error


def _read_url(url: str) -> URL:
    try:
        read = make_url(url)
        driver = _DRIVERS[read.drivername.removesuffix("+psycopg")]
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        raise InvalidInput(
            "ledger", "is not the URL of a ledger: accepted are sqlite:////folder/file and postgresql://user@host/name"
        ) from None
    if driver == "sqlite" and (not read.database or read.database == ":memory:"):
        raise InvalidInput("ledger", "a SQLite ledger needs a file: sqlite:////folder/file")
    return read.set(drivername=driver)


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Write ahead, and on the disk at every commit; transactions begin when we say so, not when the driver likes."""
    connection.isolation_level = None
    for line in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {line}").close()


def _begin_sqlite(connection: Connection) -> None:
    is_writing = connection.get_execution_options().get("is_writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _set_up_postgres(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        for line in _POSTGRES_SETTINGS:
            cursor.execute(line)
    connection.commit()
