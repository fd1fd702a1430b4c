"""Write the log of calls to apps. What was sent and answered is not logged: it has data of customers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kernel import logging
from kernel.scope import Scope
from models.rows import insert_row

RETENTION = timedelta(days=30)
_MAX_REASON = 300
_MAX_SUBJECT = 60


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
        await insert_row(
            scope,
            "app_calls",
            installation_id=call.installation_id,
            name=call.name,
            subject_id=call.subject_id[:_MAX_SUBJECT],
            state=call.state.value,
            status=call.status,
            reason=call.reason[:_MAX_REASON],
            duration_ms=call.duration_ms,
            request_id=logging.request_id_from(scope.request_id),
            created_at=call.at,
        )
    except Exception as error:
        logging.failure("a call to an app was not logged", error, call=call.name)
