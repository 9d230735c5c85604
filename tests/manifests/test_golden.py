"""The same arguments render the same bytes within a major version, or an upgrade would restart every agent.

A test that fails here says that all running sandboxes of such arguments would restart. After a change that is meant,
`SANDBOX_UPDATE_GOLDENS=1 pytest tests/manifests/test_golden.py` writes the files anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sandbox_components.manifests.claim import persistent_volume_claim
from sandbox_components.manifests.workload import claim_of, stateful_set
from tests.manifests.sandboxes import GOLDEN, PLACEMENT, spec_of

FOLDER = Path(__file__).parent / "golden"


def rendered(name: str) -> str:
    """Return what may never change: the StatefulSet's and the claim's spec."""
    spec, secret_env = spec_of(name), GOLDEN[name][1]
    workload = stateful_set(PLACEMENT, spec, revision="{}", secret_env=secret_env, secret_name="nightly-1a2b3c4d")
    objects = {"statefulSet": workload["spec"]}
    claim = claim_of(PLACEMENT, spec)
    if spec.workspace is not None and spec.workspace.existing_claim is None and claim is not None:
        objects["claim"] = persistent_volume_claim(PLACEMENT, spec.workspace, claim)["spec"]
    return json.dumps(objects, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", GOLDEN)
def test_bytes_never_change(name: str) -> None:
    file = FOLDER / f"{name}.json"
    if os.environ.get("SANDBOX_UPDATE_GOLDENS") == "1":
        file.write_text(rendered(name), encoding="utf-8")
    assert rendered(name) == file.read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(GOLDEN)
