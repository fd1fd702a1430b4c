"""Changes are audited with actor and the record's public id, for every API family."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from kernel.ids import uuid7
from models import audit
from models.audit import _TABLES, AuditLogEntry
from models.database import fetchval, transaction
from tests.shop import Shop, new_shop, shop_client
from tests.shop import shop as whole_shop

__all__ = ["new_shop", "shop_client", "whole_shop"]

ADMIN = "/api/v1/admin"


async def entries(shop: Shop, since: int) -> list[tuple[str, str, str, dict]]:
    result = await shop.rows(
        "select action, actor_kind, subject_type, subject_id, details::text, user_id from audit_entries where id > $1 order by id",
        since,
    )
    assert all(UUID(row["subject_id"]) for row in result)
    return [
        (row["action"], row["actor_kind"], row["subject_id"], json.loads(row["details"])) for row in result
    ]


async def latest(shop: Shop) -> int:
    return int(await shop.value("select coalesce(max(id), 0) from audit_entries"))


async def test_product_changes_are_audited(whole_shop: Shop) -> None:
    shop = whole_shop
    since = await latest(shop)
    new = (await shop.post(f"{ADMIN}/products", {"name": "Bule", "price_cents": 1}, auth="bearer")).body["id"]
    await shop.patch(f"{ADMIN}/products/{new}", {"price_cents": 2, "stock": 3}, auth="bearer")
    await shop.put(f"/api/products/{shop.mug}", {"price": "10.00"})
    await shop.delete(f"{ADMIN}/products/{new}", auth="bearer")
    await shop.post(f"{ADMIN}/products", {"name": ""}, auth="bearer")
    assert await entries(shop, since) == [
        ("product.created", "admin", new, {}),
        ("product.updated", "admin", new, {"fields": ["price_cents", "stock"]}),
        ("product.updated", "admin", shop.mug.id, {"fields": ["price_cents"]}),
        ("product.deleted", "admin", new, {}),
    ]
    listed = await shop.get(f"{ADMIN}/audit-log", auth="bearer", params={"subject_id": new})
    assert [entry["action"] for entry in listed.body["entries"]] == [
        "product.deleted",
        "product.updated",
        "product.created",
    ]
    assert {entry["user_id"] for entry in listed.body["entries"]} == {shop.owner.id}


async def test_category_changes_are_audited(whole_shop: Shop) -> None:
    shop = whole_shop
    since = await latest(shop)
    new = (await shop.post(f"{ADMIN}/categories", {"name": "Banho"}, auth="bearer")).body["id"]
    await shop.put(f"{ADMIN}/categories/{new}", {"position": 2}, auth="bearer")
    await shop.delete(f"{ADMIN}/categories/{new}", auth="bearer")
    assert await entries(shop, since) == [
        ("category.created", "admin", new, {}),
        ("category.updated", "admin", new, {"fields": ["position"]}),
        ("category.deleted", "admin", new, {}),
    ]


async def test_order_changes_are_audited(whole_shop: Shop) -> None:
    shop = whole_shop
    since = await latest(shop)
    body = {
        "user_id": shop.caio.number,
        "payment_id": shop.pix.number,
        "shipping_id": shop.sedex.number,
        "products": [{"product_id": shop.mug.number, "amount": 1}],
    }
    number = (await shop.post("/api/orders", body)).body["order_id"]
    new = str(await shop.value("select public_id from orders where id = $1", int(number)))
    await shop.put(f"{ADMIN}/orders/{new}/status", {"status": "D"}, auth="bearer")
    await shop.put(f"{ADMIN}/orders/{new}/status", {"status": "D"}, auth="bearer")
    await shop.put(f"/api/orders/{number}", {"notes": "Presente"})
    await shop.delete(f"/api/orders/{number}")
    assert await entries(shop, since) == [
        ("order.created", "admin", new, {}),
        ("order.status_changed", "admin", new, {"from": "O", "to": "D"}),
        ("order.updated", "admin", new, {"fields": ["notes"]}),
        ("order.status_changed", "admin", new, {"from": "D", "to": "I"}),
        ("order.deleted", "admin", new, {}),
    ]


async def test_a_subject_passed_by_internal_id_is_stored_by_public_id(whole_shop: Shop) -> None:
    shop = whole_shop
    since = await latest(shop)
    for mutation, subject in (
        ('vendor_update(id: $id, input: {phone: "1133334444"})', shop.vendor),
        ('review_update(id: $id, input: {message: "Ótima"})', shop.review),
        ("review_delete(id: $id)", shop.review),
        ('feature_update(id: $id, input: {name: "Tom"})', shop.colour),
        ('payment_method_update(id: $id, input: {name: "PIX"})', shop.pix),
        ('shipping_method_update(id: $id, input: {name: "Rápido"})', shop.sedex),
        ("shipment_create(input: {order_id: $id})", shop.order),
    ):
        query = f"mutation($id: ID!) {{ {mutation} {{ id }} }}"
        answer = await shop.post("/graphql", {"query": query, "variables": {"id": subject.id}}, auth="bearer")
        assert "errors" not in answer.body, answer.raw
    written = await entries(shop, since)
    assert [(action, subject) for action, _, subject, _ in written[:6]] == [
        ("vendor.updated", shop.vendor.id),
        ("review.updated", shop.review.id),
        ("review.deleted", shop.review.id),
        ("feature.updated", shop.colour.id),
        ("payment_method.updated", shop.pix.id),
        ("shipping_method.updated", shop.sedex.id),
    ]
    assert [action for action, _, _, _ in written[6:]] == ["shipment.created"]


async def test_multiple_entries_keep_their_order(kit) -> None:
    ids = [uuid7() for _ in range(3)]
    async with transaction(kit.scope):
        await audit.record_all(
            kit.scope, [AuditLogEntry("product.updated", "product", id, {"n": 1}) for id in ids]
        )
        await audit.record_all(kit.scope, [])
        result = await fetchval("select array_agg(subject_id order by id) from audit_entries")
    assert result == [str(id) for id in ids]


@pytest.mark.parametrize("table", sorted(set(_TABLES.values())))
async def test_every_subject_table_can_be_queried(kit, table: str) -> None:
    name = next(name for name, item in _TABLES.items() if item == table)
    async with transaction(kit.scope):
        await audit.record(kit.scope, f"{name}.updated", name, 9_000_000_000)
        assert await fetchval("select subject_id from audit_entries order by id desc limit 1") == "9000000000"
