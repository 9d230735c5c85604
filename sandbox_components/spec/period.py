"""The periods that a limit counts in: calendar days, weeks and months in a stated time zone.

A period is an interval between two instants, and its key names it for ever: counters are keyed by it, so nothing has to
be reset. The periods of a zone follow each other without gap or overlap, also where clocks are put back over midnight:
then a period begins with the first midnight of its day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

PERIODS = ("day", "week", "month")
"""Weeks begin on Monday."""
DEFAULT_ZONE = "UTC"

_ZONE = re.compile(r"[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_NO_ZONES = {"Factory"}


@dataclass(frozen=True, slots=True)
class Period:
    """One day, week or month.

    Attributes:
        key: such as `month:Asia/Tokyo:2026-11`, `week:UTC:2026-W48` or `day:UTC:2026-11-29`.
        begins_at: its first instant, in UTC.
        ends_at: the first instant of the next one, in UTC.
    """

    key: str
    begins_at: datetime
    ends_at: datetime


def check_period(value: object, field: str = "period") -> str:
    """Return the kind of period.

    Raises:
        InvalidInput: it isn't day, week or month.
    """
    if not isinstance(value, str) or value not in PERIODS:
        raise InvalidInput(field, f"{show(value)} is not a period: accepted are {', '.join(PERIODS)}")
    return value


def check_zone(value: object, field: str = "timeZone") -> str:
    """Return the name of a time zone, as the IANA data base spells it.

    Raises:
        InvalidInput: there is none of that name; the nearest names are suggested.
    """
    if isinstance(value, str) and _zone(value) is not None:
        return value
    near: list[str] = []
    if isinstance(value, str):
        spellings = {name.lower(): name for name in available_timezones()}
        near = [spellings[name] for name in get_close_matches(value[:60].lower(), spellings, n=3)]
    raise InvalidInput(
        field, f"{show(value)} is not a time zone: accepted are IANA names such as UTC or Asia/Tokyo", suggestions=near
    )


def period_at(period: str, zone: str, at: datetime) -> Period:
    """Return the period of a kind (`day`, `week`, `month`) and zone that an instant belongs to.

    Raises:
        InvalidInput: the kind or the zone is none.
        ValueError: `at` has no time zone.
    """
    if at.utcoffset() is None:
        raise ValueError("an instant without a time zone belongs to no period")
    place = _zone(check_zone(zone))
    assert place is not None
    begin = _first_day(check_period(period), at.astimezone(place).date())
    found = _period(period, zone, begin)
    if at >= found.ends_at:
        return _period(period, zone, _next(period, begin))
    if at < found.begins_at:
        return _period(period, zone, _first_day(period, begin - timedelta(days=1)))
    return found


@lru_cache(maxsize=4096)
def _period(period: str, zone: str, begin: date) -> Period:
    place = _zone(zone)
    assert place is not None
    label = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}[period]
    key = f"{period}:{zone}:{begin.strftime(label)}"
    return Period(key, _midnight(begin, place), _midnight(_next(period, begin), place))


def _first_day(period: str, day: date) -> date:
    if period == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if period == "week" else day


def _next(period: str, begin: date) -> date:
    if period == "month":
        return date(begin.year + begin.month // 12, begin.month % 12 + 1, 1)
    return begin + timedelta(days=7 if period == "week" else 1)


def _midnight(day: date, place: tzinfo) -> datetime:
    """The first instant of a day. Where clocks skip midnight, that is the instant of the skip."""
    return datetime(day.year, day.month, day.day, tzinfo=place).astimezone(UTC)


@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo | None:
    if name == "UTC":  # also on a machine without the data base
        return UTC
    if len(name) > 60 or name in _NO_ZONES or not _ZONE.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
