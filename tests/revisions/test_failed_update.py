"""After an update that didn't become ready the engine keeps the old inputs; what was sent is among the outputs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.revisions.model import SandboxState

URN = "urn:pulumi:dev::agents::sandbox-components:index:Sandbox$kubernetes:apps/v1:StatefulSet::nightly"


def held(text: Any) -> dict[str, Any]:
    return {"metadata": {"name": "nightly", "annotations": {"sandbox-components/spec": text}}}


def state(**parts: Any) -> SandboxState:
    resource = {"urn": URN, "type": "kubernetes:apps/v1:StatefulSet", "custom": True, **parts}
    found = read_checkpoint(json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [resource]}}}).encode())
    assert found.problem is None
    return found.sandboxes["nightly"]


def test_what_was_sent_counts() -> None:
    found = state(inputs=held("old"), outputs=held("new"), initErrors=["not ready"])
    assert found == SandboxState("new", has_failed=True)


def test_without_init_errors_the_inputs_count() -> None:
    assert state(inputs=held("declared"), outputs=held("by hand")) == SandboxState("declared")


@pytest.mark.parametrize("outputs", [None, {}, {"metadata": {}}, held(7), held({"ciphertext": "x"}), "secret"])
def test_outputs_that_say_nothing_leave_it_to_the_inputs(outputs: Any) -> None:
    parts = {} if outputs is None else {"outputs": outputs}
    assert state(inputs=held("old"), initErrors=["not ready"], **parts) == SandboxState("old", has_failed=True)
