"""Queue mails in the outbox, in the transaction that causes them; the worker sends them later (`domain.mails.sending`).

Some responses must take the same time whether an account exists or not, so a mail can be queued without a recipient: the same work is done,
but the row is never sent or shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth.secrets import DecryptionError, decrypt, encrypt
from domain.mails.texts import TEMPLATES, MailType, printable_name, render_mail
from domain.store_settings import setting
from kernel.scope import Scope
from models.connection import database
from models.rows import from_row, insert_row_later

BODY_PURPOSE = "mail"
# Limit of the mails that anonymous requests can trigger (docs/reference/current.md#password-reset).
MAX_PER_HOUR = 3

QUEUED, WITHOUT_RECIPIENT = "Q", "N"


@dataclass(frozen=True, slots=True)
class Recipient:
    """The recipient of a mail; a guest customer has no `user_id`."""

    user_id: int | None
    email: str
    name: str


@dataclass(frozen=True, slots=True)
class StoredMail:
    """A mail from the database, its text decrypted."""

    id: UUID
    kind: str
    recipient: str
    subject: str
    body: str
    status: str
    created_at: datetime


def recipient_of(user: Mapping[str, Any]) -> Recipient:
    """Return the recipient for an account's row, which must have an e-mail."""
    return Recipient(user["id"], user["email"], user["firstname"] or user["email"])


async def queue_mail(
    scope: Scope, mail_type: MailType, to: Recipient | None, token: str = "", details: Mapping[str, str] | None = None
) -> None:
    """Queue a mail to a recipient, or to none, as part of the current transaction; `details` are further values of its text."""
    name = (printable_name(to.name) or to.email) if to is not None else ""
    values = {"store": scope.store.name, "name": name, "token": _format_token(scope, mail_type, token)}
    values |= details or {}
    subject, body = render_mail(mail_type, values)
    await insert_row_later(
        scope,
        "mails",
        user_id=None if to is None else to.user_id,
        kind=mail_type.value,
        recipient="" if to is None else to.email,
        subject=subject,
        body=encrypt(BODY_PURPOSE, body.encode()),
        status=WITHOUT_RECIPIENT if to is None else QUEUED,
        created_at=scope.now,
        due_at=scope.now,
        expires_at=scope.now + TEMPLATES[mail_type].lifetime,
    )


async def is_over_hourly_limit(scope: Scope, mail_type: MailType, user_id: int | None) -> bool:
    """Return whether the account was sent the maximum number of mails of the type in the last hour.

    The caller must hold `lock_address`, or concurrent requests could exceed the limit.
    """
    return await _is_over_hourly_limit(scope, mail_type, "user_id", user_id)


async def is_over_hourly_limit_of_address(scope: Scope, mail_type: MailType, email: str) -> bool:
    """Return the same of an address without an account; the caller must hold `lock_address` too."""
    return await _is_over_hourly_limit(scope, mail_type, "recipient", email)


async def _is_over_hourly_limit(scope: Scope, mail_type: MailType, column: str, value: object) -> bool:
    sent: int = await database.fetchval(
        f"select count(*) from mails where tenant_id = $1 and {column} = $2 and kind = $3 and created_at > $4",  # a constant
        scope.store.id,
        value,
        mail_type.value,
        scope.now - timedelta(hours=1),
    )
    return sent >= MAX_PER_HOUR


async def lock_address(scope: Scope, email: str) -> None:
    """Serialize transactions that mail the address, whether or not an account has it."""
    await database.execute(
        "select pg_advisory_xact_lock(hashtextextended('mails:' || $1::text || ':' || $2, 0))",
        str(scope.store.id),
        email,
    )


async def list_latest(scope: Scope, *, limit: int = 100) -> list[StoredMail]:
    """Return the store's latest mails with their texts, newest first; for the development server's page and tests."""
    rows = await database.fetch(
        """
        select public_id, kind, recipient, subject, body, status, created_at from mails
        where tenant_id = $1 and status <> 'N' order by created_at desc, id desc limit $2
        """,
        scope.store.id,
        limit,
    )
    return [from_row(StoredMail, row, id=row["public_id"], body=_readable_body(row)) for row in rows]


def body_of(row: Record) -> str:
    """Return the text of a mail, empty once it was sent; raises `DecryptionError` with a different VITRINE_SECRET_KEY."""
    return "" if row["body"] is None else decrypt(BODY_PURPOSE, bytes(row["body"])).decode()


def _readable_body(row: Record) -> str:
    try:
        return body_of(row)
    except DecryptionError:
        return "(written with another VITRINE_SECRET_KEY)"


def _format_token(scope: Scope, mail_type: MailType, token: str) -> str:
    """Format a token, also as a link if the store configured the page that accepts it.

    The token is in the URL's fragment, so that it isn't sent to servers and their logs.
    """
    page = setting(scope, "account_url")
    if not token or not page:
        return f"    {token}"
    return f"    {page}#{mail_type.value}={token}\n\nou use o código:\n\n    {token}"
