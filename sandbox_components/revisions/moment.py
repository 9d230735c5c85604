"""What `--at` means: a moment, or a day, week, month or year; and what it can't mean.

A text that two readers could take for two moments is refused with a spelling that only one can be: a day in the order
of one country, an hour that the change of the clocks gives twice, a time to come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import show

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?P<time>[T ]\s*\d{2}:\d{2}.*)?", re.IGNORECASE)
_STRETCH = re.compile(r"[^:]*\b(\d+\s*)?(h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(\s+ago)?", re.IGNORECASE)
"""Hours and shorter back from now: the same whatever the clocks on the wall do."""
_EXAMPLES = '"2026-11-29 14:05", "2026-11-29T14:05:00Z", "2 hours ago", "yesterday 14:05", "2026-11-29", "last week"'
_AHEAD = timedelta(minutes=1)
"""Clocks differ a little."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant, or a stretch of time.

    Attributes:
        begin: in UTC.
        end: in UTC, not in it any more; None for an instant.
    """

    begin: datetime
    end: datetime | None = None


def read_moment(text: str, *, now: datetime, zone: tzinfo | None = None, field: str = "--at") -> Moment:
    """Return what a text such as `2026-11-29 14:05`, `2 hours ago` or `yesterday` means.

    A weekday, a date without a year and a time of day are the last ones that were. Days begin at midnight, weeks on
    Monday.

    Args:
        text: in English or as in ISO 8601.
        now: the present, aware.
        zone: of texts that name none; None is this machine's.
        field: to name in errors.

    Raises:
        InvalidInput: it can't be read, can be read in two ways, or is still to come.
    """
    word = " ".join(text.split())
    if not word:
        raise InvalidInput(field, f"is empty, accepted are {_EXAMPLES}")
    try:
        found, period = _iso(word, field) if _ISO.match(word) else _read(word, now, zone, field)
        moment = _instant(found, zone, word, field) if period == "time" else _stretch(found, period, zone)
    except (ValueError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise _no_time(word, field) from None
    if moment.begin > now + _AHEAD:
        raise InvalidInput(field, f'"{text}" is still to come: it means {_stamp(moment.begin)}')
    return moment


def _iso(word: str, field: str) -> tuple[datetime, str]:
    match = _ISO.fullmatch(word)
    if match is None:
        raise _no_time(word, field)
    # "Z" and offsets may stand apart, as people write them.
    spelled = re.sub(r"\s*(UTC|GMT|Z)$", "+00:00", re.sub(r"\s+(?=[+-]\d)", "", word), flags=re.IGNORECASE)
    return datetime.fromisoformat(spelled), "time" if match["time"] else "day"


def _read(word: str, now: datetime, zone: tzinfo | None, field: str) -> tuple[datetime, str]:
    """Read it in the orders of both kinds of countries; they have to agree."""
    if re.fullmatch(r"[-+.\d]*", word) and not re.fullmatch(r"\d{4}|\d{4}-\d{2}|\d+([-.])\d+\1\d+", word):
        raise InvalidInput(field, f'"{word}" is a number, not a time, accepted are {_EXAMPLES}')
    is_stretch = _STRETCH.fullmatch(word) is not None
    base = (now.astimezone(UTC) if is_stretch else now.astimezone(zone)).replace(tzinfo=None)
    answers = {_parsed(word, order, base) for order in ("DMY", "MDY")}
    if len(answers) > 1:
        days = sorted(one[0].date().isoformat() for one in answers if one is not None)
        raise InvalidInput(field, f'"{word}" can be read in two ways: {" or ".join(days)}', suggestions=days)
    (answer,) = answers
    if answer is None or answer[1] == "part_of_day":
        raise _no_time(word, field)
    found, period = answer
    return (found.replace(tzinfo=UTC) if is_stretch and found.tzinfo is None else found), period


def _parsed(word: str, order: str, base: datetime) -> tuple[datetime, str] | None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dateparser.date import DateDataParser

        settings = {
            "RELATIVE_BASE": base,
            "PREFER_DATES_FROM": "past",
            "RETURN_TIME_AS_PERIOD": True,
            "DATE_ORDER": order,
        }
        read = DateDataParser(languages=["en"], settings=settings).get_date_data(word)
    return None if read.date_obj is None else (read.date_obj, str(read.period))


def _instant(found: datetime, zone: tzinfo | None, word: str, field: str) -> Moment:
    if found.tzinfo is not None:
        return Moment(found.astimezone(UTC))
    first, second = (_aware(found.replace(fold=fold), zone) for fold in (0, 1))
    if first != second:
        raise InvalidInput(
            field,
            f'"{word}" falls into the change of the clocks',
            suggestions=[_stamp(one) for one in sorted((first, second))],
        )
    return Moment(first)


def _stretch(found: datetime, period: str, zone: tzinfo | None) -> Moment:
    """Return the whole day, week, month or year that `found` lies in."""
    begin = datetime.combine(found.date(), time())
    if period == "week":
        begin -= timedelta(days=begin.weekday())
        end = begin + timedelta(days=7)
    elif period == "month":
        begin = begin.replace(day=1)
        end = (begin + timedelta(days=31)).replace(day=1)
    elif period == "year":
        begin = begin.replace(month=1, day=1)
        end = begin.replace(year=begin.year + 1)
    else:
        end = begin + timedelta(days=1)
    return Moment(_aware(begin, zone), _aware(end, zone))


def _aware(naive: datetime, zone: tzinfo | None) -> datetime:
    """Return a wall clock's time in UTC; `fold` chooses where the clocks show it twice."""
    return (naive.astimezone() if zone is None else naive.replace(tzinfo=zone)).astimezone(UTC)


def _no_time(word: str, field: str) -> InvalidInput:
    return InvalidInput(field, f"{show(word)} is not a time, accepted are {_EXAMPLES}")


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
