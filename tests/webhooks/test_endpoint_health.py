"""The retry schedule of deliveries and the circuit breaker of endpoints."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from domain.webhooks.endpoint_health import (
    BREAKER_THRESHOLD,
    DISABLE_AFTER,
    MAX_PAUSE,
    EndpointHealth,
    retry_after,
)
from kernel.retries import RETRY_DELAYS, retry_delay

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
DOCUMENTED = ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"]
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}


def test_retry_delays_are_the_documented_ones() -> None:
    assert list(RETRY_DELAYS) == [timedelta(**{_UNITS[text[-1]]: int(text[:-1])}) for text in DOCUMENTED]


@pytest.mark.parametrize("attempts", range(1, 10))
def test_delays_have_20_percent_jitter(attempts: int) -> None:
    delay = RETRY_DELAYS[attempts - 1]
    assert retry_delay(attempts, chance=0.0) == delay * 0.8
    assert retry_delay(attempts, chance=0.5) == delay
    assert retry_delay(attempts, chance=1.0) == delay * 1.2
    drawn = {retry_delay(attempts) for _ in range(50)}
    assert len(drawn) > 10
    assert all(drawn_delay is not None and delay * 0.8 <= drawn_delay <= delay * 1.2 for drawn_delay in drawn)


def test_there_is_no_retry_after_the_tenth_attempt() -> None:
    assert retry_delay(9) is not None
    assert retry_delay(10) is None
    assert retry_delay(10, timedelta(seconds=1)) is None


def test_a_longer_retry_after_takes_precedence() -> None:
    assert retry_delay(1, timedelta(seconds=90), chance=0.5) == timedelta(seconds=90)
    assert retry_delay(2, timedelta(seconds=90), chance=0.5) == timedelta(minutes=5)


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
        (429, "Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        (429, "Fri, 01 Jan 2027 00:00:00 +99999999999999999999", None),
    ],
)
def test_retry_after_header_is_parsed(status: int, header: str | None, seconds: int | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert retry_after(status, header, NOW) == expected


def test_circuit_breaker_opens_after_consecutive_failures_and_closes_on_success() -> None:
    health = EndpointHealth()
    for repetition in range(BREAKER_THRESHOLD - 1):
        health = health.after_failure(NOW)
        assert (health.paused_until, health.max_in_flight) == (None, 4), repetition
    pauses = []
    for repetition in range(12):
        health = health.after_failure(NOW)
        assert health.paused_until is not None, repetition
        pauses.append(health.paused_until - NOW)
        assert health.max_in_flight == 1, repetition
    assert pauses[0] == timedelta(seconds=30)
    assert pauses[1] == timedelta(minutes=1)
    assert pauses[-1] == MAX_PAUSE
    assert health.failing_since == NOW
    assert health.after_success() == EndpointHealth()


def test_retry_after_pauses_the_endpoint_up_to_a_maximum() -> None:
    health = EndpointHealth().after_failure(NOW, timedelta(minutes=2))
    assert health.paused_until == NOW + timedelta(minutes=2)
    assert EndpointHealth().after_failure(NOW, timedelta(hours=20)).paused_until == NOW + MAX_PAUSE


def test_an_endpoint_is_failing_too_long_after_five_days() -> None:
    health = EndpointHealth().after_failure(NOW)
    assert not health.is_failing_too_long(NOW + DISABLE_AFTER - timedelta(seconds=1))
    assert health.is_failing_too_long(NOW + DISABLE_AFTER)
    assert not EndpointHealth().is_failing_too_long(NOW)
