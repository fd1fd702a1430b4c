"""Send a store's queued mails, each at least once, with retries and growing delays.

A mail is claimed by moving its next attempt past a lease; a crash between sending and storing the result sends it again. No transaction is
open while talking to the mail server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID

from asyncpg import Record

from auth.secrets import DecryptionError
from domain.mails.outbox import body_of
from kernel import logging
from kernel.scope import Scope, active_scope
from kernel.store_usage import usage_of
from models.connection import database
from models.rows import update_row

# An attempt times out long before this (`server.workers.smtp`).
LEASE = timedelta(minutes=5)
# The delays after the first attempt, the second, ...; after the last one the mail fails.
RETRY_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)
BATCH_SIZE = 100

EXPIRED = "expired before it could be sent"


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail as passed to the transport; `id` is the same on every attempt."""

    id: UUID
    from_name: str
    to: str
    subject: str
    body: str


class MailNotAccepted(Exception):
    """The mail server did not accept a mail; `is_final` if retrying is useless. The reason contains no text of the mail."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


MailTransport: TypeAlias = Callable[[MailMessage], Awaitable[None]]
"""Send one mail; raises `MailNotAccepted`."""


async def send_due(scope: Scope, transport: MailTransport) -> int:
    """Attempt each due mail of the store, oldest first; return how many were sent.

    The first temporary failure ends the round, because the mail server is probably unavailable.
    """
    with active_scope(scope):
        await _fail_expired(scope)
        sent = 0
        for row in await _claim(scope):
            try:
                await transport(_message(scope, row))
            except MailNotAccepted as error:
                await _mark_not_accepted(scope, row, error)
                if not error.is_final:
                    await _release_unattempted(scope)
                    break
            else:
                await update_row(scope, "mails", row["id"], status="S", sent_at=scope.now, error="", body=None)
                sent += 1
        usage_of(scope.store.id).mails += sent
        return sent


async def _claim(scope: Scope) -> list[Record]:
    claimed = await database.fetch(
        """
        update mails set tries = tries + 1, due_at = $2::timestamptz + $3::interval, error = 'claimed'
        where tenant_id = $1 and id in (
            select id from mails where tenant_id = $1 and status = 'Q' and due_at <= $2
            order by id limit $4 for update skip locked
        )
        returning id, public_id, recipient, subject, body, tries
        """,
        scope.store.id,
        scope.now,
        LEASE,
        BATCH_SIZE,
    )
    return sorted(claimed, key=lambda row: int(row["id"]))


async def _release_unattempted(scope: Scope) -> None:
    """Release claimed mails that were not attempted, for the next round."""
    await database.execute(
        """
        update mails set tries = tries - 1, due_at = $2::timestamptz, error = ''
        where tenant_id = $1 and status = 'Q' and error = 'claimed' and due_at = $2::timestamptz + $3::interval
        """,
        scope.store.id,
        scope.now,
        LEASE,
    )


async def _fail_expired(scope: Scope) -> None:
    await database.execute(
        """
        update mails set status = 'F', error = $3, body = null
        where tenant_id = $1 and status = 'Q' and due_at <= $2 and expires_at <= $2
        """,
        scope.store.id,
        scope.now,
        EXPIRED,
    )


def _message(scope: Scope, row: Record) -> MailMessage:
    try:
        body = body_of(row)
    except DecryptionError as error:
        raise MailNotAccepted("its text was made with another VITRINE_SECRET_KEY", is_final=True) from error
    return MailMessage(row["public_id"], scope.store.name, row["recipient"], row["subject"], body)


async def _mark_not_accepted(scope: Scope, row: Record, error: MailNotAccepted) -> None:
    is_abandoned = error.is_final or row["tries"] > len(RETRY_DELAYS)
    delay = timedelta(0) if is_abandoned else RETRY_DELAYS[row["tries"] - 1]
    outcome: dict[str, Any] = {"status": "F", "body": None} if is_abandoned else {"status": "Q"}
    await update_row(scope, "mails", row["id"], error=str(error)[:500], due_at=scope.now + delay, **outcome)
    logging.event("mail not accepted", level="warning", mail=str(row["public_id"]), abandoned=is_abandoned)
