"""Many sandboxes in one stack beside the same objects written by hand, on a kwok node: time, memory, bytes of state.

Ephemeral sandboxes, 10 and 100 of them (300 with SANDBOX_SOAK). The twin is a program of `pulumi_kubernetes`' own
classes with the very manifests that the components render. Pods on kwok's node cost nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from sandbox_components.manifests import services
from sandbox_components.manifests.placement import Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.spec.sandbox import read_sandbox
from tests.bench.figures import Figures, timed
from tests.bench.lifecycle import BY_HAND
from tests.bench.memory import PeakMemory
from tests.bench.place import real_node
from tests.harness import kwok
from tests.harness.api import Json, eventually, is_ready
from tests.harness.command import sandbox
from tests.harness.ground import Ground, new_namespace, on_kwok
from tests.harness.outcome import Outcome
from tests.harness.stack import Stack

ROUNDS = {10: 5, 100: 3, 300: 1}
LISTED = 300
OURS, TWIN = "components", "by hand"
IMAGES = ("localhost:5000/python:3.11", "localhost:5000/busybox:1")
VERBS = ("create", "preview without a change", "update of one")


def run(figures: Figures) -> None:
    """Measure everything; `SANDBOX_BENCH_FLEET=10` measures that many alone."""
    asked = os.environ.get("SANDBOX_BENCH_FLEET", "10,100,300" if os.environ.get("SANDBOX_SOAK") else "10,100")
    medians: dict[int, dict[str, float]] = {}
    with real_node() as (node, folder):
        with kwok.node(node.tools / "kwok", node.kubeconfig, node.api, folder / "kwok.log") as kwok_node:
            ground = on_kwok(kwok_node, node.api, node.kubeconfig, node.tools, node.home)
            for count in (int(text) for text in asked.split(",")):
                medians[count] = _Fleet(figures, ground, folder / str(count), count).measure()
            listing(figures, ground, folder)
    counts = sorted(medians)
    for small, large in itertools.pairwise(counts):
        ratio = medians[large]["sandbox update"] / medians[small]["sandbox update"]
        figures.say(f"update of one/among {large} : among {small}", f"{ratio:.3f}")


class _Fleet:
    """A stack of `count` sandboxes and its twin."""

    def __init__(self, figures: Figures, ground: Ground, folder: Path, count: int) -> None:
        self._figures, self._ground, self._folder, self._count = figures, ground, folder, count
        self._made = 0
        self._stacks: dict[str, Stack] = {}
        self._peaks: dict[str, dict[str, int]] = {OURS: {}, TWIN: {}}
        self._turn = 0

    def measure(self) -> dict[str, float]:
        rounds = ROUNDS.get(self._count, 1)
        found: dict[str, float] = {}
        try:
            for verb in VERBS:
                title = f"{verb}, {self._count} sandboxes"
                measures = {name: self._once(verb, name) for name in (OURS, TWIN)}
                if verb == VERBS[2]:
                    measures = {"sandbox update": measures[OURS], "preview and up by hand": measures[TWIN]}
                medians = self._figures.interleave(title, measures, rounds=rounds, warm_up=self._count < 100)
                ours, twin = measures
                self._figures.ratio(title, medians, ours, twin)
                found |= medians
            self._weigh()
        finally:
            for stack in self._stacks.values():
                self._ground.api.delete("Namespace", stack.namespace)
        return found

    def _once(self, verb: str, name: str) -> Callable[[], float]:
        if verb == VERBS[0]:
            return lambda: self._create(name)
        if verb == VERBS[1]:
            return lambda: self._preview(name)
        return self._update if name == OURS else self._update_by_hand

    def _create(self, name: str) -> float:
        old = self._stacks.pop(name, None)
        if old is not None:
            self._ground.api.delete("Namespace", old.namespace)
            eventually(lambda: self._ground.api.find("Namespace", old.namespace) is None, "the old one is gone", 600)
            shutil.rmtree(old.folder)
        self._made += 1
        namespace = new_namespace()
        stack = Stack(
            self._folder / f"{name.replace(' ', '-')}-{self._made}",
            tools=self._ground.tools,
            kubeconfig=self._ground.kubeconfig,
            home=self._ground.home,
            source=self._source(namespace, IMAGES[0]) if name == TWIN else None,
        )
        stack.namespace = namespace
        sandboxes = {} if name == TWIN else {one: self._entry() for one in self._names()}
        stack.configure({"namespace": namespace, "sandboxes": sandboxes})
        self._stacks[name] = stack
        return self._watched(name, stack, "up", "--yes", "--skip-preview").seconds

    def _preview(self, name: str) -> float:
        outcome = self._watched(name, self._stacks[name], "preview", "--diff")
        assert not outcome.changed, outcome.output
        return outcome.seconds

    def _update(self) -> float:
        stack = self._stacks[OURS]
        self._turn += 1
        words = ("update", self._names()[0], "--image", IMAGES[self._turn % 2], "-y", "--no-wait")
        return sandbox(stack, *words).ok().seconds

    def _update_by_hand(self) -> float:
        stack = self._stacks[TWIN]
        stack.program.write_text(self._source(stack.namespace, IMAGES[self._turn % 2]))

        def do() -> None:
            planned = stack.pulumi("preview", "--json", "--show-sames").ok()
            (urn,) = {step.urn for step in planned.changes if step.kind == "StatefulSet"}
            stack.up("--target", urn).ok()

        return timed(do)

    def _watched(self, name: str, stack: Stack, verb: str, *options: str) -> Outcome:
        with stack.start(verb, *options) as running:
            peak = PeakMemory(running.process.pid)
            try:
                outcome = running.wait(1800).ok()
            finally:
                found = peak.stop()
        for role, kib in found.items():
            self._peaks[name][role] = max(kib, self._peaks[name].get(role, 0))
        return outcome

    def _weigh(self) -> None:
        for name, stack in self._stacks.items():
            for role, kib in sorted(self._peaks[name].items()):
                self._figures.say(f"peak memory, {self._count} sandboxes/{name}/{role}", f"{kib / 1024:.0f} MiB")
            state = stack.folder / "state" / ".pulumi" / "stacks" / stack.project / f"{stack.name}.json"
            self._figures.say(f"state, {self._count} sandboxes/{name}", f"{state.stat().st_size} bytes")

    def _names(self) -> list[str]:
        return [f"agent-{number}" for number in range(self._count)]

    def _entry(self) -> Json:
        return self._ground.sandbox(image={"uri": IMAGES[0]})

    def _source(self, namespace: str, image: str) -> str:
        """The twin's program; `image` is of the first sandbox."""
        objects: dict[str, Json] = {
            "namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        }
        for index, name in enumerate(self._names()):
            entry = self._entry() | ({"image": {"uri": image}} if index == 0 else {})
            for one in rendered(entry, namespace, name):
                objects[f"{one['kind']}-{one['metadata']['name']}"] = one
        return BY_HAND.format(objects=objects)


def rendered(entry: Json, namespace: str, name: str) -> list[Json]:
    """A sandbox's objects, as the component makes them."""
    spec = read_sandbox(entry)
    place = Placement(name, namespace, "agents", "test", version("sandbox-components"))
    others = [services.service_account(place), services.headless_service(place), network_policy(place, spec)]
    return [*others, stateful_set(place, spec, revision=json.dumps({"v": 1, "image": spec.image.uri}))]


def listing(figures: Figures, ground: Ground, folder: Path) -> None:
    """`sandbox list` of many, as its user waits for it."""
    with ground.stack(folder / "listed") as stack:
        metadata = {"name": stack.namespace}
        ground.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for number in range(LISTED):
            for one in rendered(ground.sandbox(), stack.namespace, f"agent-{number}"):
                if one["kind"] in ("ServiceAccount", "StatefulSet"):
                    ground.api.create(one)

        def ready() -> bool:
            count = sum(is_ready(pod) for pod in ground.api.list("Pod", stack.namespace))
            print(f"listing: {count} of {LISTED} are Ready", file=sys.stderr, flush=True)
            return count == LISTED

        eventually(ready, "all are Ready", 600)
        formats = {f"sandbox list -o {form}": form for form in ("table", "wide", "json")}
        measures = {
            title: lambda form=form: sandbox(stack, "list", "-o", form).ok().seconds for title, form in formats.items()
        }
        figures.interleave(f"list of {LISTED}", measures, rounds=10)
        listed = sandbox(stack, "list", "-o", "name").ok().output.split()
        assert len(listed) == LISTED, f"{len(listed)} are listed"
