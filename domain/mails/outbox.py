"""Queue mails in the transaction of what they tell; the worker sends them afterwards (`domain.mails.sending`).

Some answers must take the same time whether an account exists or not. So a mail may be written to nobody: everything is done as for
somebody, and the row is never sent nor shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth.secrets import Unreadable, decrypt, encrypt
from domain.mails.texts import TEXTS, MailType, written
from domain.store_settings import setting
from kernel.ids import uuid7
from kernel.scope import Scope
from models import database

BODY_PURPOSE = "mail"
# Of what a stranger can ask to be sent (decisions section 3, More).
MOST_IN_AN_HOUR = 3

QUEUED, FOR_NOBODY = "Q", "N"


@dataclass(frozen=True, slots=True)
class Recipient:
    """Name who gets a mail."""

    user_id: int
    email: str
    name: str


@dataclass(frozen=True, slots=True)
class KeptMail:
    """A mail as it lies in the database, its text readable."""

    id: UUID
    kind: str
    recipient: str
    subject: str
    body: str
    status: str
    created_at: datetime


def recipient_of(user: Mapping[str, Any]) -> Recipient:
    """Give who gets the mails of an account; its row must have an e-mail."""
    return Recipient(user["id"], user["email"], user["firstname"] or user["email"])


async def queue(scope: Scope, kind: MailType, to: Recipient | None, token: str = "") -> None:
    """Write a mail to an account, or to nobody, as part of the open transaction."""
    name = to.name if to is not None else ""
    values = {"store": scope.store.name, "name": name, "token": _shown_token(scope, kind, token)}
    subject, body = written(kind, values)
    await database.execute(
        """
        insert into mails (tenant_id, public_id, user_id, kind, recipient, subject, body, status, created_at, due_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)
        """,
        scope.store.id,
        uuid7(),
        None if to is None else to.user_id,
        kind.value,
        "" if to is None else to.email,
        subject,
        encrypt(BODY_PURPOSE, body.encode()),
        FOR_NOBODY if to is None else QUEUED,
        scope.now,
        scope.now + TEXTS[kind].life,
    )


async def is_enough(scope: Scope, kind: MailType, user_id: int | None) -> bool:
    """Say whether the account was sent as many mails of the kind in the last hour as anybody may ask for.

    The caller holds what keeps two who ask at once from both being counted too late (`one_at_a_time`).
    """
    sent: int = await database.value(
        "select count(*) from mails where tenant_id = $1 and user_id = $2 and kind = $3 and created_at > $4",
        scope.store.id,
        user_id,
        kind.value,
        scope.now - timedelta(hours=1),
    )
    return sent >= MOST_IN_AN_HOUR


async def one_at_a_time(scope: Scope, email: str) -> None:
    """Wait for every other transaction that writes to the address; whether somebody has it or not."""
    await database.execute(
        "select pg_advisory_xact_lock(hashtextextended('mails:' || $1::text || ':' || $2, 0))",
        str(scope.store.id),
        email,
    )


async def latest(scope: Scope, *, limit: int = 100) -> list[KeptMail]:
    """Give the store's last mails with their texts, the newest first; for the development server's page and for tests."""
    found = await database.rows(
        """
        select public_id, kind, recipient, subject, body, status, created_at from mails
        where tenant_id = $1 and status <> 'N' order by created_at desc, id desc limit $2
        """,
        scope.store.id,
        limit,
    )
    return [
        KeptMail(
            record["public_id"],
            record["kind"],
            record["recipient"],
            record["subject"],
            _readable_body(record),
            record["status"],
            record["created_at"],
        )
        for record in found
    ]


def body_of(record: Record) -> str:
    """Give the text of a mail, empty once it was sent; raises `Unreadable` with another VITRINE_SECRET_KEY."""
    return "" if record["body"] is None else decrypt(BODY_PURPOSE, bytes(record["body"])).decode()


def _readable_body(record: Record) -> str:
    try:
        return body_of(record)
    except Unreadable:
        return "(written with another VITRINE_SECRET_KEY)"


def _shown_token(scope: Scope, kind: MailType, token: str) -> str:
    """Show a token by itself, and as a link where the store says which page takes it.

    It stands behind `#`, so that it reaches no server's log.
    """
    page = setting(scope, "account_url")
    if not token or not page:
        return f"    {token}"
    return f"    {page}#{kind.value}={token}\n\nou use o código:\n\n    {token}"
