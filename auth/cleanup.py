"""Delete expired attempts, sessions and tokens. Nothing else deletes them."""

from __future__ import annotations

from datetime import timedelta

from auth.configuration import configured
from kernel.scope import Scope
from models import database

# A revoked or expired session stays this long for its user and the audit.
_SESSION_RETENTION = timedelta(days=30)
# A used refresh token stays this long, so that its reuse is detected.
_USED_TOKEN_RETENTION = timedelta(days=60)


async def delete_expired(scope: Scope) -> None:
    """Delete, for the scope's store and the platform's sign-in counts, the rows that no rule reads any more; for a daily job."""
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
        await database.execute("delete from legacy_tokens where tenant_id = $1 and expires_at <= $2", store, now)
        for statement in (
            "delete from sign_in_challenges where tenant_id = $1 and expires_at <= $2",
            "delete from mailed_tokens where tenant_id = $1 and expires_at <= $2",
        ):
            await database.execute(statement, store, now)
        # Their refresh tokens are deleted by cascade.
        await database.execute(
            "delete from sessions where tenant_id = $1 and (expires_at <= $2 or ended_at <= $2)",
            store,
            now - _SESSION_RETENTION,
        )
        await database.execute(
            "delete from refresh_tokens where tenant_id = $1 and used_at is not null and expires_at <= $2",
            store,
            now - _USED_TOKEN_RETENTION,
        )
        # An expired token needs no reuse detection; an approval is deleted with its last token.
        await database.execute(
            "delete from app_tokens where tenant_id = $1 and expires_at <= $2",
            store,
            now - _SESSION_RETENTION,
        )
        await database.execute(
            """
            delete from app_grants g where g.tenant_id = $1 and g.code_expires_at <= $2
              and not exists (select from app_tokens t where t.tenant_id = g.tenant_id and t.grant_id = g.id)
            """,
            store,
            now - _SESSION_RETENTION,
        )
