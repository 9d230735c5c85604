"""Two sandboxes in one stack, what users do to them, and what must hold whatever they do.

`applied` was created by this package's provider, by server-side apply. The objects of `posted` were there first,
made by POST under the name that newer providers use, so that `spec.replicas` has an owner whom the provider takes for
itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from sandbox_components.kube.client import Cluster
from sandbox_components.operations.pause import pause
from sandbox_components.operations.resume import resume
from tests.harness.api import Json, eventually, is_ready
from tests.harness.ground import Ground
from tests.harness.outcome import Outcome
from tests.harness.scaling_watch import ScalingWatch
from tests.harness.stack import Stack

NAMES = ("applied", "posted")
CHANGES = ("image", "env", "probe", "labels", "nothing")
RESTARTING = ("image", "env", "probe")
IMAGES = ("localhost:5000/agent:1", "localhost:5000/agent:2", "localhost:5000/python:3.11")


@dataclass
class Known:
    """What a sandbox must be, by all that was done to it."""

    entry: Json
    is_paused: bool = False
    claim_uid: str = ""
    pod_uid: str = ""
    replicas: list[int] = field(default_factory=lambda: [1])
    """Every value that it was given, in order."""


class Lifecycle:
    """The stack, and the actions on it. Each action checks what is particular to it, `check` what always holds."""

    def __init__(self, ground: Ground, stack: Stack) -> None:
        self.ground, self.stack, self.api = ground, stack, ground.api
        self.namespace = stack.namespace
        self.cluster = Cluster.connect(str(ground.kubeconfig))
        self._count = 0
        self.known: dict[str, Known] = {}
        for name in NAMES:
            ground.prepare_claim(self.namespace, f"{name}-workspace")
            self.known[name] = Known(ground.sandbox(volumes=ground.volume(), image={"uri": IMAGES[0]}))
        self._declare()
        self._post("posted")
        self.watch = ScalingWatch(ground.kubeconfig, self.namespace)
        stack.up().ok()
        for name in NAMES:
            self.known[name].pod_uid = self._running_pod(name)["metadata"]["uid"]
            self.known[name].claim_uid = self._claim(name)["metadata"]["uid"]
        self._nothing_to_do()
        self.check()

    def close(self) -> None:
        self.watch.close()
        self.cluster.close()

    def pause(self, name: str, by: str) -> None:
        known = self.known[name]
        self._scale_down(name, by)
        if not known.is_paused:
            known.is_paused = True
            known.replicas.append(0)

    def resume(self, name: str, by: str) -> None:
        known = self.known[name]
        if by == "command":
            resume(self.cluster, self.namespace, [name])
        else:
            self.api.scale(name, self.namespace, 1, "kubectl")
        if known.is_paused:
            known.is_paused = False
            known.replicas.append(1)
            known.pod_uid = self._running_pod(name)["metadata"]["uid"]

    def up(self, name: str, change: str) -> None:
        """`pulumi up` with a change of one sandbox, and then nothing left to do."""
        self._change(name, change)
        self.stack.up().ok()
        self._settled_after(name, change)
        self._nothing_to_do()

    def up_while_paused_or_resumed(self, name: str, change: str, delay: float) -> None:
        """A pause (of a paused one: a resume) in the middle of an `up`."""
        known = self.known[name]
        self._change(name, change)
        with self.stack.start("up", "--yes", "--skip-preview") as running:
            time.sleep(delay)
            if known.is_paused:
                self.api.scale(name, self.namespace, 1, "kubectl")
                known.replicas.append(1)
            else:
                self._scale_down(name, "command")
                known.replicas.append(0)
            known.is_paused = not known.is_paused
            running.wait().ok()
        self._settled_after(name, "anything")
        self._nothing_to_do()

    def killed_up(self, name: str, change: str, delay: float) -> None:
        """`kill -9` in the middle of an `up`; then what users do: cancel, refresh, `up` again."""
        self._change(name, change)
        with self.stack.start("up", "--yes", "--skip-preview") as running:
            time.sleep(delay)
            running.kill()
        self.check(pods=False)
        self.stack.cancel()  # without a lock there is nothing to cancel, which it says by failing
        self.stack.refresh("--clear-pending-creates").ok()
        self.check(pods=False)
        self.stack.up().ok()
        self._settled_after(name, change)
        self._nothing_to_do()

    def preview(self) -> None:
        self._nothing_to_do()

    def refresh(self) -> None:
        assert self._unchanged(self.stack.refresh().ok())

    def delete_and_up(self, name: str) -> None:
        """Somebody deletes the StatefulSet; what `up --refresh` makes anew runs.

        A plain `up` doesn't look at the cluster where nothing changed in the program, and so makes nothing anew.
        """
        known = self.known[name]
        self.api.delete("StatefulSet", name, self.namespace)
        eventually(lambda: self.api.find("StatefulSet", name, self.namespace) is None, "the StatefulSet is gone")
        eventually(lambda: self._pod(name) is None, "its pod is gone")
        self.stack.up("--refresh").ok()
        known.is_paused = False
        known.replicas.append(1)
        known.pod_uid = self._running_pod(name)["metadata"]["uid"]
        self._nothing_to_do()

    def check(self, *, pods: bool = True) -> None:
        """What holds after everything; `pods=False` in the middle of a roll-out."""
        for name, known in self.known.items():
            self.watch.expect(name, known.replicas)
            claim = self._claim(name)
            assert claim["metadata"]["uid"] == known.claim_uid
            assert "deletionTimestamp" not in claim["metadata"]
            assert claim["status"]["phase"] == "Bound"
            if known.is_paused:
                eventually(lambda name=name: self._pod(name) is None, f"no pod of the paused {name}")  # type: ignore[misc]
            elif pods:
                assert self._running_pod(name)["metadata"]["uid"] == known.pod_uid, f"{name} was restarted"

    def _scale_down(self, name: str, by: str) -> None:
        if by == "command":
            pause(self.cluster, self.namespace, [name])
        else:
            self.api.scale(name, self.namespace, 0, "kubectl")
            eventually(lambda: self._pod(name) is None, f"no pod of {name}")

    def _change(self, name: str, change: str) -> None:
        self._count += 1
        entry = self.known[name].entry
        if change == "image":
            entry["image"] = {"uri": IMAGES[self._count % len(IMAGES)]}
            if self._image(name) == entry["image"]["uri"]:
                entry["image"] = {"uri": IMAGES[(self._count + 1) % len(IMAGES)]}
        elif change == "env":
            entry["env"] = {"COUNT": str(self._count)}
        elif change == "probe":
            http = {"path": "/healthz", "port": 8080}
            entry["healthCheck"] = {"type": "http", "http": http, "intervalSeconds": 10 + self._count}
        elif change == "labels":
            entry["labels"] = {"count": str(self._count)}
        self._declare()

    def _declare(self) -> None:
        self.stack.configure({"sandboxes": {name: known.entry for name, known in self.known.items()}})

    def _post(self, name: str) -> None:
        """Make the objects of a sandbox, as they are planned, by POST."""
        for step in self.stack.preview().ok().steps:
            manifest = {key: value for key, value in step.new.items() if not key.startswith("__")}
            belongs = step.kind == "Namespace" or step.name in (name, f"{name}-headless", f"{name}-workspace")
            if belongs and "kind" in manifest:
                self.api.create(manifest, "pulumi-kubernetes")

    def _settled_after(self, name: str, change: str) -> None:
        """Wait for the pod that is wanted now; which one it is tells whether the agent was restarted."""
        known = self.known[name]
        if known.is_paused:
            return
        pod = eventually(lambda: self._wanted_pod(name), f"a pod of {name} with the wanted image and env")
        uid = pod["metadata"]["uid"]
        if change in RESTARTING:
            assert uid != known.pod_uid, f"{name} was not restarted by a change of {change}"
        elif change != "anything":
            assert uid == known.pod_uid, f"{name} was restarted by a change of {change}"
        known.pod_uid = uid

    def _wanted_pod(self, name: str) -> Json | None:
        """The pod, if it is Ready and of the StatefulSet's newest revision, which is the wanted one."""
        entry, pod = self.known[name].entry, self._pod(name)
        workload = self.api.get("StatefulSet", name, self.namespace)
        template = workload["spec"]["template"]["spec"]["containers"][0]
        assert template["image"] == entry["image"]["uri"]
        env = {one["name"]: one.get("value") for one in template["env"]}
        assert env.get("COUNT") == entry.get("env", {}).get("COUNT")
        interval = entry.get("healthCheck", {}).get("intervalSeconds")
        assert template.get("livenessProbe", {}).get("periodSeconds") == interval
        if workload["status"].get("observedGeneration") != workload["metadata"]["generation"]:
            return None
        if pod is None or not is_ready(pod):
            return None
        current = pod["metadata"]["labels"]["controller-revision-hash"] == workload["status"]["updateRevision"]
        return pod if current else None

    def _nothing_to_do(self) -> None:
        assert self._unchanged(self.stack.preview().ok())

    def _unchanged(self, outcome: Outcome) -> bool:
        assert not outcome.changed, f"{dict(outcome.changed)}\n{outcome.output}"
        return True

    def _running_pod(self, name: str) -> Json:
        def ready() -> Json | None:
            pod = self._pod(name)
            return pod if is_ready(pod) else None

        return eventually(ready, f"the pod of {name} is Ready")

    def _pod(self, name: str) -> Json | None:
        return self.api.find("Pod", f"{name}-0", self.namespace)

    def _claim(self, name: str) -> Json:
        return self.api.get("PersistentVolumeClaim", f"{name}-workspace", self.namespace)

    def _image(self, name: str) -> Any:
        workload = self.api.get("StatefulSet", name, self.namespace)
        return workload["spec"]["template"]["spec"]["containers"][0]["image"]
