"""What a checkpoint says of its sandboxes, in each of its versions; what can't be read is never read as empty."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox_components.revisions.checkpoint_file import read_checkpoint
from sandbox_components.revisions.model import Checkpoint, SandboxState
from sandbox_components.spec.naming import SPEC_ANNOTATION
from sandbox_components.spec.revision import canonical
from tests.revisions.told import spec
from tests.revisions.written import SECRET, checkpoint, deployment, packed, stateful_set

CREATED = "2026-11-29T19:28:44.095584691Z"
TEXT = canonical(spec())


def read(content: Any) -> Checkpoint:
    return read_checkpoint(json.dumps(content).encode())


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_every_version_gives_the_same(version: int, compression: str) -> None:
    content = checkpoint(stateful_set("one", spec()), stateful_set("two", spec("b:2")), version=version)
    found = read_checkpoint(packed(json.dumps(content).encode(), compression))
    two = SandboxState(canonical(spec("b:2")), False, CREATED)
    assert found == Checkpoint({"one": SandboxState(TEXT, False, CREATED), "two": two})


def test_what_an_export_prints() -> None:
    found = read({"version": 3, "deployment": deployment(stateful_set("one", spec()))})
    assert found == Checkpoint({"one": SandboxState(TEXT, False, CREATED)})


def test_indented_as_older_versions_wrote() -> None:
    text = json.dumps(checkpoint(stateful_set("one", spec())), indent=4)
    assert list(read_checkpoint(text.encode()).sandboxes) == ["one"]


@pytest.mark.parametrize(
    "content",
    [
        {"version": 3, "checkpoint": {"stack": "test"}},
        {"version": 3, "checkpoint": {"stack": "test", "latest": None}},
        {"version": 3, "checkpoint": {"stack": "test", "latest": {"manifest": {}, "metadata": {}}}},
        {"version": 4, "features": ["taint"], "checkpoint": {"stack": "test", "latest": {"resources": []}}},
        {"stack": "test", "latest": None},
    ],
)
def test_a_stack_with_nothing_is_empty_without_a_problem(content: Any) -> None:
    assert read(content) == Checkpoint({})


def test_init_errors_are_a_failed_sandbox() -> None:
    found = read(checkpoint(stateful_set("one", spec(), initErrors=["never became ready"])))
    assert found.sandboxes["one"] == SandboxState(TEXT, True, CREATED)
    assert not read(checkpoint(stateful_set("one", spec(), initErrors=[]))).sandboxes["one"].has_failed


def test_states_of_before_2023_have_no_time_of_creation() -> None:
    old = stateful_set("one", spec())
    del old["created"]
    assert read(checkpoint(old)).sandboxes["one"].created_at is None


def test_what_waits_for_its_deletion_is_gone() -> None:
    old, new = stateful_set("one", spec(), delete=True), stateful_set("one", spec("b:2"))
    assert read(checkpoint(new, old)).sandboxes["one"].spec == canonical(spec("b:2"))
    assert read(checkpoint(old)) == Checkpoint({})
    assert read(checkpoint(stateful_set("one", spec(), pendingReplacement=True))) == Checkpoint({})


def test_the_name_is_the_clusters_and_the_stack_in_the_urn_is_not_looked_at() -> None:
    renamed = stateful_set("one", spec())
    renamed["urn"] = renamed["urn"].replace(":test:", ":before-the-rename:")
    assert list(read(checkpoint(renamed)).sandboxes) == ["one"]


def test_others_are_no_sandboxes() -> None:
    foreign = stateful_set("database", spec())
    foreign["urn"] = "urn:pulumi:test::agents::kubernetes:apps/v1:StatefulSet::database"
    del foreign["inputs"]["metadata"]["annotations"][SPEC_ANNOTATION]
    bare = {**foreign, "inputs": {}}
    hidden = {**foreign, "inputs": SECRET}
    assert read(checkpoint(foreign, bare, hidden)) == Checkpoint({})


@pytest.mark.parametrize("where", ["annotation", "annotations", "metadata", "inputs"])
def test_a_sandbox_whose_annotation_is_a_secret_is_there_without_text(where: str) -> None:
    one = stateful_set("one", spec())
    if where == "annotation":
        one["inputs"]["metadata"]["annotations"][SPEC_ANNOTATION] = SECRET
    elif where == "inputs":
        one["inputs"] = SECRET
    else:
        (one["inputs"]["metadata"] if where == "annotations" else one["inputs"])[where] = SECRET
    assert read(checkpoint(one)) == Checkpoint({"one": SandboxState("", False, CREATED)})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"version": 5, "checkpoint": {"latest": {"resources": []}}}, "of version 5, which isn't known here"),
        ({"version": 9, "checkpoint": ["of", "another", "form"]}, "of version 9, which isn't known here"),
        ({"version": -1, "checkpoint": {}}, "of version -1, which isn't known here"),
        (
            {"version": 4, "features": ["views", "zeppelin", "airship"], "checkpoint": {"latest": None}},
            "uses airship, zeppelin, which isn't known here",
        ),
        ({}, "broken"),
        ([], "broken"),
        (None, "broken"),
        ("text", "broken"),
        ({"version": 3}, "broken"),
        ({"version": 3, "checkpoint": None}, "broken"),
        ({"version": "3", "checkpoint": {}}, "broken"),
        ({"version": 3, "checkpoint": {"latest": {"resources": [{"type": 1}]}}}, "broken"),
        ({"version": 3, "latest": {"resources": []}}, "broken"),
    ],
)
def test_what_is_not_understood_is_a_problem(content: Any, problem: str) -> None:
    found = read(content)
    assert found.sandboxes == {}
    assert problem in str(found.problem)


@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_a_file_cut_off_anywhere_is_a_problem(compression: str) -> None:
    whole = packed(json.dumps(checkpoint(stateful_set("one", spec()))).encode(), compression)
    assert read_checkpoint(whole).problem is None
    for length in (*range(0, len(whole) - 1, 7), len(whole) - 1):
        found = read_checkpoint(whole[:length])
        assert str(found.problem).startswith("broken"), length
        assert found.sandboxes == {}


def test_hostile_depth_and_damage_are_problems() -> None:
    deep = b'{"version": 3, "checkpoint": {"latest": {"resources": [{"urn": "u", "type": "t", "inputs": '
    deep += b"[" * 100_000 + b"]" * 100_000 + b"}]}}}"
    assert str(read_checkpoint(deep).problem).startswith("broken")
    data = bytearray(packed(json.dumps(checkpoint(stateful_set("one", spec()))).encode(), "zstd"))
    data[len(data) // 2] ^= 0xFF
    assert str(read_checkpoint(bytes(data)).problem).startswith("broken")
