"""Reading a sandbox: the same thing in every written form is the same spec."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.alias_generators import to_snake

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.document import load_document
from sandbox_components.spec.sandbox import SandboxSpec, check_env_name, check_text, read_sandbox
from sandbox_components.spec.workspace import Workspace
from tests.spec.malformed import BASE

EPHEMERAL = """{
  "image": { "uri": "python:3.12-slim" },
  "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
  "resourceLimits": {
    "cpu": "2",
    "memory": "2Gi"
  }
}"""

PERSISTENT = """{
  "image": { "uri": "python:3.12-slim" },
  "entrypoint": ["/bin/sh", "-c", "python3 -m http.server 8000"],
  "resourceLimits": {
    "cpu": "2",
    "memory": "2Gi"
  },
  "extensions": {
    "persistence": "true",
    "storageClass": "local-path",
    "storageSize": "50Gi"
  }
}"""

SECOND_SEED = """
image: ghcr.io/acme/agent:1.2
command: ./start.sh
resourceLimits:
  cpu: 500m
  memory: 2Gi
volumes:
  - mountPath: /data
healthCheck:
  type: http
  http:
    path: /healthz
    port: 8080
"""

FULL: dict[str, Any] = {
    "image": {"uri": "ghcr.io/acme/agent:1.2"},
    "entrypoint": ["python3", "-m", "agent"],
    "resourceLimits": {"cpu": "2", "memory": "2Gi"},
    "resourceRequests": {"cpu": "500m", "memory": "1Gi"},
    "env": {"GREETING": "hello", "snake_case": "kept"},
    "volumes": [{"mountPath": "/data", "size": "20Gi", "storageClass": "fast", "claimName": "old-workspace"}],
    "healthCheck": {
        "type": "http",
        "http": {"path": "/healthz", "port": 8080},
        "intervalSeconds": 20,
        "initialDelaySeconds": 60,
        "timeoutSeconds": 2,
        "failureThreshold": 5,
    },
    "ports": [{"port": 8080, "name": "web"}, {"port": 53, "protocol": "UDP"}],
    "labels": {"team": "core", "snake_case": "kept"},
    "egress": [{"cidr": "10.0.0.0/8", "exceptCidrs": ["10.1.0.0/16"], "ports": [{"port": 443}]}],
    "runtimeClass": "gvisor",
    "security": "baseline",
    "runAsUser": 0,
    "terminationGracePeriodSeconds": 60,
    "nodeSelector": {"zone": "a", "snake_case": "kept"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
    "imagePullSecrets": ["registry"],
    "imagePullPolicy": "Always",
    "deletion": "delete",
    "waitForReady": True,
    "expose": {"8080": {"visibility": "public", "host": "a.example", "tlsSecret": "tls"}},
    "inference": {"namespace": "inference", "name": "proxy", "port": 8000},
    "spendingLimits": [
        {"period": "month", "limitCents": 5000},
        {"actorType": "org", "actorId": "acme", "period": "day", "timeZone": "Asia/Tokyo", "limitCents": 100},
    ],
    "org": "acme",
    "user": "ann@acme.example",
    "agent": "researcher",
    "keyGeneration": 2,
}
UNREADABLE = set(map(chr, [0, *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF]))
"""What no process can be given through the API server."""
FREE = {"env", "labels", "nodeSelector", "expose"}
"""Mappings whose keys are the user's, not ours."""


def snake(data: Any, free: bool = False) -> Any:
    if isinstance(data, dict):
        return {key if free else to_snake(key): snake(value, key in FREE) for key, value in data.items()}
    return [snake(one) for one in data] if isinstance(data, list) else data


def floats(data: Any) -> Any:
    """Return the same data as Pulumi hands it over: every number a float."""
    if isinstance(data, dict):
        return {key: floats(value) for key, value in data.items()}
    if isinstance(data, list):
        return [floats(one) for one in data]
    return float(data) if isinstance(data, int) and not isinstance(data, bool) else data


def test_the_first_seed() -> None:
    ephemeral = read_sandbox(load_document(EPHEMERAL, "request.json"))
    assert ephemeral.workspace is None
    assert ephemeral.entrypoint == ("/bin/sh", "-c", "python3 -m http.server 8000")
    persistent = read_sandbox(load_document(PERSISTENT, "request.json"))
    assert persistent.workspace == Workspace(size="50Gi", storage_class="local-path", mount_path="/workspace")
    assert persistent.model_copy(update={"workspace": None}) == ephemeral


def test_the_second_seed() -> None:
    spec = read_sandbox(load_document(SECOND_SEED, "request.yaml"))
    assert spec.command == "./start.sh"
    assert spec.resource_limits.cpu == "500m"
    assert spec.workspace == Workspace(mount_path="/data")
    assert spec.health_check.initial_delay_seconds == 30


