"""Authenticate the credential that a route requires (docs/reference/current.md#credentials, docs/reference/legacy.md#credentials).

`SCHEMES` maps each value of `rest_facade.routing.Credential` to the function that parses its headers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from auth import app_tokens, storefront_keys
from auth.access_tokens import INVALID_TOKEN
from auth.credentials import (
    INVALID_CREDENTIALS,
    authenticate_access_token,
    authenticate_api_key,
    authenticate_app_token,
    authenticate_legacy_token,
    authenticate_storefront_key,
)
from auth.legacy_tokens import parse_store_id
from kernel.errors import Forbidden, TenantMismatch, Unauthenticated
from kernel.fields import normalize_email
from kernel.scope import ANONYMOUS, Actor, ActorKind, Scope, Store, active_scope
from kernel.signatures import token_hash

Headers: TypeAlias = Mapping[str, str]
Scheme: TypeAlias = Callable[[Scope, Headers], Awaitable[Actor]]

MISSING_HEADER = "missing authorization header"
MALFORMED_HEADER = "invalid authorization format"
INVALID_KEY = "invalid_api_key"
NOT_ALLOWED = "insufficient permissions"
LEGACY_MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
LEGACY_ADMIN_ONLY = "Forbidden: admin scope required"
LEGACY_VENDOR_ONLY = "Forbidden: vendor scope required"

_AUTHORIZATION = "Authorization"
_API_KEY = "X-API-Key"
# Longer than any valid credential; longer headers are rejected unparsed.
_MAX_HEADER = 8_192


async def authenticate(
    store: Store, needs: str, headers: Headers, *, now: datetime, client_ip: str, request_id: str, family: str
) -> Actor:
    """Return the caller of a request to a route that requires the credential `needs`.

    `headers` is case-insensitive. Raise `Unauthenticated`, `TokenRevoked`, `TenantMismatch` and `Forbidden` with the documented texts;
    the executed field checks privileges and scopes later.
    """
    scope = Scope(store=store, actor=ANONYMOUS, request_id=request_id, now=now, family=family, client_ip=client_ip)
    with active_scope(scope):
        try:
            return await SCHEMES[str(needs)](scope, headers)
        except Unauthenticated as error:
            error.is_invalid_token = _AUTHORIZATION in headers or _API_KEY in headers
            raise


# --- Current API, app integration, GraphQL -----------------------------------------------------------------------------------


async def _anonymous(scope: Scope, headers: Headers) -> Actor:
    return Actor(ActorKind.ANONYMOUS, credential=f"ip:{scope.client_ip}")


async def _user(scope: Scope, headers: Headers) -> Actor:
    return await _user_with_token(scope, _bearer(headers))


async def _admin(scope: Scope, headers: Headers) -> Actor:
    """Accept an administrator's token or an app's; the app's scopes decide which admin routes it may use."""
    token = _bearer(headers)
    actor = await (
        _app_with_token(scope, token) if token.startswith(app_tokens.PREFIX) else _user_with_token(scope, token)
    )
    if actor.kind not in (ActorKind.ADMIN, ActorKind.APP):
        raise Forbidden(NOT_ALLOWED)
    return actor


async def _app(scope: Scope, headers: Headers) -> Actor:
    """Accept an app's token only: a user's is 401 (docs/reference/apps.md#credentials)."""
    return await _app_with_token(scope, _bearer(headers))


async def _storefront(scope: Scope, headers: Headers) -> Actor:
    """Accept a storefront key in either header; with one in X-API-Key, also a customer's token (docs/reference/current.md#storefront)."""
    key = headers.get(_API_KEY)
    if key is not None:
        actor = await _storefront_with_key(scope, key)
        return await _add_customer(scope, actor, headers) if _AUTHORIZATION in headers else actor
    try:
        key = _bearer(headers)
    except Unauthenticated as error:
        raise Unauthenticated(INVALID_KEY) from error
    return await _storefront_with_key(scope, key)


async def _add_customer(scope: Scope, key: Actor, headers: Headers) -> Actor:
    """Add the customer to the caller; the rights stay the key's alone."""
    token = _bearer(headers)
    if token.startswith(storefront_keys.PREFIX):
        return key  # the same key in both headers
    customer = _verified_with(await _user_with_token(scope, token), key)
    # The key is shared by all customers, so idempotency records must be separate for each.
    return replace(
        key,
        user_id=customer.user_id,
        user_public_id=customer.user_public_id,
        credential=f"{key.credential}/{customer.credential}",
        verified_until=customer.verified_until,
    )


def _verified_with(caller: Actor, key: Actor) -> Actor:
    """Return the caller, verified no longer than the key that it sent along."""
    if caller.verified_until is None or key.verified_until is None:
        return replace(caller, verified_until=None)
    return replace(caller, verified_until=min(caller.verified_until, key.verified_until))


async def _graphql(scope: Scope, headers: Headers) -> Actor:
    """Accept a user's token, an app's, or a storefront key in either header; never Basic, refresh and temporary tokens.

    A key with a token has to be valid, and its rate limits count too; the rights are those of the token. Without a credential the
    caller is anonymous: `/graphql` then executes only what needs none, such as signing in.
    """
    text = headers.get(_API_KEY)
    key = None if text is None else await _storefront_with_key(scope, text)
    if _AUTHORIZATION not in headers:
        return key or await _anonymous(scope, headers)
    caller = await _graphql_token(scope, _bearer(headers))
    if key is None or caller.credential == key.credential:
        return caller
    return replace(_verified_with(caller, key), key=key)


