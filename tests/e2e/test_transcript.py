"""The second seed's create examples typed as they stand, flag by flag, on the real node.

Only the program's name, the sandbox's NAME and the image are ours: the local one has the ./start.sh and the
/healthz that the examples speak of.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.engine.sandbox_command import Done, SandboxCommand
from tests.harness.api import eventually
from tests.harness.ground import Ground
from tests.harness.pods import inside
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]

IMAGE = "localhost:5000/agent:1"


@pytest.fixture(scope="module")
def stack(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of the seed's name."""
    with node_ground.stack(tmp_path_factory.mktemp("transcript") / "stack", name="production") as made:
        made.configure({"agentVolumeSize": "1Gi"})
        yield made
        done = made.destroy("--ignore-protect")
        assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def typed(stack: Stack) -> Typed:
    """A shell in the project's folder, that names no stack by itself."""
    return Typed(stack)


class Typed:
    """Runs a line as it would be typed, and keeps the transcript."""

    def __init__(self, stack: Stack) -> None:
        self._command = SandboxCommand(stack)
        del self._command.env["SANDBOX_STACK"]
        self.transcript = stack.folder / "transcript.txt"

    def __call__(self, line: str, answer: str = "") -> Done:
        words = shlex.split(line.replace("\\\n", " "))
        assert words[0] == "sandbox"
        done = self._command.at_terminal(*words[1:], answer=answer) if answer else self._command(*words[1:])
        with self.transcript.open("a") as file:
            file.write(f"$ {line}\n{done.err}{done.out}\n")
        return done


