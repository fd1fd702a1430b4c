"""Execute a repeated request once (docs/reference/shared.md#idempotency).

claim_key       in its own transaction: claims the idempotency key; returns the stored response of a completed request, or
                raises `in_progress` while another request holds the key
complete        last in the transaction of the effect: marks the key done with the operation's result; raises, and so rolls the
                effect back, if another request took the key over
store_response  afterwards: stores the rendered response; where it is missing, it is rendered again from the result
release         frees the key after a response that is not stored
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson

from auth.secrets import DecryptionError, decrypt, encrypt, is_encrypted
from kernel.clock import RFC3339_JSON
from kernel.errors import Conflict, RuleViolation, Unavailable
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchrow, separate_transaction, transaction

RETENTION = timedelta(hours=24)
# Responses can hold an order's token or another secret.
PURPOSE = "idempotency"
# Requests time out long before this; a process that still owns a key after it has crashed.
TAKEN_OVER_AFTER = timedelta(seconds=60)
RETRY_AFTER_MS = 1000
IN_PROGRESS = "in_progress"
"""The reason of a conflict with a request that is still being executed: its Idempotency-Key may be used again."""
REUSED = "idempotency key reused with a different request"

_CLAIM = """
INSERT INTO idempotency_claims (tenant_id, public_id, credential, key, fingerprint, owner, claimed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, credential, key) DO UPDATE
    SET owner = excluded.owner, claimed_at = excluded.claimed_at, fingerprint = excluded.fingerprint,
        done_at = NULL, result = NULL, status = NULL, body = NULL
    WHERE idempotency_claims.claimed_at < $8
        OR (idempotency_claims.done_at IS NULL AND idempotency_claims.claimed_at < $9
            AND idempotency_claims.fingerprint = ANY($10::bytea[]))
RETURNING owner
"""
_SELECT = """
SELECT fingerprint, owner, done_at, result, status, body, content_type FROM idempotency_claims
WHERE tenant_id = $1 AND credential = $2 AND key = $3
"""
_OWNED = "WHERE tenant_id = $1 AND credential = $2 AND key = $3 AND owner = $4"
_COMPLETE = f"UPDATE idempotency_claims SET done_at = $5, result = $6 {_OWNED} AND done_at IS NULL"
_STORE_RESPONSE = (
    f"UPDATE idempotency_claims SET done_at = coalesce(done_at, $5), status = $6, body = $7, content_type = $8 {_OWNED}"
)
_DONE = """
SELECT id, result, body FROM idempotency_claims WHERE tenant_id = $1 AND id > $2 AND done_at IS NOT NULL ORDER BY id LIMIT $3
"""
_ERASE = """
UPDATE idempotency_claims SET status = 410, body = $3, result = $4, content_type = 'application/json'
WHERE tenant_id = $1 AND id = ANY($2::bigint[])
"""
_ERASED = b'{"error": "GONE", "message": "the response was erased with the data of a person", "status": 410}'
_BATCH = 200
_RELEASE = f"DELETE FROM idempotency_claims {_OWNED} AND done_at IS NULL"


@dataclass(slots=True)
class KeyClaim:
    """A key owned by this request; `result` is set when the operation completed earlier but its response was lost."""

    credential: str
    key: str
    owner: UUID
    result: Mapping[str, Any] | None = None
    is_done: bool = False
    is_released: bool = False


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The response of an earlier request with the same key."""

    status: int
    body: bytes
    content_type: str


_current: ContextVar[KeyClaim | None] = ContextVar("vitrine_idempotency", default=None)


current_claim: Callable[[], KeyClaim | None] = _current.get
"""Return the claim of the current request, or None (the variable's own method: each mutation asks)."""


@contextmanager
def active_claim(claim: KeyClaim) -> Iterator[None]:
    """Make the claim current for the operation executed inside."""
    token = _current.set(claim)
    try:
        yield
    finally:
        _current.reset(token)


