"""Find whose account an identifier and a password name, and say who may enter (decisions sections 2 and 3).

Every door that takes a password passes here (`login`, `auth_tokens`, the vendor app), so that all of them look alike to somebody
who guesses: the same time, the same text and the same lockout whether the account exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from asyncpg import Record

from auth import lockout
from auth.passwords import hash_password, needs_rehash, verify_password
from kernel.documents import DocumentType, classify_identifier, normalise_email
from kernel.errors import AccountBarred, Conflict, Unauthenticated
from kernel.scope import Scope
from models import database

# Each account that shares a document costs one verification; no person has this many.
MAX_SHARED = 20

_COLUMNS = {
    DocumentType.EMAIL: "select * from users where tenant_id = $1 and email = $2 and deleted_at is null order by id limit $3",
    DocumentType.CPF: "select * from users where tenant_id = $1 and cpf = $2 and deleted_at is null order by id limit $3",
    DocumentType.CNPJ: "select * from users where tenant_id = $1 and cnpj = $2 and deleted_at is null order by id limit $3",
    DocumentType.PHONE: "select * from users where tenant_id = $1 and phone = $2 and deleted_at is null order by id limit $3",
}

_SHARED = {
    DocumentType.EMAIL: ("multiple_accounts_email", "Há mais de uma conta com este e-mail."),
    DocumentType.CPF: ("multiple_accounts_cpf", "Há mais de uma conta com este CPF. Entre com o e-mail."),
    DocumentType.CNPJ: ("multiple_accounts_cnpj", "Há mais de uma conta com este CNPJ. Entre com o e-mail."),
    DocumentType.PHONE: (
        "multiple_accounts_phone",
        "Há mais de uma conta com este telefone. Entre com o e-mail.",
    ),
}

WRONG = "invalid credentials"


@dataclass(frozen=True, slots=True)
class Entrant:
    """Describe the user whose password was right; `subject` is the one its wrong attempts are counted under."""

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
class _Named:
    kind: DocumentType | None
    value: str
    users: list[Record]


async def prove(scope: Scope, identifier: str, password: str) -> Entrant:
    """Give the one account whose identifier and password these are.

    Raises `Unauthenticated` (`invalid credentials`), `Conflict` with the reason `multiple_accounts_…` when the password is right for
    at least one of several accounts, `AccountBarred` (`wrong_panel`) for a platform account, and `AccountLocked`.
    """
    return await prove_among(scope, classify_identifier(identifier), identifier, password)


async def prove_among(
    scope: Scope, readings: list[tuple[DocumentType, str]], identifier: str, password: str
) -> Entrant:
    """Do what `prove` does with the ways the identifier may be read given, most likely first."""
    named = await _accounts_named(scope, readings, identifier)
    # Asked whether the store knows the e-mail or not, so that both take the same time.
    platform_hash = await _platform_hash(named)
    single = named.users[0] if len(named.users) == 1 else None
    if single is not None:
        subject = lockout.subject_of_user(single["id"])
    else:
        subject = lockout.subject_of_identifier(named.value)
    async with lockout.in_turn(scope, subject):
        await lockout.check_not_locked(scope, subject)
        if len(named.users) > 1:
            await _refuse_shared(named, password)
        elif single is None:
            await _refuse_unknown(platform_hash, password)
        elif await verify_password(single["password_hash"], password):
            return entrant_of(single, subject)
        await lockout.record_wrong(scope, subject)
    raise Unauthenticated(WRONG)


def check_may_enter(user: Entrant) -> None:
    """Refuse a known user whose account may not enter, with the contract's code and a text for people."""
    if user.status == "D":
        raise AccountBarred("account_disabled", "Esta conta está desativada. Fale com a loja.")
    if user.email is not None and user.email_verified_at is None:
        raise AccountBarred("email_not_verified", "Confirme o seu e-mail antes de entrar.")
    if user.status != "A":
        raise AccountBarred("account_pending_approval", "Esta conta aguarda a aprovação da loja.")


def entrant_of(user: Record, subject: str) -> Entrant:
    """Describe a user from its row."""
    return Entrant(
        id=user["id"],
        public_id=user["public_id"],
        password_hash=user["password_hash"],
        user_type=user["user_type"],
        status=user["status"],
        email=user["email"],
        email_verified_at=user["email_verified_at"],
        vendor_id=user["vendor_id"],
        subject=subject,
    )


async def complete(scope: Scope, user: Entrant, password: str | None = None) -> None:
    """Record that a user has signed in, in the transaction that gives the tokens: this alone clears the wrong attempts.

    The password, where it is at hand, is hashed anew when the parameters have changed since. Raises `Unauthenticated` when the
    account was changed while its password was verified, so that a token never outlives the change that should end it.
    """
    new_hash = await _new_hash(user, password)
    await lockout.check_not_locked(scope, user.subject)
    touched = await database.execute(
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
    if not touched:
        raise Unauthenticated(WRONG)
    await lockout.clear(scope, user.subject)


async def renew_hash(scope: Scope, user: Entrant, password: str) -> Entrant:
    """Hash a right password anew when the parameters have changed, where the sign-in will be completed without it."""
    new_hash = await _new_hash(user, password)
    if new_hash is None:
        return user
    touched = await database.execute(
        "update users set password_hash = $4 where tenant_id = $1 and id = $2 and password_hash = $3",
        scope.store.id,
        user.id,
        user.password_hash,
        new_hash,
    )
    return replace(user, password_hash=new_hash) if touched else user


async def _new_hash(user: Entrant, password: str | None) -> str | None:
    if password is None or not needs_rehash(user.password_hash):
        return None
    return await hash_password(password)


async def _accounts_named(scope: Scope, readings: list[tuple[DocumentType, str]], identifier: str) -> _Named:
    """Take the first reading that anybody has; else the most likely one, with nobody."""
    for kind, value in readings:
        found = await database.rows(_COLUMNS[kind], scope.store.id, value, MAX_SHARED)
        if found:
            return _Named(kind, value, found)
    if readings:
        return _Named(readings[0][0], readings[0][1], [])
    return _Named(None, normalise_email(identifier), [])


async def _refuse_shared(named: _Named, password: str) -> None:
    """Tell about several accounts, but only to somebody who knows a password of one of them."""
    for user in named.users:
        if await verify_password(user["password_hash"], password):
            assert named.kind is not None
            reason, message = _SHARED[named.kind]
            raise Conflict(message, reason=reason)


async def _platform_hash(named: _Named) -> str | None:
    if named.kind is not DocumentType.EMAIL:
        return None
    # Written as the index is (platform_users_email_key).
    found: str | None = await database.value(
        """select password_hash from platform_users where lower(email collate "C") = $1""", named.value
    )
    return found


async def _refuse_unknown(platform_hash: str | None, password: str) -> None:
    """Tell a platform account, whose password is right, that this is the wrong panel; verify a dummy for everybody else."""
    if await verify_password(platform_hash, password):
        raise AccountBarred("wrong_panel", "Esta conta é da plataforma e não entra em lojas.")
