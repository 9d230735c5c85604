"""Spending on the real node: agents on the official SDKs meet their limit, live on, and go on when it is raised.

The proxy runs in its own image, as the checkout's Dockerfile makes it. The provider is our double, beside the cluster,
at an address that no sandbox's policy lets it reach.
"""

from __future__ import annotations

import json
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devcluster.cluster import Cluster
from devcluster.images import dockerfile
from tests.harness import noon, reach
from tests.harness.api import eventually
from tests.harness.command import Said, sandbox
from tests.harness.ground import Ground, new_namespace
from tests.harness.pods import inside, log_of, ready
from tests.harness.stack import Stack
from tests.proxy.calls import CHAT, MESSAGES, Kind
from tests.proxy.double import KEY
from tests.proxy.place import SIGNING_KEY, Double, double

pytestmark = [pytest.mark.node, pytest.mark.timeout(900)]

SDK_AGENT = Path(__file__).parent / "sdk_agent"
PYTHON = "/opt/agent/bin/python"
KINDS = {"openai": CHAT, "anthropic": MESSAGES}
"""Which agent asks for what; they are named by their SDKs."""
OUTPUT = {"openai": 7000, "anthropic": 300}
"""Tokens: between four and five million nano-dollars a call."""
ERROR = {"openai": "RateLimitError", "anthropic": "EnforcedSpendLimitReachedError"}
"""The second is a kind of that SDK's own RateLimitError."""
EGRESS: dict[str, dict[str, str]] = {"openai": {"egress": "none"}, "anthropic": {}}
SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import InferenceProxy, Sandbox, StackConfig

config, app = StackConfig.read(), pulumi.Config("app")
restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
places = [
    pulumi_kubernetes.core.v1.Namespace(name, metadata={"name": name, "labels": restricted})
    for name in (config.namespace, app.require("proxyNamespace"))
]
InferenceProxy(
    "proxy",
    {
        "namespace": app.require("proxyNamespace"),
        "image": app.require("image"),
        "upstreams": [
            {"name": api, "api": api, "base_url": app.require("provider"), "key": app.require_secret("providerKey")}
            for api in ("openai", "anthropic")
        ],
        "resource_requests": {"cpu": "50m", "memory": "128Mi"},
        "deletion": "delete",
        "wait_for_ready": True,
    },
    pulumi.ResourceOptions(depends_on=places),
)
for name, args in config.sandboxes.items():
    Sandbox(name, args, pulumi.ResourceOptions(depends_on=places))
"""
CALL = """
import sys, urllib.error, urllib.request
url, key, body = sys.stdin.read().split(chr(10), 2)
headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
try:
    print(urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=60).status)
except urllib.error.HTTPError as error:
    print(error.status)
"""
STREAM = """
import anthropic, sys
client = anthropic.Anthropic(max_retries=0)
message = [{"role": "user", "content": sys.argv[1]}]
with client.messages.stream(model="claude-sonnet-4-5", messages=message, max_tokens=9) as stream:
    print(sum(1 for _ in stream.text_stream), stream.get_final_message().usage.output_tokens)
