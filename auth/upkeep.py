"""Delete what time has made worthless: old attempts, sessions and tokens. Nothing else deletes them."""

from __future__ import annotations

from datetime import datetime, timedelta

from auth.configuration import configured
from models.database import across_stores

# An ended or expired session is kept this long for its user's and the audit's questions.
_KEEP_SESSIONS = timedelta(days=30)
# A used refresh token is kept so that its reuse is noticed; nobody steals one this old to use it now.
_KEEP_USED_TOKENS = timedelta(days=60)


async def forget_expired(now: datetime) -> None:
    """Delete, in every store, what no rule looks at any more; for a job that runs daily or more often."""
    async with across_stores() as everywhere:
        await everywhere.execute(
            "delete from signin_counts where not exists (select from unnest(recent) as at where at > $1)",
            now - timedelta(minutes=1),
        )
        await everywhere.execute(
            "delete from wrong_attempts where at <= $1", now - configured().lockout_window
        )
        await everywhere.execute("delete from lockouts where until <= $1", now)
        await everywhere.execute("delete from legacy_tokens where expires_at <= $1", now)
        # Their refresh tokens go with them.
        await everywhere.execute(
            "delete from sessions where expires_at <= $1 or ended_at <= $1", now - _KEEP_SESSIONS
        )
        await everywhere.execute(
            "delete from refresh_tokens where used_at is not null and expires_at <= $1",
            now - _KEEP_USED_TOKENS,
        )
