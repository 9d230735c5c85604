"""Kinds of change, and what `sandbox plan` must say of each: one sandbox a kind, all changed by one update.

`python -m tests.engine.record_previews CLUSTER` records the engine's previews of them for the pure tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.harness.ground import Ground
from tests.harness.outcome import Json
from tests.harness.stack import Stack

RESTARTS = "restarts"
STAYS = "does not restart"
PLATFORM = "restarts: platform change, no revision"
REPLACED = "replaced: restarts"
NEW, REMOVED, SAME = "new", "removed", "unchanged"
IN_CI = ("image", "env", "secret-rotated", "ports-gone", "labels", "egress-none", "deletion", "grow", "grace")

SOURCE = """
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig

config, app = StackConfig.read(), pulumi.Config("app")
namespace = pulumi_kubernetes.core.v1.Namespace(
    "namespace", metadata={"name": config.namespace}, opts=pulumi.ResourceOptions(protect=config.protects_a_disk))
after = pulumi.ResourceOptions(depends_on=[namespace])
for name, args in config.sandboxes.items():
    Sandbox(name, args, after)
for name, given in (app.get_object("computed") or {}).items():
    args = dict(given["args"])
    args["image"] = pulumi.Output.from_input(args["image"])
    args["env"] = {"TOKEN": pulumi.Output.secret(given["token"])}
    args["image_auth"] = {"username": "robot", "password": pulumi.Output.secret(given["password"])}
    Sandbox(name, args, after)
"""
"""Sandboxes of the config, and some whose arguments are Outputs."""


@dataclass(frozen=True)
class Kind:
    """One kind of change.

    Attributes:
        before: of its entry in the config, over the ground's own; None: there is none.
        after: likewise.
        verdict: what the plan must say.
        fields: what it must say differs.
        disk: what it must say becomes of the disk.
        secrets: secret variables before and afterwards.
        computed: the program's own, with Outputs: (token, password) before and afterwards.
    """

    before: Json | None
    after: Json | None
    verdict: str
    fields: tuple[str, ...] = ()
    disk: str = "none"
    secrets: tuple[Mapping[str, str], Mapping[str, str]] = field(default_factory=lambda: ({}, {}))
    computed: tuple[tuple[str, str], tuple[str, str]] | None = None

    @property
    def restarts(self) -> bool:
        """Whether another pod must run afterwards."""
        return self.verdict in (RESTARTS, PLATFORM, REPLACED)


def _probe(path: str = "/healthz", **more: Any) -> Json:
    return {"healthCheck": {"type": "http", "http": {"path": path, "port": 8080}, **more}}


def _ports(*ports: Json) -> Json:
    return {"ports": list(ports)}


AGENT = {"image": {"uri": "localhost:5000/agent:2"}}
WEB = {"port": 8080}
DISK = {"volumes": "disk"}
"""Stands for a disk of the ground's class."""

FIELDS_OF_NEW = (
    "image",
    "entrypoint",
    "resourceLimits.cpu",
    "resourceLimits.memory",
    "terminationGracePeriodSeconds",
    "nodeSelector.sandbox-components.test/kwok",
    "tolerations",
)
"""What the ground asks of every sandbox."""

