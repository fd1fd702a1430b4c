"""Authenticate an identifier and password, and check that the account may sign in (docs/reference/current.md#sign-in).

Every route that takes a password uses this module (`login`, `auth_tokens`, the vendor app), so that all respond alike to guessing:
the same time, text and lockout whether the account exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from asyncpg import Record

from auth import lockout
from auth.passwords import hash_password, needs_rehash, verify_password
from kernel.documents import IdentifierType, classify_identifier
from kernel.errors import Conflict, SignInDenied, Unauthenticated
from kernel.fields import normalize_email
from kernel.scope import Scope
from models.connection import database
from models.rows import from_row

# Each account that shares a document costs one password verification; no person has this many.
MAX_SHARED = 20

_QUERIES = {
    IdentifierType.EMAIL: "select * from users where tenant_id = $1 and email = $2 and deleted_at is null order by id limit $3",
    IdentifierType.CPF: "select * from users where tenant_id = $1 and cpf = $2 and deleted_at is null order by id limit $3",
    IdentifierType.CNPJ: "select * from users where tenant_id = $1 and cnpj = $2 and deleted_at is null order by id limit $3",
    IdentifierType.PHONE: "select * from users where tenant_id = $1 and phone = $2 and deleted_at is null order by id limit $3",
}

_SHARED_ERRORS = {
    IdentifierType.EMAIL: ("multiple_accounts_email", "Há mais de uma conta com este e-mail."),
    IdentifierType.CPF: ("multiple_accounts_cpf", "Há mais de uma conta com este CPF. Entre com o e-mail."),
    IdentifierType.CNPJ: ("multiple_accounts_cnpj", "Há mais de uma conta com este CNPJ. Entre com o e-mail."),
    IdentifierType.PHONE: ("multiple_accounts_phone", "Há mais de uma conta com este telefone. Entre com o e-mail."),
}

INVALID_CREDENTIALS = "invalid credentials"


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """A user whose password was right; its failed attempts are counted under `subject`."""

    id: int
    public_id: UUID
    password_hash: str
    user_type: str
    status: str
    email: str | None
    email_verified_at: datetime | None
    vendor_id: int | None
    subject: str


@dataclass(frozen=True, slots=True)
class _MatchedAccounts:
    type: IdentifierType | None
    value: str
    users: list[Record]


async def authenticate_password(scope: Scope, identifier: str, password: str) -> AuthenticatedUser:
    """Return the one account with this identifier and password.

    Raise `Unauthenticated` (`invalid credentials`), `Conflict` with the reason `multiple_accounts_…` if the password is right for at
    least one of several accounts, `SignInDenied` (`wrong_panel`) for a platform account, and `AccountLocked`.
    """
    return await authenticate_candidates(scope, classify_identifier(identifier), identifier, password)


async def authenticate_candidates(
    scope: Scope, candidates: list[tuple[IdentifierType, str]], identifier: str, password: str
) -> AuthenticatedUser:
    """Do what `authenticate_password` does with the identifier's possible types and values, most likely first."""
    matched = await _match_accounts(scope, candidates, identifier)
    # Queried whether the store has the e-mail or not, so that both take the same time.
    platform_hash = await _platform_hash(matched)
    single = matched.users[0] if len(matched.users) == 1 else None
    if single is not None:
        subject = lockout.user_subject(single["id"])
    else:
        subject = lockout.identifier_subject(matched.value)
    async with lockout.attempt_lock(scope, subject):
        await lockout.check_not_locked(scope, subject)
        if len(matched.users) > 1:
            await _reject_shared(matched, password)
        elif single is None:
            await _reject_unknown(platform_hash, password)
        elif await verify_password(single["password_hash"], password):
            return authenticated_user(single, subject)
        await lockout.record_failure(scope, subject)
    raise Unauthenticated(INVALID_CREDENTIALS)


