from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from sandbox_components.errors import NotFound, Refused, TimedOut
from sandbox_components.kube import paths
from sandbox_components.kube.objects import dig
from sandbox_components.kube.snapshot import SandboxSnapshot, read_statefulset
from sandbox_components.kube.state import observe
from sandbox_components.kube.wait import wait_ready
from sandbox_components.operations.pause import pause
from sandbox_components.operations.resume import resume
from tests.kube.api import FakeApi
from tests.kube.objects import NAME, NAMESPACE, Json, event, pod, pod_spec, running, starting, unhealthy, waiting
from tests.operations.cluster_side import POD, SET, api_pod, sandbox_in

SOON = timedelta(seconds=10)


def note(api: FakeApi) -> dict[str, object]:
    read = json.loads(api.objects[SET]["metadata"]["annotations"]["sandbox-components/pause"])
    assert isinstance(read, dict)
    return read


def test_pause_scales_by_the_subresource_and_says_who_and_why() -> None:
    api = sandbox_in(FakeApi())
    with api.cluster() as cluster:
        results = pause(cluster, NAMESPACE, [NAME], reason="weekend", timeout=SOON)

    assert [(r.name, r.outcome, r.is_ephemeral) for r in results] == [(NAME, "paused", False)]
    assert api.changes() == [("PATCH", SET), ("PATCH", f"{SET}/scale"), ("PATCH", SET)]
    assert all(params["fieldManager"] == "sandbox-components" for m, _, params in api.asked if m == "PATCH")
    assert (f"{SET}/scale", {"spec": {"replicas": 0}}) in api.bodies
    assert (note(api)["mode"], note(api)["reason"], note(api)["by"]) == ("Paused", "weekend", "default")
    assert POD not in api.objects


def test_the_note_tells_how_the_agent_ended() -> None:
    api = sandbox_in(FakeApi())
    with api.cluster() as cluster:
        pause(cluster, NAMESPACE, [NAME], timeout=SOON)
    assert note(api)["exitStatus"] == {"code": 143, "signal": "SIGTERM"}


@pytest.mark.parametrize("refused", [None, (403, 'User "x" cannot list resource "events"'), (500, "away")])
def test_the_note_tells_why_a_check_failed_last(refused: tuple[int, str] | None) -> None:
    api = sandbox_in(FakeApi())
    api.put(api_pod(pod(running(), checked=True, spec=pod_spec(checked=True), restarts=1)))
    api.put(unhealthy("connection refused"))
    if refused is not None:
        api.refused[f"GET {paths.events(NAMESPACE)}"] = refused
    with api.cluster() as cluster:
        pause(cluster, NAMESPACE, [NAME], timeout=SOON)
        seen = observe(SandboxSnapshot(read_statefulset(cluster, NAMESPACE, NAME)), cluster.now())
    assert seen.probe.last_error == (None if refused else "connection refused")
    assert seen.probe.restart_count == 1


def test_a_pause_that_cannot_note_how_the_agent_ended_is_a_pause() -> None:
    api = sandbox_in(FakeApi())
    inner, told = api.on_scale, []

    def controller(name: str, replicas: int) -> None:
        inner(name, replicas)
        api.refused[f"PATCH {SET}"] = (503, "away")

    api.on_scale = controller
    with api.cluster() as cluster:
        results = pause(cluster, NAMESPACE, [NAME], timeout=SOON, report=lambda _, line: told.append(line))
    assert [r.outcome for r in results] == ["paused"]
    assert "how it ended could not be noted" in told[-1]


def test_who_resumed_it_meanwhile_is_not_forgotten() -> None:
    api = sandbox_in(FakeApi())
    inner = api.on_scale
    resumed = json.dumps({"v": 1, "mode": "Running", "by": "somebody"})

    def controller(name: str, replicas: int) -> None:
        inner(name, replicas)
        api.objects[SET]["metadata"]["annotations"]["sandbox-components/pause"] = resumed

    api.on_scale = controller
    with api.cluster() as cluster:
        pause(cluster, NAMESPACE, [NAME], timeout=SOON)
    assert note(api) == json.loads(resumed)


def test_pausing_twice_changes_nothing_the_second_time() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    with api.cluster() as cluster:
        results = pause(cluster, NAMESPACE, [NAME, NAME], timeout=SOON)
    assert [r.outcome for r in results] == ["already paused"]
    assert api.changes() == []


def test_a_paused_sandbox_whose_pod_still_stops_is_waited_for() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    api.put(api_pod(pod(running(), deleted=1)))
    with api.cluster() as cluster, pytest.raises(TimedOut, match="still there after 1s"):
        pause(cluster, NAMESPACE, [NAME], timeout=timedelta(seconds=1))


def test_a_dry_run_changes_nothing() -> None:
    api = sandbox_in(FakeApi())
    with api.cluster() as cluster:
        assert pause(cluster, NAMESPACE, [NAME], dry_run=True)[0].outcome == "would pause"
        assert resume(cluster, NAMESPACE, [NAME], dry_run=True)[0].outcome == "already running"
    assert api.changes() == []


def test_no_sandbox_is_paused_when_one_of_the_names_is_wrong() -> None:
    api = sandbox_in(FakeApi())
    with api.cluster() as cluster, pytest.raises(NotFound) as caught:
        pause(cluster, NAMESPACE, [NAME, "nightlyy"])
    assert api.changes() == []
    assert caught.value.suggestions == (f"did you mean: {NAME}", f"sandbox list -n {NAMESPACE}")


