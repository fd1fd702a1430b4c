"""Single-use tokens: 256 random bits, stored as a hash. Those sent by mail prove control of an e-mail address.

A token is bound to the account's address when it was issued, and becomes invalid when the account's e-mail changes.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from asyncpg import Record

from domain.mails.outbox import Recipient
from kernel.errors import Unauthenticated
from kernel.ids import random_token
from kernel.scope import Scope
from kernel.signatures import token_hash
from models.connection import database
from models.rows import insert_row

INVALID = "invalid or expired token"


class TokenPurpose(StrEnum):
    """What a token can be used for."""

    PASSWORD_RESET = "password_reset"
    EMAIL_VERIFICATION = "email_verification"
    EMAIL_CHANGE = "email_change"
    ACCOUNT_DELETION = "account_deletion"
    # Not mailed: an administrator's program passes it on (`domain.people.sign_in_keys`).
    SIGN_IN = "sign_in"


_LIFETIMES = {
    TokenPurpose.PASSWORD_RESET: timedelta(hours=1),
    TokenPurpose.EMAIL_VERIFICATION: timedelta(hours=24),
    TokenPurpose.EMAIL_CHANGE: timedelta(hours=24),
    TokenPurpose.ACCOUNT_DELETION: timedelta(hours=1),
    TokenPurpose.SIGN_IN: timedelta(seconds=60),
}


async def issue_token(
    scope: Scope, purpose: TokenPurpose, to: Recipient | None, *, new_email: str | None = None
) -> str:
    """Create a token for an account with its current e-mail, or one without an account; part of the current transaction."""
    token = random_token(256)
    await insert_row(
        scope,
        "mailed_tokens",
        user_id=None if to is None else to.user_id,
        purpose=purpose.value,
        email="" if to is None else to.email,
        token_hash=token_hash(token),
        created_at=scope.now,
        expires_at=scope.now + _LIFETIMES[purpose],
        new_email=new_email,
    )
    return token


async def find_token_user(scope: Scope, token: str, *purposes: TokenPurpose) -> Record:
    """Return the row of the token's user with `token_purpose` and `new_email`, without consuming the token.

    Raises `Unauthenticated`.
    """
    user = await database.fetchrow(
        """
        select u.*, t.purpose as token_purpose, t.new_email from mailed_tokens t
        join users u on u.tenant_id = t.tenant_id and u.id = t.user_id and u.email = t.email
        where t.tenant_id = $1 and t.purpose = any($2::text[]) and t.token_hash = $3 and t.expires_at > $4
          and u.deleted_at is null and u.status <> 'D'
        """,
        scope.store.id,
        [purpose.value for purpose in purposes],
        token_hash(token),
        scope.now,
    )
    if user is None:
        raise Unauthenticated(INVALID)
    return user


async def consume_token(scope: Scope, token: str, *purposes: TokenPurpose) -> Record:
    """Consume the token and return the row of its user, locked until the transaction ends; raises `Unauthenticated`.

    The user's row is locked before the token is read again, so of two concurrent uses the second fails.
    """
    candidate = await find_token_user(scope, token, *purposes)
    await database.execute(
        "select id from users where tenant_id = $1 and id = $2 for no key update", scope.store.id, candidate["id"]
    )
    user = await find_token_user(scope, token, *purposes)
    await database.execute(
        "delete from mailed_tokens where tenant_id = $1 and user_id = $2 and purpose = $3",
        scope.store.id,
        user["id"],
        user["token_purpose"],
    )
    return user
