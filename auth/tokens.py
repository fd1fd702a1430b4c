"""Make and read access tokens: JWTs signed with Ed25519 (decisions section 3, RFC 7519, RFC 8037)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import jwt

from auth.configuration import configured
from auth.keys import ALGORITHM, KeyRing
from kernel.errors import Unauthenticated
from kernel.ids import parse_uuid, uuid7

ACCESS = "access"
INVALID = "invalid or expired token"
# Two machines of one deployment may differ by a little; a token from further in the future was not made by us.
_SKEW_SECONDS = 60
# Whatever lifetime is configured, no access token of ours lives longer.
_LONGEST_LIFE_SECONDS = 86_400
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
class AccessClaims:
    """Say what an access token states: whose it is, for which store, of which session."""

    user: UUID
    store: UUID
    session: UUID
    expires_at: datetime


async def issue_access_token(ring: KeyRing, claims: AccessClaims, now: datetime) -> str:
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


async def read_access_token(ring: KeyRing, token: str, now: datetime) -> AccessClaims:
    """Give what a token states after checking its signature, issuer, audience, type and times.

    Raises `Unauthenticated` (`invalid or expired token`) whatever is wrong with it: the difference helps only who forges.
    """
    if len(token) > _MAX_LENGTH or not token.isascii():
        raise Unauthenticated(INVALID)
    settings = configured()
    try:
        header = jwt.get_unverified_header(token)
        kid = header.get("kid")
        key = await ring.public(kid, now) if header.get("alg") == ALGORITHM and isinstance(kid, str) else None
        if key is None:
            raise Unauthenticated(INVALID)
        payload = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            audience=settings.audience,
            issuer=settings.issuer,
            options=_OPTIONS,
        )
    # PyJWT lets other errors through for payloads that are no objects or hold numbers beyond any date.
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
        raise Unauthenticated(INVALID) from error
    return _claims(payload, now)


def _claims(payload: dict[str, Any], now: datetime) -> AccessClaims:
    user, store, session = (parse_uuid(payload[name]) for name in ("sub", "tid", "sid"))
    issued, expires = payload["iat"], payload["exp"]
    present = now.timestamp()
    if (
        payload["typ"] != ACCESS
        or user is None
        or store is None
        or session is None
        or type(issued) is not int
        or type(expires) is not int
        or not issued - _SKEW_SECONDS <= present < expires
        or expires - issued > _LONGEST_LIFE_SECONDS
    ):
        raise Unauthenticated(INVALID)
    return AccessClaims(user, store, session, datetime.fromtimestamp(expires, UTC))
