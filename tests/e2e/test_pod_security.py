"""Pod Security: the level restricted takes every object of every example program; baseline is asked for aloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.stack import CHECKOUT, Stack

pytestmark = pytest.mark.node

LEVEL = "pod-security.kubernetes.io/enforce"
PROGRAMS = sorted(path.parent.name for path in (CHECKOUT / "programs").glob("*/__main__.py"))
CONFIGS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "programs/config").glob("Pulumi.*.yaml"))


def bring_up(ground: Ground, stack: Stack) -> list[dict[str, Any]]:
    """Bring a stack up and return the pods of its StatefulSets, once the API server has taken each of them."""
    stack.up().ok()
    sets = ground.api.list("StatefulSet", stack.namespace)
    assert sets

    def pods() -> list[dict[str, Any]] | None:
        found = ground.api.list("Pod", stack.namespace)
        return found if len(found) == len(sets) else None

    return eventually(pods, f"a pod of each StatefulSet in {stack.namespace}: {problems(ground, stack)}", 30)


def problems(ground: Ground, stack: Stack) -> list[str]:
    return [event["message"] for event in ground.api.list("Event", stack.namespace) if event["type"] == "Warning"]


def level_of(ground: Ground, stack: Stack) -> str:
    return str(ground.api.get("Namespace", stack.namespace)["metadata"]["labels"][LEVEL])


@pytest.mark.parametrize("config", CONFIGS)
def test_the_main_program_with_every_config(config: str, node_ground: Ground, tmp_path: Path) -> None:
    with node_ground.stack(tmp_path / "stack", program="agents") as stack:
        stack.adopt_config(CHECKOUT / "programs" / "config" / f"Pulumi.{config}.yaml")
        assert bring_up(node_ground, stack)
        assert level_of(node_ground, stack) == "restricted"


@pytest.mark.parametrize("program", [name for name in PROGRAMS if name != "agents"])
def test_every_other_program(program: str, node_ground: Ground, tmp_path: Path) -> None:
    with node_ground.stack(tmp_path / "stack", program=program) as stack:
        assert bring_up(node_ground, stack)
        assert level_of(node_ground, stack) == "restricted"


def test_baseline_is_said_aloud_and_labels_the_namespace(node_ground: Ground, tmp_path: Path) -> None:
    loose = node_ground.sandbox(security="baseline", runAsUser=0)
    with node_ground.stack(tmp_path / "stack") as stack:
        stack.configure({"sandboxes": {"loose": loose, "tight": node_ground.sandbox()}})
        shown = stack.preview().ok().output
        assert "warning: loose: security: baseline: the pod may do what Pod Security level restricted forbids" in shown
        assert "tight: security" not in shown
        assert len(bring_up(node_ground, stack)) == 2
        assert level_of(node_ground, stack) == "baseline"

        # The same pod is what a restricted namespace refuses.
        node_ground.api.patch("Namespace", stack.namespace, "", {"metadata": {"labels": {LEVEL: "restricted"}}})
        node_ground.api.delete("Pod", "loose-0", stack.namespace, grace_seconds=0)
        eventually(lambda: any("violates PodSecurity" in one for one in problems(node_ground, stack)), "a refusal", 30)
