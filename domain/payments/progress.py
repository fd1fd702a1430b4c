"""Recognize a repeated request, and the call to a gateway that may still be under way."""

from __future__ import annotations

import hashlib
from datetime import datetime

from domain.idempotency import IN_PROGRESS, current_claim
from domain.payments.settlement import IN_DOUBT
from kernel.errors import Conflict
from kernel.scope import Scope


def creation_hash(scope: Scope, subject: str) -> bytes | None:
    """Return what identifies the payment or refund that a request makes, by its Idempotency-Key; None without one."""
    claim = current_claim()
    if claim is None:
        return None
    return hashlib.sha256(f"{subject}\0{scope.store.id}\0{claim.credential}\0{claim.key}".encode()).digest()


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
