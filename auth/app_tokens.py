"""Issue and verify the tokens of apps (`vat_live_…`, `vat_test_…`; docs/reference/current.md#app-tokens).

A token contains its store's id, so that one of another store gets 403 although row-level security hides its row:
`vat_live_<the store's UUID in hexadecimal>_<256 random bits and a checksum>`. So do codes and refresh tokens, which the token route takes
at the address that stores share; those issued before 0.3.0 don't.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from auth.app_scopes import expand_scopes
from auth.credential_cache import VerifiedCredential
from kernel.errors import TokenRevoked
from kernel.ids import checksummed_token, has_valid_checksum
from kernel.scope import Actor, ActorKind, Scope
from kernel.signatures import token_hash
from models.connection import database
from models.rows import insert_row

PREFIX = "vat_"
ACCESS_LIFETIME = timedelta(seconds=3_600)
REFRESH_LIFETIME = timedelta(days=90)
REVOKED_BY_APP = "revoked by the app"
APP_REMOVED = "app removed"

_TOKEN = re.compile(r"vat_(?:live|test)_([0-9a-f]{32})_[A-Za-z0-9]{49}")
_CREDENTIAL = re.compile(r"(?:vat_live|vat_test|vac|vrt)_([0-9a-f]{32})_[A-Za-z0-9]{49}")

_FIND_TOKEN = """
    select t.scopes, t.expires_at, t.revoked_at, g.revoked_at as grant_revoked_at, g.revoke_reason,
           i.id as installation_id, i.app_id, i.scopes as approved, i.rate_limit, i.removed_at
    from app_tokens t
    join app_grants g on g.tenant_id = t.tenant_id and g.id = t.grant_id
    join app_installations i on i.tenant_id = g.tenant_id and i.id = g.installation_id
    where t.tenant_id = $1 and t.token_hash = $2 and t.kind = 'A'
"""


@dataclass(frozen=True, slots=True)
class AppTokenPair:
    """The response of the token route; `expires_in` is the access token's lifetime in seconds."""

    access_token: str
    refresh_token: str
    expires_in: int
    scopes: list[str]


def parse_store_id(token: str) -> UUID | None:
    """Return the store id in a token, None if the text is no app token. This doesn't authenticate it."""
    match = _TOKEN.fullmatch(token)
    return UUID(hex=match[1]) if match is not None and has_valid_checksum(token) else None


def store_of_credential(text: str) -> UUID | None:
    """Return the store id in an authorization code, refresh or access token, None if it has none. This doesn't authenticate it."""
    match = _CREDENTIAL.fullmatch(text)
    return UUID(hex=match[1]) if match is not None and has_valid_checksum(text) else None


def new_code(store_id: UUID) -> str:
    """Generate an authorization code of a store."""
    return checksummed_token(f"vac_{store_id.hex}_")


async def issue_app_tokens(
    scope: Scope, grant_id: int, mode: str, scopes: Iterable[str], granted: Iterable[str], refresh: str | None = None
) -> AppTokenPair:
    """Issue an access token with these scopes, and without `refresh` a refresh token for all granted ones; joins the transaction."""
    access = checksummed_token(f"{PREFIX}{mode}_{scope.store.public_id.hex}_")
    access_scopes = sorted(set(scopes))
    await _insert_token(scope, grant_id, "A", access, access_scopes, ACCESS_LIFETIME)
    if refresh is None:
        refresh = checksummed_token(f"vrt_{scope.store.public_id.hex}_")
        await _insert_token(scope, grant_id, "R", refresh, sorted(set(granted)), REFRESH_LIFETIME)
    return AppTokenPair(access, refresh, int(ACCESS_LIFETIME.total_seconds()), access_scopes)


async def _insert_token(
    scope: Scope, grant_id: int, kind: str, token: str, scopes: list[str], lifetime: timedelta
) -> None:
    await insert_row(
        scope,
        "app_tokens",
        grant_id=grant_id,
        kind=kind,
        token_hash=token_hash(token),
        scopes=scopes,
        created_at=scope.now,
        expires_at=scope.now + lifetime,
    )


async def find_app_token(scope: Scope, token: str) -> VerifiedCredential | None:
    """Return the credential of an app's access token, None if it is unknown or expired; raise `TokenRevoked` if it was revoked."""
    row = await database.fetchrow(_FIND_TOKEN, scope.store.id, token_hash(token))
    if row is None or row["expires_at"] <= scope.now:
        return None
    if row["removed_at"] is not None:
        raise TokenRevoked(APP_REMOVED)
    if row["grant_revoked_at"] is not None:
        raise TokenRevoked(row["revoke_reason"])
    if row["revoked_at"] is not None:
        raise TokenRevoked(REVOKED_BY_APP)
    actor = Actor(
        kind=ActorKind.APP,
        scopes=expand_scopes(row["scopes"]) & expand_scopes(row["approved"]),
        app_id=row["app_id"],
        installation_id=row["installation_id"],
        rate_limit=row["rate_limit"],
        credential=f"app:{row['app_id']}",
    )
    return VerifiedCredential(actor, scope.store.id, credential_owner(row["installation_id"]), row["expires_at"])


def credential_owner(installation_id: int) -> str:
    """Return an installation's owner key in the credential cache."""
    return f"app:{installation_id}"
