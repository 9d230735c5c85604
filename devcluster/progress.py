"""Runs one long command with its output in a log file and a line of progress on standard error now and then."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.errors import ClusterError

EVERY_SECONDS = 15.0


class CommandError(ClusterError):
    """The command failed; the message holds the last lines of its output and the log's path."""


def say(text: str) -> None:
    """Print a line for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Minutes and seconds as ``3:05``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def run(
    command: Sequence[str],
    *,
    label: str,
    expected_minutes: float,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    every_seconds: float = EVERY_SECONDS,
) -> float:
    """Run the command to its end and return the seconds it took.

    Args:
        command: program and arguments.
        label: what is being done, the beginning of each line.
        expected_minutes: how long it takes on two cores with nothing cached.
        log: where its output goes; overwritten.
        cwd: the folder to run in.
        env: its environment.
        every_seconds: how often to print a line.

    Raises:
        CommandError: it ended with another code than 0, or could not be started.
    """
    say(f"{label}: takes about {expected_minutes:g} min cold")
    started = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise CommandError(f"{label} failed: {error}") from error
        try:
            while True:
                try:
                    code = process.wait(every_seconds)
                    break
                except subprocess.TimeoutExpired:
                    passed = clock(time.monotonic() - started)
                    say(f"{label}: {passed} of about {clock(expected_minutes * 60)} ({_lines(log)} packages)")
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if code:
        raise CommandError(f"{label} failed with code {code}. Log {log} ends:\n{last_lines(log)}")
    seconds = time.monotonic() - started
    say(f"{label}: done in {clock(seconds)}")
    return seconds


def last_lines(log: Path, count: int = 15) -> str:
    """The last lines of a log that say something: the bare package names that ``go build -v`` prints are left out."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if " " in line.strip() or ":" in line]
    return "\n".join((telling or lines)[-count:])


def _lines(log: Path) -> int:
    with log.open("rb") as file:
        return sum(1 for line in file if b" " not in line.strip())
