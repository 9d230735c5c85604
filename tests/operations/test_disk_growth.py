"""A disk never shrinks: `update` says so where it knows both sizes, before anything is run."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml.comments import CommentedMap

from sandbox_components.errors import InvalidInput
from sandbox_components.operations.config_file import SANDBOXES
from sandbox_components.operations.declare import update

SIZE = "sandbox-components:agentVolumeSize"


def config(volume: dict[str, Any] | None, **settings: Any) -> CommentedMap:
    entry: dict[str, Any] = {"image": {"uri": "a:1"}, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}
    if volume is not None:
        entry["volumes"] = [volume]
    return CommentedMap({**settings, SANDBOXES: CommentedMap({"nightly": CommentedMap(entry)})})


def sized(found: CommentedMap, size: str | None, door: str = "") -> None:
    volume = {"mountPath": "/data"} | ({} if size is None else {"size": size})
    update("nightly", lambda entry: {**entry, "volumes": [volume]}, {}, set(), door)(found)


@pytest.mark.parametrize(
    ("before", "settings", "after", "door", "says"),
    [
        ("10Gi", {}, "5Gi", "", '--size: "5Gi" is less than the 10Gi that the disk of nightly has'),
        ("10Gi", {}, "9.5Gi", "request", "request.volumes[0].size: "),
        ("10Gi", {SIZE: "50Gi"}, "9Gi", "", "than the 10Gi"),
        (None, {SIZE: "50Gi"}, "20Gi", "", "than the 50Gi"),
        (None, {}, "1Gi", "", "than the 10Gi"),
        ("20Gi", {}, None, "", '"10Gi" is less than the 20Gi'),
    ],
)
def test_smaller_is_refused(
    before: str | None, settings: dict[str, Any], after: str | None, door: str, says: str
) -> None:
    found = config({"mountPath": "/data"} | ({} if before is None else {"size": before}), **settings)
    written = repr(found)
    with pytest.raises(InvalidInput) as caught:
        sized(found, after, door)
    assert says in str(caught.value)
    assert repr(found) == written


@pytest.mark.parametrize(("before", "after"), [("10Gi", "10240Mi"), ("10Gi", "11Gi"), (None, "10Gi")])
def test_equal_and_larger_are_fine(before: str | None, after: str) -> None:
    sized(config({"mountPath": "/data"} | ({} if before is None else {"size": before})), after)


@pytest.mark.parametrize(
    "volume", [None, {"mountPath": "/data", "existingClaim": "theirs"}, {"mountPath": "nowhere", "size": "10Gi"}]
)
def test_where_no_size_is_known_nothing_is_refused(volume: dict[str, Any] | None) -> None:
    sized(config(volume), "1Gi")
