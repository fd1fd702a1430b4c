"""Verify one credential and return its caller, cached until it is invalidated.

Everything here runs in the scope of the request's store. A credential of another store is recognised by the store id in it (an
access token's `tid`, the id in a legacy token or an app's) and verified in that store: only a valid one gets `TenantMismatch`, a
forged one is merely invalid (docs/reference/shared.md#order-of-checks).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from auth import api_keys, app_tokens, legacy_tokens, privileges
from auth.access_tokens import INVALID_TOKEN, AccessTokenClaims, verify_access_token
from auth.app_scopes import expand_scopes
from auth.credential_cache import VerifiedCredential, process_cache
from auth.signing_keys import process_key_ring
from kernel.errors import TenantMismatch, TokenRevoked, Unauthenticated
from kernel.scope import Actor, ActorKind, Scope, Store, active_scope
from kernel.signatures import token_hash
from models.connection import database

# Invalidations arrive at once; if one is lost, no revoked credential stays valid longer than this.
REVERIFY_AFTER = timedelta(minutes=1)

INVALID_CREDENTIALS = "Invalid credentials"

Verifier: TypeAlias = Callable[[Scope], Awaitable[VerifiedCredential]]

_ACTOR_KINDS = {"A": ActorKind.ADMIN, "V": ActorKind.VENDOR, "C": ActorKind.CUSTOMER}


async def authenticate_access_token(scope: Scope, token: str) -> Actor:
    """Return the user of an access token; raise `Unauthenticated`, `TokenRevoked` and `TenantMismatch`, in this order."""
    return await _cached(scope, b"jwt:" + token_hash(token), lambda at: _access_token(at, token))


async def authenticate_legacy_token(scope: Scope, token: str) -> Actor:
    """Return the user of a legacy token; raise `Unauthenticated` and `TenantMismatch`."""
    return await _cached(scope, b"legacy:" + token_hash(token), lambda at: _legacy_token(at, token))


async def authenticate_app_token(scope: Scope, token: str) -> Actor:
    """Return the app of an access token; raise `Unauthenticated`, `TokenRevoked` and `TenantMismatch`, in this order."""
    return await _cached(scope, b"app:" + token_hash(token), lambda at: _app_token(at, token))


async def authenticate_api_key(scope: Scope, email: str, secret: str) -> Actor:
    """Return the user of a normalized e-mail and API key, and record the use; raise `Unauthenticated`."""
    fingerprint = b"basic:" + token_hash(f"{email}:{secret}")
    return await _cached(scope, fingerprint, lambda at: _api_key(at, email, secret))


async def authenticate_storefront_key(
    scope: Scope,
    fingerprint: bytes,
    find: Callable[[Scope], Awaitable[VerifiedCredential | None]],
    error: Unauthenticated,
) -> Actor:
    """Return the caller of a storefront key that `find` returns; raise `error` if it returns None."""

    async def verify(at: Scope) -> VerifiedCredential:
        credential = await find(at)
        if credential is None:
            raise error
        return credential

    return await _cached(scope, fingerprint, verify)


async def _cached(scope: Scope, fingerprint: bytes, verify: Verifier) -> Actor:
    cache = process_cache()
    # The same text is a different credential in each store.
    key = scope.store.id.to_bytes(8, "big") + fingerprint
    credential = cache.find(key, scope.now)
    if credential is None:
        generation = cache.generation
        verified = await verify(scope)
        until = min(verified.expires_at, scope.now + REVERIFY_AFTER)
        credential = replace(verified, actor=replace(verified.actor, verified_until=until), expires_at=until)
        cache.keep(key, credential, generation)
    return credential.actor


async def _access_token(scope: Scope, token: str) -> VerifiedCredential:
    claims = await verify_access_token(process_key_ring(), token, scope.now)
    return await _verify_in(scope, claims.store, lambda at: _session_user(at, claims))


async def _session_user(scope: Scope, claims: AccessTokenClaims) -> VerifiedCredential:
    session = await database.fetchrow(
        """
        select s.id, s.user_id, s.ended_at, s.end_reason, u.public_id as user_public_id from sessions s
        join users u on u.tenant_id = s.tenant_id and u.id = s.user_id
        where s.tenant_id = $1 and s.public_id = $2
        """,
        scope.store.id,
        claims.session,
    )
    if session is None or session["user_public_id"] != claims.user:
        raise Unauthenticated(INVALID_TOKEN)
    if session["ended_at"] is not None:
        raise TokenRevoked(session["end_reason"])
    return await _user(scope, session["user_id"], claims.expires_at, session_id=session["id"])


async def _legacy_token(scope: Scope, token: str) -> VerifiedCredential:
    return await _verify_in(scope, legacy_tokens.parse_store_id(token), lambda at: _legacy_token_user(at, token))


async def _legacy_token_user(scope: Scope, token: str) -> VerifiedCredential:
    verified = await legacy_tokens.verify_legacy_token(scope, token)
    if verified is None:
        raise Unauthenticated(INVALID_TOKEN)
    return await _user(scope, verified.user_id, verified.expires_at)


async def _app_token(scope: Scope, token: str) -> VerifiedCredential:
    return await _verify_in(scope, app_tokens.parse_store_id(token), lambda at: _find_app_token(at, token))


async def _find_app_token(scope: Scope, token: str) -> VerifiedCredential:
    credential = await app_tokens.find_app_token(scope, token)
    if credential is None:
        raise Unauthenticated(INVALID_TOKEN)
    return credential


async def _api_key(scope: Scope, email: str, secret: str) -> VerifiedCredential:
    verified = await api_keys.verify_api_key(scope, email, secret)
    if verified is None:
        raise Unauthenticated(INVALID_CREDENTIALS)
    # A key is verified once a minute (REVERIFY_AFTER), so its use is recorded no more often.
    await api_keys.record_key_use(scope, "api_keys", verified.key_id)
    return await _user(scope, verified.user_id, scope.now + REVERIFY_AFTER)


async def _user(
    scope: Scope, user_id: int, expires_at: datetime, *, session_id: int | None = None
) -> VerifiedCredential:
    actor = await load_user(scope, user_id)
    return VerifiedCredential(replace(actor, session_id=session_id), scope.store.id, user_id, expires_at)


async def load_user(scope: Scope, user_id: int) -> Actor:
    """Return the user as a caller with its present privileges; raise `TokenRevoked` if it may not sign in any more."""
    account = await privileges.load_account(scope, user_id)
    if account is None or account.status != "A":
        raise TokenRevoked("account disabled")
    return Actor(
        kind=_ACTOR_KINDS[account.user_type],
        user_id=account.id,
        user_public_id=account.public_id,
        vendor_id=account.vendor_id if account.user_type == "V" else None,
        privileges=account.privileges,
        is_owner=account.is_owner,
        credential=f"user:{account.id}",
    )


async def load_app(scope: Scope, installation_id: int, scopes: Iterable[str]) -> Actor:
    """Return the installed app as a caller with those of its token's `scopes` that it still has; raise `TokenRevoked` if it was removed."""
    row = await database.fetchrow(
        "select app_id, scopes, removed_at from app_installations where tenant_id = $1 and id = $2",
        scope.store.id,
        installation_id,
    )
    if row is None or row["removed_at"] is not None:
        raise TokenRevoked(app_tokens.APP_REMOVED)
    return Actor(
        kind=ActorKind.APP,
        scopes=expand_scopes(scopes) & expand_scopes(row["scopes"]),
        app_id=row["app_id"],
        installation_id=installation_id,
        credential=f"app:{row['app_id']}",
    )


async def _verify_in(scope: Scope, public_id: UUID | None, verify: Verifier) -> VerifiedCredential:
    """Verify a credential in the store that it names; None is none.

    One of another store is refused: with what `verify` raises there, else with `TenantMismatch`.
    """
    if public_id is None:
        raise Unauthenticated(INVALID_TOKEN)
    if public_id == scope.store.public_id:
        return await verify(scope)
    store_id = await database.fetchval("select id from tenants where public_id = $1", public_id)
    if store_id is None:
        raise Unauthenticated(INVALID_TOKEN)
    other_scope = replace(scope, store=Store(id=store_id, public_id=public_id, name=""))
    with active_scope(other_scope):
        await verify(other_scope)
    raise TenantMismatch()
