from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import clock
from kernel.clock import day_bounds, format_rfc3339, format_unix, parse_date, parse_unix, period_range
from kernel.text import InvalidValue

# A Wednesday.
NOW = datetime(2026, 3, 4, 15, 30, 20, 123456, tzinfo=UTC)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


def test_now_is_aware_and_in_utc():
    assert clock.now().utcoffset() == timedelta(0)


def test_rfc3339_has_z_and_whole_seconds():
    assert format_rfc3339(NOW) == "2026-03-04T15:30:20Z"
    assert format_rfc3339(at(999, 1, 2)) == "0999-01-02T00:00:00Z"
    assert format_rfc3339(NOW.astimezone(timezone(timedelta(hours=-3)))) == "2026-03-04T15:30:20Z"


def test_formatting_a_naive_time_raises():
    for write in (format_rfc3339, format_unix):
        with pytest.raises(ValueError, match="no zone"):
            write(datetime(2026, 1, 1))  # noqa: DTZ001


def test_format_unix_rounds_down_to_seconds():
    assert format_unix(at(1970, 1, 1)) == "0"
    assert format_unix(NOW) == "1772638220"
    assert format_unix(at(1969, 12, 31, 23, 59, 59, 500000)) == "-1"


@pytest.mark.parametrize("value", [1772638220, "1772638220", "01772638220"])
def test_unix_seconds_are_parsed_from_integers_and_strings(value):
    assert parse_unix(value) == at(2026, 3, 4, 15, 30, 20)


def test_unix_seconds_before_1970_and_at_the_maximum_are_parsed():
    assert parse_unix(-1) == at(1969, 12, 31, 23, 59, 59)
    assert parse_unix("253402300799") == at(9999, 12, 31, 23, 59, 59)


@pytest.mark.parametrize(
    "value", ["", "x", "1.5", 1.5, None, True, "1e9", " 1", "1\n", "+1", "\uff11", [], "1" * 13, "2026-01-01"]
)
def test_an_invalid_unix_time_is_rejected_naming_the_field(value):
    with pytest.raises(InvalidValue, match=r"^time_from is .*expected Unix seconds"):
        parse_unix(value, field="time_from")


@pytest.mark.parametrize("value", ["253402300800", 10**12, 2**63, -(2**63), 10**400, "-99999999999"])
def test_a_unix_time_outside_years_1_to_9999_is_rejected(value):
    with pytest.raises(InvalidValue, match="out of range"):
        parse_unix(value)


@given(st.integers(-62135596800, 253402300799))
def test_unix_times_round_trip(seconds):
    assert format_unix(parse_unix(seconds)) == str(seconds)


def test_a_date_is_parsed():
    assert parse_date("2026-03-04") == date(2026, 3, 4)
    assert parse_date("2024-02-29") == date(2024, 2, 29)


@pytest.mark.parametrize(
    "value",
    ["2026-02-29", "2026-13-01", "0000-01-01", "20260304", "2026-W10-3", "2026-3-4", "04/03/2026", "2026-03-04T00:00:00Z",
     "2026-03-04\n", " 2026-03-04", "\uff12026-03-04", "", None, 20260304],
)  # fmt: skip
def test_an_invalid_date_is_rejected_naming_the_field(value):
    with pytest.raises(InvalidValue, match=r"^created_after is .*; expected a date such as 2026-01-31"):
        parse_date(value, field="created_after")


def test_day_bounds_are_midnight_to_midnight():
    assert day_bounds(date(2026, 2, 28)) == (at(2026, 2, 28), at(2026, 3, 1))


def test_the_maximum_date_has_bounds():
    start, end = day_bounds(date.max)
    assert start == at(9999, 12, 31)
    assert end > start


@pytest.mark.parametrize(
    "names,start,end",
    [
        (("today", "D", "d", "TODAY"), at(2026, 3, 4), at(2026, 3, 5)),
        (("LD",), at(2026, 3, 3), at(2026, 3, 4)),
        (("W",), at(2026, 3, 2), at(2026, 3, 9)),
        (("LW",), at(2026, 2, 23), at(2026, 3, 2)),
        (("this_month", "M"), at(2026, 3, 1), at(2026, 4, 1)),
        (("last_month", "LM"), at(2026, 2, 1), at(2026, 3, 1)),
        (("Y",), at(2026, 1, 1), at(2027, 1, 1)),
        (("LY",), at(2025, 1, 1), at(2026, 1, 1)),
        (("A", "a"), None, None),
    ],
)
def test_a_period_is_a_half_open_range_of_whole_days(names, start, end):
    for name in names:
        assert period_range(name, NOW) == (start, end)


@pytest.mark.parametrize(
    "name,length", [("HH", timedelta(hours=24)), ("HW", timedelta(days=7)), ("HM", timedelta(days=30))]
)
def test_relative_periods_end_at_and_include_now(name, length):
    span = period_range(name, NOW)
    assert span is not None
    start, end = span
    assert start == NOW - length
    assert end is not None
    assert NOW < end <= NOW + timedelta(seconds=1)


def test_month_periods_cross_the_year():
    assert period_range("LM", at(2026, 1, 31)) == (at(2025, 12, 1), at(2026, 1, 1))
    assert period_range("M", at(2025, 12, 31, 23, 59, 59)) == (at(2025, 12, 1), at(2026, 1, 1))
    assert period_range("LM", at(2024, 3, 31)) == (at(2024, 2, 1), at(2024, 3, 1))


def test_the_week_begins_on_monday():
    monday, sunday = at(2026, 3, 2), at(2026, 3, 8, 23, 59, 59)
    for moment in (monday, sunday):
        assert period_range("W", moment) == (at(2026, 3, 2), at(2026, 3, 9))


def test_a_custom_period_includes_both_ends():
    for name in ("custom", "C", "c"):
        assert period_range(name, NOW, at(2026, 1, 1), at(2026, 1, 31, 23, 59, 59)) == (
            at(2026, 1, 1),
            at(2026, 2, 1),
        )


def test_a_custom_period_may_be_open():
    assert period_range("C", NOW) == (None, None)
    assert period_range("C", NOW, at(2026, 1, 1)) == (at(2026, 1, 1), None)
    assert period_range("C", NOW, None, parse_unix("253402300799")) is not None


def test_other_periods_ignore_the_custom_times():
    assert period_range("today", NOW, at(2000, 1, 1), at(2000, 1, 2)) == (at(2026, 3, 4), at(2026, 3, 5))


@pytest.mark.parametrize("name", ["", "X", "DD", "yesterday", " D", "İ"])
def test_an_unknown_period_is_none(name):
    assert period_range(name, NOW) is None


def test_periods_are_in_utc():
    late = datetime(2026, 3, 4, 22, 0, tzinfo=timezone(timedelta(hours=-3)))
    assert period_range("D", late) == (at(2026, 3, 5), at(2026, 3, 6))


@given(st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_consecutive_periods_are_adjacent(moment):
    for this, previous in (("D", "LD"), ("W", "LW"), ("M", "LM"), ("Y", "LY")):
        current, before = period_range(this, moment), period_range(previous, moment)
        assert current is not None, (this, previous)
        assert before is not None, (this, previous)
        assert before[1] == current[0], (this, previous)
        assert current[0] <= moment < current[1], (this, previous)
