"""Import vendors and customers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from domain import events
from domain.events import Event
from domain.imports.references import known, remember, take_turn
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import rows, transaction

_VENDORS = """
INSERT INTO vendors (tenant_id, public_id, name, email, city, state, zipcode, created_at, updated_at)
SELECT $1, v.public_id, v.name, v.email, v.city, v.state, v.zipcode, $3, $3
FROM jsonb_populate_recordset(NULL::vendors, $2::text::jsonb) AS v
RETURNING id, public_id
"""
# Somebody with that e-mail may be a customer of the store already, by another way than this import.
_USERS = """
INSERT INTO users (tenant_id, public_id, email, firstname, lastname, user_type, status, email_verified_at, created_at, updated_at)
SELECT $1, u.public_id, u.email, u.firstname, u.lastname, 'C', 'A', $3, u.created_at, $3
FROM jsonb_populate_recordset(NULL::users, $2::text::jsonb) AS u
WHERE NOT EXISTS (SELECT 1 FROM users there WHERE there.tenant_id = $1 AND there.email = u.email AND there.deleted_at IS NULL)
RETURNING id, public_id
"""
_BY_EMAIL = (
    "SELECT id, email FROM users WHERE tenant_id = $1 AND email = ANY($2::text[]) AND deleted_at IS NULL"
)


async def import_vendors(scope: Scope, source: str, given: Sequence[Mapping[str, Any]]) -> int:
    """Import vendors `{external_id, name, email, city, state, zipcode}`; give how many were new."""
    async with transaction(scope):
        await take_turn(scope, source)
        before = await known(scope, source, "vendor", (row["external_id"] for row in given))
        new = [{**row, "public_id": uuid7()} for row in given if row["external_id"] not in before]
        made = await rows(_VENDORS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        await remember(scope, source, "vendor", _by_external(new, made))
    return len(new)


async def import_customers(
    scope: Scope, source: str, given: Sequence[Mapping[str, Any]], *, told: bool = False
) -> int:
    """Import customers `{external_id, email, firstname, lastname, created_at}`; give how many were new.

    `told` records `user.registered` for each new account.
    """
    async with transaction(scope):
        await take_turn(scope, source)
        before = await known(scope, source, "customer", (row["external_id"] for row in given))
        new = [{**row, "public_id": uuid7()} for row in given if row["external_id"] not in before]
        made = await rows(_USERS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        there = await rows(_BY_EMAIL, scope.store.id, [row["email"] for row in new])
        by_email = {record["email"]: record["id"] for record in there}
        await remember(scope, source, "customer", {row["external_id"]: by_email[row["email"]] for row in new})
        if told:
            registered = {record["public_id"] for record in made}
            await events.record_all(
                scope, [_registered(scope, row) for row in new if row["public_id"] in registered]
            )
    return len(made)


def _registered(scope: Scope, row: Mapping[str, Any]) -> Event:
    name = f"{row['firstname']} {row['lastname']}".strip()
    data = events.user(row["public_id"], name, row["email"], "C", scope.now)
    return Event(events.USER_REGISTERED, "user", row["public_id"], data)


def _by_external(new: Sequence[Mapping[str, Any]], made: Sequence[Any]) -> dict[str, int]:
    ids: dict[UUID, int] = {record["public_id"]: record["id"] for record in made}
    return {row["external_id"]: ids[row["public_id"]] for row in new}
