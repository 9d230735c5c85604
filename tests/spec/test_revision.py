"""The canonical text changes exactly when one of the six groups does."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.revision import LARGEST_BYTES, canonical, check_size, parse, revision_groups
from sandbox_components.spec.sandbox import read_sandbox
from tests.spec.malformed import BASE, REMOVED, changed
from tests.spec.test_sandbox import FULL, floats, snake


def text_of(data: Any, secret_env: tuple[str, ...] = (), secret_name: str = "") -> str:
    return canonical(revision_groups(read_sandbox(data), secret_env, secret_name))


def put(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    result = copy.deepcopy(data)
    inner: Any = result
    *parents, last = path.split("/")
    for part in parents:
        inner = inner[int(part)] if part.isdigit() else inner[part]
    if value is REMOVED:
        inner.pop(int(last) if last.isdigit() else last)
    elif isinstance(inner, list):
        inner.insert(int(last), value)
    else:
        inner[last] = value
    return result


CHANGES_THE_TEXT = [
    ("image/uri", "ghcr.io/acme/agent:1.3"),
    ("entrypoint", ["python3", "-m", "agent", ""]),
    ("entrypoint", ["python3 -m", "agent"]),
    ("entrypoint", REMOVED),
    ("resourceLimits/cpu", "2001m"),
    ("resourceLimits/memory", "2G"),
    ("resourceRequests/cpu", "501m"),
    ("resourceRequests/memory", REMOVED),
    ("resourceRequests", REMOVED),
    ("env/GREETING", "hello "),
    ("env/MORE", ""),
    ("env/GREETING", REMOVED),
    ("env", REMOVED),
    ("healthCheck/http/path", "/health"),
    ("healthCheck/http/port", 8081),
    ("healthCheck/intervalSeconds", 21),
    ("healthCheck/initialDelaySeconds", 61),
    ("healthCheck/timeoutSeconds", 3),
    ("healthCheck/failureThreshold", 6),
    ("healthCheck", REMOVED),
    ("ports/0/name", "http"),
    ("ports/1/protocol", "TCP"),
    ("ports/1/port", 54),
    ("ports/1", REMOVED),
    ("ports/2", {"port": 9090}),
]
LEAVES_THE_TEXT = [
    ("volumes", REMOVED),
    ("volumes/0/mountPath", "/other"),
    ("volumes/0/size", "30Gi"),
    ("volumes/0/storageClass", REMOVED),
    ("labels", {}),
    ("labels/team", "other"),
    ("egress", "none"),
    ("egress", REMOVED),
    ("runtimeClass", REMOVED),
    ("runAsUser", 1000),
    ("terminationGracePeriodSeconds", 5),
    ("nodeSelector", {}),
    ("tolerations", []),
    ("imagePullSecrets", []),
    ("imagePullPolicy", "Never"),
    ("deletion", "protect"),
    ("waitForReady", False),
    ("expose", {}),
    # the same said otherwise
    ("image", "ghcr.io/acme/agent:1.2"),
    ("resourceLimits/cpu", 2),
    ("resourceLimits/cpu", 2.0),
    ("resourceLimits/memory", "2048Mi"),
    ("resourceRequests/cpu", 0.5),
    ("ports/1/name", "port-53-udp"),
    ("ports/0/protocol", "TCP"),
]


@pytest.mark.parametrize(("path", "value"), CHANGES_THE_TEXT)
def test_a_change_of_the_six_groups(path: str, value: object) -> None:
    assert text_of(put(FULL, path, value)) != text_of(FULL)


@pytest.mark.parametrize(("path", "value"), LEAVES_THE_TEXT)
def test_what_is_no_revision(path: str, value: object) -> None:
    assert text_of(put(FULL, path, value)) == text_of(FULL)


def test_security_is_no_revision() -> None:
    assert text_of(put(put(FULL, "runAsUser", 1), "security", "restricted")) == text_of(FULL)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("healthCheck", {"type": "none"}),
        ("healthCheck", {}),
        ("ports", []),
        ("env", {"TOKEN": BASE["env"]["TOKEN"]}),
        ("resourceRequests", {}),
        ("resourceRequests", {"cpu": 2}),
        ("resourceRequests", {"cpu": "2000m", "memory": "2Gi"}),
        ("egress", "internet"),
        ("terminationGracePeriodSeconds", 30),
        ("security", "restricted"),
    ],
)
def test_a_default_written_out_is_no_change(path: str, value: object) -> None:
    assert text_of(changed(path, value)) == text_of(BASE)


def test_probe_defaults_written_out() -> None:
    probe = {"type": "http", "http": {"path": "/", "port": 80}}
    full = {**probe, "intervalSeconds": 10.0, "initialDelaySeconds": 30, "timeoutSeconds": 5, "failureThreshold": 3}
    assert text_of(changed("healthCheck", probe)) == text_of(changed("healthCheck", full))
    assert revision_groups(read_sandbox(changed("healthCheck", full)))["healthCheck"] == probe


def test_every_writing_has_one_text() -> None:
    assert text_of(snake(FULL)) == text_of(FULL)
    assert text_of(floats(FULL)) == text_of(FULL)
    assert text_of(put(FULL, "ports", FULL["ports"][::-1])) == text_of(FULL)


def shuffled(data: Any, by: random.Random) -> Any:
    if isinstance(data, dict):
        items = [(key, shuffled(value, by)) for key, value in data.items()]
        by.shuffle(items)
        return dict(items)
    return data


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_order_of_keys_is_irrelevant(by: random.Random) -> None:
    assert text_of(shuffled(FULL, by)) == text_of(FULL)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([*CHANGES_THE_TEXT, *LEAVES_THE_TEXT]), max_size=3))
def test_texts_are_equal_exactly_when_the_groups_are(steps: list[tuple[str, object]]) -> None:
    data = FULL
    for path, value in steps:
        try:
            data = put(data, path, value)
            read_sandbox(data)
        except (InvalidInput, KeyError, IndexError):
            return
    ours, base = read_sandbox(data), read_sandbox(FULL)

    def groups(spec: Any) -> tuple[Any, ...]:
        requests = {
            kind: getattr(spec.resource_requests, kind) or getattr(spec.resource_limits, kind)
            for kind in ("cpu", "memory")
        }
        ports = {(port.port, port.port_name, port.protocol) for port in spec.ports}
        return (
            spec.image,
            (spec.entrypoint, spec.command),
            (spec.resource_limits, requests),
            spec.env,
            spec.health_check,
            ports,
        )

    assert (text_of(data) == text_of(FULL)) == (groups(ours) == groups(base))


def test_command_and_entrypoint_differ() -> None:
    line = changed("entrypoint", REMOVED) | {"command": "agent"}
    assert text_of(line) != text_of(changed("entrypoint", ["agent"]))


def test_secrets_are_names_only() -> None:
    spec = read_sandbox(BASE)
    one = canonical(revision_groups(spec, ("B", "A"), "nightly-1a2b"))
    assert one == canonical(revision_groups(spec, ("A", "B"), "nightly-1a2b"))
    assert parse(one)["secretEnv"] == {"names": ["A", "B"], "secret": "nightly-1a2b"}
    assert one != canonical(revision_groups(spec, ("A", "B"), "nightly-3c4d"))


def test_the_text_is_compact_and_exact() -> None:
    text = text_of(changed("env", {"A": 'ä"\n\u2060'}))
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert parse(text)["env"] == {"A": 'ä"\n\u2060'}
    assert text.startswith('{"command":')
    assert json.loads(text)["v"] == 1


def test_golden_text() -> None:
    assert text_of(BASE) == (
        '{"command":{"entrypoint":["/bin/sh","-c","python3 -m http.server 8000"]},"env":{"TOKEN":"s3cr3t-never-shown"},'
        '"image":{"uri":"python:3.12-slim"},"resources":{"limits":{"cpu":"2","memory":"2Gi"}},"v":1}'
    )


def test_over_200_KiB_is_refused() -> None:
    def spec(size: int) -> Any:
        return read_sandbox(changed("env", {"A": "x" * 100_000, "B": "x" * size}))

    room = LARGEST_BYTES - len(canonical(revision_groups(spec(1)))) + 1
    check_size(spec(room))
    with pytest.raises(
        InvalidInput, match=f"has|have {LARGEST_BYTES + 1} bytes together, at most {LARGEST_BYTES}"
    ) as caught:
        check_size(spec(room + 1), (), "sandboxes.nightly")
    assert caught.value.field == "sandboxes.nightly"
    assert "xxx" not in str(caught.value)
    with pytest.raises(InvalidInput):
        check_size(spec(room), ("TOKEN",))
    wide = read_sandbox(changed("env", {"A": "é" * 60_000, "B": "é" * 60_000}))
    with pytest.raises(InvalidInput):
        check_size(wide)


@pytest.mark.parametrize(
    ("text", "says"), [("", "is not JSON"), ("{", "is not JSON"), ("[]", "version 1"), ('{"v":2}', "a newer package")]
)
def test_texts_that_are_not_ours(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse(text)
