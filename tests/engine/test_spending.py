"""Spending on the real engine and API server: what is made, and a limit, a key and a deletion as the proxy takes them.

The proxy runs here, beside the cluster, and reads the stack's own ConfigMaps. No node takes the pod that the stack's
`InferenceProxy` makes; it is given this machine's address, because the API server leads to addresses of pods alone.
"""

from __future__ import annotations

import json
import os
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from devcluster.cluster import Cluster
from sandbox_components.spec.spending import LIMIT_ANNOTATION, parse_limit
from tests.engine.sandbox_command import SandboxCommand
from tests.harness import noon
from tests.harness.api import eventually
from tests.harness.ground import Ground, new_namespace
from tests.harness.stack import Stack
from tests.proxy.calls import CHAT
from tests.proxy.place import SIGNING_KEY, Place, double, running

pytestmark = pytest.mark.engine

SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import InferenceProxy, Sandbox, StackConfig

config, app = StackConfig.read(), pulumi.Config("app")
there = app.require("proxyNamespace")
places = [
    pulumi_kubernetes.core.v1.Namespace("namespace", metadata={"name": config.namespace}),
    pulumi_kubernetes.core.v1.Namespace(
        "inference", metadata={"name": there, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    ),
]
after = pulumi.ResourceOptions(depends_on=places)
key = pulumi.Output.secret("provider-canary")
InferenceProxy(
    "proxy",
    {
        "namespace": there,
        "image": "localhost:5000/python:3.11",
        "upstreams": [{"name": "openai", "api": "openai", "base_url": "https://api.example", "key": key}],
        "node_selector": {"nowhere": "at-all"},
        "deletion": "delete",
        "spending_limits": [{"actor_type": "org", "actor_id": "acme", "period": "day", "limit_cents": 100000}],
    },
    after,
)
for name, args in config.sandboxes.items():
    Sandbox(name, args, after)
"""
ID = "agents/test/nightly"


@dataclass
class Scene:
    """A stack with a sandbox, and the proxy that serves it."""

    ground: Ground
    stack: Stack
    there: str
    place: Place
    sandbox: SandboxCommand
    host: str
    zone: str
    """In which the month ends."""

    def key(self) -> str:
        """The key that the agent finds in its environment."""
        container = self.workload()["spec"]["template"]["spec"]["containers"][0]
        name = container["envFrom"][0]["secretRef"]["name"]
        data = self.ground.api.get("Secret", name, self.stack.namespace)["data"]
        return b64decode(data["OPENAI_API_KEY"]).decode()

    def call(self, key: str, **wish: Any) -> int:
        """Call a model with it and return the status."""
        body = CHAT.body(**wish)
        headers = {"authorization": f"Bearer {key}"}
        return httpx2.post(f"{self.place.url}{CHAT.path}", json=body, headers=headers, trust_env=False).status_code

    def workload(self) -> Any:
        return self.ground.api.get("StatefulSet", "nightly", self.stack.namespace)

    def limits(self) -> dict[str, int]:
        """Actor and period → cents, as they stand in the proxy's namespace."""
        found = self.ground.api.list("ConfigMap", self.there, "sandbox-components/inference=limit")
        read = [parse_limit(one["metadata"]["annotations"][LIMIT_ANNOTATION]) for one in found]
        return {f"{one.actor_type} {one.period}": one.limit_cents for one in read}


@pytest.fixture(scope="module")
def scene(engine_ground: Ground, node_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder, there, api = tmp_path_factory.mktemp("spending"), new_namespace(), engine_ground.api
    zone = noon.zone()
    host = node_cluster.api_url.removeprefix("https://").rpartition(".")[0] + ".1"
    with (
        pytest.MonkeyPatch.context() as patch,
        engine_ground.stack(folder / "stack", program="spending", source=SOURCE) as stack,
        double() as provider,
    ):
        patch.setitem(os.environ, "KUBECONFIG", str(node_cluster.kubeconfig))
        entry = engine_ground.sandbox(
            inference={"namespace": there, "name": "outside"},
            spendingLimits=[{"period": "month", "timeZone": zone, "limitCents": 1}],
            org="acme",
        )
        stack.configure({"sandboxes": {"nightly": entry}, "app:proxyNamespace": there})
        stack.set_secret("inferenceSigningKey", SIGNING_KEY)
        stack.up().ok()
        more = {"source": {"namespace": there}, "listen": f"{host}:0", "admin": f"{host}:0"}
        with running(Place(folder / "proxy", provider.url, more=more)) as place:
            yield Scene(engine_ground, stack, there, place, SandboxCommand(stack), host, zone)
    api.delete("Namespace", there)


def test_the_proxys_objects_are_taken_and_a_second_update_finds_nothing(scene: Scene) -> None:
    pod = eventually(
        lambda: scene.ground.api.find("Pod", "proxy-0", scene.there), "the proxy's pod, by a restricted level"
    )
    assert pod["spec"]["containers"][0]["command"][:3] == ["sandbox", "serve", "proxy"]
    assert not scene.stack.preview().ok().changed
    assert scene.limits() == {"sandbox month": 1, "org day": 100000}
    text = json.dumps(scene.stack.export())
    assert "provider-canary" not in text
    assert SIGNING_KEY not in text
    assert scene.key() not in text


def test_a_spent_limit_refuses_and_a_raised_one_lets_the_next_call_through(scene: Scene) -> None:
    key, before = scene.key(), scene.workload()
    answers = [scene.call(key, output=7000, most=7000) for _ in range(2)]  # 4.2 of 10 million nano-dollars each
    assert answers == [200, 429]  # the dearest tier that the second could be served at is held
    done = scene.sandbox("set-limit", "nightly", "--period", "month", "--limit-cents", "2", "-y").ok()
    began = time.monotonic()
    assert done.out == "nightly limited by the month: $0.01 → $0.02\n"
    eventually(lambda: scene.call(key, output=7000, most=7000) == 200 or None, "a call within the raised limit", 5)
    print(f"the next call passed {time.monotonic() - began:.2f} s after set-limit")
    after = scene.workload()
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_a_limit_takes_no_other_change_along(scene: Scene) -> None:
    config = yaml.safe_load(scene.stack.config_file.read_text())["config"]
    entry = config["sandbox-components:sandboxes"]["nightly"]
    other = {**entry, "env": {"LATER": "yes"}, "keyGeneration": 7}
    before, key = scene.workload(), scene.key()
    scene.stack.configure({"sandboxes": {"nightly": other}})
    scene.sandbox("set-limit", "nightly", "--period", "day", "--limit-cents", "500", "-y").ok()
    assert scene.limits()["sandbox day"] == 500
    assert scene.workload()["metadata"]["generation"] == before["metadata"]["generation"]
    assert scene.call(key) == 200  # its generation is still the one in force
    scene.stack.configure({"sandboxes": {"nightly": entry}})
    assert not scene.stack.preview().ok().changed


def test_spend_and_describe_ask_through_the_api_server(scene: Scene) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    is_ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    status = {"phase": "Running", "podIP": scene.host, "podIPs": [{"ip": scene.host}], "conditions": [is_ready]}
    scene.ground.api.patch("Pod", "proxy-0", scene.there, {"status": status}, part="status")
    pod = scene.ground.api.get("Pod", "proxy-0", scene.there)
    metadata = {"name": "outside", "namespace": scene.there}
    ports = [{"name": "admin", "port": int(scene.place.admin_url.rpartition(":")[2]), "protocol": "TCP"}]
    target = {"kind": "Pod", "name": "proxy-0", "namespace": scene.there, "uid": pod["metadata"]["uid"]}
    subsets = [{"addresses": [{"ip": scene.host, "targetRef": target}], "ports": ports}]
    scene.ground.api.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}})
    scene.ground.api.create({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets})
    zone = ("--time-zone", scene.zone)
    words = ("spend", "nightly", *zone, "--by", "model", "-o", "json")
    found = scene.sandbox(*words).ok().document
    assert found["actorId"] == ID
    assert found["total"]["nanos"] == sum(row["nanos"] for row in found["rows"]) > 8_000_000
    assert found["total"] | {"dollars": None} == scene.place.spend(ID, timeZone=scene.zone)["total"] | {"dollars": None}
    assert {one["actorType"] for one in found["limits"]} == {"sandbox", "org"}
    org = scene.sandbox("spend", "--scope", "org", "--subject", "acme", *zone, "-o", "json").ok().document
    assert org["total"]["nanos"] == found["total"]["nanos"]
    assert "of $0.02 used" in scene.sandbox("describe", "nightly").ok().out


