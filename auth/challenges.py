"""Two-factor challenges: the temporary token between password and code (docs/reference/current.md#two-factor)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from auth import lockout
from auth.password_authentication import INVALID_CREDENTIALS, AuthenticatedUser, authenticated_user
from kernel.errors import Unauthenticated
from kernel.ids import random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models.connection import database
from models.rows import delete_rows

LIFETIME = timedelta(minutes=5)
MAX_ATTEMPTS = 5
INVALID_TOKEN = "invalid or expired token"


@dataclass(frozen=True, slots=True)
class Challenge:
    """A request for a code; the token is valid for 5 minutes, five attempts and one success."""

    temp_token: str


async def create_challenge(scope: Scope, user: AuthenticatedUser) -> Challenge:
    """Create a challenge for a user whose password was right. Failed attempts are not cleared: the sign-in is not complete.

    Raise `Unauthenticated` if the password was changed meanwhile; the insert waits for a concurrent change, which deletes older challenges.
    """
    token = random_token(256)
    inserted = await database.execute(
        """
        insert into sign_in_challenges (tenant_id, public_id, user_id, token_hash, created_at, expires_at)
        select $1, $2, u.id, $4, $5, $6 from users u
        where u.tenant_id = $1 and u.id = $3 and u.password_hash = $7 and u.status = 'A' and u.deleted_at is null
        for share
        """,
        scope.store.id,
        uuid7(),
        user.id,
        token_hash(token),
        scope.now,
        scope.now + LIFETIME,
        user.password_hash,
    )
    if not inserted:
        raise Unauthenticated(INVALID_CREDENTIALS)
    return Challenge(token)


async def find_challenged_user(scope: Scope, temp_token: str) -> AuthenticatedUser:
    """Return the user of the token; raise `Unauthenticated` (`invalid or expired token`)."""
    user = await database.fetchrow(
        """
        select u.* from sign_in_challenges c join users u on u.tenant_id = c.tenant_id and u.id = c.user_id
        where c.tenant_id = $1 and c.token_hash = $2 and c.expires_at > $3 and c.tries < $4 and u.deleted_at is null
        """,
        scope.store.id,
        token_hash(temp_token),
        scope.now,
        MAX_ATTEMPTS,
    )
    if user is None:
        raise Unauthenticated(INVALID_TOKEN)
    return authenticated_user(user, lockout.user_subject(user["id"]))


async def count_attempt(scope: Scope, temp_token: str) -> None:
    """Count an attempt before its code is checked, in a separate transaction, so that of concurrent ones only five are checked.

    Raise `Unauthenticated` (`invalid or expired token`) for the sixth.
    """
    async with database.separate_transaction(scope):
        counted = await database.execute(
            "update sign_in_challenges set tries = tries + 1 where tenant_id = $1 and token_hash = $2 and tries < $3",
            scope.store.id,
            token_hash(temp_token),
            MAX_ATTEMPTS,
        )
    if not counted:
        raise Unauthenticated(INVALID_TOKEN)


async def consume_challenge(scope: Scope, temp_token: str) -> None:
    """Delete the challenge in the sign-in transaction; raise `Unauthenticated` if another request already has."""
    if not await delete_rows(scope, "sign_in_challenges", token_hash=token_hash(temp_token)):
        raise Unauthenticated(INVALID_TOKEN)


async def delete_challenges(scope: Scope, user_id: int) -> None:
    """Delete every challenge of the user; part of the open transaction."""
    await delete_rows(scope, "sign_in_challenges", user_id=user_id)
