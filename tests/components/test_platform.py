"""The stack's own settings: what they give all sandboxes, and how a wrong one is told."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_components import InvalidInput
from tests.components.nightly import FULL, SMALL, made
from tests.components.recorder import registered_before_error


def test_config_gives_the_defaults() -> None:
    config = {"agentVolumeStorageClass": "abs", "agentVolumeSize": "7Gi", "namespace": "agents"}
    recording = made({**SMALL, "workspace": {}}, config=config)
    claim = recording.one("PersistentVolumeClaim").inputs
    assert claim["spec"]["storageClassName"] == "abs"
    assert claim["spec"]["resources"]["requests"]["storage"] == "7Gi"
    assert claim["metadata"]["namespace"] == "agents"
    mine = made(FULL, config={**config, "agentVolumeStorageClass": "other"}).one("PersistentVolumeClaim").inputs
    assert mine["spec"]["storageClassName"] == "abs"


def test_an_empty_namespace_is_none() -> None:
    assert made(SMALL, config={"namespace": ""}).one("StatefulSet").inputs["metadata"]["namespace"] == "agents-dev"


def test_without_config_the_cluster_decides_on_the_class() -> None:
    claim = made({**SMALL, "workspace": {}}).one("PersistentVolumeClaim").inputs
    assert "storageClassName" not in claim["spec"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "10Gi"


def test_blocked_ranges_are_refused_by_internet_egress() -> None:
    recording = made(SMALL, config={"blockedCidrs": ["203.0.113.0/24", "2001:db8::/32"]})
    v4, v6 = (
        rule["to"][0]["ipBlock"]["except"] for rule in recording.one("NetworkPolicy").inputs["spec"]["egress"][1:]
    )
    assert "203.0.113.0/24" in v4
    assert "2001:db8::/32" in v6


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"namespace": "Not_One"}, "namespace"),
        ({"agentVolumeStorageClass": "No Class"}, "agentVolumeStorageClass"),
        ({"agentVolumeSize": "50GB"}, "agentVolumeSize"),
        ({"blockedCidrs": ["300.0.0.0/8"]}, "blockedCidrs[0]"),
        ({"blockedCidrs": ["0.0.0.0/0"]}, "blockedCidrs[0]"),
        ({"blockedCidrs": "10.0.0.0/8"}, "blockedCidrs"),
    ],
)
def test_wrong_config_is_told_by_its_key(config: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(FULL, config=config)
    assert caught.value.field == f"sandbox-components:{key}"
    assert registered_before_error() == []