def reader(scene: Scene, kubeconfig: Path) -> dict[str, str]:
    """Have an account that may look for sandboxes, and ask this one proxy; return its environment."""
    api, place = scene.ground.api, scene.stack.namespace
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": place}})
    ask = {"apiGroups": [""], "resources": ["services/proxy"], "resourceNames": ["outside:admin"], "verbs": ["get"]}
    look = {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["get", "list"]}
    for namespace, rule in ((place, look), (scene.there, ask)):
        meta = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reader", "namespace": namespace}}
        api.create({**meta, "kind": "Role", "rules": [rule]})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
        subject = {"kind": "ServiceAccount", "name": "reader", "namespace": place}
        api.create({**meta, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]})
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    config["users"][0]["user"] = {"token": api.token("reader", place)}
    kubeconfig.write_text(yaml.safe_dump(config))
    return {"KUBECONFIG": str(kubeconfig)}


def test_a_role_for_the_one_proxy_is_enough_and_doctor_tells_what_it_lacks(scene: Scene, tmp_path: Path) -> None:
    env, place = reader(scene, tmp_path / "kubeconfig"), scene.stack.namespace

    def total() -> int | None:
        done = scene.sandbox("spend", "nightly", "--time-zone", scene.zone, "-o", "json", env=env)
        return int(done.document["total"]["nanos"]) if done.code == 0 else None

    assert eventually(total, "an answer to who has the role", 30) > 8_000_000
    checks = scene.sandbox("doctor", "-n", place, "-o", "json", env=env).document["checks"]
    told = {one["name"]: (one["verdict"], one["detail"]) for one in checks}
    missing = f'missing in namespace "{scene.there}": '
    assert told["rights for spend, limits in describe"] == ("failed", f"{missing}list events")
    verbs = ", ".join(f"{verb} configmaps" for verb in ("get", "create", "patch", "delete"))
    assert told["rights for set-limit, sandboxes with inference"] == ("failed", f"{missing}{verbs}")
    checks = scene.sandbox("doctor", "-n", place, "-o", "json").document["checks"]
    assert {one["verdict"] for one in checks if one["name"].startswith("rights for ")} == {"ok"}


