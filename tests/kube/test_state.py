"""A hundred sets of API objects, and what each of them means."""

from __future__ import annotations

import pytest

from sandbox_components.kube.objects import dig
from sandbox_components.kube.observation import State
from sandbox_components.kube.state import observe
from tests.kube.objects import DIGEST, NOW, pod, running, snapshot, statefulset
from tests.kube.state_cases.case import PAUSE, Case
from tests.kube.state_cases.ends import ENDS
from tests.kube.state_cases.images import IMAGES
from tests.kube.state_cases.pauses import PAUSES
from tests.kube.state_cases.runs import RUNS
from tests.kube.state_cases.starts import STARTS

CASES = [*STARTS, *IMAGES, *RUNS, *ENDS, *PAUSES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_objects_mean(case: Case) -> None:
    seen = observe(case.seen, NOW)

    assert seen.state is case.state, seen.error_reason
    if case.reason is None:
        assert seen.error_reason is None
    else:
        assert case.reason in (seen.error_reason or "")
    assert seen.exit_status == case.exit
    assert seen.probe.status is case.probe
    assert seen.probe.restart_count == case.restarts
    assert (seen.diagnosis is not None and seen.diagnosis.is_hopeless) is case.hopeless


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_state_and_facts_agree(case: Case) -> None:
    seen = observe(case.seen, NOW)

    container = dig(case.seen.pod, "status", "containerStatuses", 0)
    assert seen.agent_running is (dig(container, "state", "running") is not None)
    if seen.state is State.PAUSED:
        assert seen.operating_mode == "Paused"
        assert case.seen.pod is None
    if seen.state is State.ERROR:
        assert seen.error_reason
    if seen.is_ready:
        assert seen.agent_running


def test_there_are_at_least_a_hundred_cases_with_different_names() -> None:
    assert len({case.id for case in CASES}) == len(CASES) >= 100


def test_the_digest_is_of_what_runs() -> None:
    assert observe(snapshot(None, pod(running())), NOW).image_digest == DIGEST
    assert observe(snapshot(None, pod(running(), image_id="sha256:" + "0" * 64)), NOW).image_digest is None
    recorded = statefulset(0, record={**PAUSE, "imageDigest": "sha256:12"})
    assert observe(snapshot(recorded), NOW).image_digest == "sha256:12"


def test_the_last_activity_is_the_newer_of_start_and_last_log_line() -> None:
    started = observe(snapshot(None, pod(running(60))), NOW)
    assert started.last_activity_at == started.started_at
    assert observe(snapshot(None, pod(running(60))), NOW, last_log_at=NOW).last_activity_at == NOW


def test_a_paused_sandbox_tells_who_when_and_why() -> None:
    seen = observe(snapshot(statefulset(0, record={**PAUSE, "reason": "weekend"})), NOW)
    assert seen.pause is not None
    assert (seen.pause.by, seen.pause.reason) == ("ada", "weekend")
    assert seen.since == seen.pause.at
    plain = observe(snapshot(statefulset(0)), NOW)
    assert plain.pause is not None
    assert plain.pause.by is None
