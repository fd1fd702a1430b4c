"""Ask for the credential a route needs and refuse in the contract's order and words (current-api and legacy-api, Authentication).

`SCHEMES` is the whole table: each word of `rest_facade.routing.Needs`, and who reads its headers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from auth import app_tokens, storefront_keys
from auth.credentials import (
    prove_access_token,
    prove_api_key,
    prove_app_token,
    prove_legacy_token,
    prove_with,
)
from auth.legacy_tokens import store_of
from auth.tokens import INVALID
from kernel.documents import normalise_email
from kernel.errors import Forbidden, TenantMismatch, Unauthenticated
from kernel.scope import ANONYMOUS, Actor, ActorKind, Scope, Store, entered
from kernel.signatures import token_hash

Headers: TypeAlias = Mapping[str, str]
Scheme: TypeAlias = Callable[[Scope, Headers], Awaitable[Actor]]

MISSING = "missing authorization header"
MALFORMED = "invalid authorization format"
INVALID_KEY = "invalid_api_key"
NOT_ALLOWED = "insufficient permissions"
LEGACY_MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
LEGACY_WRONG = "Invalid credentials"
LEGACY_ADMIN_ONLY = "Forbidden: admin scope required"
LEGACY_VENDOR_ONLY = "Forbidden: vendor scope required"

_AUTHORIZATION = "Authorization"
_API_KEY = "X-API-Key"
# Longer than any credential of ours; what is longer is not looked at.
_MAX_HEADER = 8_192


async def authenticate(
    store: Store,
    needs: str,
    headers: Headers,
    *,
    now: datetime,
    client_ip: str,
    request_id: str,
    family: str,
) -> Actor:
    """Give the caller of a request to a route that needs `needs` in the store.

    `headers` finds names in any case. Raises `Unauthenticated`, `TokenRevoked`, `TenantMismatch` and `Forbidden` with the texts of the
    contract; which privilege or scope is needed is asked later, by the field that is executed.
    """
    scope = Scope(
        store=store, actor=ANONYMOUS, request_id=request_id, now=now, family=family, client_ip=client_ip
    )
    with entered(scope):
        return await SCHEMES[str(needs)](scope, headers)


# --- Current API, app integration, GraphQL -----------------------------------------------------------------------------------


async def _nobody(scope: Scope, headers: Headers) -> Actor:
    return Actor(ActorKind.ANONYMOUS, credential=f"ip:{scope.client_ip}")


async def _user(scope: Scope, headers: Headers) -> Actor:
    return await _person(scope, _bearer(headers))


async def _admin(scope: Scope, headers: Headers) -> Actor:
    """Take an administrator's token or an app's; which admin routes an app may use is a matter of its scopes."""
    token = _bearer(headers)
    actor = await (_app_with(scope, token) if token.startswith(app_tokens.PREFIX) else _person(scope, token))
    if actor.kind not in (ActorKind.ADMIN, ActorKind.APP):
        raise Forbidden(NOT_ALLOWED)
    return actor


async def _app(scope: Scope, headers: Headers) -> Actor:
    """Take an app's token only: a user's is 401 there (current-api, Authentication, rule 2)."""
    return await _app_with(scope, _bearer(headers))


async def _storefront(scope: Scope, headers: Headers) -> Actor:
    """Take a storefront key in either header; beside one in X-API-Key a shopper's own token may stand (decisions section 6)."""
    key = headers.get(_API_KEY)
    if key is not None:
        actor = await _storefront_with(scope, key)
        return await _with_shopper(scope, actor, headers) if _AUTHORIZATION in headers else actor
    try:
        key = _bearer(headers)
    except Unauthenticated as error:
        raise Unauthenticated(INVALID_KEY) from error
    return await _storefront_with(scope, key)


async def _with_shopper(scope: Scope, key: Actor, headers: Headers) -> Actor:
    """Tell who shops: the key's rights stay as they are, and no right of the person comes to them."""
    token = _bearer(headers)
    if token.startswith(storefront_keys.PREFIX):
        return key  # the key once more, in the other header
    person = await _person(scope, token)
    # Answers to this person are not for whoever else holds the key: what is kept for a request is kept apart.
    return replace(
        key,
        user_id=person.user_id,
        user_public_id=person.user_public_id,
        credential=f"{key.credential}/{person.credential}",
    )