def test_both_casings_and_floats_are_the_same_spec() -> None:
    spec = read_sandbox(FULL)
    assert read_sandbox(snake(FULL)) == spec
    assert read_sandbox(floats(FULL)) == spec
    assert read_sandbox(snake(floats(FULL))) == spec
    assert spec.env == {"GREETING": "hello", "snake_case": "kept"}
    assert spec.node_selector == {"zone": "a", "snake_case": "kept"}
    assert isinstance(spec.run_as_user, int)


def test_every_field_has_its_key_in_the_full_example() -> None:
    missing = set(SandboxSpec.model_fields) - {to_snake(key) for key in FULL}
    assert missing == {"command", "workspace"}


def test_three_words_for_the_disk() -> None:
    size = {"size": "50Gi", "storageClass": "local-path"}
    extensions = {"persistence": "true", "storageClass": "local-path", "storageSize": "50Gi"}
    specs = [
        read_sandbox({**BASE, "extensions": extensions}),
        read_sandbox({**BASE, "volumes": [{"mountPath": "/workspace", **size}]}),
        read_sandbox({**BASE, "workspace": size}),
        read_sandbox({**BASE, "workspace": {"mount_path": "/workspace/", **size}}),
        read_sandbox({**BASE, "workspace": size, "volumes": None, "extensions": None}),
        read_sandbox({**BASE, "extensions": extensions, "volumes": None}),
        read_sandbox({**BASE, "workspace": Workspace(size="50Gi", storage_class="local-path")}),
    ]
    assert all(spec == specs[0] for spec in specs)
    assert specs[0].workspace is not None


def test_no_disk() -> None:
    for nothing in ({"volumes": []}, {"workspace": None}, {"extensions": {"persistence": "false"}}):
        assert read_sandbox({**BASE, **nothing}) == read_sandbox(BASE)


def test_null_means_left_out() -> None:
    optional = {key: None for key in FULL if key not in ("image", "resourceLimits")}
    required = {key: FULL[key] for key in ("image", "resourceLimits")}
    assert read_sandbox({**optional, **required}) == read_sandbox(required)


def test_image_in_short() -> None:
    assert read_sandbox({**BASE, "image": "python:3.12-slim"}) == read_sandbox(BASE)


@pytest.mark.parametrize(
    "limits", [{"cpu": 2, "memory": 2**31}, {"cpu": 2.0, "memory": "2048Mi"}, {"cpu": "2000m", "memory": "2Gi"}]
)
def test_quantities_are_compared_by_value(limits: dict[str, object]) -> None:
    assert read_sandbox({**BASE, "resourceLimits": limits}) == read_sandbox(BASE)


@pytest.mark.parametrize(
    "path", ["image", "resourceLimits", "healthCheck", "ports/0", "egress/0", "tolerations/0", "volumes/0"]
)
def test_duplicates_in_both_casings(path: str) -> None:
    data = copy.deepcopy(FULL)
    inner: Any = data
    for part in path.split("/"):
        inner = inner[int(part)] if part.isdigit() else inner[part]
    camel = next((key for key in inner if to_snake(key) != key), None)
    if camel is None:
        camel = "someKey"
        inner[camel] = 1
    inner[to_snake(camel)] = inner[camel]
    with pytest.raises(InvalidInput, match=f'is given twice, also as "{camel}"'):
        read_sandbox(data)


@pytest.mark.parametrize("key", [key for key in FULL if to_snake(key) != key])
def test_duplicates_in_both_casings_at_the_top(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_sandbox({**FULL, to_snake(key): FULL[key]})
    assert caught.value.field == to_snake(key)
    assert f'also as "{key}"' in caught.value.problem


def test_the_input_is_left_alone() -> None:
    before = json.dumps(FULL)
    read_sandbox(FULL)
    assert json.dumps(FULL) == before


def test_a_spec_reads_as_itself_again() -> None:
    spec = read_sandbox(FULL)
    assert read_sandbox(spec.model_dump(by_alias=True)) == spec
    assert read_sandbox(spec.model_dump()) == spec


@pytest.mark.parametrize("name", ["A", "_", "a.b-c", "PATH", "A" * 253, "a1"])
def test_env_names(name: str) -> None:
    assert check_env_name(name) == name


@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,20}", fullmatch=True), st.text(), max_size=4))
def test_env_values_are_kept_or_refused_unseen(env: dict[str, str]) -> None:
    try:
        assert read_sandbox({**BASE, "env": env}).env == env
    except InvalidInput as error:
        assert any(re.search("[\\0\x7f-\x9f\u2028\u2029\ufffe\uffff]", value) or _lone(value) for value in env.values())
        assert error.field.removeprefix("env.") in env  # noqa: PT017


def _lone(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def test_texts_that_no_process_can_be_given() -> None:
    assert check_text("x" * 131071, "a") == "x" * 131071
    assert check_text("ä\n$(x)'\"", "a") == "ä\n$(x)'\""
    for text, says in (
        ("\0", "NUL"),
        ("\ud800", "Unicode"),
        ("x" * 131072, "131072 bytes"),
        ("é" * 65536, "131072 bytes"),
    ):
        with pytest.raises(InvalidInput, match=says):
            check_text(text, "a")
