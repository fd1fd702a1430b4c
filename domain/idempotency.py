"""Let a request that is sent again have no second effect (decisions, section 2, Idempotency-Key).

take       a transaction of its own: the key is this request's, or another's (`in_progress`), or done with (its answer)
finish     the last thing in the effect's transaction: done, with what the operation gave; nothing of the effect stays when the
           key is no longer this request's
keep       afterwards: the rendered answer. Where it is missing, it is rendered again from the result
release    after an answer that is not kept: the key is free again
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson

from kernel.errors import Conflict, RuleViolation, Unavailable
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, row, separate_transaction, transaction

KEPT = timedelta(hours=24)
# A request is cut off long before; who holds a key for longer is dead.
TAKEN_OVER_AFTER = timedelta(seconds=60)
RETRY_AFTER_MS = 1000
REUSED = "idempotency key reused with a different request"

_TAKE = """
INSERT INTO idempotency_claims (tenant_id, public_id, credential, key, fingerprint, owner, claimed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, credential, key) DO UPDATE
    SET owner = excluded.owner, claimed_at = excluded.claimed_at, fingerprint = excluded.fingerprint,
        done_at = NULL, result = NULL, status = NULL, body = NULL
    WHERE idempotency_claims.claimed_at < $8
        OR (idempotency_claims.done_at IS NULL AND idempotency_claims.claimed_at < $9
            AND idempotency_claims.fingerprint = excluded.fingerprint)
RETURNING owner
"""
_FOUND = """
SELECT fingerprint, owner, done_at, result, status, body, content_type FROM idempotency_claims
WHERE tenant_id = $1 AND credential = $2 AND key = $3
"""
_MINE = "WHERE tenant_id = $1 AND credential = $2 AND key = $3 AND owner = $4"
_FINISH = f"UPDATE idempotency_claims SET done_at = $5, result = $6 {_MINE} AND done_at IS NULL"
_KEEP = f"UPDATE idempotency_claims SET done_at = coalesce(done_at, $5), status = $6, body = $7, content_type = $8 {_MINE}"
_RELEASE = f"DELETE FROM idempotency_claims {_MINE} AND done_at IS NULL"
_FORGET = "DELETE FROM idempotency_claims WHERE tenant_id = $1 AND claimed_at < $2"


@dataclass(slots=True)
class KeyClaim:
    """A key that is this request's. `result` is what the operation gave when it was done before and its answer was lost."""

    credential: str
    key: str
    owner: UUID
    result: Mapping[str, Any] | None = None
    is_done: bool = False
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered before."""

    status: int
    body: bytes
    content_type: str


_current: ContextVar[KeyClaim | None] = ContextVar("vitrine_idempotency", default=None)


def current_claim() -> KeyClaim | None:
    """Give the claim of the running request, or None."""
    return _current.get()


@contextmanager
def claimed(claim: KeyClaim) -> Iterator[None]:
    """Let the operation executed inside have its effect once."""
    token = _current.set(claim)
    try:
        yield
    finally:
        _current.reset(token)


async def take(scope: Scope, key: str, fingerprint: bytes, reused: str = REUSED) -> KeyClaim | Answered:
    """Take a key for this request, or give what was answered to it before.

    Raises `Conflict` (`in_progress`) while another request has it, `RuleViolation` (`reused`) when it was used for a different request.
    """
    claim = KeyClaim(scope.actor.credential, key, uuid4())
    # Two tries: what is found may go between the statements.
    for _ in range(2):
        async with separate_transaction(scope):
            taken = await row(
                _TAKE,
                scope.store.id,
                uuid7(),
                claim.credential,
                key,
                fingerprint,
                claim.owner,
                scope.now,
                scope.now - KEPT,
                scope.now - TAKEN_OVER_AFTER,
            )
            if taken is not None:
                return claim
            found = await row(_FOUND, scope.store.id, claim.credential, key)
        if found is not None:
            return _found(claim, found, fingerprint, reused)
    raise Unavailable("try again")


def _found(claim: KeyClaim, found: Any, fingerprint: bytes, reused: str) -> KeyClaim | Answered:
    if found["fingerprint"] != fingerprint:
        raise RuleViolation(reused)
    if found["done_at"] is None:
        raise Conflict("in_progress", details={"retry_after_ms": RETRY_AFTER_MS})
    if found["status"] is not None:
        return Answered(found["status"], bytes(found["body"] or b""), found["content_type"])
    claim.owner, claim.is_done = found["owner"], True
    claim.result = orjson.loads(found["result"])
    return claim


async def finish(scope: Scope, claim: KeyClaim, result: Mapping[str, Any]) -> None:
    """Mark the key done, inside the effect's transaction. Raises `Conflict` when another request has taken it over."""
    done = await execute(
        _FINISH,
        scope.store.id,
        claim.credential,
        claim.key,
        claim.owner,
        scope.now,
        orjson.dumps(result).decode(),
    )
    if not done:
        raise Conflict("in_progress", details={"retry_after_ms": RETRY_AFTER_MS})
    claim.is_done = True


async def keep(scope: Scope, claim: KeyClaim, status: int, body: bytes, content_type: str) -> None:
    """Keep the rendered answer of the key."""
    async with transaction(scope):
        await execute(
            _KEEP,
            scope.store.id,
            claim.credential,
            claim.key,
            claim.owner,
            scope.now,
            status,
            body,
            content_type,
        )


async def release(scope: Scope, claim: KeyClaim) -> None:
    """Free the key, unless its effect was committed."""
    async with transaction(scope):
        await execute(_RELEASE, scope.store.id, claim.credential, claim.key, claim.owner)


async def forget_old(scope: Scope) -> None:
    """Delete the store's keys that are older than 24 hours."""
    await execute(_FORGET, scope.store.id, scope.now - KEPT)