KINDS: dict[str, Kind] = {
    "image": Kind({}, AGENT, RESTARTS, ("image",)),
    "image-computed": Kind({}, AGENT, RESTARTS, ("image",), computed=(("a", "b"), ("a", "b"))),
    "entrypoint": Kind({}, {"entrypoint": ["sleep", "1000"]}, RESTARTS, ("entrypoint",)),
    "command": Kind({}, {"entrypoint": None, "command": "sleep 1000"}, RESTARTS, ("entrypoint", "command")),
    "own-entrypoint": Kind({}, {"entrypoint": None}, RESTARTS, ("entrypoint",)),
    "cpu": Kind({}, {"resourceLimits": {"cpu": "60m", "memory": "64Mi"}}, RESTARTS, ("resourceLimits.cpu",)),
    "memory": Kind({}, {"resourceLimits": {"cpu": "50m", "memory": "65Mi"}}, RESTARTS, ("resourceLimits.memory",)),
    "requests": Kind({}, {"resourceRequests": {"cpu": "10m"}}, RESTARTS, ("resourceRequests.cpu",)),
    "env": Kind({"env": {"LEVEL": "info"}}, {"env": {"LEVEL": "debug"}}, RESTARTS, ("env.LEVEL",)),
    "env-added": Kind({}, {"env": {"LEVEL": "a|b `c` <d>\n$(E) $$"}}, RESTARTS, ("env.LEVEL",)),
    "env-removed": Kind({"env": {"A": "1", "B": "2"}}, {"env": {"B": "2"}}, RESTARTS, ("env.A",)),
    "secret-rotated": Kind(
        {}, {}, RESTARTS, ("secretEnv.TOKEN",), secrets=({"TOKEN": "canary-1", "KEPT": "canary"}, {"TOKEN": "canary-2"})
    ),
    "secret-added": Kind({}, {}, RESTARTS, ("secretEnv.TOKEN",), secrets=({}, {"TOKEN": "canary-3"})),
    "secret-removed": Kind({}, {}, RESTARTS, ("secretEnv.TOKEN",), secrets=({"TOKEN": "canary-4"}, {"TOKEN": ""})),
    "secret-computed": Kind(
        {}, {}, RESTARTS, ("secretEnv.TOKEN",), computed=(("canary-5", "canary"), ("canary-6", "canary"))
    ),
    "health-path": Kind(_probe(), _probe("/ready"), RESTARTS, ("healthCheck.http.path",)),
    "health-pace": Kind(
        _probe(),
        _probe(intervalSeconds=20, failureThreshold=5),
        RESTARTS,
        ("healthCheck.intervalSeconds", "healthCheck.failureThreshold"),
    ),
    "health-added": Kind({}, _probe(), RESTARTS, ("healthCheck",)),
    "health-removed": Kind(_probe(), {}, RESTARTS, ("healthCheck",)),
    "port-added": Kind(_ports(WEB), _ports(WEB, {"port": 53, "protocol": "UDP"}), RESTARTS, ("ports.53/UDP",)),
    "ports-gone": Kind(_ports(WEB), {}, RESTARTS, ("ports.8080",)),
    "port-name": Kind(_ports(WEB), _ports({"port": 8080, "name": "web"}), RESTARTS, ("ports.8080",)),
    "labels": Kind(
        {"labels": {"team": "core", "old": "x"}},
        {"labels": {"team": "edge", "acme.com/tier": "1"}},
        STAYS,
        ("labels.team", "labels.old", "labels.acme.com/tier"),
    ),
    "egress-none": Kind({}, {"egress": "none"}, STAYS, ("egress",)),
    "egress-rules": Kind({}, {"egress": [{"cidr": "10.0.0.0/8", "ports": [{"port": 443}]}]}, STAYS, ("egress",)),
    "expose": Kind(
        _ports(WEB),
        {**_ports(WEB), "expose": {"8080": {"visibility": "public", "host": "a.example.org", "tlsSecret": "tls"}}},
        STAYS,
        ("expose.8080",),
    ),
    "deletion": Kind(DISK, {**DISK, "deletion": "protect"}, STAYS, (), "untouched"),
    "wait": Kind({}, {"waitForReady": True}, STAYS, ("waitForReady",)),
    "grow": Kind(DISK, {"volumes": "grown"}, STAYS, (), "grown"),
    "rewritten": Kind(
        {"env": {"A": "1", "B": "2"}, "resourceLimits": {"cpu": "1000m", "memory": "1024Mi"}},
        {"env": {"B": "2", "A": "1"}, "resourceLimits": {"cpu": 1, "memory": "1Gi"}, "healthCheck": {"type": "none"}},
        SAME,
    ),
    "home": Kind({}, {"env": {"HOME": "/workspace"}}, STAYS),
    "mount": Kind(DISK, {"volumes": "moved"}, PLATFORM, ("mountPath",), "untouched"),
    "grace": Kind({}, {"terminationGracePeriodSeconds": 2}, PLATFORM, ("terminationGracePeriodSeconds",)),
    "toleration": Kind({}, {"tolerations": "more"}, PLATFORM, ("tolerations",)),
    "user": Kind({}, {"runAsUser": 2000}, PLATFORM, ("runAsUser",)),
    "security": Kind({}, {"security": "baseline"}, PLATFORM, ("security",)),
    "pull-policy": Kind({}, {"imagePullPolicy": "Always"}, PLATFORM, ("imagePullPolicy",)),
    "pull-secrets": Kind({}, {"imagePullSecrets": ["registry"]}, PLATFORM, ("imagePullSecrets",)),
    "password-computed": Kind(
        {}, {}, PLATFORM, ("imageAuth",), computed=(("canary", "canary-7"), ("canary", "canary-8"))
    ),
    "disk-added": Kind({}, DISK, PLATFORM, (), "new"),
    "disk-gone": Kind(DISK, {}, PLATFORM, (), "deleted"),
    "disk-adopted": Kind({}, {"volumes": "spare"}, PLATFORM, (), "existing"),
    "claim-name": Kind(DISK, {"volumes": "renamed"}, REPLACED, (), "replaced"),
    "added": Kind(None, {}, NEW, FIELDS_OF_NEW),
    "removed": Kind({}, None, REMOVED),
    "idle": Kind({}, {}, SAME),
}


