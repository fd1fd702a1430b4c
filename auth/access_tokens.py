"""Issue and verify access tokens: JWTs signed with Ed25519 (docs/reference/current.md#access-tokens, RFC 7519, RFC 8037)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt

from auth.configuration import configured
from auth.signing_keys import ALGORITHM, SigningKeyRing
from kernel.errors import Unauthenticated
from kernel.ids import parse_uuid, uuid7

ACCESS = "access"
INVALID_TOKEN = "invalid or expired token"
# The clocks of two machines may differ slightly; a token issued further in the future is forged.
_SKEW_SECONDS = 60
# The upper bound of any configured lifetime.
_MAX_LIFETIME_SECONDS = 86_400
_MAX_LENGTH = 4_096
_CLAIMS = ["iss", "aud", "sub", "tid", "sid", "typ", "iat", "exp", "jti"]
_OPTIONS: Any = {
    "require": _CLAIMS,
    # These two are compared with the request's own clock below.
    "verify_exp": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


@dataclass(frozen=True, slots=True)
class AccessTokenClaims:
    """The claims of an access token: its user, store, session and expiry."""

    user: UUID
    store: UUID
    session: UUID
    expires_at: datetime


async def issue_access_token(ring: SigningKeyRing, claims: AccessTokenClaims, now: datetime) -> str:
    """Sign an access token; `claims.expires_at` has whole seconds."""
    settings = configured()
    pair = await ring.signing(now)
    payload = {
        "iss": settings.issuer,
        "aud": settings.audience,
        "sub": str(claims.user),
        "tid": str(claims.store),
        "sid": str(claims.session),
        "typ": ACCESS,
        "iat": int(now.timestamp()),
        "exp": int(claims.expires_at.timestamp()),
        "jti": str(uuid7()),
    }
    return jwt.encode(payload, pair.private, algorithm=ALGORITHM, headers={"kid": pair.kid})


async def verify_access_token(ring: SigningKeyRing, token: str, now: datetime) -> AccessTokenClaims:
    """Return a token's claims after checking its signature, issuer, audience, type and times.

    Raise `Unauthenticated` (`invalid or expired token`) whatever is wrong: the difference would only help an attacker.
    """
    if len(token) > _MAX_LENGTH or not token.isascii():
        raise Unauthenticated(INVALID_TOKEN)
    settings = configured()
    try:
        header = jwt.get_unverified_header(token)
        kid = header.get("kid")
        key = await ring.public(kid, now) if header.get("alg") == ALGORITHM and isinstance(kid, str) else None
        if key is None:
            raise Unauthenticated(INVALID_TOKEN)
        payload = jwt.decode(
            token, key, algorithms=[ALGORITHM], audience=settings.audience, issuer=settings.issuer, options=_OPTIONS
        )
    # PyJWT raises other errors for payloads that aren't objects or have out-of-range dates.
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
        raise Unauthenticated(INVALID_TOKEN) from error
    return _claims(payload, now)


def _claims(payload: dict[str, Any], now: datetime) -> AccessTokenClaims:
    user, store, session = (parse_uuid(payload[name]) for name in ("sub", "tid", "sid"))
    issued, expires = payload["iat"], payload["exp"]
    timestamp = now.timestamp()
    if (
        payload["typ"] != ACCESS
        or user is None
        or store is None
        or session is None
        or type(issued) is not int
        or type(expires) is not int
        or not issued - _SKEW_SECONDS <= timestamp < expires
        or expires - issued > _MAX_LIFETIME_SECONDS
    ):
        raise Unauthenticated(INVALID_TOKEN)
    return AccessTokenClaims(user, store, session, datetime.fromtimestamp(expires, UTC))
