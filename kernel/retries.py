"""The schedule of attempts to reach another server: exponential backoff with jitter (docs/reference/shared.md#webhook-retries)."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# The backoff after the first attempt, the second, ...; after the last one there are no more.
RETRY_DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
JITTER = 0.2
# Longer Retry-After values are capped.
MAX_RETRY_AFTER = timedelta(hours=24)
_RETRY_AFTER_STATUSES = (429, 503)


def retry_delay(
    attempts: int, retry_after: timedelta | None = None, *, chance: float | None = None
) -> timedelta | None:
    """Return the backoff after this many attempts, with 20 % jitter by `chance` (0 to 1); None if there are no more attempts.

    A longer Retry-After of the receiver takes precedence.
    """
    if attempts > len(RETRY_DELAYS):
        return None
    drawn = random.random() if chance is None else chance
    delay = RETRY_DELAYS[attempts - 1] * (1 - JITTER + 2 * JITTER * drawn)
    return max(delay, retry_after) if retry_after is not None else delay


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
        except (ValueError, TypeError, IndexError):
            return None
        requested = (date if date.tzinfo else date.replace(tzinfo=UTC)) - at
    return min(max(requested, timedelta(0)), MAX_RETRY_AFTER)
