"""The data base behind the ledger, SQLite or Postgres, and how one transaction at a time writes to it.

All writers of a ledger stand in one line: on SQLite by `BEGIN IMMEDIATE`, on Postgres by an advisory lock, which covers
all processes. So a transaction sees everything that was committed before it and nothing changes until its own commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from sandbox_components.errors import InvalidInput
from sandbox_components.ledger.model import StoreDown

T = TypeVar("T")

WAIT_SECONDS = 5
"""How long one transaction may wait for the lock, and a statement for its answer."""
_STEPS = 100_000
"""Of SQLite's machine, between two looks at the clock: about a millisecond."""
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
_FAULTS_OF_DATA = {"DataError", "IntegrityError", "ProgrammingError"}
"""By these names both drivers and SQLAlchemy say that a value is at fault, and not the store."""


def is_of_the_data(fault: StoreDown) -> bool:
    """Whether the store refused what it was given, so that others may fare better."""
    return any(kind.__name__ in _FAULTS_OF_DATA for kind in type(fault.__cause__).__mro__)


class _Failed(Exception):
    """A transaction failed: whether another attempt may help, and whether the commit may have been done."""

    def __init__(self, error: Exception, *, may_try_again: bool, may_be_done: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.may_try_again = may_try_again
        self.may_be_done = may_be_done


class Database:
    """A ledger's data base.

    Args:
        url: `sqlite:////folder/file`, or `postgresql://user:password@host/name`.

    Raises:
        InvalidInput: the URL is none, or of another kind.
    """

    def __init__(self, url: str) -> None:
        read = _read_url(url)
        self.name = read.set(query={}).render_as_string(hide_password=True)
        self._is_sqlite = read.get_backend_name() == "sqlite"
        arguments = {"timeout": WAIT_SECONDS} if self._is_sqlite else _POSTGRES_ARGUMENTS
        try:
            self._engine = create_engine(read, connect_args=arguments, pool_timeout=WAIT_SECONDS, **_style(read))
        except ImportError:
            raise InvalidInput(
                "ledger",
                "a Postgres ledger needs the extra `postgres`",
                suggestions=["pip install 'sandbox-components[proxy,postgres]'"],
            ) from None
        assert self._engine.dialect.dbapi is not None
        self._drivers_error: type[Exception] = self._engine.dialect.dbapi.Error
        self._writing = threading.Lock()
        self._writer: Connection | None = None
        event.listen(self._engine, "connect", _set_up_sqlite if self._is_sqlite else _set_up_postgres)
        if self._is_sqlite:
            event.listen(self._engine, "do_connect", _make_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do work in one transaction, alone among all writers, and commit it.

        Raises:
            StoreDown: the store failed; it tells whether the work may have been done all the same.
        """
        with self._writing:
            return self._try_twice(partial(self._write, work))

    def read(self, work: Callable[[Connection], T], *, seconds: float = WAIT_SECONDS) -> T:
        """Do work that sees the state of one instant and writes nothing.

        Args:
            work: what to do.
            seconds: how long it may take, on Postgres each statement of it.

        Raises:
            StoreDown: the store failed, or not in time.
        """
        return self._try_twice(partial(self._read, work, seconds))

    def close(self) -> None:
        """Close all connections."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._engine.dispose()

    def _try_twice(self, attempt: Callable[[], T]) -> T:
        """Try again with a new connection where the old one turned out to be gone, before anything was committed."""
        for is_last in (False, True):
            try:
                return attempt()
            except _Failed as failed:
                if is_last or not failed.may_try_again:
                    self._raise(failed.error, may_be_done=failed.may_be_done)
            except Exception as error:
                self._raise(error)
        raise AssertionError("the last attempt returns or raises")

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Use one connection again and again; after a failure another."""
        connection, self._writer = self._writer, None
        if connection is None:
            connection = self._engine.connect().execution_options(is_writing=True)
        try:
            result = self._in_transaction(connection, work)
        except BaseException:
            connection.close()
            raise
        self._writer = connection
        return result

    def _read(self, work: Callable[[Connection], T], seconds: float) -> T:
        with self._engine.connect() as plain:
            if self._is_sqlite:
                with _ending(plain.connection.dbapi_connection, seconds):
                    return self._in_transaction(plain, work)
            connection = plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            if seconds == WAIT_SECONDS:
                return self._in_transaction(connection, work)

            def patient(connection: Connection) -> T:
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
                return work(connection)

            return self._in_transaction(connection, patient)

    def _in_transaction(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        is_committing = False
        try:
            with connection.begin() as transaction:
                if not self._is_sqlite and _is_writing(connection):
                    connection.connection.cursor().execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
                result = work(connection)
                is_committing = _is_writing(connection)
                transaction.commit()
        except Exception as error:
            is_gone = self._is_gone(error, connection)
            if is_gone:
                connection.invalidate()
            may_try_again = is_gone and not is_committing
            raise _Failed(error, may_try_again=may_try_again, may_be_done=is_committing) from error
        return result

    def _is_gone(self, error: Exception, connection: Connection) -> bool:
        """Whether the connection is of no more use."""
        if isinstance(error, DBAPIError):
            return error.connection_invalidated
        if not isinstance(error, self._drivers_error) or connection.invalidated:
            return False
        driver: Any = connection.connection.dbapi_connection
        return self._engine.dialect.is_disconnect(error, driver, None)  # type: ignore[arg-type]

    def _raise(self, error: Exception, *, may_be_done: bool = False) -> NoReturn:
        """Raise the store's failures as StoreDown, in the driver's words without statement and values."""
        if not isinstance(error, SQLAlchemyError | OSError | self._drivers_error):
            raise error
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        said = next(iter(str(cause).strip().splitlines()), "")
        message = f"the ledger at {self.name} doesn't answer: {type(cause).__name__}: {said[:200]}"
        raise StoreDown(message, may_be_done=may_be_done) from error


def _style(url: URL) -> dict[str, str]:
    """Named parameters for both drivers, as `ledger.prepared` wants them."""
    return {"paramstyle": "named"} if url.get_backend_name() == "sqlite" else {}


def _read_url(url: str) -> URL:
    try:
        read = make_url(url)
        driver = _DRIVERS[read.drivername.removesuffix("+psycopg")]
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        raise InvalidInput(
            "ledger", "is not the URL of a ledger: accepted are sqlite:////folder/file and postgresql://user@host/name"
        ) from None
    if "@" in f"{read.host}{read.database}" and driver != "sqlite":  # where a part of the password would be shown
        raise InvalidInput("ledger", "has one @ too many: in a user's name and a password it is written %40")
    if driver == "sqlite" and (not read.database or read.database == ":memory:"):
        raise InvalidInput("ledger", "a SQLite ledger needs a file: sqlite:////folder/file")
    return read.set(drivername=driver)


def _make_sqlite(_dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]) -> None:
    """Make a new file so that its owner alone reads who spent what; those that SQLite makes beside it are as it is."""
    if not options.get("uri"):
        with contextlib.suppress(OSError):  # which the driver tells of
            os.close(os.open(arguments[0], os.O_RDONLY | os.O_CREAT, 0o600))


def _set_up_sqlite(connection: Any, _record: object) -> None:
    """Write ahead, and on the disk at every commit; transactions begin when we say so, not when the driver likes."""
    connection.isolation_level = None
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            break
        except sqlite3.OperationalError as error:
            # SQLite itself waits for nobody here, so that the second of two who open a new file at once would fail.
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous = FULL").close()


@contextlib.contextmanager
def _ending(driver: Any, seconds: float) -> Iterator[None]:
    """Break off what is read when the time is over: SQLite has no such setting, and nobody can end its thread."""
    until = time.monotonic() + seconds
    driver.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, _STEPS)


def _begin_sqlite(connection: Connection) -> None:
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if _is_writing(connection) else "BEGIN")


def _is_writing(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("is_writing", False))


def _set_up_postgres(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        for line in _POSTGRES_SETTINGS:
            cursor.execute(line)
    connection.commit()
