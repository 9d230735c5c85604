"""A sandbox's revisions out of a thousand updates of twenty sandboxes, beside `pulumi stack history` of all of them.

Ten real updates on a kwok node, multiplied by a script; on disk and in a bucket of moto's server. Cold: nothing was
read before. Pulumi reads the entries alone, the command their checkpoints too. `SANDBOX_BENCH_UPDATES` replaces the
thousand.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox_components.revisions.bucket_store import BucketStore
from sandbox_components.revisions.cache import HistoryCache
from sandbox_components.revisions.diy import DiyHistory
from sandbox_components.revisions.folder_store import FolderStore
from sandbox_components.revisions.store import Store, Stored
from tests.bench.figures import Figures
from tests.bench.memory import PeakMemory
from tests.bench.multiplied import multiply, upload
from tests.bench.place import real_node
from tests.harness import kwok, moto
from tests.harness.ground import Ground, on_kwok
from tests.harness.moto import Moto
from tests.harness.stack import Stack

UPDATES, SANDBOXES, REAL = 1000, 20, 10
ROUNDS = 3
BUCKETS = {"s3": 0.0, "s3 10 ms away": 0.010}
"""Moto's server answers out of this machine's memory; Amazon's has a way to go, and within a region takes longer."""
COLD, WARM, TWIN = "sandbox revisions, cold", "sandbox revisions, warm", "pulumi stack history"
TAGS = ("3.11", "3.12")


def run(figures: Figures) -> None:
    """Measure everything."""
    updates = int(os.environ.get("SANDBOX_BENCH_UPDATES", UPDATES))
    with real_node() as (node, folder):
        with kwok.node(node.tools / "kwok", node.kubeconfig, node.api, folder / "kwok.log") as kwok_node:
            ground = on_kwok(kwok_node, node.api, node.kubeconfig, node.tools, node.home)
            with ground.stack(folder / "stack") as stack:
                _update(stack, ground)
        state = stack.folder / "state"
        (history,) = (state / ".pulumi" / "history").glob("*/*")
        multiply(history, updates)
        _Measured(figures, stack, folder, "file", FolderStore(state), updates).measure()
        os.environ.update(moto.ENVIRONMENT)
        for kind, delay in BUCKETS.items():
            with moto.server(folder / f"{kind}.log", delay_seconds=delay) as server:
                stack.env |= {**moto.ENVIRONMENT, "PULUMI_BACKEND_URL": server.backend("state")}
                upload(server, state, "state")
                store = BucketStore.open(stack.env["PULUMI_BACKEND_URL"])
                _Measured(figures, stack, folder, kind, store, updates, server).measure()


def _update(stack: Stack, ground: Ground) -> None:
    """Ten updates: each gives two sandboxes the second image, and all others the first."""
    for number in range(REAL):
        pair = {number * 2 % SANDBOXES, (number * 2 + 1) % SANDBOXES}
        images = [f"localhost:5000/python:{TAGS[index in pair]}" for index in range(SANDBOXES)]
        entries = {f"agent-{index}": ground.sandbox(image={"uri": image}) for index, image in enumerate(images)}
        stack.configure({"sandboxes": entries})
        stack.up("--message", f"update {number}").ok()
        print(f"update {number} of {REAL}", file=sys.stderr, flush=True)


