"""What the tests of deliveries share: to subscribe, to make something happen, to look at what came of it."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from uuid import UUID

from domain import events
from kernel.ids import uuid7
from kernel.scope import Store, entered
from models import database
from tests.current import kit
from tests.current.kit import Caller

WEBHOOKS = "/api/admin/webhooks"


async def subscribed(app: Caller, url: str, *names: str, **more: Any) -> str:
    """Subscribe an app and give the endpoint's id."""
    answer = await app.post(WEBHOOKS, {"url": url, "events": list(names) or ["order.updated"], **more})
    assert answer.status == 201, answer
    return answer.body["id"]


async def happen(
    store: Store,
    name: str = "order.updated",
    data: dict[str, Any] | None = None,
    *,
    subject: UUID | None = None,
    times: int = 1,
) -> list[UUID]:
    """Let something happen so many times, each to a subject of its own unless one is named; give the events' ids."""
    subjects = [subject or uuid7() for _ in range(times)]
    scope = kit.system(store)
    async with database.transaction(scope):
        await events.record_all(
            scope,
            [
                events.Event(
                    name, name.partition(".")[0], each, data if data is not None else {"id": str(each)}
                )
                for each in subjects
            ],
        )
    with entered(scope):
        found = await database.rows(
            "select public_id from outbox_events where tenant_id = $1 and subject_id = any($2) order by id desc limit $3",
            store.id,
            subjects,
            times,
        )
    return [record["public_id"] for record in reversed(found)]


async def deliveries(store: Store) -> list[Any]:
    return await kit.rows(store, "select * from event_deliveries where tenant_id = $1 order by id", store.id)


async def states(store: Store) -> list[str]:
    return [record["state"] for record in await deliveries(store)]


async def endpoint(store: Store, public_id: str) -> Any:
    found = await kit.rows(store, "select * from event_endpoints where public_id = $1", public_id)
    return found[0]


def sha256(secret: str, content: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
