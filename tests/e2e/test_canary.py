"""A secret is in the container, in its Secret and nowhere else: not in state, history, logs, output, process arguments.

What holds it by design isn't searched: the agent's own environment, and the API server's storage.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devcluster.cluster import Cluster
from tests.harness.api import eventually
from tests.harness.command import Said, sandbox
from tests.harness.ground import Ground
from tests.harness.outcome import Outcome
from tests.harness.pods import inside, ready
from tests.harness.stack import Stack

pytestmark = [pytest.mark.node, pytest.mark.timeout(600)]

SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config, app = StackConfig.read(), pulumi.Config("app")
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={"name": config.namespace})
after = pulumi.ResourceOptions(depends_on=[namespace])
for name, args in config.sandboxes.items():
    Sandbox(name, args, after)
token, broken = app.require_secret("token"), app.get("broken")
args = {**app.require_object("sandbox"), "env": {"PLAIN": "seen", "TOKEN": token}}
args["image_auth"] = {"username": "robot", "password": app.require_secret("registry")}
if broken == "type":
    args["env"]["TOKEN"] = token.apply(lambda text: {"nested": text})
if broken == "quota":
    args["env"]["TOKEN"] = token.apply(lambda text: text + "-rotated")
if broken == "label":
    args["labels"] = {"team": token}
if broken == "nul":
    args["env"]["TOKEN"] = token.apply(lambda text: text + chr(0))
Sandbox("program", args, after)
"""
PRINT_ENV = ["python3", "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


def canary() -> str:
    """A text that is nowhere by chance."""
    return f"canary{secrets.token_hex(16)}"


def forms(text: str) -> list[bytes]:
    """The text and its base64 wherever it stands in a longer one."""
    found = [text.encode()]
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + text.encode())
        found.append(encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4])
    return found


@dataclass
class Sampler:
    """Every process's arguments, as often as can be."""

    seen: set[bytes] = field(default_factory=set)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stop.is_set():
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(file.read_bytes())
                except OSError:
                    continue
            time.sleep(0.02)


@contextmanager
def sampled() -> Iterator[Sampler]:
    """Sample the arguments of all processes for a while."""
    sampler = Sampler()
    thread = threading.Thread(target=sampler.run)
    thread.start()
    try:
        yield sampler
    finally:
        sampler.stop.set()
        thread.join()


@dataclass
class Story:
    """What was done, with which secrets, and everything that was said meanwhile."""

    stack: Stack
    canaries: dict[str, str]
    said: list[Said]
    failed: list[Outcome]
    shown: Outcome
    cmdlines: set[bytes]
    pinned: bytes


@pytest.fixture(scope="module")
def story(node_ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Secrets by config, by an Output, as a registry's credential, by the command; updated, shown and mishandled."""
    names = ("config", "output", "registry", "updated", "planned", "refused")
    known = {name: canary() for name in names}
    said: list[Said] = []
    with node_ground.stack(tmp_path_factory.mktemp("canary") / "stack", program="canary", source=SOURCE) as stack:

        def secret(key: str, value: str) -> None:
            stack.pulumi("config", "set", "--secret", "--path", key, "-s", stack.name, given=value).ok()

        def command(*words: str, given: str = "", **env: str) -> Said:
            cache = {"XDG_CACHE_HOME": str(stack.folder / "cache")}
            said.append(sandbox(stack, *words, given=given, env=cache | env))
            return said[-1]

        stack.configure({"app:sandbox": node_ground.sandbox(), "sandboxes": {"declared": node_ground.sandbox()}})
        secret("app:token", known["output"])
        secret("app:registry", known["registry"])
        secret('sandbox-components:secretEnv["declared"]["TOKEN"]', known["config"])
        with sampled() as sampler:
            stack.up().ok()
            for name, expected in (("declared", known["config"]), ("program", known["output"])):
                assert token_of(node_ground, stack, name) == expected
            command("update", "declared", "--secret-env", "TOKEN", "-y", given=known["updated"]).ok()
            assert token_of(node_ground, stack, "declared") == known["updated"]
            assert command("rollback", "declared", "-y", PULUMI_CONFIG_PASSPHRASE="wrong").exit_code == 1
            command("rollback", "declared", "-y").ok()
            assert token_of(node_ground, stack, "declared") == known["config"]
            command("diff", "declared").ok()
            command("diff", "declared", "live", "-o", "json").ok()
        for words in (("pins",), ("pins", "-o", "json"), ("revisions", "declared", "--revision", "1", "-o", "json")):
            command(*words).ok()
        pinned = stack.config_file.read_bytes()
        command("unpin", "declared", "--no-up").ok()
        for words in (("describe", "declared"), ("list",), ("describe", "program")):
            command(*words, "-o", "json").ok()
        image = ("--image", node_ground.image, "--cpu", "50m", "--memory", "64Mi")
        planned = ("create", "another", *image, "--secret-env", "TOKEN")
        command(*planned, "--dry-run", "-o", "json", given=known["planned"]).ok()
        assert command(*planned, given=known["planned"]).exit_code == 2
        assert command(*planned, "-y", given=known["refused"] + "\0").exit_code == 2
        assert command("update", "declared", "--env", f"TOKEN={known['refused']}", "-y").exit_code == 2
        assert command("create", "A B", *image, "--secret-env", "TOKEN", given=known["refused"]).exit_code == 2
        secret('sandbox-components:secretEnv["declared"]["TOKEN"]', known["planned"])
        shown = stack.preview().ok()
        for form in ("json", "markdown"):
            command("plan", "-o", form).ok()
        failed = []
        metadata = {"name": "no-more-secrets", "namespace": stack.namespace}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"secrets": "0"}}}
        node_ground.api.create(quota)
        for how in ("type", "label", "nul", "quota"):
            stack.configure({"app:broken": how})
            failed.append(stack.up())
            assert failed[-1].exit_code != 0, f"broken by {how}:\n{failed[-1].output}"
        yield Story(stack, known, said, failed, shown, sampler.seen, pinned)


