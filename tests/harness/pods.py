"""Pods of the tests' own beside the package's, and programs run inside of any pod."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tests.harness.api import Json, eventually, is_ready
from tests.harness.ground import Ground


def inside(ground: Ground, namespace: str, pod: str, command: Sequence[str], *, given: str = "") -> str:
    """Run a command in a pod to its good end and return what it printed on standard output."""
    call = ["kubectl", "exec", "-i", "-n", namespace, pod, "--", *command]
    done = subprocess.run(
        [str(ground.tools / "kubectl"), f"--kubeconfig={ground.kubeconfig}", *call[1:]],
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} in {pod} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def bare_pod(name: str, namespace: str, image: str, command: Sequence[str]) -> Json:
    """A pod that no sandbox's policy selects."""
    container = {"name": "main", "image": image, "command": list(command)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, "enableServiceLinks": False},
    }


def ready(ground: Ground, name: str, namespace: str, seconds: float = 90.0) -> Json:
    """Wait until a pod is Ready and return it."""

    def found() -> Json | None:
        pod = ground.api.find("Pod", name, namespace)
        return pod if is_ready(pod) else None

    return eventually(found, f"pod {namespace}/{name} Ready", seconds)


def log_of(ground: Ground, namespace: str, pod: str) -> str:
    """What the pod has printed so far."""
    call = [str(ground.tools / "kubectl"), f"--kubeconfig={ground.kubeconfig}", "logs", "-n", namespace, pod]
    return subprocess.run(call, capture_output=True, text=True, timeout=60, check=False).stdout
