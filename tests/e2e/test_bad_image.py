"""An image that can't be pulled blocks no `up`; a good one, or a rollback, heals it, and nobody deletes its pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.api import eventually
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.pods import inside, ready

pytestmark = pytest.mark.node

NAME, POD = "mistaken", "mistaken-0"


def test_a_bad_image_and_back(node_ground: Ground, tmp_path: Path) -> None:
    with node_ground.stack(tmp_path) as stack:

        def up(image: str) -> None:
            entry = node_ground.sandbox(image={"uri": image}, volumes=node_ground.volume())
            stack.configure({"sandboxes": {NAME: entry}})
            assert stack.up().ok().seconds < 60

        def waits_for_the_image() -> bool:
            pod = node_ground.api.find("Pod", POD, stack.namespace) or {}
            statuses = pod.get("status", {}).get("containerStatuses") or []
            reasons = [one["state"].get("waiting", {}).get("reason") for one in statuses]
            return any(reason in ("ErrImagePull", "ImagePullBackOff") for reason in reasons)

        up("localhost:5000/python:no-such-tag")
        eventually(waits_for_the_image, "the pull fails")
        up("localhost:5000/python:3.11")
        ready(node_ground, POD, stack.namespace)
        inside(node_ground, stack.namespace, POD, ["sh", "-c", "echo kept > /workspace/work"])
        up("localhost:5000/no-such-image:1")
        eventually(waits_for_the_image, "the pull fails")
        done = sandbox(stack, "rollback", NAME, "-y").ok()
        assert "as revision 4\n" in done.output
        pod = ready(node_ground, POD, stack.namespace, seconds=5)
        assert pod["spec"]["containers"][0]["image"] == "localhost:5000/python:3.11"
        assert inside(node_ground, stack.namespace, POD, ["cat", "/workspace/work"]) == "kept\n"
        assert not stack.preview().ok().changed
