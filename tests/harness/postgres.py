"""Debian's Postgres as a process of the tests' own: in a folder of its own, as an unprivileged user, on a Unix socket.

It is installed when it is missing (its service stays off) and needs no privilege but that.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcluster import debian
from tests.harness.mortal import with_us

START_SECONDS = 60
_NAME = "ledger"
_FAST = ("fsync=off", "full_page_writes=off")


class Postgres:
    """A server that can be stopped and started again; its data stay until the end of `server`."""

    def __init__(self, folder: Path, binaries: Path, user: str | None, settings: tuple[str, ...]) -> None:
        self.folder = folder
        self._binaries = binaries
        self._user = user
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._places = 0

    def new_database(self) -> str:
        """Make an empty place and return its URL: a schema of its own, which costs no files as a data base would."""
        import psycopg

        self._places += 1
        name = f"of_test_{self._places}"
        with psycopg.connect(f"host={self.folder} user={_NAME} dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"postgresql://{_NAME}@/postgres?host={self.folder}&options=-csearch_path%3D{name}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        import psycopg

        assert self._process is None
        settings = [part for line in self._settings for part in ("-c", line)]
        with (self.folder / "log").open("ab") as log:
            self._process = self._spawn(
                ["postgres", "-D", str(self.folder / "data"), "-k", str(self.folder), "-h", "", *settings], log.fileno()
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(f"host={self.folder} user={_NAME} dbname=postgres").close()
                return
            except psycopg.OperationalError:
                said = (self.folder / "log").read_text(errors="replace")
                assert self._process.poll() is None, f"Postgres did not start:\n{said}"
                assert time.monotonic() < deadline, f"Postgres did not answer:\n{said}"
                time.sleep(0.05)

    def stop(self) -> None:
        """End the server at once, and all its connections."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(20)
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Have a server that takes connections and says nothing, until the end of the block."""
        assert self._process is not None
        pids = [self._process.pid, *_children(self._process.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def make(self) -> None:
        """Make the folder's data base cluster."""
        command = ["initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", _NAME, "-E", "UTF8", "--no-sync"]
        with (self.folder / "log").open("ab") as log:
            made = self._spawn([*command, "--locale=C.UTF-8"], log.fileno()).wait(START_SECONDS)
        assert made == 0, (self.folder / "log").read_text(errors="replace")

    def _spawn(self, command: list[str], output: int) -> subprocess.Popen[bytes]:
        program = str(self._binaries / command[0])
        return subprocess.Popen(
            [*with_us(signal.SIGQUIT), program, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
        )


@contextmanager
def server(*, is_durable: bool = False) -> Iterator[Postgres]:
    """Have a server until the end of the block; `is_durable`: one that waits for the disk, as servers do."""
    debian.install_debian_packages(["postgresql"])
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="sandbox-postgres-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        postgres = Postgres(folder, _binaries(), user, () if is_durable else _FAST)
        postgres.make()
        postgres.start()
        try:
            yield postgres
        finally:
            postgres.stop()
    finally:
        shutil.rmtree(folder)


def _binaries() -> Path:
    """The newest version's programs, which Debian keeps out of PATH."""
    found = [Path(path).parent for path in debian.POSTGRES_SERVERS if Path(path).exists()]
    return found[-1]


def _unprivileged() -> str | None:
    """Whom to run it as: Postgres refuses to be root. Its Debian package makes the user."""
    return "postgres" if os.geteuid() == 0 else None


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
