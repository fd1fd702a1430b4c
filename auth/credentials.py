"""Prove one credential: from its text to the caller it stands for, remembered until something it rests on changes.

Everything here works in the scope of the store that the request is for. A credential of another store is told apart by what it
says of itself (an access token's `tid`, the store in a legacy token or an app's) and then proved there, for only a good one is told that it
is at the wrong door: a forged one is merely invalid (contract, Order of checks).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

from auth import api_keys, app_tokens, legacy_tokens, privileges
from auth.credential_cache import Remembered, process_memory
from auth.keys import process_ring
from auth.tokens import INVALID, AccessClaims, read_access_token
from kernel.errors import TenantMismatch, TokenRevoked, Unauthenticated
from kernel.scope import Actor, ActorKind, Scope, Store, entered
from kernel.signatures import token_hash
from models import database

# Notices of changes arrive at once; were one ever lost, no credential would outlive its end by more than this.
LOOK_AGAIN = timedelta(minutes=1)

WRONG_BASIC = "Invalid credentials"

Prover: TypeAlias = Callable[[Scope], Awaitable[Remembered]]

_KINDS = {"A": ActorKind.ADMIN, "V": ActorKind.VENDOR, "C": ActorKind.CUSTOMER}


async def prove_access_token(scope: Scope, token: str) -> Actor:
    """Give the user of an access token of the current API.

    Raises `Unauthenticated` (`invalid or expired token`), `TokenRevoked` and `TenantMismatch`, in this order.
    """
    return await _remembered(scope, b"jwt:" + token_hash(token), lambda at: _access_token(at, token))


async def prove_legacy_token(scope: Scope, token: str) -> Actor:
    """Give the user of a token of `auth_tokens`; raises `Unauthenticated` and `TenantMismatch`."""
    return await _remembered(scope, b"legacy:" + token_hash(token), lambda at: _legacy_token(at, token))


async def prove_app_token(scope: Scope, token: str) -> Actor:
    """Give the app of an access token; raises `Unauthenticated`, `TokenRevoked` and `TenantMismatch`, in this order."""
    return await _remembered(scope, b"app:" + token_hash(token), lambda at: _app_token(at, token))


async def prove_api_key(scope: Scope, email: str, secret: str) -> Actor:
    """Give the user of an e-mail (normalised) and API key; raises `Unauthenticated`. That it was used is recorded."""
    fingerprint = b"basic:" + token_hash(f"{email}:{secret}")
    return await _remembered(scope, fingerprint, lambda at: _api_key(at, email, secret))


async def prove_with(
    scope: Scope,
    fingerprint: bytes,
    find: Callable[[Scope], Awaitable[Remembered | None]],
    refusal: Unauthenticated,
) -> Actor:
    """Give the caller that `find` knows; raises `refusal` when it knows none. For the keys of storefronts."""

    async def prover(at: Scope) -> Remembered:
        found = await find(at)
        if found is None:
            raise refusal
        return found

    return await _remembered(scope, fingerprint, prover)


async def _remembered(scope: Scope, fingerprint: bytes, prove: Prover) -> Actor:
    memory = process_memory()
    # The same text proves different things to different stores: at most one of them knows it.
    key = scope.store.id.to_bytes(8, "big") + fingerprint
    known = memory.get(key, scope.now)
    if known is None:
        generation = memory.generation
        proved = await prove(scope)
        until = min(proved.expires_at, scope.now + LOOK_AGAIN)
        known = replace(proved, actor=replace(proved.actor, proven_until=until), expires_at=until)
        memory.put(key, known, generation)
    return known.actor


async def _access_token(scope: Scope, token: str) -> Remembered:
    claims = await read_access_token(process_ring(), token, scope.now)
    if claims.store != scope.store.public_id:
        await _prove_elsewhere(scope, claims.store, lambda at: _session_of(at, claims))
        raise TenantMismatch()
    return await _session_of(scope, claims)


async def _session_of(scope: Scope, claims: AccessClaims) -> Remembered:
    session = await database.row(
        """
        select s.id, s.user_id, s.ended_at, s.end_reason, u.public_id as user_public_id from sessions s
        join users u on u.tenant_id = s.tenant_id and u.id = s.user_id
        where s.tenant_id = $1 and s.public_id = $2
        """,
        scope.store.id,
        claims.session,
    )
    if session is None or session["user_public_id"] != claims.user:
        raise Unauthenticated(INVALID)
    if session["ended_at"] is not None:
        raise TokenRevoked(session["end_reason"])
    return await _user(scope, session["user_id"], claims.expires_at, session_id=session["id"])


async def _legacy_token(scope: Scope, token: str) -> Remembered:
    named = legacy_tokens.store_of(token)
    if named is None:
        raise Unauthenticated(INVALID)
    if named != scope.store.public_id:
        await _prove_elsewhere(scope, named, lambda at: _holder_of_legacy_token(at, token))
        raise TenantMismatch()
    return await _holder_of_legacy_token(scope, token)


async def _holder_of_legacy_token(scope: Scope, token: str) -> Remembered:
    holder = await legacy_tokens.verify_legacy_token(scope, token)
    if holder is None:
        raise Unauthenticated(INVALID)
    return await _user(scope, holder.user_id, holder.expires_at)


async def _app_token(scope: Scope, token: str) -> Remembered:
    named = app_tokens.store_of(token)
    if named is None:
        raise Unauthenticated(INVALID)
    if named != scope.store.public_id:
        await _prove_elsewhere(scope, named, lambda at: _installation_of(at, token))
        raise TenantMismatch()
    return await _installation_of(scope, token)


async def _installation_of(scope: Scope, token: str) -> Remembered:
    found = await app_tokens.find_app_token(scope, token)
    if found is None:
        raise Unauthenticated(INVALID)
    return found


async def _api_key(scope: Scope, email: str, secret: str) -> Remembered:
    holder = await api_keys.verify_api_key(scope, email, secret)
    if holder is None:
        raise Unauthenticated(WRONG_BASIC)
    # A key is proved once a minute (LOOK_AGAIN), so its use is recorded that often and no more.
    await api_keys.record_use(scope, holder.key_id)
    return await _user(scope, holder.user_id, scope.now + LOOK_AGAIN)


async def _user(
    scope: Scope, user_id: int, expires_at: datetime, *, session_id: int | None = None
) -> Remembered:
    account = await privileges.account(scope, user_id)
    if account is None or account.status != "A":
        raise TokenRevoked("account disabled")
    actor = Actor(
        kind=_KINDS[account.user_type],
        user_id=account.id,
        user_public_id=account.public_id,
        company_id=account.vendor_id if account.user_type == "V" else None,
        privileges=account.privileges,
        is_owner=account.is_owner,
        session_id=session_id,
        credential=f"user:{account.id}",
    )
    return Remembered(actor, scope.store.id, account.id, expires_at)


async def _prove_elsewhere(scope: Scope, public_id: UUID, prove: Prover) -> None:
    """Prove a credential in the store it names; raises what the proof raises there, `Unauthenticated` for no store."""
    store_id = await database.value("select id from tenants where public_id = $1", public_id)
    if store_id is None:
        raise Unauthenticated(INVALID)
    elsewhere = replace(scope, store=Store(id=store_id, public_id=public_id, name=""))
    with entered(elsewhere):
        await prove(elsewhere)
