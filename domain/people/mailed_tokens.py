"""Prove by a token, sent to an address, that somebody reads its mails: 256 random bits, kept as a hash, good for one use.

A token proves the address it was sent to: it is worth nothing once the account has another one.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from asyncpg import Record

from domain.mails.outbox import Recipient
from kernel.errors import Unauthenticated
from kernel.ids import random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models import database

INVALID = "invalid or expired token"


class Purpose(StrEnum):
    """Tell what a token is good for."""

    PASSWORD_RESET = "password_reset"
    EMAIL_VERIFICATION = "email_verification"


_LIVES = {
    Purpose.PASSWORD_RESET: timedelta(hours=1),
    Purpose.EMAIL_VERIFICATION: timedelta(hours=24),
}


async def issue(scope: Scope, purpose: Purpose, to: Recipient | None) -> str:
    """Make a token for an account, or one that is nobody's; part of the open transaction."""
    token = random_token(256)
    await database.execute(
        """
        insert into mailed_tokens (tenant_id, public_id, user_id, purpose, email, token_hash, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        scope.store.id,
        uuid7(),
        None if to is None else to.user_id,
        purpose.value,
        "" if to is None else to.email,
        token_hash(token),
        scope.now,
        scope.now + _LIVES[purpose],
    )
    return token


async def holder(scope: Scope, purpose: Purpose, token: str) -> Record:
    """Give the row of the user whose token this is, without using it up; raises `Unauthenticated`."""
    user = await database.row(
        """
        select u.* from mailed_tokens t
        join users u on u.tenant_id = t.tenant_id and u.id = t.user_id and u.email = t.email
        where t.tenant_id = $1 and t.purpose = $2 and t.token_hash = $3 and t.expires_at > $4
          and u.deleted_at is null and u.status <> 'D'
        """,
        scope.store.id,
        purpose.value,
        token_hash(token),
        scope.now,
    )
    if user is None:
        raise Unauthenticated(INVALID)
    return user


async def use(scope: Scope, purpose: Purpose, token: str) -> Record:
    """Use the token up and give the row of its user, locked until the open transaction ends; raises `Unauthenticated`.

    The user is locked first, as everywhere; of two who use one token at once the second finds it gone.
    """
    found = await holder(scope, purpose, token)
    await database.execute(
        "select id from users where tenant_id = $1 and id = $2 for no key update", scope.store.id, found["id"]
    )
    user = await holder(scope, purpose, token)
    await database.execute(
        "delete from mailed_tokens where tenant_id = $1 and user_id = $2 and purpose = $3",
        scope.store.id,
        user["id"],
        purpose.value,
    )
    return user
