"""Interleaved rounds and their medians: what is compared is measured in turns, so that a busy minute hits both."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Prints the figures of one benchmark.

    Attributes:
        name: stands before every figure.
    """

    name: str

    def interleave(
        self, title: str, measures: Mapping[str, Callable[[], float]], *, rounds: int = 20, warm_up: bool = True
    ) -> dict[str, float]:
        """Run all measures in turn, `rounds` times, print the median of each, and return the medians.

        Args:
            title: what is compared.
            measures: name → does it once and returns the seconds that count.
            rounds: overridden by SANDBOX_BENCH_ROUNDS.
            warm_up: leave a first round out.
        """
        rounds = int(os.environ.get("SANDBOX_BENCH_ROUNDS") or rounds)
        seconds: dict[str, list[float]] = {name: [] for name in measures}
        for number in range(rounds + warm_up):
            for name, measure in measures.items():
                took = measure()
                print(f"{title}, round {number}: {name} {took:.3f} s", file=sys.stderr, flush=True)
                if number or not warm_up:
                    seconds[name].append(took)
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        for name, median in medians.items():
            self.say(f"{title}/{name}", f"{median:.3f} s")
        self.say(f"{title}/rounds", str(rounds))
        return medians

    def ratio(self, title: str, medians: Mapping[str, float], ours: str, twin: str) -> None:
        """Print how many times the twin's median ours is."""
        self.say(f"{title}/{ours} : {twin}", f"{medians[ours] / medians[twin]:.3f}")

    def more(self, title: str, medians: Mapping[str, float], ours: str, twin: str) -> None:
        """Print how many seconds ours takes more."""
        self.say(f"{title}/{ours} - {twin}", f"{medians[ours] - medians[twin]:+.3f} s")

    def say(self, what: str, value: str) -> None:
        """Print one figure."""
        print(f"{self.name}/{what}: {value}", flush=True)


def timed(do: Callable[[], object]) -> float:
    """Return how many seconds `do` takes."""
    began = time.perf_counter()
    do()
    return time.perf_counter() - began
