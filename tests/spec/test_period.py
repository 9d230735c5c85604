"""Periods: their ends in zones with and without clock changes, and that they leave no instant out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.period import PERIODS, Period, check_period, check_zone, period_at


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("period", "zone", "instant", "key", "begins", "ends"),
    [
        ("month", "UTC", "2026-11-29T12:00", "2026-11", "2026-11-01T00:00", "2026-12-01T00:00"),
        ("month", "UTC", "2026-12-31T23:59:59.999999", "2026-12", "2026-12-01T00:00", "2027-01-01T00:00"),
        ("month", "UTC", "2027-01-01T00:00", "2027-01", "2027-01-01T00:00", "2027-02-01T00:00"),
        ("month", "UTC", "2028-02-29T08:00", "2028-02", "2028-02-01T00:00", "2028-03-01T00:00"),
        ("month", "Asia/Tokyo", "2026-11-30T14:59:59", "2026-11", "2026-10-31T15:00", "2026-11-30T15:00"),
        ("month", "Asia/Tokyo", "2026-11-30T15:00", "2026-12", "2026-11-30T15:00", "2026-12-31T15:00"),
        ("month", "America/New_York", "2026-11-01T03:59:59", "2026-10", "2026-10-01T04:00", "2026-11-01T04:00"),
        # November in New York begins in summer time and ends in winter time, an hour longer than 30 days.
        ("month", "America/New_York", "2026-11-01T04:00", "2026-11", "2026-11-01T04:00", "2026-12-01T05:00"),
        ("month", "America/New_York", "2026-03-08T07:00", "2026-03", "2026-03-01T05:00", "2026-04-01T04:00"),
        ("week", "UTC", "2026-11-29T23:59", "2026-W48", "2026-11-23T00:00", "2026-11-30T00:00"),
        ("week", "UTC", "2026-11-30T00:00", "2026-W49", "2026-11-30T00:00", "2026-12-07T00:00"),
        ("week", "UTC", "2027-01-02T00:00", "2026-W53", "2026-12-28T00:00", "2027-01-04T00:00"),
        ("week", "Asia/Tokyo", "2026-11-29T15:00", "2026-W49", "2026-11-29T15:00", "2026-12-06T15:00"),
        ("week", "America/New_York", "2026-11-01T05:30", "2026-W44", "2026-10-26T04:00", "2026-11-02T05:00"),
        ("week", "America/New_York", "2026-03-08T06:59", "2026-W10", "2026-03-02T05:00", "2026-03-09T04:00"),
        # The days on which clocks change have 25 and 23 hours; both of the hours called 01:30 are on the same day.
        ("day", "America/New_York", "2026-11-01T05:30", "2026-11-01", "2026-11-01T04:00", "2026-11-02T05:00"),
        ("day", "America/New_York", "2026-11-01T06:30", "2026-11-01", "2026-11-01T04:00", "2026-11-02T05:00"),
        ("day", "America/New_York", "2026-03-08T12:00", "2026-03-08", "2026-03-08T05:00", "2026-03-09T04:00"),
        ("day", "Asia/Kathmandu", "2026-11-29T18:15", "2026-11-30", "2026-11-29T18:15", "2026-11-30T18:15"),
        # Midnight is skipped: the day begins at one o'clock.
        ("day", "America/Sao_Paulo", "2018-11-04T03:00", "2018-11-04", "2018-11-04T03:00", "2018-11-05T02:00"),
        # Put back over midnight: the first midnight counts, and the hour that comes again belongs to the new day.
        ("day", "America/St_Johns", "2010-11-07T02:45", "2010-11-07", "2010-11-07T02:30", "2010-11-08T03:30"),
        # A day that was left out of the calendar is in no period.
        ("day", "Pacific/Apia", "2011-12-30T10:00", "2011-12-31", "2011-12-30T10:00", "2011-12-31T10:00"),
    ],
)
def test_ends(period: str, zone: str, instant: str, key: str, begins: str, ends: str) -> None:
    assert period_at(period, zone, at(instant)) == Period(f"{period}:{zone}:{key}", at(begins), at(ends))


def test_the_zone_of_the_instant_does_not_matter() -> None:
    here = datetime(2026, 12, 1, 8, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert period_at("month", "UTC", here).key == "month:UTC:2026-11"
    with pytest.raises(ValueError, match="time zone"):
        period_at("month", "UTC", datetime(2026, 12, 1))


NO_ZONES = ("Factory", "localtime")
"""Names among the machine's files that are no zones of the data base."""
ZONES = sorted(set(available_timezones()).difference(NO_ZONES))


@given(
    st.sampled_from(PERIODS),
    st.sampled_from(ZONES),
    st.datetimes(datetime(1950, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC)),
)
@example("day", "America/St_Johns", at("2010-11-07T03:00"))
@example("day", "Pacific/Apia", at("2011-12-30T09:59:59"))
@example("day", "Pacific/Kwajalein", at("1993-08-21T00:00"))
@example("week", "Africa/Cairo", at("2026-04-30T22:00"))
@example("day", "America/Toronto", at("1950-04-30T05:00"))
def test_every_instant_is_in_one_period_and_periods_touch(period: str, zone: str, instant: datetime) -> None:
    found = period_at(period, zone, instant)
    assert found.begins_at <= instant < found.ends_at
    assert period_at(period, zone, found.begins_at) == found
    assert period_at(period, zone, found.ends_at - timedelta(microseconds=1)) == found
    assert period_at(period, zone, found.ends_at).begins_at == found.ends_at
    before = period_at(period, zone, found.begins_at - timedelta(microseconds=1))
    assert before.ends_at == found.begins_at
    assert before.key != found.key


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"])
def test_zones(zone: str) -> None:
    assert check_zone(zone) == zone


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Asia/tokyo", "Asia/Tokyo"),
        ("utc", "UTC"),
        ("america/new york", "America/New_York"),
        ("Asia/Tokio", "Asia/Tokyo"),
    ],
)
def test_no_zone_but_one_near(zone: str, near: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_zone(zone)
    assert near in caught.value.suggestions
    assert caught.value.field == "timeZone"


NEVER: list[object] = [
    "",
    " ",
    "/etc/passwd",
    "../UTC",
    "Asia/../UTC",
    "localtime",
    "posixrules",
    "right/UTC",
    "Factory",
]
NEVER += ["A" * 5000, "Asia", "UTC\n", "Mars/Base", None, 9, True, ["UTC"], "posix/UTC", "tzdata.zi"]


@pytest.mark.parametrize("zone", NEVER)
def test_no_zone(zone: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_zone(zone)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("seen", ["Month", "year", "", None, 1, ["day"]])
def test_no_period(seen: object) -> None:
    with pytest.raises(InvalidInput, match="day, week, month"):
        check_period(seen)
