"""Issue and verify the Bearer tokens of the legacy API (`POST /api/auth_tokens`; docs/reference/legacy.md#auth-tokens).

A token contains its store's id, so that one of another store gets 403 although row-level security hides its row:
`vlt_<the store's UUID in hexadecimal>_<256 random bits>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from auth import lockout, two_factor_codes
from auth.configuration import configured
from auth.password_authentication import AuthenticatedUser, authenticate_candidates, check_may_sign_in, record_sign_in
from kernel.documents import IdentifierType, has_cnpj_form, normalize_document
from kernel.errors import Unauthenticated, ValidationFailed
from kernel.fields import is_email, normalize_email
from kernel.ids import random_token
from kernel.scope import Scope
from kernel.signatures import token_hash
from models.connection import database
from models.rows import insert_row

CODE_REQUIRED = "two-factor code required"

_TOKEN = re.compile(r"vlt_([0-9a-f]{32})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class IssuedLegacyToken:
    """A token with its lifetime in seconds."""

    token: str
    ttl: int


@dataclass(frozen=True, slots=True)
class VerifiedLegacyToken:
    """The user of a verified token and its expiry."""

    user_id: int
    expires_at: datetime


async def issue_legacy_token(
    scope: Scope, email: str | None, cnpj: str | None, password: str | None, code: str | None = None
) -> IssuedLegacyToken:
    """Exchange an e-mail or CNPJ and a password, with two-factor authentication also a `code`, for a token of any user.

    Raise what `sessions.login` raises; a missing identifier is 400 `Required field: email`, a missing password
    `Required field: password`, a missing code 401 `two-factor code required`, a wrong one 401 `invalid code`.
    """
    await lockout.count_attempt(scope, "auth_tokens")
    identifier = (email or "").strip() or (cnpj or "").strip()
    if not identifier:
        raise ValidationFailed("Required field: email")
    if not password:
        raise ValidationFailed("Required field: password")
    candidates = email_candidates(identifier) if (email or "").strip() else _cnpj_candidates(identifier)
    user = await authenticate_candidates(scope, candidates, identifier, password)
    return await sign_in_for_token(scope, user, password, code)


async def sign_in_for_token(
    scope: Scope, user: AuthenticatedUser, password: str, code: str | None
) -> IssuedLegacyToken:
    """Create a token for a user whose password was right, and with two-factor authentication the `code` too.

    Raise `SignInDenied` for an account that may not sign in, `Unauthenticated` for a missing or wrong code.
    """
    await check_may_sign_in(scope, user)
    if not await two_factor_codes.is_enabled(scope, user.id):
        return await create_legacy_token(scope, user, password)
    if not code or not code.strip():
        raise Unauthenticated(CODE_REQUIRED)
    async with two_factor_codes.code_attempt(scope, user.id):
        await two_factor_codes.consume_code(scope, user.id, code)
        return await create_legacy_token(scope, user, password)


async def create_legacy_token(scope: Scope, user: AuthenticatedUser, password: str | None = None) -> IssuedLegacyToken:
    """Create a token for a fully authenticated user; this clears its failed attempts."""
    lifetime = configured().legacy_token_lifetime
    token = f"vlt_{scope.store.public_id.hex}_{random_token(256)}"
    async with database.transaction(scope):
        await record_sign_in(scope, user, password)
        times: dict[str, Any] = {"created_at": scope.now, "expires_at": scope.now + lifetime}
        await insert_row(scope, "legacy_tokens", user_id=user.id, token_hash=token_hash(token), **times)
    return IssuedLegacyToken(token, int(lifetime.total_seconds()))


def parse_store_id(token: str) -> UUID | None:
    """Return the store id in a token, None if the text is no legacy token. This doesn't authenticate it."""
    match = _TOKEN.fullmatch(token)
    return UUID(hex=match[1]) if match else None


async def verify_legacy_token(scope: Scope, token: str) -> VerifiedLegacyToken | None:
    """Return the user of a token in the scope's store; None if it is unknown, expired or revoked."""
    row = await database.fetchrow(
        """
        select t.user_id, t.expires_at from legacy_tokens t
        join users u on u.tenant_id = t.tenant_id and u.id = t.user_id
        where t.tenant_id = $1 and t.token_hash = $2 and t.ended_at is null and t.expires_at > $3
          and u.status = 'A' and u.deleted_at is null
        """,
        scope.store.id,
        token_hash(token),
        scope.now,
    )
    return None if row is None else VerifiedLegacyToken(row["user_id"], row["expires_at"])


def email_candidates(text: str) -> list[tuple[IdentifierType, str]]:
    """Return the identifiers of users that a text may be: an e-mail address, or none."""
    email = normalize_email(text)
    return [(IdentifierType.EMAIL, email)] if is_email(email) else []


def _cnpj_candidates(text: str) -> list[tuple[IdentifierType, str]]:
    return [(IdentifierType.CNPJ, normalize_document(text))] if has_cnpj_form(text) else []
