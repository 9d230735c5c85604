"""A sandbox's whole story on the real node: what counts as a revision, what ran when, what differs, and going back."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.operations.engine import Engine
from sandbox_components.operations.project import Project
from sandbox_components.operations.revisions import read_timeline
from sandbox_components.revisions.moment import Moment
from sandbox_components.revisions.past import what_ran
from sandbox_components.revisions.timeline import Revision
from tests.harness import moto
from tests.harness.api import Json, is_ready
from tests.harness.command import sandbox
from tests.harness.ground import Ground
from tests.harness.outcome import Outcome
from tests.harness.pods import inside, ready
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(600)]

NAME, POD = "storied", "storied-0"
SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

def impatient(args):
    if args.type_ == "kubernetes:apps/v1:StatefulSet":
        patience = pulumi.CustomTimeouts(create="15s", update="15s")
        return pulumi.ResourceTransformationResult(
            args.props, pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(custom_timeouts=patience))
        )

config = StackConfig.read()
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={"name": config.namespace})
for name, args in config.sandboxes.items():
    Sandbox(name, args, pulumi.ResourceOptions(depends_on=[namespace], transformations=[impatient]))
"""
"""`wait_for_ready` waits for the engine's ten minutes; who wants less says so in a transformation, as anywhere."""
SERVER = ["python3", "-m", "http.server", "8000", "--directory", "/workspace"]


@dataclass
class Story:
    """The sandbox, and what the API server held of it at each revision."""

    ground: Ground
    stack: Stack
    entry: Json
    held: dict[int, Json] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        return Engine(Project.find(self.stack.folder), self.stack.name)

    def declare(self, **changes: Any) -> None:
        self.entry |= changes
        self.stack.configure({"sandboxes": {NAME: self.entry}})

    def up(self, message: str, **changes: Any) -> Outcome:
        self.declare(**changes)
        return self.stack.up("--message", message)

    def revisions(self) -> Json:
        found: Json = json.loads(sandbox(self.stack, "revisions", NAME, "-o", "json").ok().output)
        assert found["problems"] == []
        return found

    def keep(self, number: int) -> None:
        """Note what the API server holds of the six groups."""
        self.held[number] = self.groups()

    def groups(self) -> Json:
        """The six groups as the API server has them: secrets by value, their Secret's name left out."""
        api, namespace = self.ground.api, self.stack.namespace
        workload = api.get("StatefulSet", NAME, namespace)
        container = workload["spec"]["template"]["spec"]["containers"][0]
        env: Json = {}
        for one in container["env"]:
            reference = one.get("valueFrom", {}).get("secretKeyRef")
            if reference is None:
                env[one["name"]] = one.get("value", "")
            else:
                data = api.get("Secret", reference["name"], namespace)["data"]
                env[one["name"]] = base64.b64decode(data[reference["key"]]).decode()
        service = api.find("Service", NAME, namespace)
        keys = ("image", "command", "args", "resources", "livenessProbe", "readinessProbe", "ports")
        ports = (
            [{k: v for k, v in one.items() if k != "nodePort"} for one in service["spec"]["ports"]] if service else []
        )
        return {**{key: container.get(key) for key in keys}, "env": env, "service": ports}