async def check_may_sign_in(scope: Scope, user: AuthenticatedUser) -> None:
    """Raise `SignInDenied` for an account that may not sign in (docs/reference/current.md#account-states)."""
    if user.status == "D" or (user.user_type == "V" and await _has_disabled_vendor(scope, user)):
        raise SignInDenied("account_disabled", "Esta conta está desativada. Fale com a loja.")
    if user.email is not None and user.email_verified_at is None:
        raise SignInDenied("email_not_verified", "Confirme o seu e-mail antes de entrar.")
    if user.status != "A":
        raise SignInDenied("account_pending_approval", "Esta conta aguarda a aprovação da loja.")


async def _has_disabled_vendor(scope: Scope, user: AuthenticatedUser) -> bool:
    is_disabled: bool | None = await database.fetchval(
        "select status = 'D' from vendors where tenant_id = $1 and id = $2", scope.store.id, user.vendor_id
    )
    return bool(is_disabled)


def authenticated_user(user: Record, subject: str) -> AuthenticatedUser:
    """Build the user from its row."""
    return from_row(AuthenticatedUser, user, subject=subject)


async def record_sign_in(scope: Scope, user: AuthenticatedUser, password: str | None = None) -> None:
    """Record a completed sign-in in the transaction that issues the tokens; only this clears the failed attempts.

    The password, if available, is rehashed if the parameters have changed. Raise `Unauthenticated` if the account was changed
    meanwhile, so that a token never outlives a change that should revoke it.
    """
    new_hash = await _new_hash(user, password)
    await lockout.check_not_locked(scope, user.subject)
    updated = await database.execute(
        """
        update users set last_login_at = $3, password_hash = coalesce($4, password_hash)
        where tenant_id = $1 and id = $2 and password_hash = $5 and status = 'A' and deleted_at is null
        """,
        scope.store.id,
        user.id,
        scope.now,
        new_hash,
        user.password_hash,
    )
    if not updated:
        raise Unauthenticated(INVALID_CREDENTIALS)
    await lockout.clear_failures(scope, user.subject)


async def update_password_hash(scope: Scope, user: AuthenticatedUser, password: str) -> AuthenticatedUser:
    """Rehash a right password if the parameters have changed, where the sign-in will be completed without it."""
    new_hash = await _new_hash(user, password)
    if new_hash is None:
        return user
    updated = await database.execute(
        "update users set password_hash = $4 where tenant_id = $1 and id = $2 and password_hash = $3",
        scope.store.id,
        user.id,
        user.password_hash,
        new_hash,
    )
    return replace(user, password_hash=new_hash) if updated else user


async def _new_hash(user: AuthenticatedUser, password: str | None) -> str | None:
    if password is None or not needs_rehash(user.password_hash):
        return None
    return await hash_password(password)


async def _match_accounts(
    scope: Scope, candidates: list[tuple[IdentifierType, str]], identifier: str
) -> _MatchedAccounts:
    """Return the accounts of the first candidate that matches any; else of the most likely candidate, empty."""
    for type_, value in candidates:
        users = await database.fetch(_QUERIES[type_], scope.store.id, value, MAX_SHARED)
        if users:
            return _MatchedAccounts(type_, value, users)
    if candidates:
        return _MatchedAccounts(candidates[0][0], candidates[0][1], [])
    return _MatchedAccounts(None, normalize_email(identifier), [])


async def _reject_shared(matched: _MatchedAccounts, password: str) -> None:
    """Report several accounts, but only to a caller who knows the password of one of them."""
    for user in matched.users:
        if await verify_password(user["password_hash"], password):
            assert matched.type is not None
            reason, message = _SHARED_ERRORS[matched.type]
            raise Conflict(message, reason=reason)


async def _platform_hash(matched: _MatchedAccounts) -> str | None:
    if matched.type is not IdentifierType.EMAIL:
        return None
    # The same expression as in the index platform_users_email_key.
    password_hash: str | None = await database.fetchval(
        """select password_hash from platform_users where lower(email collate "C") = $1""", matched.value
    )
    return password_hash


async def _reject_unknown(platform_hash: str | None, password: str) -> None:
    """Raise `wrong_panel` for a platform account with the right password; verify a dummy hash for everybody else."""
    if await verify_password(platform_hash, password):
        raise SignInDenied("wrong_panel", "Esta conta é da plataforma e não entra em lojas.")
