"""Changes are audited with actor and the record's public id, for every API family."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from kernel.ids import uuid7
from models import audit
from models.audit import _TABLES, AuditLogEntry
from models.connection.database import fetchval, transaction
from tests.harness.sample_store import SampleStore

ADMIN = "/api/v1/admin"


async def entries(sample: SampleStore, since: int) -> list[tuple[str, str, str, dict]]:
    result = await sample.rows(
        "select action, actor_kind, subject_type, subject_id, details::text, user_id from audit_entries where id > $1 order by id",
        since,
    )
    assert all(UUID(row["subject_id"]) for row in result)
    return [(row["action"], row["actor_kind"], row["subject_id"], json.loads(row["details"])) for row in result]


async def latest(sample: SampleStore) -> int:
    return int(await sample.value("select coalesce(max(id), 0) from audit_entries"))


async def test_product_changes_are_audited(sample: SampleStore) -> None:
    since = await latest(sample)
    new = (await sample.post(f"{ADMIN}/products", {"name": "Bule", "price_cents": 1}, auth="bearer")).body["id"]
    await sample.patch(f"{ADMIN}/products/{new}", {"price_cents": 2, "stock": 3}, auth="bearer")
    await sample.put(f"/api/products/{sample.mug}", {"price": "10.00"})
    await sample.delete(f"{ADMIN}/products/{new}", auth="bearer")
    await sample.post(f"{ADMIN}/products", {"name": ""}, auth="bearer")
    assert await entries(sample, since) == [
        ("product.created", "admin", new, {}),
        ("product.updated", "admin", new, {"fields": ["price_cents", "stock"]}),
        ("product.updated", "admin", sample.mug.id, {"fields": ["price_cents"]}),
        ("product.deleted", "admin", new, {}),
    ]
    listed = await sample.get(f"{ADMIN}/audit-log", auth="bearer", params={"subject_id": new})
    assert [entry["action"] for entry in listed.body["entries"]] == [
        "product.deleted",
        "product.updated",
        "product.created",
    ]
    assert {entry["user_id"] for entry in listed.body["entries"]} == {sample.owner.id}


async def test_category_changes_are_audited(sample: SampleStore) -> None:
    since = await latest(sample)
    new = (await sample.post(f"{ADMIN}/categories", {"name": "Banho"}, auth="bearer")).body["id"]
    await sample.put(f"{ADMIN}/categories/{new}", {"position": 2}, auth="bearer")
    await sample.delete(f"{ADMIN}/categories/{new}", auth="bearer")
    assert await entries(sample, since) == [
        ("category.created", "admin", new, {}),
        ("category.updated", "admin", new, {"fields": ["position"]}),
        ("category.deleted", "admin", new, {}),
    ]


async def test_order_changes_are_audited(sample: SampleStore) -> None:
    since = await latest(sample)
    body = {
        "user_id": sample.caio.number,
        "payment_id": sample.pix.number,
        "shipping_id": sample.sedex.number,
        "products": [{"product_id": sample.mug.number, "amount": 1}],
    }
    number = (await sample.post("/api/orders", body)).body["order_id"]
    new = str(await sample.value("select public_id from orders where id = $1", int(number)))
    await sample.put(f"{ADMIN}/orders/{new}/status", {"status": "D"}, auth="bearer")
    await sample.put(f"{ADMIN}/orders/{new}/status", {"status": "D"}, auth="bearer")
    await sample.put(f"/api/orders/{number}", {"notes": "Presente"})
    await sample.delete(f"/api/orders/{number}")
    assert await entries(sample, since) == [
        ("order.created", "admin", new, {}),
        ("order.status_changed", "admin", new, {"from": "O", "to": "D"}),
        ("order.updated", "admin", new, {"fields": ["notes"]}),
        ("order.status_changed", "admin", new, {"from": "D", "to": "I"}),
        ("order.deleted", "admin", new, {}),
    ]


async def test_a_subject_passed_by_internal_id_is_stored_by_public_id(sample: SampleStore) -> None:
    since = await latest(sample)
    for mutation, subject in (
        ('vendor_update(id: $id, input: {phone: "1133334444"})', sample.vendor),
        ('review_update(id: $id, input: {message: "Ótima"})', sample.review),
        ("review_delete(id: $id)", sample.review),
        ('feature_update(id: $id, input: {name: "Tom"})', sample.colour),
        ('payment_method_update(id: $id, input: {name: "PIX"})', sample.pix),
        ('shipping_method_update(id: $id, input: {name: "Rápido"})', sample.sedex),
        ("shipment_create(input: {order_id: $id})", sample.order),
    ):
        query = f"mutation($id: ID!) {{ {mutation} {{ id }} }}"
        answer = await sample.post("/graphql", {"query": query, "variables": {"id": subject.id}}, auth="bearer")
        assert "errors" not in answer.body, (mutation, subject, answer.raw)
    written = await entries(sample, since)
    assert [(action, subject) for action, _, subject, _ in written[:6]] == [
        ("vendor.updated", sample.vendor.id),
        ("review.updated", sample.review.id),
        ("review.deleted", sample.review.id),
        ("feature.updated", sample.colour.id),
        ("payment_method.updated", sample.pix.id),
        ("shipping_method.updated", sample.sedex.id),
    ]
    assert [action for action, _, _, _ in written[6:]] == ["shipment.created"]


async def test_multiple_entries_keep_their_order(kit) -> None:
    ids = [uuid7() for _ in range(3)]
    async with transaction(kit.scope):
        await audit.record_all(kit.scope, [AuditLogEntry("product.updated", "product", id, {"n": 1}) for id in ids])
        await audit.record_all(kit.scope, [])
        result = await fetchval("select array_agg(subject_id order by id) from audit_entries")
    assert result == [str(id) for id in ids]


@pytest.mark.parametrize("table", sorted(set(_TABLES.values())))
async def test_every_subject_table_can_be_queried(kit, table: str) -> None:
    name = next(name for name, item in _TABLES.items() if item == table)
    async with transaction(kit.scope):
        await audit.record(kit.scope, f"{name}.updated", name, 9_000_000_000)
        assert await fetchval("select subject_id from audit_entries order by id desc limit 1") == "9000000000"
