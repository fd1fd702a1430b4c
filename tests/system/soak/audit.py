"""Compare everything the stores contain with the model, once no request is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from tests.system.soak.calls import Client
from tests.system.soak.model import OrderView, check_events, check_orders, check_stock
from tests.system.soak.stores import Store
from tests.system.soak.views import ORDER_FIELDS, current_view

# A killed worker's deliveries wait 60 s for the end of their lease, those of a paused endpoint 30 s.
_EVENT_SECONDS = 150.0
_PAGE = 100
_ORDERS = (
    f"query ($offset: Int!) {{ orders(limit: {_PAGE}, offset: $offset, sort: CREATED_AT_ASC) {{ {ORDER_FIELDS} }} }}"
)


async def audit(client: Client, stores: Sequence[Store]) -> int:
    """Compare orders, stock and events of all stores; return the number of deliveries that had to be sent again on request."""
    for store in stores:
        await _audit_records(client, store)
    redelivered = sum(await asyncio.gather(*(_await_events(client, store) for store in stores)))
    for store in stores:
        check_events(client.world.findings, store.model)
    return redelivered


async def _audit_records(client: Client, store: Store) -> None:
    findings, headers = client.world.findings, await store.owner(client)
    check_orders(findings, store.model, await _all_orders(client, store, headers))
    listed = await client.settle(store.model, "admin", "GET", "/api/v1/admin/products?per_page=100", headers=headers)
    if listed.status == 200:
        stock = {record["id"]: record["stock"] for record in listed.body["products"]}
        check_stock(findings, store.model, stock, is_quiet=True)


async def _all_orders(client: Client, store: Store, headers: Mapping[str, str]) -> list[OrderView]:
    views: list[OrderView] = []
    while True:
        body = {"query": _ORDERS, "variables": {"offset": len(views)}}
        answer = await client.settle(store.model, "graphql", "POST", "/graphql", body, headers=headers)
        page = answer.body["data"]["orders"] if answer.status == 200 else []
        views += [current_view(record) for record in page]
        if len(page) < _PAGE:
            return views


async def _await_events(client: Client, store: Store) -> int:
    """Wait until all events have arrived; ask for those to be sent again that wait for a later retry."""
    deadline, asked = monotonic() + _EVENT_SECONDS, set[str]()
    while monotonic() < deadline and (store.model.missing_events() or store.model.incomplete_sequences()):
        await asyncio.sleep(2)
        for endpoint, delivery in await _failed_deliveries(client, store):
            if delivery not in asked:
                asked.add(delivery)
                path = f"/api/admin/webhooks/{endpoint}/deliveries/{delivery}/redeliver"
                await client.settle(store.model, "apps", "POST", path, headers=store.app, expected=(202,))
    return len(asked)


async def _failed_deliveries(client: Client, store: Store) -> list[tuple[str, str]]:
    """Return endpoint and id of the deliveries to the receiver that failed and wait for their next attempt."""
    listed = await client.settle(store.model, "apps", "GET", "/api/admin/webhooks", headers=store.app)
    deliveries: list[tuple[str, str]] = []
    endpoints: list[Any] = listed.body["webhooks"] if listed.status == 200 else []
    for endpoint in endpoints:
        if endpoint["url"].endswith("/never"):
            continue
        path = f"/api/admin/webhooks/{endpoint['id']}/deliveries?state=failed&limit=100"
        failed = await client.settle(store.model, "apps", "GET", path, headers=store.app)
        if failed.status == 200:
            deliveries += [(endpoint["id"], delivery["id"]) for delivery in failed.body["deliveries"]]
    return deliveries