def test_a_rotated_key_replaces_the_old_one_without_a_revision(scene: Scene) -> None:
    old, before = scene.key(), scene.workload()
    scene.sandbox("rotate-key", "nightly", "-y", "--no-wait").ok()
    new, after = scene.key(), scene.workload()
    assert new != old
    assert (scene.call(new), scene.call(old)) == (200, 401)
    notes = [one["metadata"]["annotations"]["sandbox-components/spec"] for one in (before, after)]
    assert notes[0] == notes[1]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    revisions = scene.sandbox("revisions", "nightly", "-o", "json").ok().document["items"]
    assert len(revisions) == 1


def test_a_near_end_is_told_as_an_event(scene: Scene) -> None:
    """By now 8.4 million nano-dollars are spent, of the 10 million of the program's own limit."""
    scene.sandbox("set-limit", "nightly", "--period", "month", "--clear", "-y").ok()

    def told() -> list[str] | None:
        events = scene.sandbox("describe", "nightly", "-o", "json").ok().document["events"]
        return [one["message"] for one in events if one["kind"] == "ConfigMap"] or None

    [message, *_] = eventually(told, "an event on the limit's ConfigMap", 40)
    assert message.startswith(f"{ID} has spent $0.0")


def test_an_orgs_limit_is_the_proxys_and_a_deleted_sandboxs_key_opens_nothing(scene: Scene) -> None:
    key, words = scene.key(), ["set-limit", "--scope", "org", "--subject", "acme", "--period", "day", "-y"]
    said = scene.sandbox(*words, "--limit-cents", "0").ok()
    assert "    spendingLimits.org.day   $1000.00 a day → $0.00 a day\n" in said.err
    assert "disk" not in said.err
    assert scene.limits()["org day"] == 0
    eventually(lambda: scene.call(key) == 429 or None, "a refusal of the org's", 5)
    scene.sandbox("delete", "nightly", "-y", "--no-wait").ok()
    eventually(lambda: scene.call(key) == 401 or None, "a refusal of the key", 5)
    assert scene.limits() == {"org day": 0}
    config = yaml.safe_load(scene.stack.config_file.read_text())["config"]
    assert config["sandbox-components:spendingLimits"] == {"org/acme": {"day": {"limitCents": 0}}}