def test_create_with_the_flags_of_the_seed(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    done = typed(
        f"""sandbox create --project production \\
  --image {IMAGE} \\
  --command "./start.sh" \\
  --cpu 500m --memory 2Gi \\
  --volume /data nightly-refactor""",
        answer="y\n",
    )
    assert (done.code, done.out) == (0, "nightly-refactor created\n"), done.err
    plan = [line.strip() for line in done.err.splitlines() if line.startswith("  + ")]
    assert {"+ StatefulSet nightly-refactor", "+ PersistentVolumeClaim nightly-refactor-workspace"} <= set(plan)
    assert "go on? [y/N]: y" in done.err
    config = yaml.safe_load(stack.config_file.read_text())["config"]
    assert config["sandbox-components:sandboxes"]["nightly-refactor"] == {
        "image": {"uri": IMAGE},
        "command": "./start.sh",
        "resourceLimits": {"cpu": "500m", "memory": "2Gi"},
        "volumes": [{"mountPath": "/data"}],
    }
    claim = node_ground.api.get("PersistentVolumeClaim", "nightly-refactor-workspace", stack.namespace)
    assert claim["spec"]["storageClassName"] == "local-path"  # the cluster's default
    steps = inside(node_ground, stack.namespace, "nightly-refactor-0", ["cat", "/data/step"])
    assert int(steps) >= 1


def test_describe_reads_as_the_seed_says(typed: Typed) -> None:
    text = typed("sandbox describe nightly-refactor --project production").ok().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for section in ("Sandbox", "Container", "Health", "Workspace", "Ports", "Events"):
        assert section in lines
    for line in ("State: Running", f"Image: {IMAGE}", "Agent running: yes", "Restarts: 0", "Probe: none"):
        assert line in lines
    assert "Limits: cpu 500m, memory 2Gi" in lines
    assert "Claim: nightly-refactor-workspace" in lines


def test_the_health_check_of_the_seed(typed: Typed, stack: Stack) -> None:
    flag = "--health-check path=/healthz,port=8080,interval=10,initial-delay=30,timeout=5,failures=3"
    done = typed(f"sandbox update nightly-refactor --project production {flag} -y")
    assert done.ok().out == "nightly-refactor updated\n"
    assert "restarts the agent (a paused one takes it over at resume); the disk stays" in done.err
    entry = yaml.safe_load(stack.config_file.read_text())["config"]["sandbox-components:sandboxes"]["nightly-refactor"]
    assert entry["healthCheck"] == {
        "type": "http",
        "http": {"path": "/healthz", "port": 8080},
        "intervalSeconds": 10,
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }
    text = typed("sandbox describe nightly-refactor --project production").ok().out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Probe: passing" in lines
    assert "Health check: http /healthz on port 8080 every 10s, from 30s, timeout 5s, 3 failures" in lines, text
    off = typed("sandbox update nightly-refactor --project production --health-check none -y")
    assert off.ok().out == "nightly-refactor updated\n"


def test_stop_and_start_go_on_from_the_disk(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    def step() -> int:
        return int(inside(node_ground, stack.namespace, "nightly-refactor-0", ["cat", "/data/step"]))

    before = step()
    assert typed("sandbox pause nightly-refactor --project production").ok().out == "nightly-refactor paused\n"
    assert node_ground.api.find("Pod", "nightly-refactor-0", stack.namespace) is None
    assert typed("sandbox resume nightly-refactor --project production").ok().out == "nightly-refactor resumed\n"
    assert eventually(lambda: step() > before, "the agent goes on")


def test_an_image_upgrade_keeps_the_disk(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    before = int(inside(node_ground, stack.namespace, "nightly-refactor-0", ["cat", "/data/step"]))
    typed("sandbox update nightly-refactor --project production --image localhost:5000/agent:2 -y").ok()
    assert int(inside(node_ground, stack.namespace, "nightly-refactor-0", ["cat", "/data/step"])) >= before
    listed = typed("sandbox list --project production").ok().out.splitlines()
    assert listed[0].split() == ["NAME", "STATE", "AGE", "PROBE", "RESTARTS", "IMAGE"]
    assert listed[1].split()[0:2] == ["nightly-refactor", "Running"]
    assert listed[1].split()[-1] == "localhost:5000/agent:2"


def test_the_yaml_of_the_seed(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    file = stack.folder / "sandbox.yaml"
    file.write_text(
        f"""image: {{uri: {IMAGE}}}
command: ./start.sh
resourceLimits: {{cpu: 100m, memory: 128Mi}}
volumes:
  - mountPath: /data
healthCheck:
  type: http
  http:
    path: /healthz
    port: 8080
"""
    )
    done = typed(f"sandbox create second --project production -f {shlex.quote(str(file))} -y")
    assert done.ok().out == "second created\n"
    for news in ("scheduled", "ready"):
        assert news in done.err.lower()


def test_the_json_of_the_first_seed(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    file = stack.folder / "request.json"
    file.write_text(
        """{
  "image": { "uri": "localhost:5000/python:3.11" },
  "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
  "resourceLimits": {
    "cpu": "200m",
    "memory": "128Mi"
  },
  "extensions": {
    "persistence": "true",
    "storageClass": "local-path",
    "storageSize": "1Gi"
  }
}
"""
    )
    done = typed(f"sandbox create third --project production -f {shlex.quote(str(file))} -y")
    assert done.ok().out == "third created\n"
    claim = node_ground.api.get("PersistentVolumeClaim", "third-workspace", stack.namespace)
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    pod = node_ground.api.get("Pod", "third-0", stack.namespace)
    assert {"name": "workspace", "mountPath": "/workspace"} in pod["spec"]["containers"][0]["volumeMounts"]


def test_deleted_with_the_sandbox(typed: Typed, stack: Stack, node_ground: Ground) -> None:
    kept = typed("sandbox delete nightly-refactor --project production", answer="n\n")
    assert kept.code == 8
    assert node_ground.api.find("Pod", "nightly-refactor-0", stack.namespace) is not None
    gone = typed("sandbox delete nightly-refactor --project production", answer="y\n")
    assert (gone.code, gone.out) == (0, "nightly-refactor deleted\n"), gone.err
    told = "disk: the claim nightly-refactor-workspace and all files on it are deleted with the sandbox"
    assert told in gone.err
    eventually(
        lambda: node_ground.api.find("PersistentVolumeClaim", "nightly-refactor-workspace", stack.namespace) is None,
        "the claim is gone",
    )
    assert "nightly-refactor" not in stack.config_file.read_text()
    assert Path(typed.transcript).read_text().count("$ sandbox ") >= 10
