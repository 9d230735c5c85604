"""Sandboxes to render: a named dozen for golden files, and a strategy that makes any valid one."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from sandbox_components.manifests.placement import Placement
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox

PLACEMENT = Placement(name="nightly", namespace="agents", project="fleet", stack="production", version="1.2.3")

_FIRST_SEED: dict[str, Any] = {
    "image": {"uri": "python:3.12-slim"},
    "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
}
_SECOND_SEED: dict[str, Any] = {
    "image": {"uri": "ghcr.io/acme/agent:1.2"},
    "command": "./start.sh",
    "resourceLimits": {"cpu": "500m", "memory": "2Gi"},
    "volumes": [{"mountPath": "/data"}],
}
_PROBE: dict[str, Any] = {"type": "http", "http": {"path": "/healthz", "port": 8080}}

GOLDEN: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "seed-ephemeral": (_FIRST_SEED, ()),
    "seed-persistent": (
        {
            **_FIRST_SEED,
            "extensions": {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"},
        },
        (),
    ),
    "seed-volume": (_SECOND_SEED, ()),
    "seed-health-check": ({**_SECOND_SEED, "healthCheck": _PROBE}, ()),
    "health-check-tuned": (
        {
            **_FIRST_SEED,
            "healthCheck": {
                **_PROBE,
                "intervalSeconds": 3,
                "initialDelaySeconds": 0,
                "timeoutSeconds": 1,
                "failureThreshold": 100,
            },
        },
        (),
    ),
    "image-entrypoint": ({key: _FIRST_SEED[key] for key in ("image", "resourceLimits")}, ()),
    "dollars": (
        {
            **_FIRST_SEED,
            "entrypoint": ["echo", "$HOME", "$(HOME)", "$$", "$", "a'b\"c\nd", "$ä"],
            "env": {"PRICE": "5$", "TEMPLATE": "$(PRICE) $$PRICE", "HOME": "/tmp"},
        },
        (),
    ),
    "ports": ({**_FIRST_SEED, "ports": [{"port": 8000, "name": "web"}, {"port": 53, "protocol": "UDP"}]}, ()),
    "secret-env": ({**_FIRST_SEED, "env": {"PLAIN": "x"}}, ("OPENAI_API_KEY", "GITHUB_TOKEN")),
    "requests-below-limits": ({**_FIRST_SEED, "resourceRequests": {"cpu": "250m"}}, ()),
    "baseline": ({**_FIRST_SEED, "security": "baseline", "runAsUser": 0}, ()),
    "placed": (
        {
            **_FIRST_SEED,
            "runtimeClass": "gvisor",
            "nodeSelector": {"pool": "agents"},
            "tolerations": [
                {"key": "agents", "operator": "Exists"},
                {"key": "slow", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 60},
            ],
            "imagePullSecrets": ["registry"],
            "imagePullPolicy": "Never",
            "terminationGracePeriodSeconds": 120,
            "runAsUser": 2000,
        },
        (),
    ),
    "existing-claim": ({**_SECOND_SEED, "volumes": [{"mountPath": "/data", "existingClaim": "old"}]}, ()),
    "latest": ({**_FIRST_SEED, "image": "agent:latest"}, ()),
}


def spec_of(name: str) -> SandboxSpec:
    """Return the golden request as a spec."""
    return read_sandbox(GOLDEN[name][0])


UNREADABLE = "".join(map(chr, [0, *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF]))
"""What no process can be given through the API server."""
TEXTS = st.text(st.characters(exclude_characters=UNREADABLE, exclude_categories=("Cs",)), max_size=20) | st.text(
    alphabet="$()AB \n'\"\\ä", max_size=12
)
NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
ENV_NAMES = st.sampled_from(["A", "B", "HOME", "PATH", "AB"])
LABELS = st.dictionaries(
    st.sampled_from(["team", "acme.com/tier", "owner", "a", "z"]), st.sampled_from(["", "core", "x"])
)


FEWER = settings(max_examples=30)
"""For properties of whole sandboxes, which take milliseconds to draw."""


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw any valid request."""
    data: dict[str, Any] = {
        "image": draw(st.sampled_from(["agent", "ghcr.io/acme/agent:1", "a@sha256:" + "0" * 64])),
        "resourceLimits": {"cpu": draw(st.integers(1, 9)), "memory": f"{draw(st.integers(1, 9))}Gi"},
    }
    process = draw(st.sampled_from(["image", "entrypoint", "command"]))
    if process == "entrypoint":
        data["entrypoint"] = [draw(TEXTS.filter(bool)), *draw(st.lists(TEXTS, max_size=3))]
    if process == "command":
        data["command"] = draw(TEXTS.filter(str.strip))
    port = st.fixed_dictionaries({"port": st.integers(1, 65535), "protocol": st.sampled_from(["TCP", "UDP"])})
    optional: dict[str, st.SearchStrategy[Any]] = {
        "env": st.dictionaries(ENV_NAMES, TEXTS, max_size=3),
        "labels": LABELS,
        "ports": st.lists(port, max_size=3, unique_by=lambda one: one["port"]),
        "healthCheck": st.just(_PROBE),
        "workspace": st.fixed_dictionaries(
            {}, optional={"size": st.just("5Gi"), "storageClass": NAMES, "mountPath": st.sampled_from(["/d", "/$(A)"])}
        ),
        "egress": st.sampled_from(
            ["internet", "none", [], [{"cidr": "10.0.0.0/8", "ports": [{"port": 443}]}, {"cidr": "::/0"}]]
        ),
        "runtimeClass": NAMES,
        "runAsUser": st.integers(1, 2**31 - 1),
        "nodeSelector": LABELS,
        "imagePullSecrets": st.lists(NAMES, max_size=2),
        "waitForReady": st.booleans(),
        "terminationGracePeriodSeconds": st.integers(0, 86400),
    }
    for key, strategy in optional.items():
        if draw(st.booleans()):
            data[key] = draw(strategy)
    return data
