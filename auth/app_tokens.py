"""Give out and verify the tokens of apps (`vat_live_…`, `vat_test_…`).

A token names its store, as the legacy layer's do, so that one of another store can be refused with 403 although row-level security
hides its row: `vat_live_<the store's UUID in hexadecimal>_<256 random bits and a checksum>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from auth.app_scopes import widen
from auth.credential_cache import Remembered
from auth.installations import REMOVED, holder_of
from kernel.errors import TokenRevoked
from kernel.ids import checksummed_token, has_valid_checksum, uuid7
from kernel.scope import Actor, ActorKind, Scope
from kernel.signatures import token_hash
from models import database

PREFIX = "vat_"
ACCESS_LIFETIME = timedelta(seconds=3_600)
REFRESH_LIFETIME = timedelta(days=90)
REVOKED_BY_APP = "revoked by the app"

_TOKEN = re.compile(r"vat_(?:live|test)_([0-9a-f]{32})_[A-Za-z0-9]{49}")

_INSERT = """
    insert into app_tokens (tenant_id, public_id, grant_id, kind, token_hash, scopes, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_FIND = """
    select t.scopes, t.expires_at, t.revoked_at, g.revoked_at as grant_revoked_at, g.revoke_reason,
           i.id as installation_id, i.app_id, i.scopes as approved, i.rate_limit, i.removed_at
    from app_tokens t
    join app_grants g on g.tenant_id = t.tenant_id and g.id = t.grant_id
    join app_installations i on i.tenant_id = g.tenant_id and i.id = g.installation_id
    where t.tenant_id = $1 and t.token_hash = $2 and t.kind = 'A'
"""


@dataclass(frozen=True, slots=True)
class AppTokenPair:
    """What the token route answers; `expires_in` is the access token's life in seconds."""

    access_token: str
    refresh_token: str
    expires_in: int
    scopes: list[str]


def store_of(token: str) -> UUID | None:
    """Give the store a token names, None for a text that is no app token. It proves nothing."""
    found = _TOKEN.fullmatch(token)
    return UUID(hex=found[1]) if found is not None and has_valid_checksum(token) else None


async def give_tokens(
    scope: Scope, grant_id: int, mode: str, scopes: Iterable[str], granted: Iterable[str]
) -> AppTokenPair:
    """Make an access token with these scopes, and the refresh token that renews all that was granted; joins the transaction."""
    access = checksummed_token(f"{PREFIX}{mode}_{scope.store.public_id.hex}_")
    refresh = checksummed_token("vrt_")
    given = sorted(set(scopes))
    await _keep(scope, grant_id, "A", access, given, ACCESS_LIFETIME)
    await _keep(scope, grant_id, "R", refresh, sorted(set(granted)), REFRESH_LIFETIME)
    return AppTokenPair(access, refresh, int(ACCESS_LIFETIME.total_seconds()), given)


async def _keep(
    scope: Scope, grant_id: int, kind: str, token: str, scopes: list[str], lifetime: timedelta
) -> None:
    await database.execute(
        _INSERT,
        scope.store.id,
        uuid7(),
        grant_id,
        kind,
        token_hash(token),
        scopes,
        scope.now,
        scope.now + lifetime,
    )


async def find_app_token(scope: Scope, token: str) -> Remembered | None:
    """Give what an app's access token proves in the scope's store, None for one that is unknown or expired.

    Raises `TokenRevoked` for one that was ended before its time.
    """
    found = await database.row(_FIND, scope.store.id, token_hash(token))
    if found is None or found["expires_at"] <= scope.now:
        return None
    if found["removed_at"] is not None:
        raise TokenRevoked(REMOVED)
    if found["grant_revoked_at"] is not None:
        raise TokenRevoked(found["revoke_reason"])
    if found["revoked_at"] is not None:
        raise TokenRevoked(REVOKED_BY_APP)
    actor = Actor(
        kind=ActorKind.APP,
        scopes=widen(found["scopes"]) & widen(found["approved"]),
        app_id=found["app_id"],
        installation_id=found["installation_id"],
        rate_limit=found["rate_limit"],
        credential=f"app:{found['app_id']}",
    )
    return Remembered(actor, scope.store.id, holder_of(found["installation_id"]), found["expires_at"])
