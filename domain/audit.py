"""Write down who did what to which record, in the transaction in which it was done."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import orjson

from kernel.ids import uuid7
from kernel.scope import Scope
from models import database

_RECORD = """
    insert into audit_entries
        (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id, details, ip_address, request_id)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11, $12)
"""


async def record(
    scope: Scope,
    action: str,
    subject_type: str,
    subject_id: UUID | int | str,
    details: Mapping[str, object] | None = None,
) -> None:
    """Add a line to the audit log: `action` in the past tense (`user.deleted`), the subject by its public id.

    `details` name what changed, never a secret, and no personal data that an anonymised user should lose.
    """
    actor = scope.actor
    await database.execute(
        _RECORD,
        scope.store.id,
        uuid7(),
        scope.now,
        actor.kind.value,
        actor.user_id,
        actor.app_id,
        action,
        subject_type,
        str(subject_id),
        orjson.dumps(details or {}).decode(),
        scope.client_ip,
        scope.request_id,
    )
