"""Let a right password wait for its code: the temporary token of a two-factor challenge (decisions section 3, Challenge)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from auth import lockout
from auth.identify import WRONG, Entrant, entrant_of
from kernel.errors import Unauthenticated
from kernel.ids import random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models import database

LIFETIME = timedelta(minutes=5)
TRIES = 5
INVALID = "invalid or expired token"


@dataclass(frozen=True, slots=True)
class Challenge:
    """Ask for a code; the token is good for 5 minutes, five tries and one success."""

    temp_token: str


async def give(scope: Scope, user: Entrant) -> Challenge:
    """Make a challenge for a user whose password was right. It doesn't clear the wrong attempts: nobody has signed in yet.

    Raises `Unauthenticated` when the password was changed since; a change under way is waited for, and ends what was made before.
    """
    token = random_token(256)
    made = await database.execute(
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
    if not made:
        raise Unauthenticated(WRONG)
    return Challenge(token)


async def waiting(scope: Scope, temp_token: str) -> Entrant:
    """Give the user who waits with the token; raises `Unauthenticated` (`invalid or expired token`)."""
    user = await database.row(
        """
        select u.* from sign_in_challenges c join users u on u.tenant_id = c.tenant_id and u.id = c.user_id
        where c.tenant_id = $1 and c.token_hash = $2 and c.expires_at > $3 and c.tries < $4 and u.deleted_at is null
        """,
        scope.store.id,
        token_hash(temp_token),
        scope.now,
        TRIES,
    )
    if user is None:
        raise Unauthenticated(INVALID)
    return entrant_of(user, lockout.subject_of_user(user["id"]))


async def count_try(scope: Scope, temp_token: str) -> None:
    """Count a try before its code is looked at, in a transaction of its own: whatever comes together, five are looked at.

    Raises `Unauthenticated` (`invalid or expired token`) for the sixth.
    """
    async with database.separate_transaction(scope):
        counted = await database.execute(
            "update sign_in_challenges set tries = tries + 1 where tenant_id = $1 and token_hash = $2 and tries < $3",
            scope.store.id,
            token_hash(temp_token),
            TRIES,
        )
    if not counted:
        raise Unauthenticated(INVALID)


async def finish(scope: Scope, temp_token: str) -> None:
    """End the challenge in the transaction that signs in; raises `Unauthenticated` when somebody else has, meanwhile."""
    ended = await database.execute(
        "delete from sign_in_challenges where tenant_id = $1 and token_hash = $2",
        scope.store.id,
        token_hash(temp_token),
    )
    if not ended:
        raise Unauthenticated(INVALID)


async def forget_all(scope: Scope, user_id: int) -> None:
    """End every challenge of the user; part of the open transaction."""
    await database.execute(
        "delete from sign_in_challenges where tenant_id = $1 and user_id = $2", scope.store.id, user_id
    )