"""
Json = dict[str, Any]


@dataclass
class Scene:
    """A stack with the proxy and both agents, and the provider behind them."""

    ground: Ground
    cluster: Cluster
    stack: Stack
    there: str
    provider: Double
    zone: str
    """In which the month ends."""
    born: dict[str, Json]
    """The agents' pods as they were at first."""

    def command(self, *words: str) -> Said:
        """Run `sandbox WORDS` to its good end."""
        return sandbox(self.stack, *words).ok()

    def disk(self, name: str) -> Path:
        """The folder on the host that is the agent's disk."""
        claim = self.ground.api.get("PersistentVolumeClaim", f"{name}-workspace", self.stack.namespace)
        (found,) = (self.cluster.folder / "volumes").glob(f"{claim['spec']['volumeName']}_*")
        return found

    def attempts(self, name: str) -> list[Json]:
        """What the agent wrote down of its calls."""
        file = self.disk(name) / "attempts"
        text = file.read_text() if file.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def refused(self, name: str) -> list[Json]:
        """The agent's calls that raised its SDK's rate-limit error."""
        return [one for one in self.attempts(name) if one.get("is_rate_limit")]

    def until_refused(self, name: str) -> None:
        """Wait until the newest call was refused: nothing is spent from then on."""
        eventually(lambda: self.attempts(name)[-1:] == self.refused(name)[-1:] != [], f"{name} is refused", 120)

    def served(self, kind: Kind) -> list[Json]:
        """The provider's calls of a kind, which one of the agents has for its own."""
        return [one for one in self.provider.served() if one["path"] == kind.path]

    def cost(self, kind: Kind) -> int:
        """What the provider charges for them, in nano-dollars."""
        return sum(kind.cost(one) for one in self.served(kind))

    def logged(self, name: str) -> list[Json]:
        """The proxy's log of an agent's calls."""
        lines = [json.loads(line) for line in log_of(self.ground, self.there, "proxy-0").splitlines()]
        sandbox_id = f"{self.stack.project}/{self.stack.name}/{name}"
        return [one for one in lines if one["event"] == "call" and one.get("sandbox") == sandbox_id]

    def spent(self, name: str) -> Json:
        """What `sandbox spend` tells."""
        found: Json = json.loads(self.command("spend", name, "--time-zone", self.zone, "-o", "json").output)
        return found

    def key(self, name: str) -> str:
        """The key that the agent finds in its environment."""
        pod = self.born[name]["spec"]["containers"][0]
        data = self.ground.api.get("Secret", pod["envFrom"][0]["secretRef"]["name"], self.stack.namespace)["data"]
        return b64decode(data["OPENAI_API_KEY"]).decode()

    def lives_on(self, name: str) -> None:
        """Check that the agent is the one that was started, and counts on."""
        pod = self.ground.api.get("Pod", f"{name}-0", self.stack.namespace)
        assert pod["metadata"]["uid"] == self.born[name]["metadata"]["uid"]
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
        step = self.disk(name) / "step"
        before = int(step.read_text())
        eventually(lambda: int(step.read_text()) > before, f"{name} counts on")
        assert (self.disk(name) / "starts").read_text() == f"{name}-0\n"


