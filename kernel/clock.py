"""Tell the time, write and read it in each family's form, and name the periods of the legacy lists. All in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from kernel.text import Malformed as Malformed
from kernel.text import shown

# A half-open stretch of time, first moment included and last excluded; None leaves that side open.
Span: TypeAlias = tuple[datetime | None, datetime | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_UNIX = re.compile(r"-?[0-9]{1,12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def now() -> datetime:
    """Give the present moment, aware, in UTC; domain code takes it from the scope instead."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """Write a moment as current and app families do: `2026-03-01T12:30:00Z`, fractions of a second dropped."""
    return f"{_in_utc(moment).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def unix_text(moment: datetime) -> str:
    """Write a moment as legacy records do: whole seconds since 1970, as a string."""
    return str((_in_utc(moment) - _EPOCH) // _SECOND)


def from_unix(value: object, *, field: str = "timestamp") -> datetime:
    """Read seconds since 1970, an integer or its decimal string; Malformed for anything else and outside years 1-9999."""
    seconds = int(value) if isinstance(value, str) and _UNIX.fullmatch(value) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise Malformed(f"{field} is {shown(value)}; expected Unix seconds")
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise Malformed(
            f"{field} is out of range; expected Unix seconds within the years 1 to 9999"
        ) from error


def parse_date(value: object, *, field: str = "date") -> date:
    """Read a calendar day written `YYYY-MM-DD`; Malformed for any other form and for days that don't exist."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass  # refused below, with the same words as a wrong form
    raise Malformed(f"{field} is {shown(value)}; expected a date such as 2026-01-31")


def day_bounds(day: date) -> tuple[datetime, datetime]:
    """Give the first moment of the day and of the next one, in UTC (of 9999-12-31, which has no next, its last moment)."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return start, _LAST_MOMENT if day == date.max else start + timedelta(days=1)


def period(
    name: str, now: datetime, time_from: datetime | None = None, time_to: datetime | None = None
) -> Span | None:
    """Give the span of a legacy order period, named by the contract's word or CS-Cart's letters in either case.

    `today` or D, LD (yesterday), W and LW (this and the previous week, from Monday), `this_month` or M, `last_month` or LM, Y and
    LY (years), HH, HW and HM (the last 24 hours, 7 and 30 days up to now), A (all). `custom` or C takes `time_from` and
    `time_to`, whole seconds, both included. None for an unknown name.
    """
    wanted = name.lower()
    if wanted in ("custom", "c"):
        return time_from, _just_after(time_to, _SECOND) if time_to else None
    span_at = _PERIODS.get(wanted)
    return span_at(_in_utc(now)) if span_at else None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("the time has no zone; expected an aware datetime")
    return moment.astimezone(UTC)


def _just_after(moment: datetime, resolution: timedelta) -> datetime:
    """Give the end that still includes the moment itself, since spans exclude theirs."""
    return moment + min(resolution, _LAST_MOMENT - moment)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _days(first: int, length: int) -> Callable[[datetime], Span]:
    """Describe `length` whole days that begin `first` days from today."""

    def span_at(moment: datetime) -> Span:
        start = _midnight(moment) + timedelta(days=first)
        return start, start + timedelta(days=length)

    return span_at


def _week(offset: int) -> Callable[[datetime], Span]:
    return lambda moment: _days(7 * offset - moment.weekday(), 7)(moment)


def _month_start(months_since_year_0: int) -> datetime:
    year, month = divmod(months_since_year_0, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)


def _month(offset: int) -> Callable[[datetime], Span]:
    def span_at(moment: datetime) -> Span:
        number = moment.year * 12 + moment.month - 1 + offset
        return _month_start(number), _month_start(number + 1)

    return span_at


def _year(offset: int) -> Callable[[datetime], Span]:
    def span_at(moment: datetime) -> Span:
        year = moment.year + offset
        return _month_start(year * 12), _month_start((year + 1) * 12)

    return span_at


def _last(length: timedelta) -> Callable[[datetime], Span]:
    return lambda moment: (moment - length, _just_after(moment, timedelta(microseconds=1)))


_PERIODS: dict[str, Callable[[datetime], Span]] = {
    "a": lambda moment: (None, None),
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