def token_of(ground: Ground, stack: Stack, name: str) -> str:
    """TOKEN in the agent's container."""
    revision = ground.api.get("StatefulSet", name, stack.namespace)["status"].get("updateRevision")

    def is_new() -> bool:
        pod = ground.api.find("Pod", f"{name}-0", stack.namespace)
        return pod is not None and pod["metadata"]["labels"]["controller-revision-hash"] == revision

    eventually(is_new, f"{name} of revision {revision}")
    ready(ground, f"{name}-0", stack.namespace)
    found = json.loads(inside(ground, stack.namespace, f"{name}-0", PRINT_ENV))
    return str(found["TOKEN"])


def holders(text: str, places: dict[str, bytes]) -> list[str]:
    return [place for place, content in places.items() if any(one in content for one in forms(text))]


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file() and not file.is_symlink()}


def nowhere(story: Story, places: dict[str, bytes]) -> None:
    assert {name: holders(text, places) for name, text in story.canaries.items() if holders(text, places)} == {}


def test_state_history_config_and_event_logs(story: Story) -> None:
    places = files_in(story.stack.folder)
    for part in ("/history/", "/stacks/", "Pulumi.test.yaml", "events-", "output-", "/cache/"):
        assert any(part in place for place in places), part
    nowhere(story, places)


def test_pins(story: Story) -> None:
    assert b"sandbox-components:pinSecrets:" in story.pinned
    nowhere(story, {"the config with a pin": story.pinned})


def test_plans_and_diffs_name_a_secret_that_changes(story: Story) -> None:
    shown = {" ".join(one.arguments): one.text for one in story.said if one.arguments[0] in ("plan", "diff")}
    assert len(shown) == 4
    for words, text in shown.items():
        assert "TOKEN" in text, words
    nowhere(story, {words: text.encode() for words, text in shown.items()})


def test_preview_shows_that_a_secret_changes_and_not_which(story: Story) -> None:
    assert "[secret]" in story.shown.output
    nowhere(story, {"preview --diff": story.shown.output.encode()})


def test_the_commands_output(story: Story) -> None:
    own = {f"{one.arguments[:2]}": one.text.encode() for one in story.said}
    nowhere(story, own)
    assert len(own) > 3


def test_errors(story: Story) -> None:
    texts = {str(number): one.output.encode() for number, one in enumerate(story.failed)}
    assert "is not a string but of type dict" in story.failed[0].output
    assert "is a secret" in story.failed[1].output
    assert "NUL" in story.failed[2].output
    assert "is forbidden" in story.failed[3].output
    nowhere(story, texts)


def test_process_arguments(story: Story) -> None:
    assert any(b"pulumi" in line for line in story.cmdlines)
    assert any(b"update" in line and b"--secret-env" in line for line in story.cmdlines)
    assert any(b"export" in line and b"--show-secrets" in line for line in story.cmdlines)
    nowhere(story, {line.replace(b"\0", b" ").decode(errors="replace"): line for line in story.cmdlines})


def test_logs_of_all_components(story: Story, node_cluster: Cluster) -> None:
    places = files_in(node_cluster.folder / "logs")
    assert {"kube-apiserver.log", "kubelet.log", "containerd.log"} <= {Path(place).name for place in places}
    nowhere(story, places)


@pytest.mark.parametrize("kind", ["StatefulSet", "Pod", "Event", "Service", "NetworkPolicy", "ConfigMap"])
def test_objects_beside_the_secret(kind: str, story: Story, node_ground: Ground) -> None:
    found = node_ground.api.list(kind, story.stack.namespace)
    nowhere(story, {kind: json.dumps(found).encode()})


def test_the_search_finds_what_is_there(story: Story, node_ground: Ground) -> None:
    found = {"Secret": json.dumps(node_ground.api.list("Secret", story.stack.namespace)).encode()}
    for name in ("config", "output", "registry"):
        assert holders(story.canaries[name], found) == ["Secret"], name
    assert holders("canary", {"x": base64.b64encode(b"..canary..")}) == ["x"]
