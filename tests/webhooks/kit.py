"""Shared helpers of the webhook tests: subscribe, emit events, inspect deliveries."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from uuid import UUID

from domain import events
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from models.connection import database
from tests.harness import scopes
from tests.harness.http import Client

WEBHOOKS = "/api/admin/webhooks"


async def subscribe(app: Client, url: str, *names: str, **more: Any) -> str:
    """Create an endpoint and return its id."""
    response = await app.post(WEBHOOKS, {"url": url, "events": list(names) or ["order.updated"], **more})
    assert response.status == 201, response
    return response.body["id"]


async def emit_events(
    store: Store,
    name: str = "order.updated",
    data: dict[str, Any] | None = None,
    *,
    subject: UUID | None = None,
    times: int = 1,
) -> list[UUID]:
    """Emit events, each about a new subject unless one is passed; return their ids."""
    subjects = [subject or uuid7() for _ in range(times)]
    scope = scopes.system_scope(store)
    async with database.transaction(scope):
        await events.emit_all(
            scope,
            [
                events.Event(
                    name,
                    name.partition(".")[0],
                    subject_id,
                    data if data is not None else {"id": str(subject_id)},
                )
                for subject_id in subjects
            ],
        )
    with active_scope(scope):
        rows = await database.fetch(
            "select public_id from outbox_events where tenant_id = $1 and subject_id = any($2) order by id desc limit $3",
            store.id,
            subjects,
            times,
        )
    return [row["public_id"] for row in reversed(rows)]


async def deliveries(store: Store) -> list[Any]:
    return await scopes.rows(store, "select * from event_deliveries where tenant_id = $1 order by id", store.id)


async def states(store: Store) -> list[str]:
    return [record["state"] for record in await deliveries(store)]


async def endpoint(store: Store, public_id: str) -> Any:
    rows = await scopes.rows(store, "select * from event_endpoints where public_id = $1", public_id)
    return rows[0]


def sha256(secret: str, content: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
