"""Delete what time has made worthless: old attempts, sessions and tokens. Nothing else deletes them."""

from __future__ import annotations

from datetime import timedelta

from auth.configuration import configured
from kernel.scope import Scope
from models import database

# An ended or expired session is kept this long for its user's and the audit's questions.
_KEEP_SESSIONS = timedelta(days=30)
# A used refresh token is kept so that its reuse is noticed; nobody steals one this old to use it now.
_KEEP_USED_TOKENS = timedelta(days=60)


async def forget_expired(scope: Scope) -> None:
    """Delete, of the scope's store and of the platform's counts, what no rule looks at any more; for a daily job."""
    store, now = scope.store.id, scope.now
    async with database.transaction(scope):
        await database.execute(
            "delete from signin_counts where not exists (select from unnest(recent) as at where at > $1)",
            now - timedelta(minutes=1),
        )
        await database.execute(
            "delete from wrong_attempts where tenant_id = $1 and at <= $2",
            store,
            now - configured().lockout_window,
        )
        await database.execute("delete from lockouts where tenant_id = $1 and until <= $2", store, now)
        await database.execute(
            "delete from legacy_tokens where tenant_id = $1 and expires_at <= $2", store, now
        )
        for statement in (
            "delete from sign_in_challenges where tenant_id = $1 and expires_at <= $2",
            "delete from mailed_tokens where tenant_id = $1 and expires_at <= $2",
        ):
            await database.execute(statement, store, now)
        # Their refresh tokens go with them.
        await database.execute(
            "delete from sessions where tenant_id = $1 and (expires_at <= $2 or ended_at <= $2)",
            store,
            now - _KEEP_SESSIONS,
        )
        await database.execute(
            "delete from refresh_tokens where tenant_id = $1 and used_at is not null and expires_at <= $2",
            store,
            now - _KEEP_USED_TOKENS,
        )
        # A spent token that has expired could not be used if it had not been spent; an approval goes with its last token.
        await database.execute(
            "delete from app_tokens where tenant_id = $1 and expires_at <= $2", store, now - _KEEP_SESSIONS
        )
        await database.execute(
            """
            delete from app_grants g where g.tenant_id = $1 and g.code_expires_at <= $2
              and not exists (select from app_tokens t where t.tenant_id = g.tenant_id and t.grant_id = g.id)
            """,
            store,
            now - _KEEP_SESSIONS,
        )
