"""What a preview doesn't know yet is an update of the pod template at most: the engine must not see a replacement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.ground import Ground

pytestmark = [pytest.mark.engine]

SOURCE = """
import json, pathlib
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config = StackConfig.read()
text = (pathlib.Path(__file__).parent / "text").read_text()
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={{"name": config.namespace}})
notes = pulumi_kubernetes.core.v1.ConfigMap(
    "notes", metadata={{"namespace": namespace.metadata["name"]}}, immutable=True, data={{"text": text}})
args = json.loads({args!r})
args["labels"] = {{"notes": notes.metadata["name"]}}
Sandbox("one", args, pulumi.ResourceOptions(depends_on=[namespace]))
"""


def test_an_unknown_label_replaces_nothing(engine_ground: Ground, tmp_path: Path) -> None:

    source = SOURCE.format(args=json.dumps(engine_ground.sandbox()))
    with engine_ground.stack(tmp_path / "stack", source=source) as stack:
        text = stack.program.parent / "text"
        text.write_text("first")
        stack.up().ok()
        before = engine_ground.api.get("Pod", "one-0", stack.namespace)["metadata"]["uid"]
        text.write_text("second")
        planned = {step.name: step.op for step in stack.preview().ok().changes if step.kind == "StatefulSet"}
        assert planned == {"one": "update"}
        stack.up().ok()
        assert stack.preview().ok().changes == []
        assert engine_ground.api.get("Pod", "one-0", stack.namespace)["metadata"]["uid"] == before
