"""The clock, the time formats of each API family, and the date ranges of legacy order periods. All times are UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TypeAlias

import orjson

from kernel.text import InvalidValue, repr_value

# A half-open interval (start included, end excluded); None leaves a side unbounded.
TimeRange: TypeAlias = tuple[datetime | None, datetime | None]

BRASILIA = timezone(timedelta(hours=-3))
"""The time of Brasília, in which banks count days; Brazil has no summer time."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TIME = datetime.max.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_UNIX = re.compile(r"-?[0-9]{1,12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def now() -> datetime:
    """Return the current time, aware, in UTC; domain code takes it from the scope instead."""
    return datetime.now(UTC)


def format_rfc3339(time: datetime) -> str:
    """Format a time as the current and app families do: `2026-03-01T12:30:00Z`, fractions of a second dropped."""
    return f"{_to_utc(time).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


RFC3339_SQL = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
"""The same format in SQL, of the expression of a time."""
RFC3339_JSON = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
"""The same format as an option of `orjson`, of times in UTC."""


def format_unix(time: datetime) -> str:
    """Format a time as legacy records do: whole seconds since 1970, as a string."""
    return str((_to_utc(time) - _EPOCH) // _SECOND)


def parse_unix(value: object, *, field: str = "timestamp") -> datetime:
    """Parse seconds since 1970, an integer or its decimal string; raise InvalidValue for anything else and outside years 1-9999."""
    seconds = int(value) if isinstance(value, str) and _UNIX.fullmatch(value) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise InvalidValue(f"{field} is {repr_value(value)}; expected Unix seconds")
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise InvalidValue(f"{field} is out of range; expected Unix seconds within the years 1 to 9999") from error


def parse_date(value: object, *, field: str = "date") -> date:
    """Parse a calendar day written `YYYY-MM-DD`; raise InvalidValue for any other form and for days that don't exist."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass  # raised below, with the message of a wrong form
    raise InvalidValue(f"{field} is {repr_value(value)}; expected a date such as 2026-01-31")


def day_bounds(day: date) -> tuple[datetime, datetime]:
    """Return the start of the day and of the next one, in UTC (for 9999-12-31, which has no next day, the latest datetime)."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return start, _MAX_TIME if day == date.max else start + timedelta(days=1)


def period_range(
    name: str, now: datetime, time_from: datetime | None = None, time_to: datetime | None = None
) -> TimeRange | None:
    """Return the time range of a legacy order period; None for an unknown name (docs/reference/legacy.md#filters).

    Names in either case: `today` or D, LD (yesterday), W and LW (this and the previous week, from Monday), `this_month` or M,
    `last_month` or LM, Y and LY (years), HH, HW and HM (the last 24 hours, 7 and 30 days), A (all). `custom` or C uses `time_from` and
    `time_to`, whole seconds, both included.
    """
    key = name.lower()
    if key in ("custom", "c"):
        return time_from, _inclusive_end(time_to, _SECOND) if time_to else None
    range_at = _PERIODS.get(key)
    return range_at(_to_utc(now)) if range_at else None


def _to_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise ValueError("the time has no zone; expected an aware datetime")
    return time.astimezone(UTC)


def _inclusive_end(time: datetime, resolution: timedelta) -> datetime:
    """Return the exclusive end of a range that includes the time itself."""
    return time + min(resolution, _MAX_TIME - time)


def _days(first: int, length: int) -> Callable[[datetime], TimeRange]:
    """Return the range of `length` whole days that begins `first` days from today."""

    def range_at(time: datetime) -> TimeRange:
        start = time.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=first)
        return start, start + timedelta(days=length)

    return range_at


def _week(offset: int) -> Callable[[datetime], TimeRange]:
    return lambda time: _days(7 * offset - time.weekday(), 7)(time)


def _month_start(months_since_year_0: int) -> datetime:
    year, month = divmod(months_since_year_0, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)


def _month(offset: int) -> Callable[[datetime], TimeRange]:
    def range_at(time: datetime) -> TimeRange:
        number = time.year * 12 + time.month - 1 + offset
        return _month_start(number), _month_start(number + 1)

    return range_at


def _year(offset: int) -> Callable[[datetime], TimeRange]:
    def range_at(time: datetime) -> TimeRange:
        year = time.year + offset
        return _month_start(year * 12), _month_start((year + 1) * 12)

    return range_at


def _last(length: timedelta) -> Callable[[datetime], TimeRange]:
    return lambda time: (time - length, _inclusive_end(time, timedelta(microseconds=1)))


_PERIODS: dict[str, Callable[[datetime], TimeRange]] = {
    "a": lambda time: (None, None),
    "today": _days(0, 1),
    "d": _days(0, 1),
    "ld": _days(-1, 1),
    "w": _week(0),
    "lw": _week(-1),
    "this_month": _month(0),
    "m": _month(0),
    "last_month": _month(-1),
    "lm": _month(-1),
    "y": _year(0),
    "ly": _year(-1),
    "hh": _last(timedelta(hours=24)),
    "hw": _last(timedelta(days=7)),
    "hm": _last(timedelta(days=30)),
}