@pytest.fixture(scope="module")
def scene(node_ground: Ground, node_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Everything made by one `pulumi up`."""
    image = dockerfile.publish(dockerfile.package(), node_cluster.registry)
    sdk_agent = dockerfile.publish(dockerfile.Source("sdk-agent", SDK_AGENT / "Dockerfile"), node_cluster.registry)
    folder, there, zone = tmp_path_factory.mktemp("spending"), new_namespace(), noon.zone()
    with (
        double(node_cluster.host_address) as provider,
        node_ground.stack(folder / "stack", program="spending", source=SOURCE) as stack,
    ):
        sandboxes = {
            name: node_ground.sandbox(
                image={"uri": sdk_agent},
                entrypoint=[PYTHON, "-u", "-c", (SDK_AGENT / "agent.py").read_text(), name, str(OUTPUT[name])],
                resourceLimits={"cpu": "1", "memory": "256Mi"},
                resourceRequests={"cpu": "50m"},
                volumes=node_ground.volume(),
                inference={"namespace": there, "name": "proxy"},
                spendingLimits=[{"period": "month", "timeZone": zone, "limitCents": 5}],
                **EGRESS[name],
            )
            for name in KINDS
        }
        settings = {"app:proxyNamespace": there, "app:image": image, "app:provider": provider.url}
        stack.configure({"sandboxes": sandboxes, **settings})
        stack.set_secret("inferenceSigningKey", SIGNING_KEY)
        stack.pulumi("config", "set", "--secret", "app:providerKey", "-s", stack.name, given=KEY).ok()
        stack.up().ok()
        born = {name: ready(node_ground, f"{name}-0", stack.namespace, 180) for name in KINDS}
        yield Scene(node_ground, node_cluster, stack, there, provider, zone, born)
    node_ground.api.delete("Namespace", there)


@pytest.mark.parametrize("name", KINDS)
def test_a_spent_limit_is_the_sdks_own_error_once_and_the_agent_lives_on(scene: Scene, name: str) -> None:
    scene.until_refused(name)
    first = next(one for one in scene.attempts(name) if one.get("is_rate_limit"))
    assert first["error"] == ERROR[name]
    sandbox_id = f"{scene.stack.project}/{scene.stack.name}/{name}"
    for words in (
        f"the spending limit of sandbox {sandbox_id}",
        "$0.05 per month",
        "resets at",
        "set max_tokens lower",
        "keeps running",
    ):
        assert words in first["message"]
    print(f"{name}: refused after {first['ended'] - first['began']:.2f} s: {first['message']}")
    eventually(lambda: len(scene.refused(name)) >= 3, "two more refusals: the agent calls again by itself")
    told = [one["request"] for one in scene.refused(name)]
    logged = [one["id"] for one in scene.logged(name) if one["status"] == 429]
    assert logged[: len(told)] == told, "each refusal that the SDK raised was one call"
    scene.lives_on(name)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_told_is_what_the_provider_counted(scene: Scene, name: str) -> None:
    scene.until_refused(name)
    found, charged = scene.spent(name), scene.cost(KINDS[name])
    assert 0 < charged <= 50_000_000
    assert found["total"]["nanos"] == charged
    answered = [one for one in scene.attempts(name) if "answer" in one]
    assert found["total"]["calls"] == len(answered) == len(scene.served(KINDS[name]))
    assert "of $0.05 used" in scene.command("describe", name).output


@pytest.mark.parametrize("name", KINDS)
def test_a_raised_limit_lets_the_next_call_through(scene: Scene, name: str) -> None:
    scene.until_refused(name)
    before = len([one for one in scene.attempts(name) if "answer" in one])
    scene.command("set-limit", name, "--period", "month", "--limit-cents", "8", "-y")
    ended = time.time()

    def answered() -> Json | None:
        return next(iter([one for one in scene.attempts(name) if "answer" in one][before:]), None)

    passed = eventually(answered, "a call within the raised limit", 5)
    print(f"{name}: a call was answered {passed['ended'] - ended:.2f} s after set-limit")
    scene.lives_on(name)
    scene.until_refused(name)
    assert scene.spent(name)["total"]["nanos"] == scene.cost(KINDS[name]) > 50_000_000


def test_an_agent_reaches_the_models_port_and_nothing_else_of_the_proxy(scene: Scene) -> None:
    pod = scene.ground.api.get("Pod", "proxy-0", scene.there)["status"]["podIP"]
    service, (host, _, port) = f"proxy.{scene.there}.svc", scene.provider.url.removeprefix("http://").partition(":")
    targets: dict[str, reach.Target] = {
        "models": (service, 8080),
        "admin": (service, 8081),
        "the pod's models": (pod, 8080),
        "the pod's admin": (pod, 8081),
        "the provider": (host, int(port)),
    }
    for name in KINDS:
        reached = reach.probe(scene.ground, scene.stack.namespace, f"{name}-0", targets)
        assert {target for target, is_so in reached.items() if is_so} == {"models", "the pod's models"}


def test_a_call_in_flight_ends_whole_when_the_proxy_is_replaced(scene: Scene) -> None:
    """`pulumi up` of a changed proxy ends its pod in this way too; the ledger is on the claim."""
    scene.until_refused("anthropic")
    before = scene.spent("anthropic")["total"]
    wish = json.dumps({"double": {"output": 9, "events": 8, "gap": 1}})
    call = [str(scene.ground.tools / "kubectl"), f"--kubeconfig={scene.ground.kubeconfig}", "exec", "anthropic-0"]
    call += ["-n", scene.stack.namespace, "--", PYTHON, "-c", STREAM, wish]
    old = scene.ground.api.get("Pod", "proxy-0", scene.there)["metadata"]["uid"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        eventually(lambda: scene.provider.open() == 1, "the call is in flight")
        scene.ground.api.delete("Pod", "proxy-0", scene.there)
        said, _ = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, "8 9\n")
    pod = eventually(lambda: ready(scene.ground, "proxy-0", scene.there, 180), "the proxy is back")
    assert pod["metadata"]["uid"] != old
    after = scene.spent("anthropic")["total"]
    assert after["calls"] == before["calls"] + 1
    assert after["nanos"] == scene.cost(MESSAGES)
    scene.until_refused("anthropic")
    scene.lives_on("anthropic")


def test_a_second_update_finds_nothing(scene: Scene) -> None:
    assert not scene.stack.preview().ok().changed


def test_a_deleted_sandboxs_key_opens_nothing(scene: Scene) -> None:
    url, key = f"http://proxy.{scene.there}.svc:8080{CHAT.path}", scene.key("openai")
    given = f"{url}\n{key}\n{json.dumps(CHAT.body())}"

    def status() -> str:
        return inside(scene.ground, scene.stack.namespace, "anthropic-0", [PYTHON, "-c", CALL], given=given).strip()

    assert status() == "200"
    scene.command("delete", "openai", "-y")
    eventually(lambda: status() == "401", "the key is refused", 20)
