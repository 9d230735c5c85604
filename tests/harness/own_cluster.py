"""Clusters of one run of the tests: another run on the same machine, at the same time, must not end them."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from devcluster.cache import locked
from devcluster.paths import run_lock


@contextmanager
def own_name(stem: str) -> Iterator[str]:
    """Yield `stem`, or `stem-2` and so on where other runs have that."""
    for number in itertools.count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        run_lock(name).parent.mkdir(parents=True, exist_ok=True)
        with run_lock(name).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield name
            return


@contextmanager
def own(name: str) -> Iterator[None]:
    """Hold exactly this name; waits while another run has it."""
    with locked(run_lock(name), f"cluster {name} of its tests"):
        yield
