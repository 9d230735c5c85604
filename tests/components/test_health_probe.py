"""`HealthProbe` alone: it makes no object and yields the container's probes."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from sandbox_components import HealthProbe, InvalidInput
from tests.components.recorder import Recording, record, registered_before_error


def made(args: Any) -> Recording:
    def program() -> pulumi.Output[Any]:
        one = HealthProbe("web", args)
        return pulumi.Output.all(one.liveness_probe, one.readiness_probe)

    return record(program)


def test_probes_with_the_documented_defaults() -> None:
    recording = made({"type": "http", "http": {"path": "/healthz", "port": 8080.0}})
    assert recording.names == ["sandbox-components:index:HealthProbe::web"]
    get = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}}
    liveness, readiness = recording.result
    assert liveness == {
        **get,
        "periodSeconds": 10,
        "initialDelaySeconds": 30,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
        "successThreshold": 1,
    }
    assert readiness["httpGet"] == get["httpGet"]
    assert "initialDelaySeconds" not in readiness


def test_none_yields_none() -> None:
    assert made({"type": "none"}).result == [None, None]


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"type": "tcp"}, "web.type"),
        ({"type": "http"}, "web.http"),
        ({"type": "http", "http": {"path": "x", "port": 1}}, "web.http.path"),
        ({"type": "http", "http": {"path": "/", "port": 0}}, "web.http.port"),
        ({"type": "http", "http": {"path": "/", "port": 80}, "interval_seconds": 3601}, "web.intervalSeconds"),
        ({"type": "none", "timeout_seconds": 5}, "web.type"),
        (None, "web"),
    ],
)
def test_nothing_is_registered_for_wrong_arguments(args: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        made(args)
    assert caught.value.field == field
    assert registered_before_error() == []
