"""Verify the caller's password again before a change that a stolen session must not make."""

from __future__ import annotations

from auth import lockout
from auth.passwords import verify_password
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.connection import database


async def verify_own_password(scope: Scope, password: str, *, field: str = "password") -> str:
    """Verify the caller's password and return its hash; failures count toward the lockout (docs/reference/shared.md#lockout).

    Raises `ValidationFailed` (`password_wrong`) and `AccountLocked`. Not to be called in a transaction: hashing is slow.
    """
    user_id = scope.own_user_id()
    subject = lockout.user_subject(user_id)
    async with lockout.attempt_lock(scope, subject):
        await lockout.check_not_locked(scope, subject)
        password_hash: str | None = await database.fetchval(
            "select password_hash from users where tenant_id = $1 and id = $2", scope.store.id, user_id
        )
        if await verify_password(password_hash, password):
            assert password_hash is not None  # nothing matches an absent hash
            return password_hash
        await lockout.record_failure(scope, subject)
    raise ValidationFailed("password is wrong", field=field, code="password_wrong")
