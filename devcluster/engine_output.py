"""What `pulumi` writes, without its notes that it takes plugins from PATH: ours lie there on purpose."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sandbox_components.operations.interrupts import Interrupts

_NOTE = re.compile(r"warning: using pulumi-(language|resource)-\w+ from \$PATH at ")
_HEADING = re.compile(r"Diagnostics:$| {2}pulumi:pulumi:Stack \(\S+\):$")
_COUNT = re.compile(r"(pulumi:pulumi:Stack .*?) *\d+ warnings?$")


def without_notes(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines but those notes, and headings under which nothing else stands."""
    held: list[str] = []
    noted = False
    for line in lines:
        text = line.rstrip()
        if _NOTE.search(text):
            noted = True
        elif _HEADING.match(text):
            held.append(line)
        else:
            if text or not noted:
                yield from held
            held.clear()
            noted = False
            yield _COUNT.sub(r"\1", text) + "\n"
    if not noted:
        yield from held


def stream(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Run a command and yield what it writes, line by line, without those notes.

    Interrupted, it lets the command end in its own good order, and goes on giving what it writes.

    Raises:
        subprocess.CalledProcessError: it failed, after all lines have been given.
        KeyboardInterrupt: SIGINT or SIGTERM came, after all lines have been given.
    """
    with (
        Interrupts() as interrupts,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        interrupts.watch(process)
        assert process.stdout is not None
        try:
            yield from without_notes(_listened(process.stdout, interrupts))
        finally:
            # Also where nobody reads us any more: the engine would die of its closed pipe, and leave its lock.
            for _ in process.stdout:
                pass
    if interrupts.asked:
        raise KeyboardInterrupt
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def _listened(lines: Iterable[str], interrupts: Interrupts) -> Iterator[str]:
    for line in lines:
        interrupts.heard(line)
        yield line
