"""Give out and verify the Bearer tokens of the legacy layer (`POST /api/auth_tokens`, decisions-legacy section 6).

A token names its store, so that one of another store can be refused with 403 although row-level security hides its row:
`vlt_<the store's UUID in hexadecimal>_<256 random bits>`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from auth import lockout, second_factor
from auth.configuration import configured
from auth.identify import Entrant, check_may_enter, complete, prove_among
from kernel.documents import DocumentType, has_cnpj_form, is_email, normalise_document, normalise_email
from kernel.errors import Unauthenticated, ValidationFailed
from kernel.ids import random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models import database

CODE_REQUIRED = "two-factor code required"

_TOKEN = re.compile(r"vlt_([0-9a-f]{32})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class IssuedLegacyToken:
    """A token with its life in seconds."""

    token: str
    ttl: int


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """Say whose token was proved and until when it is good."""

    user_id: int
    expires_at: datetime


async def issue_legacy_token(
    scope: Scope, email: str | None, cnpj: str | None, password: str | None, code: str | None = None
) -> IssuedLegacyToken:
    """Exchange an e-mail or CNPJ and a password for a token; any user of the store may, with a second factor by a `code` too.

    Raises what `sessions.login` raises; a missing name is 400 `Required field: email`, a missing password `Required field: password`,
    a missing code 401 `two-factor code required`, a wrong one 401 `invalid code`.
    """
    await lockout.count_attempt(scope, "auth_tokens")
    name = (email or "").strip() or (cnpj or "").strip()
    if not name:
        raise ValidationFailed("Required field: email")
    if not password:
        raise ValidationFailed("Required field: password")
    readings = _as_email(name) if (email or "").strip() else _as_cnpj(name)
    user = await prove_among(scope, readings, name, password)
    check_may_enter(user)
    if not await second_factor.is_on(scope, user.id):
        return await give_legacy_token(scope, user, password)
    if not code or not code.strip():
        raise Unauthenticated(CODE_REQUIRED)
    async with second_factor.guarded(scope, user.id):
        await second_factor.use(scope, user.id, code)
        return await give_legacy_token(scope, user, password)


async def give_legacy_token(scope: Scope, user: Entrant, password: str | None = None) -> IssuedLegacyToken:
    """Give a token to a user who has proved everything that was asked; this clears its wrong attempts."""
    lifetime = configured().legacy_token_lifetime
    token = f"vlt_{scope.store.public_id.hex}_{random_token(256)}"
    async with database.transaction(scope):
        await complete(scope, user, password)
        await database.execute(
            """
            insert into legacy_tokens (tenant_id, public_id, user_id, token_hash, created_at, expires_at)
            values ($1, $2, $3, $4, $5, $6)
            """,
            scope.store.id,
            uuid7(),
            user.id,
            token_hash(token),
            scope.now,
            scope.now + lifetime,
        )
    return IssuedLegacyToken(token, int(lifetime.total_seconds()))


def store_of(token: str) -> UUID | None:
    """Give the store a token names, None for a text that is no legacy token. It proves nothing."""
    found = _TOKEN.fullmatch(token)
    return UUID(hex=found[1]) if found else None


async def verify_legacy_token(scope: Scope, token: str) -> TokenHolder | None:
    """Say whose token this is in the scope's store; None for one that is unknown, expired or ended."""
    found = await database.row(
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
    return None if found is None else TokenHolder(found["user_id"], found["expires_at"])


def _as_email(text: str) -> list[tuple[DocumentType, str]]:
    email = normalise_email(text)
    return [(DocumentType.EMAIL, email)] if is_email(email) else []


def _as_cnpj(text: str) -> list[tuple[DocumentType, str]]:
    return [(DocumentType.CNPJ, normalise_document(text))] if has_cnpj_form(text) else []
