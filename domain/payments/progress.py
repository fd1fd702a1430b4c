"""The conflict with a call to a gateway that may still be under way."""

from __future__ import annotations

from datetime import datetime

from domain.idempotency import IN_PROGRESS
from domain.payments.settlement import IN_DOUBT
from kernel.errors import Conflict


def reject_in_progress(attempted_at: datetime | None, at: datetime) -> None:
    """Raise Conflict `in_progress` while the last call may still be answered; its details say when to try again."""
    if attempted_at is None or attempted_at <= at - IN_DOUBT:
        return
    wait = attempted_at + IN_DOUBT - at
    raise Conflict(
        "the payment gateway is being called; try again after a moment",
        reason=IN_PROGRESS,
        details={"retry_after_ms": max(1, int(wait.total_seconds() * 1_000))},
    )
