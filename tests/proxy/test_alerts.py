"""Events of limits that are near or at their end: when, what they say, once each, and whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest

from sandbox_components.kube import paths
from sandbox_components.ledger.model import Limit, Scope, Standing
from sandbox_components.proxy.alerts import Alerts, event_name, event_of, reached
from tests.kube.api import FakeApi

NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
LIMIT = Limit("nightly-month-1a2b3c4d", Scope("sandbox", "agents/dev/nightly"), "month", 50_000_000)
AT = Standing(LIMIT, 0, 0, datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC))
EVENTS = paths.events("inference")


def spent(nanos: int) -> Standing:
    return replace(AT, used_nanos=nanos)


@pytest.mark.parametrize(
    ("nanos", "threshold"),
    [
        (0, None),
        (39_999_999, None),
        (40_000_000, 80),
        (49_999_999, 80),
        (50_000_000, 100),
        (60_000_000, 100),
    ],
)
def test_thresholds_are_exact(nanos: int, threshold: int | None) -> None:
    assert reached(spent(nanos)) == threshold


def test_a_limit_of_nothing_is_no_news() -> None:
    assert reached(replace(AT, limit=replace(LIMIT, limit_nanos=0))) is None


def test_names_are_the_same_everywhere_and_new_for_what_is_new() -> None:
    one = spent(40_000_000)
    assert event_name(one) == event_name(spent(45_000_000))
    others = [
        spent(50_000_000),
        replace(one, limit=replace(LIMIT, limit_nanos=49_000_000)),
        replace(one, begins_at=datetime(2026, 12, 1, tzinfo=UTC)),
    ]
    names = {event_name(one), *map(event_name, others)}
    assert len(names) == 4
    assert all(name is not None and name.startswith("nightly-month-1a2b3c4d.") for name in names)


def test_what_an_event_says() -> None:
    near = event_of("n", spent(40_000_000), "inference", "uid", NOW)
    assert near["message"] == (
        "agents/dev/nightly has spent $0.04 of $0.05 a month: counting begins anew at 2026-12-01T00:00Z"
    )
    assert (near["reason"], near["type"]) == ("SpendingLimitNear", "Warning")
    org = replace(LIMIT, scope=Scope("org", "acme"))
    full = event_of("n", replace(spent(50_000_000), limit=org), "inference", "uid", NOW)
    assert full["reason"] == "SpendingLimitReached"
    assert full["message"].startswith("org acme has spent $0.05 of $0.05 a month: calls are refused until 2026-12-01")
    assert full["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": LIMIT.id,
        "namespace": "inference",
        "uid": "uid",
    }


class Api(FakeApi):
    """Refuses an Event whose name is taken, as the API server does."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            name = json.loads(request.read())["metadata"]["name"]
            if any(path == EVENTS and body["metadata"]["name"] == name for path, body in self.bodies):
                return httpx2.Response(409, json={"kind": "Status", "message": "already exists", "code": 409})
        return super().handle_request(request)

    @property
    def reasons(self) -> list[str]:
        return [body["reason"] for path, body in self.bodies if path == EVENTS]


def alerts_on(api: FakeApi, problems: list[Exception]) -> Alerts:
    return Alerts(api.cluster, "inference", problems.append)


def with_limit() -> Api:
    api = Api()
    found = {"metadata": {"name": LIMIT.id, "namespace": "inference", "uid": "u-1"}}
    api.put(found, paths.config_maps("inference"))
    return api


def test_each_is_told_once_by_all_replicas_and_after_a_restart() -> None:
    api, problems = with_limit(), list[Exception]()

    async def run() -> None:
        first, second = alerts_on(api, problems), alerts_on(api, problems)
        for one in (first, first, second):
            await one.tell([spent(41_000_000)])
        await first.tell([spent(50_000_000)])
        await second.tell([spent(50_000_000)])
        before = len(api.asked)
        await first.tell([spent(51_000_000)])
        assert len(api.asked) == before

    asyncio.run(run())
    assert api.reasons == ["SpendingLimitNear", "SpendingLimitReached"]
    assert problems == []


def test_a_raised_limit_can_be_neared_anew() -> None:
    api, problems = with_limit(), list[Exception]()

    async def run() -> None:
        alerts = alerts_on(api, problems)
        higher = replace(LIMIT, limit_nanos=100_000_000)
        await alerts.tell([spent(50_000_000)])
        await alerts.tell([replace(spent(50_000_000), limit=higher)])
        await alerts.tell([replace(spent(80_000_000), limit=higher)])

    asyncio.run(run())
    assert api.reasons == ["SpendingLimitReached", "SpendingLimitNear"]


def test_what_goes_wrong_is_told_and_tried_again() -> None:
    api, problems = with_limit(), list[Exception]()
    api.refused[f"POST {EVENTS}"] = (403, "forbidden")

    async def run() -> None:
        alerts = alerts_on(api, problems)
        await alerts.tell([spent(40_000_000)])
        api.refused.clear()
        await alerts.tell([spent(40_000_000)])

    asyncio.run(run())
    assert len(problems) == 1
    assert api.reasons == ["SpendingLimitNear"]


def test_a_limit_whose_config_map_is_gone_is_left() -> None:
    api, problems = Api(), list[Exception]()
    asyncio.run(alerts_on(api, problems).tell([spent(40_000_000)]))
    assert (api.reasons, problems) == ([], [])
