"""What a delivery's receiver decides about its retries (`kernel.retries`): Retry-After, the endpoint's circuit breaker, when to give up.

Pure functions: no clock, no database (docs/reference/shared.md#webhook-retries).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Longer Retry-After values are capped.
MAX_RETRY_AFTER = timedelta(hours=24)

MAX_IN_FLIGHT = 4
DISABLE_AFTER = timedelta(days=5)
# Circuit breaker: after this many consecutive failures the endpoint is paused, each time longer, and then tested with one delivery.
BREAKER_THRESHOLD = 10
FIRST_PAUSE = timedelta(seconds=30)
MAX_PAUSE = timedelta(minutes=10)

GONE = 410
_RETRY_AFTER_STATUSES = (429, 503)


def retry_after(status: int, header: str | None, at: datetime) -> timedelta | None:
    """Parse the Retry-After header of a 429 or 503, in seconds or as a date (RFC 9110, section 10.2.3); None if absent."""
    if status not in _RETRY_AFTER_STATUSES or not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        requested = timedelta(seconds=min(int(text[:9]), MAX_RETRY_AFTER.total_seconds()))
    else:
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        requested = (date if date.tzinfo else date.replace(tzinfo=UTC)) - at
    return min(max(requested, timedelta(0)), MAX_RETRY_AFTER)


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """An endpoint's consecutive failures, since when it fails, and until when it is paused."""

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None

    @property
    def max_in_flight(self) -> int:
        """Return the maximum concurrent deliveries: one while the circuit breaker is open."""
        return MAX_IN_FLIGHT if self.failures < BREAKER_THRESHOLD else 1

    def after_success(self) -> EndpointHealth:
        """Return the health after a successful delivery: reset."""
        return EndpointHealth()

    def after_failure(self, at: datetime, retry_after: timedelta | None = None) -> EndpointHealth:
        """Return the health after a failed attempt; `retry_after` is the delay the receiver requested."""
        failures = self.failures + 1
        pause = timedelta(0)
        if failures >= BREAKER_THRESHOLD:
            pause = min(FIRST_PAUSE * 2 ** min(failures - BREAKER_THRESHOLD, 10), MAX_PAUSE)
        until = at + max(pause, min(retry_after or timedelta(0), MAX_PAUSE))
        paused_until = max(until, self.paused_until or until) if until > at else self.paused_until
        return EndpointHealth(failures, self.failing_since or at, paused_until)

    def is_failing_too_long(self, at: datetime) -> bool:
        """Return whether it has failed without a success for too long."""
        return self.failing_since is not None and at - self.failing_since >= DISABLE_AFTER
