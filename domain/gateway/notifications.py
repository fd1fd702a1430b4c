"""Receive notifications of the payment gateway: prove, store in one transaction, apply in another (decisions section 5).

What was stored is never lost: when the process dies before it is applied, or applying it fails, the sweep (`apply_pending`, a job)
applies it later. A row's lock lets one of them do it, and `processed` keeps the others from doing it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from domain import audit
from domain.gateway.applying import carry_out
from domain.gateway.notification import NotificationPayload, parse
from domain.gateway.signature import Verified, verify
from kernel import logging
from kernel.errors import NotFound, RuleViolation, Unavailable
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope, entered
from models.database import execute, row, rows, transaction, value

RECEIVED, DUPLICATE = "received", "duplicate ignored"

# The gateway waits for its answer, and the sweep is there.
APPLY_SECONDS = 10.0
# The sweep leaves what just came to the request that brought it.
SWEEP_AFTER = timedelta(seconds=30)
_LONGEST_DOUBLINGS = 9  # 512 minutes between the tries of what keeps failing

_STORE = """
INSERT INTO gateway_notifications (tenant_id, public_id, event_id, event_type, charge_id, fingerprint, body, unsigned,
    created_at, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (tenant_id, fingerprint) DO NOTHING RETURNING id
"""
_PENDING = """
SELECT id FROM gateway_notifications WHERE tenant_id = $1 AND NOT processed AND due_at <= $2 ORDER BY id LIMIT $3
"""
_TAKE = """
SELECT id, body, unsigned FROM gateway_notifications
WHERE tenant_id = $1 AND id = $2 AND NOT processed FOR UPDATE SKIP LOCKED
"""
_TAKE_ANY = "SELECT id, body, unsigned FROM gateway_notifications WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
_DONE = """
UPDATE gateway_notifications SET processed = true, processed_at = $3, error_message = $4, attempts = attempts + 1
WHERE tenant_id = $1 AND id = $2
"""
_POSTPONE = """
UPDATE gateway_notifications SET attempts = attempts + 1, error_message = $3,
    due_at = $4::timestamptz + interval '1 minute' * (2 ^ least(attempts, $5))
WHERE tenant_id = $1 AND id = $2 AND NOT processed
"""


async def receive(scope: Scope, body: bytes, signatures: Iterable[str | None]) -> str:
    """Take a notification as it was sent; `signatures` are the values of the headers that may hold one.

    Gives the message of the answer. Raises Unauthenticated for a wrong signature and MalformedRequest for what is no JSON object;
    then nothing is stored. Once it is stored, whatever happens is no refusal.
    """
    verified = await verify(scope, body, signatures)
    told = parse(verified)
    number = await _store(scope, verified, told)
    if number is None:
        return DUPLICATE
    try:
        async with asyncio.timeout(APPLY_SECONDS):
            await _apply(scope, number, told)
    except Exception as error:
        _log(scope, number, error)
    return RECEIVED


async def apply_pending(scope: Scope, *, limit: int) -> int:
    """Apply what was stored and not processed, the oldest first, each in its own transaction; say how many were looked at.

    What fails is tried again later, after ever longer pauses. Raises Unavailable when the database is away.
    """
    with entered(scope):
        due = await rows(_PENDING, scope.store.id, scope.now, limit)
    for found in due:
        try:
            await _apply(scope, found["id"])
        except Unavailable:
            raise
        except Exception as error:
            _log(scope, found["id"], error)
            await _postpone(scope, found["id"], error)
    return len(due)


async def reprocess(scope: Scope, notification: object) -> int:
    """Apply a notification again, its mapped letter even against the table of transitions, and give its number.

    All or nothing: raises NotFound where there is none, and RuleViolation when it can't be applied as it should (the order is not
    there, it is underpaid, its stock is gone); then everything stays as it was.
    """
    reference = parse_reference(notification)
    async with transaction(scope):
        found = None
        if isinstance(reference, int):
            found = await row(_TAKE_ANY, scope.store.id, reference)
        if found is None:
            raise NotFound("webhook")
        number: int = found["id"]
        told = parse(Verified(found["body"], found["unsigned"]))
        # As the system, which may force; the audit log names who asked for it.
        reason = f"gateway: {told.event_type}, notification {number} processed again"
        problem = await carry_out(scope.as_system(), told, force=True, reason=reason)
        if problem:
            raise RuleViolation(problem)
        await execute(_DONE, scope.store.id, number, scope.now, "")
        await audit.record(
            scope,
            "gateway_notification.reprocessed",
            "gateway_notification",
            number,
            {"event_type": told.event_type},
        )
    return number


async def _store(scope: Scope, verified: Verified, told: NotificationPayload) -> int | None:
    """Keep a notification in a transaction of its own; None when it was there already."""
    async with transaction(scope):
        number: int | None = await value(
            _STORE,
            scope.store.id,
            uuid7(),
            told.event_id,
            told.event_type,
            told.charge_id or None,
            told.fingerprint,
            verified.body,
            verified.unsigned,
            scope.now,
            scope.now + SWEEP_AFTER,
        )
        if number is not None and verified.unsigned:
            await audit.record(
                scope,
                "gateway_notification.unsigned",
                "gateway_notification",
                number,
                {"event_type": told.event_type},
            )
    return number


async def _apply(scope: Scope, number: int, told: NotificationPayload | None = None) -> None:
    """Apply a stored notification in a transaction of its own, unless somebody did or does; `told` saves reading it."""
    system = scope.as_system()
    async with transaction(system):
        found = await row(_TAKE, scope.store.id, number)
        if found is None:
            return
        if told is None:
            told = parse(Verified(found["body"], found["unsigned"]))
        problem = await carry_out(system, told, force=False, reason=f"gateway: {told.event_type}")
        await execute(_DONE, scope.store.id, number, scope.now, problem)


async def _postpone(scope: Scope, number: int, error: Exception) -> None:
    message = f"not applied yet ({type(error).__name__}); it will be tried again"
    with entered(scope):
        await execute(_POSTPONE, scope.store.id, number, message, scope.now, _LONGEST_DOUBLINGS)


def _log(scope: Scope, number: int, error: Exception) -> None:
    logging.failure(
        "a gateway notification was stored and not applied",
        error,
        store=str(scope.store.public_id),
        notification=number,
        request_id=scope.request_id,
    )
