"""Decide when a delivery is tried again, when an endpoint gets a rest, and when it is given up. Pure: no clock, no database."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# What follows the first try, the second, ... (decisions section 7); after the last the delivery is dead.
PAUSES = (
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
TRIES = len(PAUSES) + 1
SPREAD = 0.2
# A receiver that asks for more is asked again anyway.
MOST_RETRY_AFTER = timedelta(hours=24)

IN_FLIGHT = 4
GIVEN_UP_AFTER = timedelta(days=5)
# The breaker: after so many failures in a row the endpoint rests, each time longer, and then one delivery is tried alone.
BREAKS_AFTER = 10
FIRST_REST = timedelta(seconds=30)
LONGEST_REST = timedelta(minutes=10)

GONE = 410
_ASKS_TO_WAIT = (429, 503)


def pause_after(
    tries: int, retry_after: timedelta | None = None, *, chance: float | None = None
) -> timedelta | None:
    """Give the pause after so many tries, a fifth more or less by chance (0 to 1); None when there is no next one.

    A receiver that asked for a longer pause gets it.
    """
    if tries > len(PAUSES):
        return None
    drawn = random.random() if chance is None else chance
    pause = PAUSES[tries - 1] * (1 - SPREAD + 2 * SPREAD * drawn)
    return max(pause, retry_after) if retry_after is not None else pause


def retry_after(status: int, header: str | None, at: datetime) -> timedelta | None:
    """Read the pause that a 429 or 503 asks for, in seconds or as a moment (RFC 9110, section 10.2.3); None for none."""
    if status not in _ASKS_TO_WAIT or not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        asked = timedelta(seconds=min(int(text[:9]), MOST_RETRY_AFTER.total_seconds()))
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError):
            return None
        asked = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - at
    return min(max(asked, timedelta(0)), MOST_RETRY_AFTER)


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """How an endpoint has fared: failures in a row, since when, and until when nothing is sent."""

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None

    @property
    def may_fly(self) -> int:
        """Give how many deliveries may be under way: one where the breaker has to be tried first."""
        return IN_FLIGHT if self.failures < BREAKS_AFTER else 1

    def after_success(self) -> EndpointHealth:
        """Give the health after a delivery that was taken: all is forgotten."""
        return EndpointHealth()

    def after_failure(self, at: datetime, asked: timedelta | None = None) -> EndpointHealth:
        """Give the health after a failure; `asked` is the pause that the receiver wants."""
        failures = self.failures + 1
        rest = timedelta(0)
        if failures >= BREAKS_AFTER:
            rest = min(FIRST_REST * 2 ** min(failures - BREAKS_AFTER, 10), LONGEST_REST)
        until = at + max(rest, min(asked or timedelta(0), LONGEST_REST))
        paused = max(until, self.paused_until or until) if until > at else self.paused_until
        return EndpointHealth(failures, self.failing_since or at, paused)

    def is_given_up(self, at: datetime) -> bool:
        """Say whether it has only failed for too long."""
        return self.failing_since is not None and at - self.failing_since >= GIVEN_UP_AFTER
