"""The schedule of attempts to reach another server: exponential backoff with jitter (docs/reference/shared.md#webhook-retries)."""

from __future__ import annotations

import random
from datetime import timedelta

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
