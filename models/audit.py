"""Write the audit log: who did what to which record, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import singular
from models import references
from models.connection import database

# The store's settings and sessions have no numeric id to resolve.
_TABLES = {
    name: reference_type.table
    for reference_type in references.BY_TABLE.values()
    for name in (reference_type.name.replace(" ", "_"), singular(reference_type.table))
}
_INSERT = """
    insert into audit_entries
        (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id, details, ip_address, request_id)
    select $1, t.public_id, $2, $3, $4, $5, t.action, t.subject_type, {subject}, t.details::jsonb, $6, $7
    from unnest($8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[])
        with ordinality as t (public_id, action, subject_type, subject_id, details, position)
    order by t.position
"""
_PUBLIC_ID_OF = """
    coalesce((select s.public_id::text from {table} s where s.tenant_id = $1 and s.id = t.subject_id::bigint), t.subject_id)
"""


@dataclass(frozen=True, slots=True)
class AuditLogEntry:
    """An entry of the audit log; `action` is in the past tense (`user.deleted`)."""

    action: str
    subject_type: str
    subject_id: UUID | int | str
    details: Mapping[str, object] | None = None


async def record(
    scope: Scope,
    action: str,
    subject_type: str,
    subject_id: UUID | int | str,
    details: Mapping[str, object] | None = None,
) -> None:
    """Add an entry to the audit log: `action` in the past tense (`user.deleted`), the subject by its public id.

    A subject passed by its internal id is stored by its public id, as long as its row exists. `details` name what changed, never a secret
    and no personal data that anonymizing a user should remove.
    """
    table = _TABLES.get(subject_type) if isinstance(subject_id, int) else None
    subject = _PUBLIC_ID_OF.format(table=table) if table else "t.subject_id"
    await _write(scope, [AuditLogEntry(action, subject_type, subject_id, details)], subject)


async def record_update(
    scope: Scope, subject_type: str, subject_id: UUID | int | str, fields: Iterable[object]
) -> None:
    """Add an entry about an update, with the names of the input fields or columns."""
    await record(scope, f"{subject_type}.updated", subject_type, subject_id, {"fields": sorted(map(str, fields))})


async def record_all(scope: Scope, entries: Sequence[AuditLogEntry]) -> None:
    """Add entries about subjects passed by their public ids, in one statement."""
    if entries:
        await _write(scope, entries, "t.subject_id")


async def _write(scope: Scope, entries: Sequence[AuditLogEntry], subject: str) -> None:
    actor = scope.actor
    await database.execute_later(
        _INSERT.format(subject=subject),
        scope.store.id,
        scope.now,
        actor.kind.value,
        actor.user_id,
        actor.app_id,
        scope.client_ip,
        scope.request_id,
        [uuid7() for _ in entries],
        [entry.action for entry in entries],
        [entry.subject_type for entry in entries],
        [str(entry.subject_id) for entry in entries],
        [orjson.dumps(entry.details or {}).decode() for entry in entries],
    )
