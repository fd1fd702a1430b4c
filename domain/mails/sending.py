"""Send the queued mails of a store, each at least once, with pauses that grow while the mail server doesn't take one.

A mail is claimed by moving its next try past a lease; who dies between handing it over and writing that down sends it again then.
Nothing is open in the database while the mail server is spoken to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

from asyncpg import Record

from auth.secrets import Unreadable
from domain.mails.outbox import body_of
from kernel import logging
from kernel.scope import Scope, entered
from models import database

# One try is over long before (`server.smtp`).
LEASE = timedelta(minutes=5)
# What follows the first try, the second, ...; after the last the mail is given up.
PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)
AT_ONCE = 100

EXPIRED = "expired before it could be sent"


@dataclass(frozen=True, slots=True)
class Message:
    """A mail as the adapter takes it; `id` is the same on every try."""

    id: UUID
    from_name: str
    to: str
    subject: str
    body: str


class NotTaken(Exception):
    """Say that the mail server did not take a mail; `is_final` when it never will. Neither holds a word of the mail."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


Transport: TypeAlias = Callable[[Message], Awaitable[None]]
"""Hand one mail over; raises `NotTaken`."""


async def send_due(scope: Scope, transport: Transport, *, limit: int = AT_ONCE) -> int:
    """Try each mail of the store that is due, the oldest first; say how many were sent.

    The first one that the server may take later ends the round: it is probably the server.
    """
    with entered(scope):
        await _give_up_expired(scope)
        sent = 0
        for record in await _claim(scope, limit):
            try:
                await transport(_message(scope, record))
            except NotTaken as refused:
                await _settle_refused(scope, record, refused)
                if not refused.is_final:
                    await _give_back(scope)
                    break
            else:
                await _settle_sent(scope, record)
                sent += 1
        return sent


async def _claim(scope: Scope, limit: int) -> list[Record]:
    claimed = await database.rows(
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
        limit,
    )
    return sorted(claimed, key=lambda record: int(record["id"]))


async def _give_back(scope: Scope) -> None:
    """Let the mails that were claimed and not tried be tried in the next round."""
    await database.execute(
        """
        update mails set tries = tries - 1, due_at = $2::timestamptz, error = ''
        where tenant_id = $1 and status = 'Q' and error = 'claimed' and due_at = $2::timestamptz + $3::interval
        """,
        scope.store.id,
        scope.now,
        LEASE,
    )


async def _give_up_expired(scope: Scope) -> None:
    await database.execute(
        """
        update mails set status = 'F', error = $3, body = null
        where tenant_id = $1 and status = 'Q' and due_at <= $2 and expires_at <= $2
        """,
        scope.store.id,
        scope.now,
        EXPIRED,
    )


def _message(scope: Scope, record: Record) -> Message:
    try:
        body = body_of(record)
    except Unreadable as error:
        raise NotTaken("its text was made with another VITRINE_SECRET_KEY", is_final=True) from error
    return Message(record["public_id"], scope.store.name, record["recipient"], record["subject"], body)


async def _settle_sent(scope: Scope, record: Record) -> None:
    await database.execute(
        "update mails set status = 'S', sent_at = $3, error = '', body = null where tenant_id = $1 and id = $2",
        scope.store.id,
        record["id"],
        scope.now,
    )


async def _settle_refused(scope: Scope, record: Record, refused: NotTaken) -> None:
    is_over = refused.is_final or record["tries"] > len(PAUSES)
    pause = timedelta(0) if is_over else PAUSES[record["tries"] - 1]
    await database.execute(
        """
        update mails set status = $3, error = $4, due_at = $5, body = case when $3 = 'F' then null else body end
        where tenant_id = $1 and id = $2
        """,
        scope.store.id,
        record["id"],
        "F" if is_over else "Q",
        str(refused)[:500],
        scope.now + pause,
    )
    logging.event("a mail was not taken", level="warning", mail=str(record["public_id"]), given_up=is_over)
