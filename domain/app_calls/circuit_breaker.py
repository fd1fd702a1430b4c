"""Skip the calls to an app that fails: after five failures in a row for 30 s, then one call decides.

Counted in each process, by installed app and kind of call: a store whose calls an app can't answer takes it from no other store.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic

THRESHOLD = 5
PAUSE_SECONDS = 30.0


@dataclass(slots=True)
class _Failures:
    count: int = 0
    skipped_until: float = 0.0


class CircuitBreaker:
    """The failures in a row, by key; keys without any take no memory."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures: dict[Hashable, _Failures] = {}

    def is_open(self, key: Hashable) -> bool:
        """Return whether calls are skipped."""
        failures = self._failures.get(key)
        return failures is not None and failures.count >= THRESHOLD and self._clock() < failures.skipped_until

    def admit(self, key: Hashable) -> bool:
        """Return whether to call; after a pause only for the first caller, until its call has succeeded."""
        failures = self._failures.get(key)
        if failures is None or failures.count < THRESHOLD:
            return True
        if self.is_open(key):
            return False
        failures.skipped_until = self._clock() + PAUSE_SECONDS
        return True

    def record_success(self, key: Hashable) -> None:
        """Record that a call was answered."""
        self._failures.pop(key, None)

    def record_failure(self, key: Hashable) -> None:
        """Record that a call failed."""
        failures = self._failures.setdefault(key, _Failures())
        failures.count += 1
        if failures.count >= THRESHOLD:
            failures.skipped_until = self._clock() + PAUSE_SECONDS
