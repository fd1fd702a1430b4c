"""When a delivery is tried again, and when an endpoint gets a rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from domain.webhooks.schedule import (
    BREAKS_AFTER,
    GIVEN_UP_AFTER,
    LONGEST_REST,
    PAUSES,
    EndpointHealth,
    pause_after,
    retry_after,
)

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
DECIDED = ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"]
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


def test_the_schedule_is_the_decided_one() -> None:
    assert list(PAUSES) == [timedelta(**{_UNITS[text[-1]]: int(text[:-1])}) for text in DECIDED]


@pytest.mark.parametrize("tries", range(1, 10))
def test_pauses_vary_by_a_fifth(tries: int) -> None:
    pause = PAUSES[tries - 1]
    assert pause_after(tries, chance=0.0) == pause * 0.8
    assert pause_after(tries, chance=0.5) == pause
    assert pause_after(tries, chance=1.0) == pause * 1.2
    drawn = {pause_after(tries) for _ in range(50)}
    assert len(drawn) > 10
    assert all(each is not None and pause * 0.8 <= each <= pause * 1.2 for each in drawn)


def test_after_the_tenth_try_there_is_no_other() -> None:
    assert pause_after(9) is not None
    assert pause_after(10) is None
    assert pause_after(10, timedelta(seconds=1)) is None


def test_a_receiver_that_asks_for_longer_gets_it() -> None:
    assert pause_after(1, timedelta(seconds=90), chance=0.5) == timedelta(seconds=90)
    assert pause_after(2, timedelta(seconds=90), chance=0.5) == timedelta(minutes=5)


@pytest.mark.parametrize(
    "status, header, seconds",
    [
        (429, "120", 120),
        (503, " 7 ", 7),
        (503, "0", 0),
        (429, "99999999999999999999", 86_400),
        (503, format_datetime(NOW + timedelta(minutes=3), usegmt=True), 180),
        (503, format_datetime(NOW - timedelta(minutes=3), usegmt=True), 0),
        (500, "120", None),
        (429, None, None),
        (429, "", None),
        (429, "soon", None),
        (429, "-5", None),
        (429, "1.5", None),
        (429, "²", None),
        (429, "Mon, 99 Foo 2026 99:99:99 GMT", None),
    ],
)
def test_the_pause_that_is_asked_for(status: int, header: str | None, seconds: int | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert retry_after(status, header, NOW) == expected


def test_the_breaker_opens_after_failures_in_a_row_and_closes_with_a_success() -> None:
    health = EndpointHealth()
    for _ in range(BREAKS_AFTER - 1):
        health = health.after_failure(NOW)
        assert (health.paused_until, health.may_fly) == (None, 4)
    rests = []
    for _ in range(12):
        health = health.after_failure(NOW)
        assert health.paused_until is not None
        rests.append(health.paused_until - NOW)
        assert health.may_fly == 1
    assert rests[0] == timedelta(seconds=30)
    assert rests[1] == timedelta(minutes=1)
    assert rests[-1] == LONGEST_REST
    assert health.failing_since == NOW
    assert health.after_success() == EndpointHealth()


def test_an_endpoint_that_asks_for_a_pause_gets_it_but_not_a_day() -> None:
    health = EndpointHealth().after_failure(NOW, timedelta(minutes=2))
    assert health.paused_until == NOW + timedelta(minutes=2)
    assert EndpointHealth().after_failure(NOW, timedelta(hours=20)).paused_until == NOW + LONGEST_REST


def test_an_endpoint_that_has_only_failed_for_five_days_is_given_up() -> None:
    health = EndpointHealth().after_failure(NOW)
    assert not health.is_given_up(NOW + GIVEN_UP_AFTER - timedelta(seconds=1))
    assert health.is_given_up(NOW + GIVEN_UP_AFTER)
    assert not EndpointHealth().is_given_up(NOW)
