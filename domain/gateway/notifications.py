"""Receive payment gateway webhooks: verify, store, apply in a second transaction (docs/reference/current.md#gateway-notifications).

A stored notification is never lost: when the process dies or applying fails, the sweep (`apply_pending`, a job) retries it with
backoff. Row locks let only one worker apply it, and `processed` makes applying idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from domain.gateway.payload import NotificationPayload, VerifiedBody, parse_notification, verify
from domain.gateway.processing import apply_notification
from kernel import logging
from kernel.errors import NotFound, RuleViolation, TransactionConflict, Unavailable
from kernel.ids import parse_reference
from kernel.scope import Scope, active_scope
from models import audit
from models.connection.database import execute, execute_later, fetch, fetchrow, retry_conflicts, transaction
from models.rows import insert_row

RECEIVED, DUPLICATE = "received", "duplicate ignored"

# The gateway waits for the response; the sweep applies what takes longer.
APPLY_SECONDS = 10.0
# The sweep skips notifications that their own request may still be applying.
SWEEP_AFTER = timedelta(seconds=30)
_MAX_DOUBLINGS = 9  # at most 512 minutes between retries

_PENDING = """
SELECT id FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed AND due_at <= $2 ORDER BY id LIMIT $3
"""
_LOCK_PENDING = """
SELECT id, body, unsigned FROM gateway_notifications
WHERE tenant_id = $1 AND id = $2 AND NOT processed FOR UPDATE SKIP LOCKED
"""
_LOCK = "SELECT id, body, unsigned FROM gateway_notifications WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
_MARK_PROCESSED = """
UPDATE gateway_notifications SET processed = true, processed_at = $3, error_message = $4, attempts = attempts + 1
WHERE tenant_id = $1 AND id = $2
"""
_POSTPONE = """
UPDATE gateway_notifications SET attempts = attempts + 1, error_message = $3,
    due_at = $4::timestamptz + interval '1 minute' * (2 ^ least(attempts, $5))
WHERE tenant_id = $1 AND id = $2 AND NOT processed
"""


async def receive(scope: Scope, body: bytes, signatures: Iterable[str | None]) -> str:
    """Receive a raw notification; `signatures` are the values of the possible signature headers.

    Returns the message of the response. Raises Unauthenticated for a wrong signature and MalformedRequest for a body that isn't a JSON
    object, in which case nothing is stored. Errors after storing are logged, never raised.
    """
    verified = await verify(scope, body, signatures)
    payload = parse_notification(verified)
    notification_id = await _store(scope, verified, payload)
    if notification_id is None:
        return DUPLICATE
    try:
        async with asyncio.timeout(APPLY_SECONDS):
            await retry_conflicts(partial(_apply, scope, notification_id, payload))
    except Exception as error:
        _log_failure(scope, notification_id, error)
    return RECEIVED


async def apply_pending(scope: Scope, *, limit: int) -> int:
    """Apply stored unprocessed notifications, oldest first, each in its own transaction; return the number examined.

    Failures are retried later with exponential backoff. Raises Unavailable when the database is unreachable.
    """
    with active_scope(scope):
        due = await fetch(_PENDING, scope.store.id, scope.now, limit)
    for notification in due:
        try:
            await retry_conflicts(partial(_apply, scope, notification["id"]))
        except Exception as error:
            if isinstance(error, Unavailable) and not isinstance(error, TransactionConflict):
                raise
            _log_failure(scope, notification["id"], error)
            await _postpone(scope, notification["id"], error)
    return len(due)


async def reprocess(scope: Scope, notification: object) -> int:
    """Apply a notification again, its status change even outside the transition table, and return its id.

    All or nothing: raises NotFound for an unknown one, and RuleViolation when it can't be applied (missing order, underpaid, out of stock).
    """
    reference = parse_reference(notification)
    async with transaction(scope):
        record = await fetchrow(_LOCK, scope.store.id, reference) if isinstance(reference, int) else None
        if record is None:
            raise NotFound("webhook")
        notification_id: int = record["id"]
        if not record["body"]:
            raise RuleViolation(
                "its body was deleted: the period gateway_bodies of VITRINE_RETENTION is over", reason="body_deleted"
            )
        payload = parse_notification(VerifiedBody(record["body"], record["unsigned"]))
        # As the system, which may force; the audit log names the actor.
        reason = f"gateway: {payload.event_type}, notification {notification_id} processed again"
        problem = await apply_notification(scope.as_system(), payload, force=True, reason=reason)
        if problem:
            raise RuleViolation(problem)
        await execute_later(_MARK_PROCESSED, scope.store.id, notification_id, scope.now, "")
        await _record(scope, "gateway_notification.reprocessed", notification_id, payload)
    return notification_id


async def _store(scope: Scope, verified: VerifiedBody, payload: NotificationPayload) -> int | None:
    """Store a notification in its own transaction; None for a duplicate."""
    async with transaction(scope):
        notification_id: int | None = await insert_row(
            scope,
            "gateway_notifications",
            event_id=payload.event_id,
            event_type=payload.event_type,
            charge_id=payload.charge_id or None,
            fingerprint=payload.fingerprint,
            body=verified.body,
            unsigned=verified.unsigned,
            created_at=scope.now,
            due_at=scope.now + SWEEP_AFTER,
            conflict="ON CONFLICT (tenant_id, fingerprint) DO NOTHING",
        )
        if notification_id is not None and verified.unsigned:
            await _record(scope, "gateway_notification.unsigned", notification_id, payload)
    return notification_id


async def _record(scope: Scope, action: str, notification_id: int, payload: NotificationPayload) -> None:
    details = {"event_type": payload.event_type}
    await audit.record(scope, action, "gateway_notification", notification_id, details)


async def _apply(scope: Scope, notification_id: int, payload: NotificationPayload | None = None) -> None:
    """Apply a stored notification in its own transaction, unless it was or is being applied; `payload` saves parsing it."""
    system = scope.as_system()
    async with transaction(system):
        record = await fetchrow(_LOCK_PENDING, scope.store.id, notification_id)
        if record is None:
            return
        if payload is None:
            payload = parse_notification(VerifiedBody(record["body"], record["unsigned"]))
        problem = await apply_notification(system, payload, force=False, reason=f"gateway: {payload.event_type}")
        await execute_later(_MARK_PROCESSED, scope.store.id, notification_id, scope.now, problem)


async def _postpone(scope: Scope, notification_id: int, error: Exception) -> None:
    message = f"not applied yet ({type(error).__name__}); it will be tried again"
    with active_scope(scope):
        await execute(_POSTPONE, scope.store.id, notification_id, message, scope.now, _MAX_DOUBLINGS)


def _log_failure(scope: Scope, notification_id: int, error: Exception) -> None:
    logging.failure(
        "a gateway notification was stored and not applied",
        error,
        store=str(scope.store.public_id),
        notification=notification_id,
        request_id=scope.request_id,
    )