def entry(ground: Ground, name: str, given: Json) -> Json:
    """A kind's entry of the config."""
    disks = {
        "disk": ground.volume(),
        "grown": ground.volume(size="2Gi"),
        "moved": ground.volume(mountPath="/data"),
        "renamed": ground.volume(claimName=f"{name}-2"),
        "spare": [{"mountPath": "/workspace", "existingClaim": f"{name}-spare"}],
    }
    found = ground.sandbox(**given)
    if "volumes" in found:
        found["volumes"] = disks[found["volumes"]]
    if found.get("tolerations") == "more":
        found["tolerations"] = [*ground.placement["tolerations"], {"key": "slow", "operator": "Exists"}]
    return {key: value for key, value in found.items() if value is not None}


def declare(ground: Ground, stack: Stack, names: tuple[str, ...], *, after: bool) -> None:
    """Write one side of the named kinds into the stack's config."""
    sandboxes, computed = {}, {}
    for name in names:
        kind = KINDS[name]
        given = kind.after if after else kind.before
        if given is None:
            continue
        if kind.computed is None:
            sandboxes[name] = entry(ground, name, given)
        else:
            args = entry(ground, name, given)
            token, password = kind.computed[after]
            computed[name] = {"args": {**args, "image": args["image"]["uri"]}, "token": token, "password": password}
    stack.configure({"sandboxes": sandboxes, "app:computed": computed})
    for name in names:
        for key, value in KINDS[name].secrets[after].items():
            if value:
                stack.set_secret(f'secretEnv["{name}"]["{key}"]', value)
            else:
                stack.pulumi("config", "rm", "--path", f'sandbox-components:secretEnv["{name}"]', "-s", stack.name).ok()


def prepare(ground: Ground, namespace: str, names: tuple[str, ...]) -> None:
    """Have a volume ready for every claim that there will be, and the claim that one of them adopts."""
    for name in names:
        kind = KINDS[name]
        if "volumes" in (kind.before or {}) or "volumes" in (kind.after or {}):
            ground.prepare_claim(namespace, f"{name}-workspace", "2Gi")
        if (kind.after or {}).get("volumes") == "renamed":
            ground.prepare_claim(namespace, f"{name}-2")


def spare_claims(ground: Ground, namespace: str, names: tuple[str, ...]) -> None:
    """Make the claims that are adopted; their namespace is there by now."""
    for name in names:
        if (KINDS[name].after or {}).get("volumes") != "spare":
            continue
        ground.prepare_claim(namespace, f"{name}-spare")
        ground.api.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": f"{name}-spare", "namespace": namespace},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": ground.storage_class,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )
