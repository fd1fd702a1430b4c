"""Write the log of calls to apps. What was sent and answered is not logged: it has data of customers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kernel import logging
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection import database

RETENTION = timedelta(days=30)
_MAX_REASON = 300
_MAX_SUBJECT = 60

_INSERT = """
    insert into app_calls
        (tenant_id, public_id, installation_id, name, subject_id, state, status, reason, duration_ms, request_id, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""


class CallState(StrEnum):
    """How a call ended: with what was asked for, with the app's refusal, or without a valid answer."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was made; `status` is the HTTP status of the answer, if there was one."""

    installation_id: int
    name: str
    subject_id: str
    at: datetime
    state: CallState
    status: int | None = None
    reason: str = ""
    duration_ms: int = 0


async def write(scope: Scope, call: CallRecord) -> None:
    """Write a call in a statement of its own. An error is logged: what the app answered counts all the same."""
    try:
        await database.execute(
            _INSERT,
            scope.store.id,
            uuid7(),
            call.installation_id,
            call.name,
            call.subject_id[:_MAX_SUBJECT],
            call.state.value,
            call.status,
            call.reason[:_MAX_REASON],
            call.duration_ms,
            logging.request_id_from(scope.request_id),
            call.at,
        )
    except Exception as error:
        logging.failure("a call to an app was not logged", error, call=call.name)
