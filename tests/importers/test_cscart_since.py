"""A later import brings what has changed at the source meanwhile, and leaves what was done here."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.catalog.products import delete_product
from domain.people.removal import delete_user, erase_or_anonymize
from kernel.clock import now
from kernel.scope import Store, active_scope
from server.importers.cscart import run
from server.importers.cscart.report import Report
from tests.harness.scopes import execute, system_scope, value
from tests.importers.cscart_answers import PRODUCT, PickyShop, order, row_of, shop
from tests.importers.test_cscart_records import of

ALL = datetime.fromtimestamp(0, UTC)


class ChangingShop(PickyShop):
    """A shop whose answers may be changed."""

    answers: dict[str, Any]


def changing_shop() -> ChangingShop:
    return ChangingShop(deepcopy(dict(shop().answers)))


async def bring_later(store: Store, source: PickyShop, since: datetime | None = None) -> Report:
    return await run.run(source, store.public_id, since=since or now() + timedelta(hours=1))


async def test_what_lists_do_not_show_is_brought_when_it_has_changed(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    again = await bring_later(store, shop())
    assert {entity: count.changed for entity, count in again.counts.items() if count.changed} == {}
    assert {count.completed for count in again.counts.values()} == {0}
    source = changing_shop()
    source.answers["features/18"]["variants"]["87"] = {"variant_id": "87", "variant": "Nike", "position": "1"}
    source.answers["taxes/6"]["rates"]["1"]["rate_value"] = "12.000"
    source.answers["taxes/6"]["regnumber"] = "99"
    brand = {"feature_id": "18", "feature_type": "E", "value": "", "variant_id": "87", "variant": "Nike"}
    source.answers["products"]["products"][0]["price"] = "31.00"
    source.answers["products/12"] = PRODUCT | {"product_features": {"18": brand}}
    report = await bring_later(store, source)
    assert {entity: count.changed for entity, count in report.counts.items() if count.changed} == {
        "features": 1,
        "taxes": 1,
        "products": 1,
    }
    assert await of(store, "feature_values", "feature_id, variant_id") == [(18, 87)]
    assert await of(store, "taxes", "id, regnumber") == [(6, "99")]


async def test_a_changed_record_that_is_refused_is_still_referred_to(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    account = """INSERT INTO users (tenant_id, public_id, email, user_type, firstname, lastname)
        VALUES ($1, vitrine_uuid7(), 'new@example.com', 'C', 'A', 'B')"""
    await execute(store, account, store.id)
    source = changing_shop()
    source.answers["users"]["users"][1]["email"] = "new@example.com"
    changed = order(98, user_id="3", total="5.00")
    source.answers["orders"] = {"orders": [row_of(changed)], "params": {"total_items": "1"}}
    source.answers["orders/98"] = changed
    report = await bring_later(store, source)
    assert ("users", "3", "another user of the store has the e-mail") in report.failures
    assert await of(store, "orders", "total_cents, user_id", "id = 98") == [(500, 3)]


async def test_categories_below_one_that_was_moved_here_follow_it_back(new_store: Any) -> None:
    store = await new_store()
    categories = [
        {"category_id": number, "parent_id": parent, "category": f"C{number}", "status": "A", "description": ""}
        for number, parent in ((1, 0), (2, 1), (3, 2), (9, 0))
    ]
    await run.run(PickyShop({"categories": {"categories": categories}}), store.public_id)
    moved = "UPDATE categories SET parent_id = 9, id_path = '9/2' WHERE tenant_id = $1 AND id = 2"
    await execute(store, moved, store.id)
    await execute(store, "UPDATE categories SET id_path = '9/2/3' WHERE tenant_id = $1 AND id = 3", store.id)
    categories[1]["category"] = "Changed"
    categories.append({**categories[0], "category_id": 4, "parent_id": 3})
    report = await bring_later(store, PickyShop({"categories": {"categories": categories}}))
    assert report.failures == []
    assert await of(store, "categories", "id, id_path") == [
        (1, "1"), (2, "1/2"), (3, "1/2/3"), (4, "1/2/3/4"), (9, "9"),
    ]  # fmt: skip


async def test_a_category_does_not_come_to_stand_below_itself(new_store: Any) -> None:
    store = await new_store()
    categories = [
        {"category_id": number, "parent_id": parent, "category": f"C{number}", "status": "A", "description": ""}
        for number, parent in ((1, 0), (2, 1), (5, 0))
    ]
    await run.run(PickyShop({"categories": {"categories": categories}}), store.public_id)
    for number, path in ((1, "5/1"), (2, "5/1/2")):
        parent = "UPDATE categories SET parent_id = $3, id_path = $4 WHERE tenant_id = $1 AND id = $2"
        await execute(store, parent, store.id, number, 5 if number == 1 else 1, path)
    categories[2]["parent_id"] = 2
    report = await bring_later(store, PickyShop({"categories": {"categories": categories}}))
    reason = "it would stand below itself, since a category above it was moved here"
    assert report.failures == [("categories", "5", reason)]


async def test_categories_are_brought_after_those_above_them_that_the_source_lists_no_more(new_store: Any) -> None:
    store = await new_store()
    top = {"category_id": 1, "parent_id": 0, "category": "Top", "status": "A", "description": ""}
    await run.run(PickyShop({"categories": {"categories": [top]}}), store.public_id)
    below = [{**top, "category_id": number, "parent_id": parent} for number, parent in ((3, 2), (2, 1))]
    report = await run.run(PickyShop({"categories": {"categories": below}}), store.public_id)
    assert report.failures == []
    assert await of(store, "categories", "id, id_path") == [(1, "1"), (2, "1/2"), (3, "1/2/3")]


async def test_an_order_that_a_gateway_of_the_store_charges_stays_as_it_is(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    payment = """INSERT INTO payments (tenant_id, public_id, order_id, amount_cents, gateway, gateway_charge_id, status, paid_cents)
        VALUES ($1, vitrine_uuid7(), 97, 67795, 'pagarme', 'ch_1', 'PAID', 67795)"""
    await execute(store, payment, store.id)
    paid = (
        "UPDATE orders SET paid_cents = 67795, payment_status = 'paid', status = 'P' WHERE tenant_id = $1 AND id = 97"
    )
    await execute(store, paid, store.id)
    report = await bring_later(store, shop(), ALL)
    reason = "a gateway of this store was asked for its payment; it stays as it is here"
    assert ("orders", "97", reason) in report.failures
    assert await of(store, "orders", "paid_cents, status", "id = 97") == [(67795, "P")]
    count = "SELECT count(*) FROM payments WHERE tenant_id = $1 AND order_id = 97"
    assert await value(store, count, store.id) == 1


async def test_what_was_deleted_here_is_not_brought_again(new_store: Any) -> None:
    store = await new_store()
    source = changing_shop()
    listed = source.answers["users"]
    for number in ("6", "7"):
        listed["users"].append({"user_id": number, "user_type": "C", "email": f"{number}@example.com", "status": "A"})
        source.answers[f"users/{number}"] = {"user_id": number, "phone": ""}
    listed["params"] = {"total_items": "6"}
    await run.run(source, store.public_id)
    scope = system_scope(store)
    with active_scope(scope):
        await delete_user(scope, "6")
        await erase_or_anonymize(scope, 7)
        await delete_product(scope, "12")
    emails = await of(store, "users", "id, email")
    assert emails == [(1, "admin@example.com"), (3, "customer@example.com"), (7, None)]
    for since in (None, ALL):
        report = await run.run(source, store.public_id, since=since)
        assert ("users", "7", "another record of the store has the number 7") in report.failures, since
        assert await of(store, "users", "id, email") == emails, since
        assert await of(store, "products", "id, deleted_at IS NULL") == [(12, False)], since
