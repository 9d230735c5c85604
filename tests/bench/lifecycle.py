"""What a sandbox costs beside the same things done by hand: to be Ready, to pause and resume, to be put up by Pulumi.

The engine's own time is measured apart (`pulumi up`), so `ready` compares what the cluster does: from the first object
that is sent until the pod is Ready.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from sandbox_components.manifests import services
from sandbox_components.manifests.claim import persistent_volume_claim
from sandbox_components.manifests.placement import Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.spec import naming
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox
from tests.bench.figures import Figures, timed
from tests.bench.place import real_node
from tests.harness.api import Json, eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pod_watch import PodWatch
from tests.harness.stack import Stack
from tests.harness.stack import run as run_command

NAME = "measured"


def run(figures: Figures) -> None:
    """Measure everything."""
    start_up(figures)
    with real_node() as (ground, folder):
        ready(figures, ground)
        pause_and_resume(figures, ground, folder)
        pulumi_up(figures, ground, folder)


def start_up(figures: Figures) -> None:
    """How long a user waits for the command to answer at all."""
    program = str(Path(sys.executable).with_name("sandbox"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import sandbox_components": [sys.executable, "-c", "import sandbox_components"],
        "sandbox --help": [program, "--help"],
    }
    measures = {name: lambda call=call: timed(lambda: _quietly(call)) for name, call in commands.items()}  # type: ignore[misc]
    figures.interleave("start-up", measures)
    code = "import sandbox_components, sys; print('pulumi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    figures.say("start-up/import sandbox_components imports pulumi", "yes" if "True" in done.stdout else "no")


def ready(figures: Figures, ground: Ground) -> None:
    """From the first object until the pod is Ready."""
    with ground.namespace() as namespace:
        watch = PodWatch(ground.kubeconfig, namespace)
        number = itertools.count()

        def measure(make: Callable[[str], tuple[list[Json], str]]) -> Callable[[], float]:
            def once() -> float:
                objects, pod = make(f"{NAME}-{next(number)}")
                began = time.perf_counter()
                for one in objects:
                    ground.api.create(one)
                took = watch.ready_at(pod, began) - began
                before = time.perf_counter()
                for one in reversed(objects):
                    ground.api.delete(one["kind"], one["metadata"]["name"], namespace, grace_seconds=0)
                watch.gone_at(pod, before)
                eventually(lambda: not ground.api.list("PersistentVolumeClaim", namespace), "the claim is gone")
                return took

            return once

        def bare(name: str, *, disk: bool = False) -> tuple[list[Json], str]:
            return _by_hand(ground, namespace, name, disk=disk), name

        def ours(name: str, *, disk: bool = False) -> tuple[list[Json], str]:
            return _rendered(ground, namespace, name, disk=disk), naming.pod_name(name)

        measures = {
            "bare pod": measure(bare),
            "ephemeral sandbox": measure(ours),
            "bare pod with a fresh claim": measure(lambda name: bare(name, disk=True)),
            "persistent sandbox": measure(lambda name: ours(name, disk=True)),
        }
        medians = figures.interleave("ready", measures)
        figures.ratio("ready", medians, "ephemeral sandbox", "bare pod")
        figures.ratio("ready", medians, "persistent sandbox", "bare pod with a fresh claim")
        watch.close()


def pause_and_resume(figures: Figures, ground: Ground, folder: Path) -> None:
    """The command beside `kubectl scale` and a wait for what it promises."""
    with ground.stack(folder / "pause") as stack:
        stack.configure({"sandboxes": {NAME: ground.sandbox(volumes=ground.volume())}})
        stack.up().ok()
        watch = PodWatch(ground.kubeconfig, stack.namespace)
        pod = naming.pod_name(NAME)
        watch.ready_at(pod, 0.0)

        def kubectl(*arguments: str) -> None:
            run_command(["kubectl", "-n", stack.namespace, *arguments], stack.env)

        def pause_by_kubectl() -> float:
            def do() -> None:
                kubectl("scale", f"statefulset/{NAME}", "--replicas=0")
                kubectl("wait", f"pod/{pod}", "--for=delete", "--timeout=120s")

            return timed(do)

        def resume_by_kubectl() -> float:
            def do() -> None:
                kubectl("scale", f"statefulset/{NAME}", "--replicas=1")
                kubectl("rollout", "status", f"statefulset/{NAME}", "--timeout=120s")

            return timed(do)

        measures = {
            "kubectl scale to 0 and wait": pause_by_kubectl,
            "kubectl scale to 1 and wait": resume_by_kubectl,
            "sandbox pause": lambda: timed(lambda: sandbox(stack, "pause", NAME).ok()),
            "sandbox resume": lambda: timed(lambda: sandbox(stack, "resume", NAME).ok()),
        }
        medians = figures.interleave("pause and resume", {name: _unaligned(do) for name, do in measures.items()})
        figures.more("pause and resume", medians, "sandbox pause", "kubectl scale to 0 and wait")
        figures.more("pause and resume", medians, "sandbox resume", "kubectl scale to 1 and wait")
        watch.close()


def _unaligned(measure: Callable[[], float]) -> Callable[[], float]:
    """Begin at any moment of the kubelet's second: it looks for ended containers once in each.

    Without that, what begins a few tenths later after the same event always waits for the next look, or never does.
    """

    def once() -> float:
        time.sleep(random.uniform(0.5, 2.5))
        return measure()

    return once


def pulumi_up(figures: Figures, ground: Ground, folder: Path) -> None:
    """Components beside the same objects in `pulumi_kubernetes`' own classes; no node takes the pods."""
    entry = ground.sandbox(
        volumes=ground.volume(), ports=[{"port": 8080}], labels={"team": "red"}, nodeSelector={"no": "such"}
    )
    with _components(ground, folder / "components", entry) as ours:
        planned = ours.preview().ok().steps
        objects = {f"{step.kind}-{step.name}": _manifest(step.new) for step in planned if "kind" in step.new}
        with ground.stack(folder / "by-hand", source=BY_HAND.format(objects=objects), namespace=ours.namespace) as twin:
            stacks = {"components": ours, "by hand": twin}
            for verb in ("create", "preview without a change", "up without a change"):
                measures = {name: _measure(stack, verb, stacks) for name, stack in stacks.items()}
                medians = figures.interleave(f"pulumi {verb}", measures)
                figures.ratio(f"pulumi {verb}", medians, "components", "by hand")


