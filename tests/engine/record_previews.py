"""Records what the real engine's previews say, for the pure tests: `python -m tests.engine.record_previews CLUSTER`.

Only what is read of them is kept, and nothing of the machine. The cluster must run: `python -m devcluster up CLUSTER`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devcluster import build, cluster
from sandbox_components.operations.plan import CLAIM, STATEFUL_SET
from tests.engine import plan_table
from tests.engine.plan_table import KINDS
from tests.harness import kwok
from tests.harness.api import Api
from tests.harness.ground import TOOLS, Ground, on_kwok
from tests.harness.outcome import UNCHANGED, Json
from tests.harness.stack import Stack

FOLDER = Path(__file__).parents[1] / "operations" / "previews"
_KEPT = ("parent", "protect", "inputs")


def main(name: str) -> None:
    """Record both files."""
    tools, found = build.ensure(TOOLS), cluster.find(name)
    assert found is not None, f"there is no running cluster {name}"
    api = Api(found.kubeconfig)
    with (
        tempfile.TemporaryDirectory() as folder,
        kwok.node(tools / "kwok", found.kubeconfig, api, Path(folder, "kwok.log")) as node,
    ):
        ground = on_kwok(node, api, found.kubeconfig, tools, Path(folder, "home"))
        with ground.stack(Path(folder, "kinds"), program="planned", source=plan_table.SOURCE) as stack:
            write("kinds", {"kinds": kinds(ground, stack)}, stack, node.name)
        with ground.stack(Path(folder, "refused"), program="planned", source=plan_table.SOURCE) as stack:
            write("refused", refused(ground, stack), stack, node.name)
    for volume in ground.volumes:
        api.delete("PersistentVolume", volume)


def kinds(ground: Ground, stack: Stack) -> Json:
    """The preview of every kind of change at once."""
    names = tuple(KINDS)
    plan_table.prepare(ground, stack.namespace, names)
    plan_table.declare(ground, stack, names, after=False)
    stack.up().ok()
    plan_table.spare_claims(ground, stack.namespace, names)
    plan_table.declare(ground, stack, names, after=True)
    return preview(stack)


def refused(ground: Ground, stack: Stack) -> dict[str, Json]:
    """Previews that fail, each also with protections overlooked."""
    disk = ground.volume(size="2Gi")
    kept = ground.sandbox(volumes=disk, deletion="protect")
    loose = ground.sandbox(volumes=disk)
    before = {"kept": kept, "loose": loose, "idle": ground.sandbox()}
    for name in ("kept", "loose"):
        ground.prepare_claim(stack.namespace, f"{name}-workspace", "2Gi")
    stack.configure({"sandboxes": before})
    stack.up().ok()
    another = ground.volume(size="2Gi", storageClass="local-path")
    cases: dict[str, Json] = {
        "class": {"sandboxes": before | {"kept": kept | {"volumes": another}}},
        "class-unprotected": {"sandboxes": before | {"loose": loose | {"volumes": another}}},
        "claim-name": {"sandboxes": before | {"kept": kept | {"volumes": ground.volume(size="2Gi", claimName="b")}}},
        "disk-gone": {"sandboxes": before | {"kept": ground.sandbox(deletion="protect")}},
        "shrunk": {"sandboxes": before | {"loose": loose | {"volumes": ground.volume(size="1Gi")}}},
        "removed": {"sandboxes": {"loose": loose, "idle": ground.sandbox()}},
        "namespace": {"namespace": f"{stack.namespace}-b"},
        "wrong": {"sandboxes": before | {"idle": ground.sandbox(egress="sometimes")}},
    }
    found = {}
    for name, changes in cases.items():
        stack.configure(changes)
        found[name] = preview(stack)
        if name != "wrong":
            found[f"{name} (protections overlooked)"] = preview(stack, "--ignore-protect")
        stack.configure({"sandboxes": before, "namespace": stack.namespace})
    return found


def preview(stack: Stack, *options: str) -> Json:
    """What is read of a preview's answer."""
    command = ["pulumi", "preview", "--json", "--show-sames", "--stack", stack.name, "--non-interactive", *options]
    done = subprocess.run(command, cwd=stack.folder, env=stack.env, capture_output=True, text=True, check=False)
    data = json.loads(done.stdout)
    told = [one for one in data.get("diagnostics") or [] if one["severity"] == "error"]
    return {
        "steps": [trimmed(step) for step in data.get("steps") or [] if is_kept(step)],
        "diagnostics": [{**one, "message": one["message"].partition("\n@@")[0][:600]} for one in told],
    }


def is_kept(step: Mapping[str, Any]) -> bool:
    """Whether it changes something, is a disk or a workload, or says which sandboxes there are."""
    guards = [(step.get(side) or {}).get("protect") for side in ("oldState", "newState")]
    kind = step["urn"].split("::")[2].rpartition("$")[2]
    is_structure = kind.startswith("sandbox-components:index") or kind in (CLAIM, STATEFUL_SET)
    return step["op"] not in UNCHANGED or is_structure or guards[0] != guards[1]


def trimmed(step: Mapping[str, Any]) -> Json:
    """A step without what isn't read; a new state that is the old one is written as `=`."""
    old, new = (
        step.get(side) and {key: step[side][key] for key in _KEPT if key in step[side]}
        for side in ("oldState", "newState")
    )
    found = {"op": step["op"], "urn": step["urn"], "oldState": old, "newState": "=" if old == new else new}
    return found | ({"detailedDiff": step["detailedDiff"]} if step.get("detailedDiff") else {})


def write(name: str, previews: Mapping[str, Json], stack: Stack, node: str) -> None:
    """Write previews, a step a line, with the namespace and the node called something that stays."""
    lines = ["{"]
    for title, found in previews.items():
        lines.append(f' {json.dumps(title)}: {{"diagnostics": {json.dumps(found["diagnostics"])}, "steps": [')
        lines.append(",\n".join(f"  {json.dumps(step, sort_keys=True)}" for step in found["steps"]))
        lines.append(" ]},")
    lines[-1] = lines[-1].rstrip(",")
    text = "\n".join([*lines, "}", ""]).replace(stack.namespace, "agents-test").replace(node, "kwok")
    assert not re.search(r"/(root|home|work|tmp)/", text), "a path of this machine"
    (FOLDER / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
