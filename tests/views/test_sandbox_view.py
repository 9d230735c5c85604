"""The JSON shapes, pinned: fields get added, never renamed or dropped."""

from __future__ import annotations

from typing import Any

from sandbox_components.kube.state import observe
from sandbox_components.operations.doctor import Check, Verdict
from sandbox_components.views.doctor import checks_view
from sandbox_components.views.sandbox import list_view, row_view, sandbox_view
from sandbox_components.views.wire import camel
from tests.kube.objects import DIGEST, NOW, event, pod, running, snapshot, statefulset, terminated

FULL = observe(
    snapshot(
        statefulset(checked=True),
        pod(running(100), checked=True, restarts=2, last=terminated(137, "OOMKilled", finished=101)),
        None,
        event("Started", "Started container agent", level="Normal"),
    ),
    NOW,
)
EMPTY = observe(snapshot(statefulset(0, claim=False)), NOW)


def shape(value: Any) -> Any:
    """Return types instead of values."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


SANDBOX = {
    "schemaVersion": "int",
    "kind": "str",
    "name": "str",
    "namespace": "str",
    "project": "str",
    "stack": "str",
    "operatingMode": "str",
    "state": "str",
    "since": "str",
    "createdAt": "str",
    "image": "str",
    "imageDigest": "str",
    "command": ["str"],
    "resourceLimits": {"cpu": "str", "memory": "str"},
    "resourceRequests": {},
    "agentRunning": "bool",
    "startedAt": "str",
    "lastActivityAt": "str",
    "exitStatus": {"code": "int", "signal": "str"},
    "errorReason": "str",
    "probe": {"status": "str", "restartCount": "int", "lastError": "NoneType"},
    "healthCheck": {
        "path": "str",
        "port": "int",
        "intervalSeconds": "int",
        "initialDelaySeconds": "int",
        "timeoutSeconds": "int",
        "failureThreshold": "int",
    },
    "workspace": {
        "mountPath": "str",
        "claimName": "str",
        "claimUid": "str",
        "phase": "str",
        "size": "str",
        "capacity": "str",
        "storageClass": "str",
        "persistent": "bool",
    },
    "pause": "NoneType",
    "ports": [],
    "endpoints": [],
    "podName": "str",
    "node": "str",
    "podIP": "str",
    "labels": {"team": "str"},
    "inference": "NoneType",
    "events": [
        {"at": "str", "kind": "str", "type": "str", "reason": "str", "message": "str", "count": "int"},
    ],
    "notAllowed": {},
}


def test_the_shape_of_a_sandbox_is_pinned() -> None:
    assert shape(sandbox_view(FULL)) == SANDBOX


def test_the_seeds_fields_have_their_values() -> None:
    view = sandbox_view(FULL)
    assert view["schemaVersion"] == 1
    assert view["kind"] == "Sandbox"
    assert view["agentRunning"] is True
    assert view["startedAt"] == view["lastActivityAt"] == "2026-11-29T11:58:20Z"
    assert view["exitStatus"] == {"code": 137, "signal": "SIGKILL"}
    assert view["probe"] == {"status": "passing", "restartCount": 2, "lastError": None}
    assert view["imageDigest"] == DIGEST
    assert "its limit of 64Mi" in view["errorReason"]


def test_no_key_is_left_out_of_a_paused_and_ephemeral_one() -> None:
    view = sandbox_view(EMPTY)
    assert set(view) == set(SANDBOX)
    assert view["workspace"]["persistent"] is False
    assert view["pause"] == {"by": None, "at": None, "reason": None}
    assert view["exitStatus"] is None
    assert view["events"] == []


def test_a_list_leaves_out_what_takes_a_request_each() -> None:
    view = list_view([FULL, EMPTY])
    assert (view["schemaVersion"], view["kind"], len(view["items"])) == (1, "SandboxList", 2)
    assert set(SANDBOX) - set(view["items"][0]) == {
        "schemaVersion",
        "kind",
        "events",
        "lastActivityAt",
        "notAllowed",
    }
    assert row_view(FULL) == {"schemaVersion": 1, "kind": "Sandbox", **view["items"][0]}


def test_the_shape_of_the_doctors_checks_is_pinned() -> None:
    view = checks_view([Check("python", Verdict.OK, "3.11"), Check("x", Verdict.FAILED, "no", "do y")], is_well=False)
    assert view == {
        "schemaVersion": 1,
        "kind": "Checks",
        "ok": False,
        "checks": [
            {"name": "python", "verdict": "ok", "detail": "3.11", "nextStep": None},
            {"name": "x", "verdict": "failed", "detail": "no", "nextStep": "do y"},
        ],
    }


def test_names_become_camel_case() -> None:
    assert [camel(name) for name in ("name", "last_error", "cluster_ip")] == ["name", "lastError", "clusterIp"]
