"""Run one benchmark, or all: figures go to standard output as lines `name: value`, progress to standard error.

`SANDBOX_BENCH_ROUNDS` replaces the number of rounds of each measurement. `SANDBOX_TEST_CLUSTER=NAME` measures on a
running cluster; otherwise one is started and taken down.
"""

from __future__ import annotations

import argparse
import importlib
import sys

NAMES = ("lifecycle", "fleet", "history", "proxy")
"""A benchmark more is a module here with `run(figures)`, and its name in this line."""


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=NAMES, help="default: all")
    chosen = parser.parse_args().name
    from tests.bench.figures import Figures

    for name in NAMES if chosen is None else (chosen,):
        importlib.import_module(f"tests.bench.{name}").run(Figures(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
