"""Import vendors and customers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from domain import events
from domain.imports.references import begin_import, store_external_ids
from kernel.scope import Scope
from models.database import fetch, transaction
from models.numbers import take_numbers

_VENDORS = """
INSERT INTO vendors (tenant_id, public_id, name, email, city, state, zipcode, created_at, updated_at)
SELECT $1, v.public_id, v.name, v.email, v.city, v.state, v.zipcode, $3, $3
FROM jsonb_populate_recordset(NULL::vendors, $2::text::jsonb) AS v
RETURNING id, public_id
"""
# A customer with that e-mail may exist already, from outside this import.
_USERS = """
INSERT INTO users (tenant_id, id, public_id, email, firstname, lastname, user_type, status, email_verified_at, created_at, updated_at)
SELECT $1, u.id, u.public_id, u.email, u.firstname, u.lastname, 'C', 'A', $3, u.created_at, $3
FROM jsonb_populate_recordset(NULL::users, $2::text::jsonb) AS u
WHERE NOT EXISTS (SELECT 1 FROM users existing WHERE existing.tenant_id = $1 AND existing.email = u.email AND existing.deleted_at IS NULL)
RETURNING id, public_id
"""
_BY_EMAIL = "SELECT id, email FROM users WHERE tenant_id = $1 AND email = ANY($2::text[]) AND deleted_at IS NULL"


async def import_vendors(scope: Scope, source: str, records: Sequence[Mapping[str, Any]]) -> int:
    """Import vendors `{external_id, name, email, city, state, zipcode}`; return how many were new."""
    async with transaction(scope):
        new = await begin_import(scope, source, "vendor", records)
        inserted = await fetch(_VENDORS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        await store_external_ids(scope, source, "vendor", _by_external(new, inserted))
    return len(new)


async def import_customers(
    scope: Scope, source: str, records: Sequence[Mapping[str, Any]], *, emit_events: bool = False
) -> int:
    """Import customers `{external_id, email, firstname, lastname, created_at}`; return how many were new.

    `emit_events` emits `user.registered` for each new account.
    """
    async with transaction(scope):
        unknown = await begin_import(scope, source, "customer", records)
        numbers = await take_numbers(scope, {"users": len(unknown)})
        new = [{**row, "id": number} for row, number in zip(unknown, numbers["users"], strict=True)]
        inserted = await fetch(_USERS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        matching = await fetch(_BY_EMAIL, scope.store.id, [row["email"] for row in new])
        by_email = {matching_row["email"]: matching_row["id"] for matching_row in matching}
        await store_external_ids(scope, source, "customer", {row["external_id"]: by_email[row["email"]] for row in new})
        if emit_events:
            registered = {matching_row["public_id"] for matching_row in inserted}
            new_users = [_new_customer(row) for row in new if row["public_id"] in registered]
            await events.emit_all(
                scope, [event for user in new_users for event in events.registration_events(user, scope.now)]
            )
    return len(inserted)


def _new_customer(row: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{row['firstname']} {row['lastname']}".strip()
    return {"public_id": row["public_id"], "name": name, "email": row["email"], "user_type": "C", "status": "A"}


def _by_external(new: Sequence[Mapping[str, Any]], inserted: Sequence[Any]) -> dict[str, int]:
    ids: dict[UUID, int] = {inserted_row["public_id"]: inserted_row["id"] for inserted_row in inserted}
    return {row["external_id"]: ids[row["public_id"]] for row in new}
