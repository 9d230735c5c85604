"""An image that can't be pulled blocks no `up`, and a good one heals the sandbox without anybody deleting its pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.pods import ready

pytestmark = pytest.mark.node

NAME, POD = "mistaken", "mistaken-0"


def test_a_bad_image_and_back(node_ground: Ground, tmp_path: Path) -> None:
    with node_ground.stack(tmp_path) as stack:

        def up(image: str) -> None:
            stack.configure({"sandboxes": {NAME: node_ground.sandbox(image={"uri": image})}})
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
        up("localhost:5000/no-such-image:1")
        eventually(waits_for_the_image, "the pull fails")
        up("localhost:5000/python:3.11")
        pod = ready(node_ground, POD, stack.namespace)
        assert pod["spec"]["containers"][0]["image"] == "localhost:5000/python:3.11"
        assert not stack.preview().ok().changed
