"""The main job, shown: a real `pulumi up` makes a sandbox, it is paused, resumed, and goes on from its checkpoint.

Every step is the command that a person would type. What is claimed is checked, and the exit code is 0 only if all of
it held.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from typing import Any

from devcluster import environment
from devcluster.environment import NAMESPACE, STACK, Workplace
from devcluster.errors import ClusterError

SANDBOX = "counter"
POD = f"{SANDBOX}-0"
LOG_SECONDS = 60.0
STEPS_FIRST = 3
DEFAULT_NAME = "demo"


def main(name: str) -> int:
    """The subcommand ``demo [NAME]``."""
    started = time.monotonic()
    place = environment.prepare(name)
    _title("1. pulumi up: the plan, then the sandbox")
    print(f"$ pulumi up --yes --stack {STACK}", flush=True)
    place.pulumi("up", "--yes", "--stack", STACK)
    _resume_left_over(place)
    environment.wait_ready(place)
    _title("2. the sandbox that it made")
    _shown(place, "sandbox", "describe", SANDBOX, "-n", NAMESPACE)
    claim = _claim(place)
    pod = _pod(place)
    before = _last_step(place)
    _title("3. pause: the pod goes, the disk stays")
    print(f"before pause: step={before}")
    _shown(place, "sandbox", "pause", SANDBOX, "-n", NAMESPACE)
    _check_paused(place, claim)
    _title("4. resume: a new pod, the same disk")
    _shown(place, "sandbox", "resume", SANDBOX, "-n", NAMESPACE)
    after = _first_step(place, pod)
    print(f"after resume: step={after}")
    if after <= before:
        raise ClusterError(f"the agent did not go on from its checkpoint: step={before} before, step={after} after")
    _check_claim(place, claim)
    print(f"\ndone in {time.monotonic() - started:.0f} s; the sandbox keeps running")
    own = "" if name == DEFAULT_NAME else f" CLUSTER={name}"
    print(_NEXT.format(own=own))
    print(_END_OF_OURS.format(own=own) if place.kubeconfig else _END_OF_THEIRS.format(folder=place.project))
    return 0


_NEXT = """
What to try next:
  eval "$(make env{own})"       this shell gets sandbox, pulumi, kubectl and this cluster
  sandbox list
  sandbox logs counter -f
  sandbox pause counter     then: pulumi up, which doesn't undo it; then: sandbox resume counter
  pulumi up                 after an edit of programs/config/Pulumi.local.yaml"""
_END_OF_OURS = "  make cluster-down{own}         ends the cluster and deletes all of it, the stack's state too"
_END_OF_THEIRS = "  pulumi destroy            takes the sandbox away again; before all these: cd {folder}"


def _title(text: str) -> None:
    print(f"\n== {text}", flush=True)


def _shown(place: Workplace, *command: str) -> None:
    print(f"$ {shlex.join(command)}", flush=True)
    place.run(*command, show=True)


def _resume_left_over(place: Workplace) -> None:
    """Resume what an interrupted demo, or somebody, has paused."""
    if _get(place, "statefulset", SANDBOX)["spec"].get("replicas") == 0:
        print(f"{SANDBOX} was paused before:")
        _shown(place, "sandbox", "resume", SANDBOX, "-n", NAMESPACE)


def _check_paused(place: Workplace, claim: dict[str, Any]) -> None:
    """Show that the pod is gone and the claim isn't.

    Raises:
        ClusterError: the pod is still there, or the claim is another one or not Bound.
    """
    pods = _get(place, "pods", "--selector", f"sandbox-components/sandbox={SANDBOX}")["items"]
    if pods:
        raise ClusterError(f"`sandbox pause` came back while pod {pods[0]['metadata']['name']} is still there")
    print("while paused: pod gone")
    _check_claim(place, claim)


def _check_claim(place: Workplace, before: dict[str, Any]) -> None:
    name, uid = before["metadata"]["name"], before["metadata"]["uid"]
    now = _get(place, "persistentvolumeclaim", name)
    if now["metadata"]["uid"] != uid:
        raise ClusterError(f"claim {name} is another one now: UID {now['metadata']['uid']}, it was {uid}")
    if now["status"]["phase"] != "Bound":
        raise ClusterError(f"claim {name} is {now['status']['phase']}, not Bound")
    print(f"claim {name}: {now['status']['phase']}, UID {uid}", flush=True)


def _claim(place: Workplace) -> dict[str, Any]:
    return _get(place, "persistentvolumeclaim", f"{SANDBOX}-workspace")


def _pod(place: Workplace) -> str:
    return str(_get(place, "pod", POD)["metadata"]["uid"])


def _last_step(place: Workplace) -> int:
    """The newest step in the log, once there are a few."""
    return _steps(place, STEPS_FIRST)[-1]


def _first_step(place: Workplace, old_pod: str) -> int:
    """The step in the first line that the new pod wrote.

    Raises:
        ClusterError: the pod is the old one, or its first line is no step.
    """
    if _pod(place) == old_pod:
        raise ClusterError("`sandbox resume` came back with the old pod")
    return _steps(place, 1)[0]


def _steps(place: Workplace, at_least: int) -> list[int]:
    """All steps of the running pod's log, whose first line must be one.

    Raises:
        ClusterError: they don't come in time.
    """
    deadline = time.monotonic() + LOG_SECONDS
    while True:
        done = place.try_run("kubectl", "logs", POD, "-n", NAMESPACE)
        # A line that is still being written has no end yet.
        written = [line for line in done.stdout.splitlines(keepends=True) if line.endswith("\n")]
        steps = [int(found[1]) for line in written if (found := re.fullmatch(r"step=(\d+)\n", line))]
        if len(steps) >= at_least:
            if not written[0].startswith("step="):
                raise ClusterError(f"the first line of {POD} is no step: {written[0].strip()}")
            return steps
        if time.monotonic() > deadline:
            print(done.stdout[-2000:] + done.stderr, file=sys.stderr)
            raise ClusterError(f"{POD} wrote fewer than {at_least} steps in {LOG_SECONDS:.0f} s")
        time.sleep(0.3)


def _get(place: Workplace, *what: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.run("kubectl", "get", *what, "-n", NAMESPACE, "-o", "json"))
    return found
