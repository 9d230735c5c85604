"""What differs between two revisions, and what the cluster holds read back."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from sandbox_components.manifests import services
from sandbox_components.manifests.workload import stateful_set
from sandbox_components.revisions.difference import Difference, Field, Secret, difference, unsure_secrets
from sandbox_components.revisions.live import live_groups
from sandbox_components.spec.revision import revision_groups
from sandbox_components.spec.sandbox import SandboxSpec, read_sandbox
from tests.manifests.sandboxes import FEWER, GOLDEN, PLACEMENT, requests
from tests.revisions.told import spec

CHECK = {"type": "http", "http": {"path": "/healthz", "port": 8080}}


def lines(found: Difference) -> list[tuple[str, str, Any, Any]]:
    return [(one.operation, one.name, one.old, one.new) for one in found.fields]


def test_nothing_differs() -> None:
    found = difference(spec(env={"A": "1"}), spec(env={"A": "1"}))
    assert found == Difference()
    assert found.is_empty


def test_each_group_in_the_words_of_the_config() -> None:
    old = spec(
        "a:1", env={"A": "1", "GONE": "x", "dot.ted": "1"}, ports=[{"port": 80, "name": "web", "protocol": "TCP"}]
    )
    new = {
        "v": 1,
        "image": {"uri": "a:2"},
        "command": {"entrypoint": ["run", "--fast"]},
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
        "env": {"A": "2", "NEW": "", "dot.ted": "1"},
        "healthCheck": CHECK,
        "ports": [{"port": 81, "name": "web", "protocol": "TCP"}, {"port": 53, "name": "dns", "protocol": "UDP"}],
    }
    found = difference(old, new)
    assert lines(found) == [
        ("changed", "image", "a:1", "a:2"),
        ("added", "entrypoint", None, ["run", "--fast"]),
        ("changed", "resourceLimits.cpu", "1", "2"),
        ("added", "resourceRequests.cpu", None, "1"),
        ("changed", "env.A", "1", "2"),
        ("removed", "env.GONE", "x", None),
        ("added", "env.NEW", None, ""),
        ("added", "healthCheck.failureThreshold", None, 3),
        ("added", "healthCheck.initialDelaySeconds", None, 30),
        ("added", "healthCheck.intervalSeconds", None, 10),
        ("added", "healthCheck.path", None, "/healthz"),
        ("added", "healthCheck.port", None, 8080),
        ("added", "healthCheck.timeoutSeconds", None, 5),
        ("added", "healthCheck.type", None, "http"),
        ("added", "ports.53/UDP", None, "dns"),
        ("removed", "ports.80", "web", None),
        ("added", "ports.81", None, "web"),
    ]
    assert found.changed == ("image", "command", "resources", "env", "healthCheck", "ports")
    assert {one.group for one in found.fields} == set(found.changed)
    back = difference(new, old)
    assert [(one.name, one.old, one.new) for one in back.fields] == [
        (one.name, one.new, one.old) for one in found.fields
    ]


def test_a_default_that_is_left_has_its_value_in_the_difference() -> None:
    found = difference(spec(healthCheck=CHECK), spec(healthCheck={**CHECK, "intervalSeconds": 20}))
    assert lines(found) == [("changed", "healthCheck.intervalSeconds", 10, 20)]


def test_ports_in_another_order_are_the_same() -> None:
    ports = [{"port": n, "name": f"p{n}", "protocol": "TCP"} for n in (1, 2)]
    assert difference(spec(ports=ports), spec(ports=ports[::-1])).is_empty


def sealed(secret: str, *names: str) -> dict[str, Any]:
    return spec(secretEnv={"names": list(names), "secret": secret})


@pytest.mark.parametrize(
    ("old", "new", "verdicts", "expected", "changed"),
    [
        (sealed("s-1", "A"), sealed("s-1", "A"), {}, [("A", "unchanged")], ()),
        (sealed("s-1", "A"), sealed("s-1", "A"), {"A": "changed"}, [("A", "changed")], ("env",)),
        (sealed("s-1", "A"), sealed("s-1", "A"), {"A": "unknown"}, [("A", "unknown")], ()),
        (spec(), sealed("s-1", "A"), {}, [("A", "added")], ("env",)),
        (sealed("s-1", "A"), spec(), {}, [("A", "removed")], ("env",)),
        (sealed("s-1", "A"), sealed("s-2", "A"), {}, [("A", "unknown")], ("env",)),
        (
            sealed("s-1", "A", "B", "C"),
            sealed("s-2", "A", "B", "D"),
            {"A": "changed", "B": "unchanged"},
            [("A", "changed"), ("B", "unchanged"), ("C", "removed"), ("D", "added")],
            ("env",),
        ),
        (sealed("s-1", "A"), sealed("s-2", "A"), {"A": "unchanged"}, [("A", "unchanged")], ("env",)),
    ],
)
def test_secrets(
    old: dict[str, Any],
    new: dict[str, Any],
    verdicts: dict[str, str],
    expected: list[tuple[str, str]],
    changed: tuple[str, ...],
) -> None:
    found = difference(old, new, verdicts)
    assert [(one.name, one.verdict) for one in found.secrets] == expected
    assert found.changed == changed
    assert found.fields == ()


def test_only_variables_of_two_secrets_are_unsure() -> None:
    assert unsure_secrets(sealed("s-1", "A", "B"), sealed("s-2", "B", "C")) == ("B",)
    assert unsure_secrets(sealed("s-1", "A"), sealed("s-1", "A")) == ()
    assert unsure_secrets(spec(), sealed("s-1", "A")) == ()


def test_a_plain_variable_that_became_a_secret() -> None:
    found = difference(spec(env={"A": "was plain"}), sealed("s-1", "A"))
    assert found.fields == (Field("env", "env.A", "was plain", None),)
    assert found.secrets == (Secret("A", "added"),)


def cluster_side(
    spec: SandboxSpec, secrets: tuple[str, ...] = (), secret: str = ""
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The objects as the API server gives them back: its defaults filled in, zeros left out."""
    workload = copy.deepcopy(
        stateful_set(PLACEMENT, spec, revision="", secret_env=secrets, secret_name=secret, pull_secret="")
    )
    container = workload["spec"]["template"]["spec"]["containers"][0]
    container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
    for kind in ("livenessProbe", "readinessProbe"):
        if container.get(kind, {}).get("initialDelaySeconds") == 0:
            del container[kind]["initialDelaySeconds"]
    return workload, copy.deepcopy(services.service(PLACEMENT, spec))


