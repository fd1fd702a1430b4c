"""Write down who did what to which record, in the transaction in which it was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from domain import references
from kernel.ids import uuid7
from kernel.scope import Scope
from models import database


def _singular(table: str) -> str:
    return table.removesuffix("es") if table.endswith("xes") else table.removesuffix("s")


# The store's settings and sessions are no records that are named by number.
_TABLES = {
    name: kind.table
    for kind in vars(references).values()
    if isinstance(kind, references.ReferenceType)
    for name in (kind.name.replace(" ", "_"), _singular(kind.table))
}
_RECORD = """
    insert into audit_entries
        (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id, details, ip_address, request_id)
    select $1, t.public_id, $2, $3, $4, $5, t.action, t.subject_type, {subject}, t.details::jsonb, $6, $7
    from unnest($8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[])
        with ordinality as t (public_id, action, subject_type, subject_id, details, place)
    order by t.place
"""
_BY_NUMBER = """
    coalesce((select s.public_id::text from {table} s where s.tenant_id = $1 and s.id = t.subject_id::bigint), t.subject_id)
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """Say that something was done to a record; `action` is in the past tense (`user.deleted`)."""

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
    """Add a line to the audit log: `action` in the past tense (`user.deleted`), the subject by its public id.

    A subject that is given by its number is named by its public id all the same, while its row is there. `details` name what
    changed, never a secret, and no personal data that an anonymised user should lose.
    """
    table = _TABLES.get(subject_type) if isinstance(subject_id, int) else None
    subject = _BY_NUMBER.format(table=table) if table else "t.subject_id"
    await _write(scope, [Entry(action, subject_type, subject_id, details)], subject)


async def record_all(scope: Scope, entries: Sequence[Entry]) -> None:
    """Add lines about subjects that are given by their public ids, in one statement."""
    if entries:
        await _write(scope, entries, "t.subject_id")


async def _write(scope: Scope, entries: Sequence[Entry], subject: str) -> None:
    actor = scope.actor
    await database.execute(
        _RECORD.format(subject=subject),
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
