"""The inference proxy's objects: golden bytes, Pod Security, settings that the proxy itself reads, who gets in.

After a change that is meant, `SANDBOX_UPDATE_GOLDENS=1 pytest tests/manifests/test_proxy.py` writes the files anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.manifests import proxy_access, proxy_settings
from sandbox_components.manifests.identity import identity_config_map, inference_secret, proxy_of
from sandbox_components.manifests.limit import limit_config_map
from sandbox_components.manifests.placement import Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.proxy import data_claim, proxy_workload
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.proxy.settings import load
from sandbox_components.spec import naming
from sandbox_components.spec.identity import Identity
from sandbox_components.spec.proxy import ProxySpec
from sandbox_components.spec.reading import read
from sandbox_components.spec.sandbox import read_sandbox
from sandbox_components.spec.spending import DeclaredLimit
from tests.manifests.pod_security import breaks_restricted
from tests.manifests.sandboxes import GOLDEN, PLACEMENT

FOLDER = Path(__file__).parent / "golden_proxy"
PLACE = Placement(
    name="proxy",
    namespace="inference",
    project="fleet",
    stack="production",
    version="1.2.3",
    component=naming.PROXY_COMPONENT,
    label=naming.PROXY_LABEL,
)
SMALL: dict[str, Any] = {
    "image": "ghcr.io/acme/sandbox-components:0.1",
    "upstreams": [{"name": "openai", "api": "openai", "baseUrl": "https://api.openai.com"}],
}
SPECS: dict[str, dict[str, Any]] = {
    "sqlite": SMALL,
    "postgres": {
        **SMALL,
        "isPostgres": True,
        "replicas": 3,
        "upstreams": [
            *SMALL["upstreams"],
            {
                "name": "anthropic",
                "api": "anthropic",
                "baseUrl": "https://api.anthropic.com",
                "models": ["claude-*"],
            },
        ],
        "port": 9000,
        "adminPort": 9001,
        "adminCidrs": ["10.1.0.0/28"],
        "requestLimits": {"bodyBytes": 1048576.0},
        "timeouts": {"shutdown": 60},
        "prices": {"own": {"input": "1", "output": "2"}},
        "imagePullSecrets": ["registry"],
        "nodeSelector": {"pool": "system"},
    },
}


def spec_of(name: str) -> ProxySpec:
    return read(ProxySpec, SPECS[name], "")


def proxy_objects(name: str) -> list[dict[str, Any]]:
    spec = spec_of(name)
    return [
        proxy_workload(PLACE, spec, image=spec.image.uri, settings="proxy-settings-1a", keys="proxy-keys-1a"),
        *([] if spec.is_postgres else [data_claim(PLACE, spec)]),
        proxy_settings.settings_config_map(PLACE, spec),
        proxy_access.proxy_account(PLACE),
        proxy_access.proxy_role(PLACE),
        proxy_access.proxy_role_binding(PLACE),
        proxy_access.proxy_policy(PLACE, spec),
        proxy_access.proxy_service(PLACE, spec),
    ]


def sandbox_objects() -> list[dict[str, Any]]:
    spec = read_sandbox({**GOLDEN["seed-volume"][0], "inference": {"namespace": "inference", "name": "proxy"}})
    there = Placement("nightly", "inference", "fleet", "production", "1.2.3")
    identity = Identity("fleet/production/nightly", org="acme", limit_required=True)
    limit = DeclaredLimit("sandbox", identity.sandbox_id, "month", 5000, "Asia/Tokyo", "fleet/production")
    assert spec.inference is not None
    return [
        identity_config_map(there, identity),
        limit_config_map(there, "nightly-month-1a2b3c4d", limit),
        inference_secret(PLACEMENT, spec.inference.variables("sbx1.key")),
        network_policy(PLACEMENT, spec),
        stateful_set(PLACEMENT, spec, revision="{}", inference_secret="nightly-inference-1a"),
    ]


RENDERED = {**{name: lambda name=name: proxy_objects(name) for name in SPECS}, "sandbox": sandbox_objects}


@pytest.mark.parametrize("name", RENDERED)
def test_bytes_change_only_when_meant(name: str) -> None:
    file = FOLDER / f"{name}.json"
    text = json.dumps(RENDERED[name](), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("SANDBOX_UPDATE_GOLDENS") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(RENDERED)


@pytest.mark.parametrize("name", SPECS)
def test_pods_are_restricted_and_write_nowhere_but_on_their_volumes(name: str) -> None:
    pod = proxy_objects(name)[0]["spec"]["template"]["spec"]
    assert breaks_restricted(pod) == []
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    assert not pod["enableServiceLinks"]


@pytest.mark.parametrize("name", SPECS)
def test_the_proxy_reads_its_settings(name: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(proxy_settings.settings_config_map(PLACE, spec_of(name))["data"]["settings.yaml"])
    found = load(file)
    spec = spec_of(name)
    assert (found.listen, found.admin) == (f"0.0.0.0:{spec.port}", f"0.0.0.0:{spec.admin_port}")
    assert found.source.namespace == "inference"
    assert [one.name for one in found.upstreams] == [one.name for one in spec.upstreams]
    mounts = [
        one["mountPath"] for one in proxy_objects(name)[0]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    ]
    files = [found.signing_key.file, *(one.key.file for one in found.upstreams), found.database.file]
    assert all(Path(str(one)).parent.as_posix() in mounts for one in files if one is not None)
    if not spec.is_postgres:
        assert found.database.url == "sqlite:////data/ledger.sqlite"
        assert "/data" in mounts


def test_longer_calls_are_waited_for() -> None:
    graces = [proxy_objects(name)[0]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] for name in SPECS]
    assert graces == [49, 84]


def test_the_api_servers_addresses_alone_may_come_to_the_admin_port() -> None:
    spec = spec_of("sqlite")
    policy = proxy_access.proxy_policy(PLACE, spec)["spec"]
    by_port = {rule["ports"][0]["port"]: rule["from"] for rule in policy["ingress"]}
    assert set(by_port) == {8080, 8081}
    assert by_port[8081] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}]
    closed = proxy_access.proxy_policy(PLACE, spec.model_copy(update={"admin_namespaces": ()}))["spec"]
    assert [rule["ports"][0]["port"] for rule in closed["ingress"]] == [8080]


def test_selectors_find_the_proxys_pods_and_no_sandbox() -> None:
    for name in SPECS:
        for one in proxy_objects(name):
            assert naming.SANDBOX_LABEL not in one["metadata"]["labels"]
            assert one["metadata"]["labels"]["app.kubernetes.io/component"] == "inference-proxy"
            assert one["metadata"]["namespace"] == "inference"


def test_rights_end_at_the_namespace_and_write_events_alone() -> None:
    rules = proxy_access.proxy_role(PLACE)["rules"]
    assert {verb for rule in rules for verb in rule["verbs"] if rule["resources"] != ["events"]} == {
        "get",
        "list",
        "watch",
    }
    assert "secrets" not in json.dumps(rules)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("inference/proxy", ("inference", "proxy")),
        ("", None),
        ("a", None),
        ("A/b", None),
        ("a/b/c", None),
        (None, None),
    ],
)
def test_the_proxy_that_annotations_name(text: str | None, found: tuple[str, str] | None) -> None:
    assert proxy_of({} if text is None else {naming.INFERENCE_ANNOTATION: text}) == found