class _Measured:
    """One backend."""

    def __init__(
        self,
        figures: Figures,
        stack: Stack,
        folder: Path,
        kind: str,
        store: Store,
        updates: int,
        server: Moto | None = None,
    ) -> None:
        self._figures, self._stack, self._kind, self._server = figures, stack, kind, server
        self._store, self._updates = _Counting(store), updates
        self._cache = folder / f"cache-{kind}"
        self._is_weighing, self._peak = False, 0
        self._requests: dict[str, int] = {}
        self._lines: dict[str, int] = {}

    def measure(self) -> None:
        measures: dict[str, Callable[[], float]] = {TWIN: self._pulumi, COLD: self._cold, WARM: self._warm}
        title = f"{self._kind}, {self._updates} updates of {SANDBOXES} sandboxes"
        medians = self._figures.interleave(title, measures, rounds=ROUNDS)
        self._figures.ratio(title, medians, COLD, TWIN)
        self._figures.ratio(title, medians, WARM, TWIN)
        self._is_weighing = True
        for name, measure in measures.items():
            measure()
            self._figures.say(f"{title}/memory/{name}", f"{self._peak / 1024:.0f} MiB")
        for name, count in self._requests.items():
            self._figures.say(f"{title}/requests/{name}", str(count))
        self._figures.say(f"{title}/entries that pulumi lists", str(self._lines[TWIN]))
        self._figures.say(f"{title}/revisions of the sandbox", str(self._lines[WARM]))
        for name in (COLD, WARM):
            self._store.bytes = self._store.reads = 0
            self._read()
            self._figures.say(f"{title}/read/{name}", f"{self._store.reads} objects, {self._store.bytes} bytes")
        self._figures.say(f"{title}/bytes of the cache", str(sum(path.stat().st_size for path in self._files())))

    def _pulumi(self) -> float:
        command = ["pulumi", "stack", "history", "--json", "--page-size", "1000", "-s", self._stack.name]
        took, output = self._process(TWIN, command)
        self._lines[TWIN] = len(json.loads(output))
        return took

    def _cold(self) -> float:
        shutil.rmtree(self._cache, ignore_errors=True)
        return self._ours(COLD)

    def _warm(self) -> float:
        return self._ours(WARM)

    def _ours(self, name: str) -> float:
        command = [sys.executable, "-m", "sandbox_components", "revisions", "agent-7", "-o", "json"]
        took, output = self._process(name, command)
        self._lines[name] = len(json.loads(output)["items"])
        return took

    def _process(self, name: str, command: Sequence[str]) -> tuple[float, str]:
        """Run a command; return its seconds and output, and note its requests, or its memory where that is asked."""
        output = self._stack.folder / "measured.json"
        before = len(self._server.requests()) if self._server else 0
        env = {**self._stack.env, "SANDBOX_STACK": self._stack.name, "XDG_CACHE_HOME": str(self._cache)}
        env.pop("PYTHONDONTWRITEBYTECODE")
        env["PYTHONPYCACHEPREFIX"] = str(self._stack.folder / "bytecode")  # as where it is installed
        with output.open("w") as file:
            began = time.perf_counter()
            with subprocess.Popen(
                command, cwd=self._stack.folder, env=env, stdin=subprocess.DEVNULL, stdout=file
            ) as process:
                memory = PeakMemory(process.pid) if self._is_weighing else None
                process.wait()
            took = time.perf_counter() - began
        if memory is not None:
            self._peak = max(memory.stop().values())
        assert process.returncode == 0, f"{command} ended with {process.returncode}"
        if self._server:
            self._requests[name] = len(self._server.requests()) - before
        return took, output.read_text()

    def _read(self) -> None:
        """What the command reads, in this process, counted; at first nothing was read before."""
        cache = HistoryCache("counted", self._cache / "counted")
        history = DiyHistory(self._store, self._stack.project, self._stack.name, cache)
        found = history.checkpoints(history.entries())
        assert len(found) == self._updates
        assert not history.problems, history.problems

    def _files(self) -> list[Path]:
        return [path for path in (self._cache / "sandbox-components").rglob("*") if path.is_file()]


class _Counting:
    """A store that counts what is read."""

    def __init__(self, store: Store) -> None:
        self._inner, self.url, self.lanes = store, store.url, store.lanes
        self.reads = self.bytes = 0

    def list(self, folder: str) -> Sequence[Stored]:
        return self._inner.list(folder)

    def read(self, path: str) -> bytes:
        data = self._inner.read(path)
        self.reads += 1
        self.bytes += len(data)
        return data
