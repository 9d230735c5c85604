"""What must hold of every object of every sandbox: replicas, labels, selectors, Pod Security, names."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.manifests import services
from sandbox_components.manifests.claim import persistent_volume_claim
from sandbox_components.manifests.placement import SKIP_AWAIT, Placement
from sandbox_components.manifests.policy import network_policy
from sandbox_components.manifests.workload import claim_of, mount_path, pod, stateful_set
from sandbox_components.spec import naming
from sandbox_components.spec.revision import canonical, revision_groups
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox
from tests.manifests.pod_security import breaks_restricted
from tests.manifests.sandboxes import FEWER, LABELS, PLACEMENT, requests

SECRET_ENV = ("TOKEN",)


def objects(spec: SandboxSpec, placement: Placement = PLACEMENT) -> list[dict[str, Any]]:
    """Return every object that a sandbox makes of Kubernetes' kinds."""
    placement = dataclasses.replace(placement, labels=spec.labels)
    workload = stateful_set(
        placement,
        spec,
        revision=canonical(revision_groups(spec, SECRET_ENV, "s-1")),
        secret_env=SECRET_ENV,
        secret_name="s-1",
    )
    found = [workload, services.headless_service(placement), services.service_account(placement)]
    found += [network_policy(placement, spec)]
    found += [one for one in (services.service(placement, spec), services.ingress(placement, spec)) if one is not None]
    claim = claim_of(placement, spec)
    if spec.workspace is not None and claim is not None:
        found.append(persistent_volume_claim(placement, spec.workspace, claim))
    return found


def keys(data: Any) -> Iterator[str]:
    """Yield every key at any depth."""
    for key, value in data.items() if isinstance(data, dict) else ():
        yield key
        yield from keys(value)
    for value in data if isinstance(data, list) else ():
        yield from keys(value)


@FEWER
@given(requests())
def test_nobody_says_replicas(data: dict[str, Any]) -> None:
    for one in objects(read_sandbox(data)):
        assert "replicas" not in set(keys(one))


@FEWER
@given(requests(), LABELS, st.randoms(use_true_random=False))
def test_labels_leave_the_pod_alone(data: dict[str, Any], labels: dict[str, str], by: random.Random) -> None:
    items = list(labels.items())
    by.shuffle(items)
    before, after = (objects(read_sandbox({**data, "labels": one})) for one in ({}, dict(items)))
    assert json.dumps(before[0]["spec"]) == json.dumps(after[0]["spec"])
    assert before[0]["metadata"]["annotations"] == after[0]["metadata"]["annotations"]
    for one, other in zip(before, after, strict=True):
        assert one.get("spec") == other.get("spec")
        assert other["metadata"]["labels"] == {**labels, **one["metadata"]["labels"]}


@FEWER
@given(requests())
def test_only_one_label_selects(data: dict[str, Any]) -> None:
    selector = {"sandbox-components/sandbox": "nightly"}
    workload, headless, _, policy, *others = objects(read_sandbox(data))
    assert workload["spec"]["selector"] == {"matchLabels": selector}
    assert workload["spec"]["template"]["metadata"] == {"labels": selector}
    assert headless["spec"]["selector"] == selector
    assert policy["spec"]["podSelector"] == {"matchLabels": selector}
    for one in others:
        assert one["spec"].get("selector", selector) == selector


@FEWER
@given(requests())
def test_every_object_is_marked_and_named(data: dict[str, Any]) -> None:
    spec = read_sandbox(data)
    for one in objects(spec):
        metadata = one["metadata"]
        assert set(metadata) == {"name", "namespace", "labels", "annotations"}
        assert metadata["namespace"] == "agents"
        assert len(metadata["name"]) <= 63
        assert naming.is_dns_label(metadata["name"])
        assert metadata["labels"]["app.kubernetes.io/name"] == "nightly"
        assert metadata["labels"]["app.kubernetes.io/version"] == "1.2.3"
        assert metadata["annotations"]["sandbox-components/project"] == "fleet"
        assert metadata["annotations"]["sandbox-components/stack"] == "production"
        waits = one["kind"] == "StatefulSet" and spec.wait_for_ready
        assert (SKIP_AWAIT in metadata["annotations"]) is not waits
        assert all(isinstance(value, str) for value in metadata["annotations"].values())
        assert all(naming.is_label_key(key) for key in metadata["labels"])
        assert all(naming.is_label_text(value, empty=True) for value in metadata["labels"].values())


@FEWER
@given(requests())
def test_manifests_are_plain_json(data: dict[str, Any]) -> None:
    for one in objects(read_sandbox(data)):
        assert json.loads(json.dumps(one)) == one


@FEWER
@given(requests())
def test_restricted_pod_security(data: dict[str, Any]) -> None:
    manifest = pod(PLACEMENT, read_sandbox(data), SECRET_ENV, "s-1")
    assert breaks_restricted(manifest) == []
    assert manifest["automountServiceAccountToken"] is False
    assert manifest["enableServiceLinks"] is False
    assert manifest["shareProcessNamespace"] is True