BY_HAND = """
import pulumi
import pulumi_kubernetes as kubernetes

OBJECTS = {objects!r}
CLASSES = {{
    "Namespace": kubernetes.core.v1.Namespace,
    "NetworkPolicy": kubernetes.networking.v1.NetworkPolicy,
    "PersistentVolumeClaim": kubernetes.core.v1.PersistentVolumeClaim,
    "Service": kubernetes.core.v1.Service,
    "ServiceAccount": kubernetes.core.v1.ServiceAccount,
    "StatefulSet": kubernetes.apps.v1.StatefulSet,
}}
made = []
for name, manifest in OBJECTS.items():
    values = {{key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}}
    if "automountServiceAccountToken" in values:
        values["automount_service_account_token"] = values.pop("automountServiceAccountToken")
    namespace = made[:1]
    made.append(CLASSES[manifest["kind"]](name, **values, opts=pulumi.ResourceOptions(depends_on=namespace)))
"""


@contextmanager
def _components(ground: Ground, folder: Path, entry: Json) -> Iterator[Stack]:
    with ground.stack(folder) as stack:
        stack.configure({"sandboxes": {NAME: entry}})
        yield stack


def _measure(stack: Stack, verb: str, stacks: dict[str, Stack]) -> Callable[[], float]:
    """Both stacks make the same objects, so each is alone whenever it is measured."""

    def alone() -> None:
        for other in stacks.values():
            if other is not stack and other.export():
                other.destroy().ok()

    def once() -> float:
        alone()
        if verb == "create":
            if stack.export():
                stack.destroy().ok()
            return stack.up().ok().seconds
        if not stack.export():
            stack.up().ok()
        outcome = stack.preview().ok() if verb.startswith("preview") else stack.up().ok()
        assert not outcome.changed
        return outcome.seconds

    return once


def _manifest(inputs: Json) -> Json:
    return {key: value for key, value in inputs.items() if not key.startswith("__")}


def _spec(ground: Ground, *, disk: bool) -> SandboxSpec:
    return read_sandbox(ground.sandbox(**({"volumes": ground.volume()} if disk else {})))


def _rendered(ground: Ground, namespace: str, name: str, *, disk: bool) -> list[Json]:
    """A sandbox's objects, in the order in which the component makes them."""
    spec = _spec(ground, disk=disk)
    place = Placement(name, namespace, "bench", "bench", version("sandbox-components"))
    claims = [persistent_volume_claim(place, spec.workspace, naming.claim_name(name))] if spec.workspace else []
    others = [services.service_account(place), services.headless_service(place), network_policy(place, spec)]
    return [*claims, *others, stateful_set(place, spec, revision="{}")]


def _by_hand(ground: Ground, namespace: str, name: str, *, disk: bool) -> list[Json]:
    """The same program in a pod, and no more than that."""
    entry = ground.sandbox()
    volume: Json = {"persistentVolumeClaim": {"claimName": name}} if disk else {"emptyDir": {}}
    container = {
        "name": "agent",
        "image": entry["image"]["uri"],
        "command": entry["entrypoint"],
        "resources": {"limits": entry["resourceLimits"]},
        "volumeMounts": [{"name": "workspace", "mountPath": "/workspace"}],
    }
    metadata = {"name": name, "namespace": namespace}
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "volumes": [{"name": "workspace", **volume}]},
    }
    if not disk:
        return [pod]
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": ground.storage_class, "resources": resources}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    return [claim, pod]


def _quietly(call: list[str]) -> None:
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