async def _graphql(scope: Scope, headers: Headers) -> Actor:
    """Take a user's token, an app's, or a storefront key in either header; Basic, refresh and temporary tokens never."""
    key = headers.get(_API_KEY)
    if key is not None and _AUTHORIZATION not in headers:
        return await _storefront_with(scope, key)
    token = _bearer(headers)
    if token.startswith(storefront_keys.PREFIX):
        return await _storefront_with(scope, token)
    if token.startswith(app_tokens.PREFIX):
        return await _app_with(scope, token)
    return await _person(scope, token)


async def _person(scope: Scope, token: str) -> Actor:
    # Tokens with a prefix are opaque credentials of other kinds, never read as JWTs.
    if token.startswith((app_tokens.PREFIX, storefront_keys.PREFIX)):
        raise Unauthenticated(INVALID)
    return await prove_access_token(scope, token)


async def _app_with(scope: Scope, token: str) -> Actor:
    if not token.startswith(app_tokens.PREFIX):
        raise Unauthenticated(INVALID)
    return await prove_app_token(scope, token)


async def _storefront_with(scope: Scope, key: str) -> Actor:
    if not key.startswith(storefront_keys.PREFIX) or len(key) > _MAX_HEADER:
        raise Unauthenticated(INVALID_KEY)
    return await prove_with(
        scope,
        b"storefront:" + token_hash(key),
        lambda at: storefront_keys.find_storefront_key(at, key),
        Unauthenticated(INVALID_KEY),
    )


def _bearer(headers: Headers) -> str:
    """Give the token of `Authorization: Bearer <token>`."""
    header = headers.get(_AUTHORIZATION)
    if header is None:
        raise Unauthenticated(MISSING)
    scheme, token = _split(header)
    if scheme != "bearer" or not token or " " in token or len(header) > _MAX_HEADER:
        raise Unauthenticated(MALFORMED)
    return token


# --- Legacy layer ------------------------------------------------------------------------------------------------------------


async def _legacy_any(scope: Scope, headers: Headers) -> Actor:
    """Take any user of the store, by Basic (e-mail, API key), the current API's token or a legacy token."""
    header = headers.get(_AUTHORIZATION)
    if header is None or not header.strip():
        raise Unauthenticated(LEGACY_MISSING)
    try:
        return await _legacy_user(scope, header)
    except Unauthenticated as error:
        # Expired and revoked ones too: the legacy layer has one text (legacy-api, Errors, 401).
        raise Unauthenticated(LEGACY_WRONG) from error


async def _legacy_admin(scope: Scope, headers: Headers) -> Actor:
    """Take administrators; vendors where the store's setting `legacy_vendor_keys` opens the entity routes to them."""
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
        raise Unauthenticated(LEGACY_WRONG)
    if scheme == "basic":
        email, secret = _basic(credential)
        return await prove_api_key(scope, email, secret)
    if scheme == "bearer":
        if store_of(credential) is not None:
            return await prove_legacy_token(scope, credential)
        return await prove_access_token(scope, credential)
    raise Unauthenticated(LEGACY_WRONG)


def _basic(credential: str) -> tuple[str, str]:
    """Read `base64(e-mail:key)` (RFC 7617); raises `Unauthenticated` for what is not that."""
    try:
        text = base64.b64decode(credential, validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Unauthenticated(LEGACY_WRONG) from error
    email, colon, secret = text.partition(":")
    if not colon or "\x00" in text:
        raise Unauthenticated(LEGACY_WRONG)
    return normalise_email(email), secret


def _split(header: str) -> tuple[str, str]:
    """Give the scheme in lower case (RFC 9110, section 11.1) and what follows it."""
    scheme, _, rest = header.strip().partition(" ")
    return scheme.lower(), rest.strip()


SCHEMES: Mapping[str, Scheme] = {
    "nothing": _nobody,
    "store": _nobody,
    "signature": _nobody,
    "user": _user,
    "admin": _admin,
    "app": _app,
    "storefront_key": _storefront,
    "graphql": _graphql,
    "legacy_any": _legacy_any,
    "legacy_admin": _legacy_admin,
    "vendor": _vendor,
}
