"""A time zone for limits in which no period ends while a test runs: days, weeks and months end at midnight."""

from __future__ import annotations

from datetime import UTC, datetime

from sandbox_components.spec.period import DEFAULT_ZONE


def zone(now: datetime | None = None) -> str:
    """Return a zone in which it is about noon; the default one for as long as it has hours before it."""
    hour = (now or datetime.now(UTC)).hour
    if hour < 20:
        return DEFAULT_ZONE
    return f"Etc/GMT+{hour - 12}"  # POSIX's sign: this many hours behind UTC
