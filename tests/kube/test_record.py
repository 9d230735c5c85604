from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.kube.observation import ExitStatus
from sandbox_components.kube.record import Record, read
from tests.kube.objects import statefulset

TIMES = st.none() | st.integers(0, 10**9).map(lambda s: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=s))
TEXTS = st.none() | st.text(min_size=1)


@given(
    st.builds(
        Record,
        mode=st.sampled_from(["Paused", "Running"]),
        by=TEXTS,
        at=TIMES,
        reason=TEXTS,
        generation=st.none() | st.integers(0),
        exit_status=st.none() | st.builds(ExitStatus, st.integers(0, 255), st.none() | st.just("SIGKILL")),
        image_digest=TEXTS,
        started_at=TIMES,
        last_activity_at=TIMES,
        restart_count=st.integers(0),
        last_error=TEXTS,
    )
)
def test_what_is_written_is_read_again(record: Record) -> None:
    assert read(statefulset(0, record=record.dump())) == record


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(str))
def test_what_others_wrote_there_never_breaks_a_reader(content: str) -> None:
    read(statefulset(0, record=content))
    read(statefulset(0, record='{"mode": "Paused", "exitStatus": ' + (content if content.isdigit() else "3") + "}"))