def test_baseline_is_told_apart() -> None:
    data = {"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}, "security": "baseline", "runAsUser": 0}
    broken = breaks_restricted(pod(PLACEMENT, read_sandbox(data), (), ""))
    assert broken == [f"agent: {key}" for key in _BASELINE]


_BASELINE = ("allowPrivilegeEscalation", "capabilities", "runAsNonRoot", "runAsUser", "seccompProfile")


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, "volume a"),
        ({"containers": [{"name": "a"}]}, "a: capabilities"),
        ({"containers": [{"name": "a", "ports": [{"hostPort": 80}]}]}, "a: hostPort 80"),
        ({"securityContext": {"sysctls": []}}, "sysctls"),
    ],
)
def test_the_checks_of_pod_security_find_faults(broken: dict[str, Any], what: str) -> None:
    assert what in breaks_restricted(broken)


@FEWER
@given(requests())
def test_the_workspace_is_mounted_once(data: dict[str, Any]) -> None:
    spec = read_sandbox(data)
    manifest = pod(PLACEMENT, spec, (), "")
    container = manifest["containers"][0]
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [mount_path(spec)]
    (volume,) = manifest["volumes"]
    assert volume["name"] == container["volumeMounts"][0]["name"]
    assert ("persistentVolumeClaim" in volume) is (spec.workspace is not None)
    assert ("emptyDir" in volume) is (spec.workspace is None)


@FEWER
@given(requests())
def test_requests_equal_limits_unless_given(data: dict[str, Any]) -> None:
    container = pod(PLACEMENT, read_sandbox(data), (), "")["containers"][0]
    assert container["resources"]["requests"] == container["resources"]["limits"]


@FEWER
@given(requests())
def test_ports_are_exposed_alike_in_any_order(data: dict[str, Any]) -> None:
    spec = read_sandbox(data)
    turned = read_sandbox({**data, "ports": data.get("ports", [])[::-1]})
    assert objects(spec) == objects(turned)
    exposed = services.service(PLACEMENT, spec)
    container = pod(PLACEMENT, spec, (), "")["containers"][0]
    assert (exposed is None) is (not spec.ports)
    if exposed is not None:
        names = {(port["name"], port["port"], port["protocol"]) for port in exposed["spec"]["ports"]}
        assert names == {(port["name"], port["containerPort"], port["protocol"]) for port in container["ports"]}
        assert len({name for name, _, _ in names}) == len(spec.ports)


def test_only_the_tcp_port_of_two_of_one_number_is_public() -> None:
    data = {
        "image": "a",
        "resourceLimits": {"cpu": 1, "memory": "1Gi"},
        "ports": [{"port": 443}, {"port": 443, "protocol": "UDP"}],
        "expose": {"443": {"visibility": "public", "host": "a.example", "tlsSecret": "t"}},
    }
    assert services.endpoints(PLACEMENT, read_sandbox(data)) == {
        "port-443": "https://a.example/",
        "port-443-udp": f"{PLACEMENT.name}.{PLACEMENT.namespace}.svc:443",
    }


def test_longest_name_fits_every_object() -> None:
    name = "a" * naming.NAME_MAX_LENGTH
    placement = dataclasses.replace(PLACEMENT, name=naming.check_name(name))
    data = {"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}, "workspace": {}, "ports": [{"port": 1}]}
    for one in objects(read_sandbox(data), placement):
        assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", one["metadata"]["name"])
        assert len(one["metadata"]["name"]) <= 63


def test_a_local_version_is_a_label_too() -> None:
    placement = dataclasses.replace(PLACEMENT, version="1.2.3.dev4+g5a6b7c")
    version = placement.metadata("a")["labels"]["app.kubernetes.io/version"]
    assert version == "1.2.3.dev4_g5a6b7c"
    assert naming.is_label_text(version, empty=False)


@pytest.mark.parametrize(
    ("workspace", "stack_class", "storage_class", "size"),
    [
        ({}, None, None, "10Gi"),
        ({}, "fast", "fast", "10Gi"),
        ({"storageClass": "slow", "size": "1Ti"}, "fast", "slow", "1Ti"),
    ],
)
def test_claim(workspace: dict[str, Any], stack_class: str | None, storage_class: str | None, size: str) -> None:
    placement = dataclasses.replace(PLACEMENT, storage_class=stack_class)
    data = {"image": "a", "resourceLimits": {"cpu": 1, "memory": "1Gi"}, "workspace": workspace}
    found = read_sandbox(data).workspace
    assert found is not None
    claim = persistent_volume_claim(placement, found, "nightly-workspace")["spec"]
    assert claim.get("storageClassName") == storage_class
    assert claim["resources"] == {"requests": {"storage": size}}
    assert claim["accessModes"] == ["ReadWriteOnce"]
