"""What an entry says, and what of its config is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox_components.revisions.compression import BrokenFile
from sandbox_components.revisions.entry_file import PINS, read_entry
from sandbox_components.revisions.model import Entry
from tests.revisions.written import packed

PLAIN: dict[str, Any] = {
    "kind": "update",
    "startTime": 1_795_980_520,
    "message": "image 2",
    "environment": {
        "git.head": "0fbc",
        "ci.system": "GitHub Actions",
        "exec.kind": "cli",
        "pulumi.version": "v3.274.1",
        "pulumi.env.PULUMI_CONFIG_PASSPHRASE": "set",
        "pulumi.flag.yes": "true",
        "runtime.executable": "/usr/bin/python",
        "vcs.owner": "acme",
    },
    "config": {"sandbox-components:namespace": "agents"},
    "version": 0,
    "result": "succeeded",
    "endTime": 1_795_980_524,
    "resourceChanges": {"same": 3, "update": 1},
}
EXPECTED = Entry(
    id="17",
    kind="update",
    result="succeeded",
    started_at=datetime(2026, 11, 29, 19, 28, 40, tzinfo=UTC),
    ended_at=datetime(2026, 11, 29, 19, 28, 44, tzinfo=UTC),
    message="image 2",
    environment={
        "git.head": "0fbc",
        "ci.system": "GitHub Actions",
        "exec.kind": "cli",
        "pulumi.version": "v3.274.1",
    },
    changes={"same": 3, "update": 1},
)


def read(**changes: Any) -> Entry:
    return read_entry("17", json.dumps(PLAIN | changes).encode())


@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_an_entry(compression: str) -> None:
    assert read_entry("17", packed(json.dumps(PLAIN).encode(), compression)) == EXPECTED


def test_what_old_or_bare_entries_leave_out() -> None:
    bare = {"kind": "refresh", "startTime": 1, "endTime": 2, "result": "failed", "environment": None, "config": None}
    found = read_entry("1", json.dumps(bare).encode())
    assert (found.message, found.environment, found.changes, found.pins) == ("", {}, None, {})


def test_pins_are_kept_and_nothing_else_of_the_config() -> None:
    pin = {"revision": 2, "id": "16", "spec": {"v": 1, "image": {"uri": "a:1"}}, "by": "ops", "at": "2026-11-29T20:00Z"}
    hidden = {"sandbox-components:secretEnv": {"one": {"TOKEN": {"secure": "v1:canary"}}}, "app:key": "canary"}
    found = read(config={**hidden, PINS: {"one": pin}})
    assert found.pins == {"one": pin}
    assert "canary" not in repr(found)
    assert read(config={PINS: json.dumps({"one": pin})}).pins == {"one": pin}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"secure": "v1:canary"}, {}),
        ({"one": {"secure": "v1:canary"}}, {}),
        (
            {"one": {"id": "1", "spec": {"env": [{"secure": "v1:canary"}]}}},
            {"one": {"id": "1", "spec": {"env": [None]}}},
        ),
        ({"one": {"id": "1", "note": {"secure": "v1:canary"}}}, {"one": {"id": "1", "note": None}}),
        ({"one": "text"}, {}),
        ("text", {}),
        ("", {}),
        (None, {}),
        ([1], {}),
    ],
)
def test_odd_pins(value: Any, expected: Any) -> None:
    found = read(config={PINS: value}).pins
    assert found == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        json.dumps(PLAIN | {"startTime": "yesterday"}).encode(),
        json.dumps(PLAIN | {"endTime": 10**30}).encode(),
        json.dumps(PLAIN | {"endTime": 10**17}).encode(),
        json.dumps(PLAIN | {"resourceChanges": {"same": "three"}}).encode(),
        json.dumps(PLAIN)[:-1].encode(),
        packed(json.dumps(PLAIN).encode(), "gzip")[:-9],
        packed(json.dumps(PLAIN).encode(), "zstd")[:-1],
        b"[" * 100_000,
    ],
)
def test_broken_entries(data: bytes) -> None:
    with pytest.raises(BrokenFile, match="broken"):
        read_entry("17", data)