async def claim_key(
    scope: Scope, key: str, fingerprints: Sequence[bytes], reused: str = REUSED
) -> KeyClaim | StoredResponse:
    """Claim a key for this request, or return the response stored for it.

    The first of the `fingerprints` is stored; any of them identifies a repetition.
    Raises `Conflict` (`in_progress`) while another request holds it, `RuleViolation` (`reused`) if it was used for a different request.
    """
    claim = KeyClaim(scope.actor.credential, key, uuid4())
    # Two attempts, because the existing row may be deleted between the statements.
    for _ in range(2):
        async with separate_transaction(scope):
            claimed = await fetchrow(
                _CLAIM,
                scope.store.id,
                uuid7(),
                claim.credential,
                key,
                fingerprints[0],
                claim.owner,
                scope.now,
                scope.now - RETENTION,
                scope.now - TAKEN_OVER_AFTER,
                fingerprints,
            )
            if claimed is not None:
                return claim
            existing = await fetchrow(_SELECT, scope.store.id, claim.credential, key)
        if existing is not None:
            return _resume(claim, existing, fingerprints, reused)
    raise Unavailable("try again")


def _resume(claim: KeyClaim, existing: Any, fingerprints: Sequence[bytes], reused: str) -> KeyClaim | StoredResponse:
    if existing["fingerprint"] not in fingerprints:
        raise RuleViolation(reused)
    if existing["done_at"] is None:
        raise _in_progress_error()
    if existing["status"] is not None:
        body = _decrypt(bytes(existing["body"] or b""))
        return StoredResponse(existing["status"], body, existing["content_type"])
    claim.owner, claim.is_done = existing["owner"], True
    claim.result = orjson.loads(_decrypt_text(existing["result"]))
    return claim


def _decrypt(stored: bytes) -> bytes:
    # Claims of before responses were encrypted are JSON or empty.
    return decrypt(PURPOSE, stored) if is_encrypted(stored) else stored


def _decrypt_text(stored: str) -> bytes:
    return stored.encode() if stored.startswith("{") else _decrypt(bytes.fromhex(stored))


def _in_progress_error() -> Conflict:
    return Conflict(IN_PROGRESS, reason=IN_PROGRESS, details={"retry_after_ms": RETRY_AFTER_MS})


async def complete(scope: Scope, claim: KeyClaim, result: Mapping[str, Any]) -> None:
    """Mark the key done, inside the transaction of the effect; raises `Conflict` if another request has taken it over."""
    done = await execute(
        _COMPLETE,
        scope.store.id,
        claim.credential,
        claim.key,
        claim.owner,
        scope.now,
        encrypt(PURPOSE, orjson.dumps(result, option=RFC3339_JSON)).hex(),
    )
    if not done:
        raise _in_progress_error()
    claim.is_done = True


async def store_response(scope: Scope, claim: KeyClaim, status: int, body: bytes, content_type: str) -> None:
    """Store the rendered response of the key."""
    async with transaction(scope):
        await execute(
            _STORE_RESPONSE,
            scope.store.id,
            claim.credential,
            claim.key,
            claim.owner,
            scope.now,
            status,
            encrypt(PURPOSE, body) if body else b"",
            content_type,
        )


async def release(scope: Scope, claim: KeyClaim) -> None:
    """Free the key, unless its effect was committed."""
    async with transaction(scope):
        await execute(_RELEASE, scope.store.id, claim.credential, claim.key, claim.owner)


async def erase_responses(scope: Scope, texts: Sequence[str]) -> int:
    """Replace the stored responses that contain one of the texts (in lower case) by status 410; return how many.

    The keys stay, so that no repeated request is executed again.
    """
    erased, last = 0, 0
    while rows := await fetch(_DONE, scope.store.id, last, _BATCH):
        last = rows[-1]["id"]
        matching = [row["id"] for row in rows if _contains(row, texts)]
        if matching:
            empty = encrypt(PURPOSE, b"{}").hex()
            erased += await execute(_ERASE, scope.store.id, matching, encrypt(PURPOSE, _ERASED), empty)
    return erased


def _contains(row: Mapping[str, Any], texts: Sequence[str]) -> bool:
    try:
        stored = _decrypt(bytes(row["body"] or b"")) + _decrypt_text(row["result"] or "{}")
    except DecryptionError:
        return False  # under a key that is gone, so that nothing reads it
    readable = stored.decode(errors="replace").lower()
    return any(text in readable for text in texts)