@pytest.fixture(scope="module")
def story(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Seven revisions, and in between what makes none."""
    folder = tmp_path_factory.mktemp("story") / "stack"
    with node_ground.stack(folder, source=SOURCE, program="storied") as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULUMI_BACKEND_URL", stack.env["PULUMI_BACKEND_URL"])
        entry = node_ground.sandbox(
            entrypoint=SERVER, env={"LEVEL": "info"}, volumes=node_ground.volume(), resourceLimits=limits("50m")
        )
        told = Story(node_ground, stack, entry)
        tell(told)
        yield told


def limits(cpu: str) -> Json:
    return {"cpu": cpu, "memory": "64Mi"}


def tell(story: Story) -> None:
    stack, ground = story.stack, story.ground
    stack.set_secret(f'secretEnv["{NAME}"]["TOKEN"]', "first-secret")
    story.up("r1").ok()
    ready(ground, POD, stack.namespace)
    inside(ground, stack.namespace, POD, ["sh", "-c", "echo kept > /workspace/kept"])
    story.keep(1)
    story.up("a label", labels={"team": "core"}).ok()
    story.up("r2", image={"uri": "localhost:5000/agent:1"}).ok()
    story.keep(2)
    stack.set_secret(f'secretEnv["{NAME}"]["TOKEN"]', "second-secret")
    story.up("r3").ok()
    stack.refresh().ok()
    story.up("r4", resourceLimits=limits("60m")).ok()
    # Never passing: the provider that can be built here looks at a StatefulSet's status before its controller has seen
    # the new template, and would take the old pod's health for the answer to r7.
    check = {"type": "http", "http": {"path": "/missing", "port": 8000}, "initialDelaySeconds": 600}
    story.up("r5", healthCheck=check).ok()
    story.up("egress", egress="none").ok()
    story.up("r6", ports=[{"port": 8000, "name": "web"}]).ok()
    story.up("another label", labels={"team": "core", "tier": "b"}).ok()
    assert story.up("r7", image={"uri": "localhost:5000/agent:none"}, waitForReady=True).exit_code != 0


def test_seven_rows(story: Story) -> None:
    found = story.revisions()
    assert found["numbersAreSure"]
    assert [
        (one["revisionNum"], one["cause"], one["changed"], one["message"], one["result"])
        for one in reversed(found["items"])
    ] == [
        (1, "created", [], "r1", "succeeded"),
        (2, "update", ["image"], "r2", "succeeded"),
        (3, "update", ["env"], "r3", "succeeded"),
        (4, "update", ["resources"], "r4", "succeeded"),
        (5, "update", ["healthCheck"], "r5", "succeeded"),
        (6, "update", ["ports"], "r6", "succeeded"),
        (7, "update", ["image"], "r7", "failed"),
    ]
    assert [one["current"] for one in found["items"]] == [True] + [False] * 6


def test_what_ran_at_any_time(story: Story) -> None:
    """What ran between any two, and inside of any update."""
    line = read_timeline(story.engine, NAME)

    def at(moment: datetime) -> tuple[str, list[int]]:
        past = what_ran(line, Moment(moment))
        return past.stage.value, [one.number for one in past.revisions]

    for one, following in pairwise(line.revisions):
        begin, end = following.entry.started_at, following.entry.ended_at
        assert at(one.entry.ended_at) == at(begin) == ("live", [one.number])
        if end - begin >= timedelta(seconds=2):
            assert at(begin + timedelta(seconds=1)) == ("updating", [one.number, following.number])
    first = line.revisions[0].entry
    assert at(first.started_at) == ("before", [1])
    said = sandbox(story.stack, "revisions", NAME, "--at", f"{first.ended_at:%Y-%m-%d}", "--utc", "-o", "name").ok()
    assert said.output.split()[-1] == "1"


def test_the_same_rows_from_gzip_and_from_a_bucket(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history as it is, and mirrored: compressed, and in a bucket under a prefix."""
    for name, value in moto.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    state = story.stack.folder / "state"
    whole = rows(story.engine)
    assert len(whole) == 7
    packed = tmp_path / "packed"
    with moto.server(tmp_path / "moto.log") as server:
        bucket = server.backend("state", "team/a")
        for file in state.rglob("*.json"):
            name = file.relative_to(state)
            (packed / name).parent.mkdir(parents=True, exist_ok=True)
            target = packed / f"{name}.gz" if "history" in name.parts else packed / name
            target.write_bytes(gzip.compress(file.read_bytes()) if "history" in name.parts else file.read_bytes())
            server.client("s3").put_object(Bucket="state", Key=f"team/a/{name}", Body=file.read_bytes())
        shutil.copy(state / ".pulumi" / "meta.yaml", packed / ".pulumi")
        server.client("s3").upload_file(str(state / ".pulumi" / "meta.yaml"), "state", "team/a/.pulumi/meta.yaml")
        for backend in (packed.as_uri(), bucket):
            assert rows(replace(story.engine, backend=backend)) == whole


def rows(engine: Engine) -> list[Revision]:
    line = read_timeline(engine, NAME)
    assert (line.problems, line.is_whole) == ((), True)
    return list(line.revisions)


def test_differences(story: Story) -> None:
    stack = story.stack
    said = sandbox(stack, "diff", NAME, "2", "4").ok()
    assert "~ resourceLimits.cpu: 50m → 60m" in said.output
    assert "~ env.TOKEN: changed (secret)" in said.output
    assert "secret" not in said.text.replace("(secret)", "")
    assert sandbox(stack, "diff", NAME, "5", "5", "--exit-code").exit_code == 0
    said = sandbox(stack, "diff", NAME, "live", "--exit-code")
    assert (said.exit_code, "no drift" in said.output) == (0, True), said.text


def test_rollbacks(story: Story) -> None:
    """To r2, further back to r1, and back again from that."""
    stack, ground = story.stack, story.ground
    for arguments, number, like, to in (
        (["--to-revision", "2"], 8, 2, 2),
        (["--to-revision", "1"], 9, 1, 1),
        ([], 10, 2, 8),
    ):
        sandbox(stack, "rollback", NAME, *arguments, "-y").ok()
        assert is_ready(ground.api.find("Pod", POD, stack.namespace))
        assert story.groups() == story.held[like]
        last = story.revisions()["items"][0]
        assert (last["revisionNum"], last["cause"], last["result"]) == (number, "rollback", "succeeded")
        assert last["rollbackTo"]["revisionNum"] == to
        assert inside(ground, stack.namespace, POD, ["cat", "/workspace/kept"]) == "kept\n"
    assert not stack.preview().ok().changed
    assert story.groups()["env"]["TOKEN"] == "first-secret"