def test_resume_waits_for_a_new_pod() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    told: list[str] = []
    with api.cluster() as cluster:
        results = resume(cluster, NAMESPACE, [NAME], timeout=SOON, report=lambda _, line: told.append(line))
    assert [(r.name, r.outcome) for r in results] == [(NAME, "resumed")]
    assert note(api)["mode"] == "Running"
    assert told[-1] == "ready"


def test_resume_does_not_take_the_pod_that_is_still_stopping_for_the_new_one() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    api.put(api_pod(pod(running())))
    api.on_scale = lambda name, replicas: None
    with api.cluster() as cluster, pytest.raises(TimedOut):
        resume(cluster, NAMESPACE, [NAME], timeout=timedelta(seconds=1))


def test_resuming_what_runs_changes_nothing() -> None:
    api = sandbox_in(FakeApi())
    with api.cluster() as cluster:
        assert resume(cluster, NAMESPACE, [NAME])[0].outcome == "already running"
    assert api.changes() == []


def test_resume_stops_early_when_it_cannot_come_right() -> None:
    api = sandbox_in(FakeApi(), replicas=0)

    def controller(name: str, replicas: int) -> None:
        api.put(api_pod(starting(waiting("InvalidImageName", "invalid reference format")), "uid-new"))
        api.objects[SET]["status"]["observedGeneration"] = api.objects[SET]["metadata"]["generation"]

    api.on_scale = controller
    with api.cluster() as cluster, pytest.raises(Refused, match="is not an image name") as caught:
        resume(cluster, NAMESPACE, [NAME], timeout=SOON)
    assert caught.value.exit_code == 4
    assert f"sandbox describe {NAME} -n {NAMESPACE}" in caught.value.suggestions


def test_who_crashes_again_and_again_is_not_ready_in_the_moment_that_it_runs() -> None:
    api = sandbox_in(FakeApi(), replicas=0)

    def crashed(seconds_ago: float) -> Json:
        began = datetime.now(UTC) - timedelta(seconds=seconds_ago)
        status = {"running": {"startedAt": began.isoformat()}}
        return api_pod(pod(status, restarts=2), "uid-new")

    def controller(name: str, replicas: int) -> None:
        api.put(crashed(1))
        api.objects[SET]["status"]["observedGeneration"] = api.objects[SET]["metadata"]["generation"]

    api.on_scale = controller
    with api.cluster() as cluster:
        with pytest.raises(TimedOut, match="it has crashed, and hasn't run for 10 s since"):
            resume(cluster, NAMESPACE, [NAME], timeout=timedelta(seconds=2))
        api.put(crashed(11))
        assert wait_ready(cluster, NAMESPACE, [NAME], timeout=SOON)[NAME].probe.restart_count == 2


def test_resume_stops_early_when_quota_refuses_the_pod() -> None:
    api = sandbox_in(FakeApi(), replicas=0)

    def controller(name: str, replicas: int) -> None:
        refusal = event("FailedCreate", "forbidden: exceeded quota: small", kind="StatefulSet")
        refusal["lastTimestamp"] = "2999-01-01T00:00:00Z"
        api.put(refusal)
        api.objects[SET]["status"]["observedGeneration"] = api.objects[SET]["metadata"]["generation"]

    api.on_scale = controller
    with api.cluster() as cluster, pytest.raises(Refused, match="quota leaves no room"):
        resume(cluster, NAMESPACE, [NAME], timeout=SOON)


def test_resume_without_waiting_only_scales() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    with api.cluster() as cluster:
        assert resume(cluster, NAMESPACE, [NAME], wait=False)[0].outcome == "resuming"
    assert dig(api.objects[SET], "spec", "replicas") == 1


@pytest.mark.parametrize("how", [{"wait": False}, {"dry_run": True}])
def test_nobody_says_that_a_sick_one_runs_or_resumes(how: dict[str, bool]) -> None:
    api = sandbox_in(FakeApi())
    api.put(api_pod(pod(waiting("CrashLoopBackOff"), ready=False)))
    with api.cluster() as cluster:
        assert resume(cluster, NAMESPACE, [NAME], **how)[0].outcome == "not paused, not ready"  # type: ignore[arg-type]
    assert api.changes() == []


def test_who_may_not_watch_waits_by_listing() -> None:
    api = sandbox_in(FakeApi())
    api.on_scale = lambda name, replicas: api.objects[SET]["status"].update(observedGeneration=9)

    original = api.handle_request

    def refusing(request):  # type: ignore[no-untyped-def]
        response = original(request)
        if "watch=true" in str(request.url):
            api.objects.pop(POD, None)
            return type(response)(403, json={"message": "no watch"})
        return response

    api.handle_request = refusing  # type: ignore[method-assign]
    with api.cluster() as cluster:
        assert pause(cluster, NAMESPACE, [NAME], timeout=SOON)[0].outcome == "paused"


def test_a_moment_without_the_api_server_ends_no_wait() -> None:
    api = sandbox_in(FakeApi(), replicas=0)
    original = api.on_scale
    lost = iter([True, False, True])

    def controller(name: str, replicas: int) -> None:
        original(name, replicas)
        inner = api.handle_request

        def away(request: httpx2.Request) -> httpx2.Response:
            if request.url.path == SET and next(lost, False):
                raise httpx2.ConnectError("refused")
            return inner(request)

        api.handle_request = away  # type: ignore[method-assign]

    api.on_scale = controller
    told: list[str] = []
    with api.cluster() as cluster:
        resume(cluster, NAMESPACE, [NAME], timeout=SOON, report=lambda _, line: told.append(line))
    assert any("trying again" in line for line in told)
    assert told[-1] == "ready"
