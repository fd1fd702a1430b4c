"""What is tried again and again while it fails: which of the failures are logged."""

from __future__ import annotations

from time import monotonic

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0


class Outage:
    """Failures one after the other: the first of a reason is logged, then one after 5 seconds, after 10 more, 20, … at most 300."""

    def __init__(self) -> None:
        self._began_at: float | None = None
        self._reason = ""
        self._due_at = 0.0
        self._pause = 0.0

    def is_due(self, reason: str = "") -> bool:
        """Note a failure; return whether it is to be logged."""
        at = monotonic()
        if self._began_at is None:
            self._began_at = at
        elif reason == self._reason and at < self._due_at:
            return False
        self._pause = min(2 * self._pause, LONGEST_PAUSE) if self._pause and reason == self._reason else FIRST_PAUSE
        self._reason, self._due_at = reason, at + self._pause
        return True

    def end(self) -> float | None:
        """Note a success; return for how many seconds it failed before, None if it didn't."""
        began_at, self._began_at, self._pause = self._began_at, None, 0.0
        return None if began_at is None else round(monotonic() - began_at, 1)