async def _graphql_token(scope: Scope, token: str) -> Actor:
    if token.startswith(storefront_keys.PREFIX):
        return await _storefront_with_key(scope, token)
    if token.startswith(app_tokens.PREFIX):
        return await _app_with_token(scope, token)
    return await _user_with_token(scope, token)


async def _user_with_token(scope: Scope, token: str) -> Actor:
    # Tokens with a prefix are opaque credentials of other types, never parsed as JWTs.
    if token.startswith((app_tokens.PREFIX, storefront_keys.PREFIX)):
        raise Unauthenticated(INVALID_TOKEN)
    return await authenticate_access_token(scope, token)


async def _app_with_token(scope: Scope, token: str) -> Actor:
    if not token.startswith(app_tokens.PREFIX):
        raise Unauthenticated(INVALID_TOKEN)
    return await authenticate_app_token(scope, token)


async def _storefront_with_key(scope: Scope, key: str) -> Actor:
    if not key.startswith(storefront_keys.PREFIX) or len(key) > _MAX_HEADER:
        raise Unauthenticated(INVALID_KEY)
    return await authenticate_storefront_key(
        scope,
        b"storefront:" + token_hash(key),
        lambda at: storefront_keys.find_storefront_key(at, key),
        Unauthenticated(INVALID_KEY),
    )


def _bearer(headers: Headers) -> str:
    """Return the token of `Authorization: Bearer <token>`."""
    header = headers.get(_AUTHORIZATION)
    if header is None:
        raise Unauthenticated(MISSING_HEADER)
    scheme, token = _split(header)
    if scheme != "bearer" or not token or " " in token or len(header) > _MAX_HEADER:
        raise Unauthenticated(MALFORMED_HEADER)
    return token


# --- Legacy API --------------------------------------------------------------------------------------------------------------


async def _legacy_any(scope: Scope, headers: Headers) -> Actor:
    """Accept any user of the store: Basic (e-mail, API key), the current API's access token or a legacy token."""
    header = headers.get(_AUTHORIZATION)
    if header is None or not header.strip():
        raise Unauthenticated(LEGACY_MISSING)
    try:
        return await _legacy_user(scope, header)
    except Unauthenticated as error:
        # Also for expired and revoked ones: the legacy API has one text (docs/reference/legacy.md#errors).
        raise Unauthenticated(INVALID_CREDENTIALS) from error


async def _legacy_admin(scope: Scope, headers: Headers) -> Actor:
    """Accept administrators; vendors if the store's setting `legacy_vendor_keys` allows them on the entity routes."""
    try:
        actor = await _legacy_any(scope, headers)
    except TenantMismatch as error:
        raise Forbidden(LEGACY_ADMIN_ONLY) from error
    if actor.kind is ActorKind.ADMIN:
        return actor
    if actor.kind is ActorKind.VENDOR and scope.store.settings.get("legacy_vendor_keys") in ("Y", True):
        return actor
    raise Forbidden(LEGACY_ADMIN_ONLY)


async def _vendor(scope: Scope, headers: Headers) -> Actor:
    actor = await _legacy_any(scope, headers)
    if actor.kind is not ActorKind.VENDOR:
        raise Forbidden(LEGACY_VENDOR_ONLY)
    return actor


async def _legacy_user(scope: Scope, header: str) -> Actor:
    scheme, credential = _split(header)
    if len(header) > _MAX_HEADER or not credential:
        raise Unauthenticated(INVALID_CREDENTIALS)
    if scheme == "basic":
        email, secret = _basic(credential)
        return await authenticate_api_key(scope, email, secret)
    if scheme == "bearer":
        if parse_store_id(credential) is not None:
            return await authenticate_legacy_token(scope, credential)
        return await authenticate_access_token(scope, credential)
    raise Unauthenticated(INVALID_CREDENTIALS)


def _basic(credential: str) -> tuple[str, str]:
    """Parse `base64(e-mail:key)` (RFC 7617); raise `Unauthenticated` if it is malformed."""
    try:
        text = base64.b64decode(credential, validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Unauthenticated(INVALID_CREDENTIALS) from error
    email, colon, secret = text.partition(":")
    if not colon or "\x00" in text:
        raise Unauthenticated(INVALID_CREDENTIALS)
    return normalize_email(email), secret


def _split(header: str) -> tuple[str, str]:
    """Return the scheme in lower case (RFC 9110, section 11.1) and what follows it."""
    scheme, _, rest = header.strip().partition(" ")
    return scheme.lower(), rest.strip()


SCHEMES: Mapping[str, Scheme] = {
    "none": _anonymous,
    "store": _anonymous,
    "signature": _anonymous,
    "user": _user,
    "admin": _admin,
    "app": _app,
    "storefront_key": _storefront,
    "graphql": _graphql,
    "legacy_any": _legacy_any,
    "legacy_admin": _legacy_admin,
    "vendor": _vendor,
}