def container_of(workload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workload["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("name", list(GOLDEN))
def test_untouched_objects_are_no_drift(name: str) -> None:
    request, secrets = GOLDEN[name]
    spec = read_sandbox(request)
    declared = revision_groups(spec, secrets, "secret-1" if secrets else "")
    live = live_groups(*cluster_side(spec, secrets, "secret-1" if secrets else ""), declared)
    assert difference(declared, live) == difference(declared, declared)
    assert live == declared


@FEWER
@given(requests())
def test_untouched_objects_of_any_sandbox_are_no_drift(request: dict[str, Any]) -> None:
    spec = read_sandbox(request)
    declared = revision_groups(spec)
    assert difference(declared, live_groups(*cluster_side(spec), declared)).is_empty


FULL = {
    **GOLDEN["seed-health-check"][0],
    "env": {"A": "1"},
    "ports": [{"port": 8000, "name": "web"}],
}


def drift(change: Any, *, of_service: bool = False) -> list[str]:
    """Which fields differ after somebody changed the objects by hand."""
    spec = read_sandbox(FULL)
    declared = revision_groups(spec, ("TOKEN",), "secret-1")
    workload, service = cluster_side(spec, ("TOKEN",), "secret-1")
    assert service is not None
    change(service if of_service else container_of(workload))
    found = difference(declared, live_groups(workload, service, declared))
    return [field.name for field in found.fields] + [
        f"{one.name} {one.verdict}" for one in found.secrets if one.verdict != "unchanged"
    ]


def put(path: str, value: Any) -> Any:
    def change(container: dict[str, Any]) -> None:
        *parents, last = path.split("/")
        inner: Any = container
        for part in parents:
            inner = inner[int(part) if part.isdigit() else part]
        inner[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (put("image", "other"), ["image"]),
        (put("command", ["sh"]), ["command", "entrypoint"]),
        (put("args", ["more"]), ["args", "command", "entrypoint"]),
        (put("resources/limits/memory", "3Gi"), ["resourceLimits.memory", "resourceRequests.memory"]),
        (put("resources/requests/cpu", "1m"), ["resourceRequests.cpu"]),
        (put("resources/limits/cpu", "0.5"), []),
        (put("resources/limits/acme.com~gpu", "1"), ["resourceLimits.acme.com~gpu"]),
        (put("livenessProbe/periodSeconds", 77), ["healthCheck.intervalSeconds"]),
        (put("readinessProbe/failureThreshold", 9), ["healthCheck.readinessProbe"]),
        (lambda c: c.update(startupProbe={"exec": {}}), ["healthCheck.startupProbe"]),
        (lambda c: c.pop("readinessProbe"), ["healthCheck.readinessProbe"]),
        (lambda c: c["env"].append({"name": "DEBUG", "value": "1"}), ["env.DEBUG"]),
        (lambda c: c["env"].append({"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}), ["env.NODE"]),
        (lambda c: c.update(envFrom=[{"secretRef": {"name": "more"}}]), ["env.envFrom more"]),
        (put("env/0/value", "/elsewhere"), ["env.HOME"]),
        (lambda c: c["env"].pop(), ["TOKEN removed"]),
        (lambda c: c["env"][-1]["valueFrom"]["secretKeyRef"].update(name="other"), ["TOKEN unknown"]),
        (put("ports/0/containerPort", 8001), ["ports.8000", "ports.8001"]),
        (put("ports/0/name", "other"), ["ports.8000"]),
        (lambda c: c.pop("ports"), ["ports.8000"]),
    ],
)
def test_changes_by_hand_are_drift(change: Any, fields: list[str]) -> None:
    assert drift(change) == fields


@pytest.mark.parametrize("change", [put("livenessProbe/httpGet", None), lambda c: c.pop("livenessProbe")])
def test_a_probe_of_another_kind_is_drift(change: Any) -> None:
    found = drift(change)
    assert found
    assert all(name.startswith("healthCheck.") for name in found)


@pytest.mark.parametrize(
    "change", [put("spec/ports/0/port", 80), put("spec/ports/0/targetPort", 80), put("spec/ports", [])]
)
def test_a_service_changed_by_hand_is_drift(change: Any) -> None:
    found = drift(change, of_service=True)
    assert found
    assert all(name.startswith("ports.") for name in found)
