"""A write that changes nothing does nothing (docs/reference/shared.md#writes-that-change-nothing).

What every update of the schema and of the legacy entities does with equal values is tested in `tests/graphql/test_unchanged_writes.py` and
`tests/legacy/test_round_trip.py`; here is what these can't send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.features import FEATURE_RECORDS
from domain.catalog.products import MAX_ROWS, bulk_upsert_products, update_product
from domain.orders.fiscal import set_fiscal_data
from domain.orders.lifecycle import change_status
from domain.orders.limits import set_limit
from domain.people.accounts import set_privileges
from domain.people.usergroups import create_usergroup, set_membership
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.purchase.edit import update_order
from domain.stores import set_gateway_secret, update_settings, update_store
from domain.taxes.taxes import TAX_RECORDS
from domain.warehouses.areas import create_area, update_area
from domain.warehouses.groups import add_group, update_group
from domain.warehouses.write import WAREHOUSE_RECORDS
from kernel.scope import active_scope
from models.connection import database
from tests.harness.domain_store import DomainStore
from tests.harness.row_versions import changed_tables, row_versions


async def tables_changed_by(
    kit: DomainStore, write: Callable[..., Awaitable[Any]], *args: Any, **options: Any
) -> list[str]:
    before = await row_versions(kit.store)
    await write(*args, **options)
    return changed_tables(before, await row_versions(kit.store))


async def test_500_equal_products_are_read_only(kit):
    """The list that an ERP sends every quarter of an hour locks and writes nothing, not even a row that it compares."""
    rows = [
        {"sku": f"S{n}", "name": f"Product {n}", "price_cents": n, "stock": n, "slug": f"s{n}"} for n in range(MAX_ROWS)
    ]
    await bulk_upsert_products(kit.as_admin(), rows)
    with database.count_statements() as counted:
        async with database.transaction(kit.scope):
            results = await bulk_upsert_products(kit.as_admin(), rows)
            assert await database.fetchval("SELECT pg_current_xact_id_if_assigned()") is None
    assert [sql for sql in counted.statements if not sql.lstrip().upper().startswith("SELECT")] == []
    assert counted.count < 10
    assert {(result.created, result.changed, result.error) for result in results} == {(False, False, None)}
    assert await tables_changed_by(kit, bulk_upsert_products, kit.as_admin(), rows) == []


@pytest.mark.parametrize("family", ["legacy", "current", "apps", "graphql"])
async def test_an_equal_product_is_only_read(kit, family):
    product = await kit.public_id("products", await kit.product(price_cents=500, stock=3))
    scope = kit.as_admin(family=family)
    for values in ({"price_cents": 500}, {"price_cents": 500, "stock": 3, "status": "A"}, {}):
        with database.count_statements() as counted:
            await update_product(scope, str(product), values)
        writes = [sql for sql in counted.statements if not sql.lstrip().upper().startswith("SELECT")]
        assert (writes, counted.count <= 4) == ([], True), (values, counted.statements)


async def product_with_parts(kit: DomainStore) -> dict[str, Any]:
    """Create a product and return the input that has all of its parts."""
    home, kitchen = [await CATEGORY_RECORDS.create(kit.scope, {"name": name}) for name in ("Casa", "Cozinha")]
    colour = await FEATURE_RECORDS.create(kit.scope, {"name": "Cor", "type": "M"})
    text = await FEATURE_RECORDS.create(kit.scope, {"name": "Material", "type": "T"})
    taxes = [await TAX_RECORDS.create(kit.scope, {"name": name}) for name in ("ICMS", "IPI")]
    values = {
        "sku": "P1",
        "name": "Caneca",
        "price_cents": 500,
        "category": kitchen,
        "categories": [kitchen, home],
        "images": [{"url": "https://x.example/1.png", "alt": "Frente"}, {"url": "https://x.example/2.png"}],
        "features": [{"feature": colour, "values": ["Azul", "Verde"]}, {"feature": text, "value": "Ágata"}],
        "taxes": taxes,
    }
    await kit.product(**values)
    return values


async def test_equal_parts_of_a_product_are_no_change(kit):
    values = await product_with_parts(kit)
    assert await tables_changed_by(kit, bulk_upsert_products, kit.as_admin(), [values]) == []
    parts = {name: value for name, value in values.items() if name != "sku"}
    for case in (parts, *({name: value} for name, value in parts.items()), {}):
        number = await kit.value("SELECT id FROM products WHERE tenant_id = $1")
        assert await tables_changed_by(kit, update_product, kit.as_admin(), number, case) == [], case


@pytest.mark.parametrize(
    "part, changed",
    [
        ("categories", lambda value: value[:1]),
        ("images", lambda value: [value[1], value[0]]),
        ("features", lambda value: [{**value[0], "values": ["Azul"]}]),
        ("features", lambda value: [{**value[1], "value": None}]),
        ("taxes", lambda value: value[:1]),
    ],
)
async def test_a_changed_part_alone_is_a_change_of_the_product(kit, part, changed):
    values = await product_with_parts(kit)
    number = await kit.value("SELECT id FROM products WHERE tenant_id = $1")
    await kit.execute("UPDATE products SET updated_at = updated_at - interval '1 day'")
    before = [event["name"] for event in await kit.events()]
    await update_product(kit.as_admin(), number, {"price_cents": 500, part: changed(values[part])})
    row = await kit.record("products", number)
    assert row["updated_at"] >= row["created_at"]
    assert [event["name"] for event in await kit.events()][len(before) :] == ["product.updated"]
    assert (
        await kit.value("SELECT count(*) FROM audit_entries WHERE tenant_id = $1 AND action = 'product.updated'") == 1
    )


async def test_only_the_changed_products_of_a_list_are_written(kit):
    rows = [{"sku": f"S{n}", "name": f"Product {n}", "price_cents": n} for n in range(5)]
    await bulk_upsert_products(kit.as_admin(), rows)
    before = await row_versions(kit.store)
    results = await bulk_upsert_products(kit.as_admin(), [*rows[:4], rows[4] | {"price_cents": 99}])
    assert [result.changed for result in results] == [False] * 4 + [True]
    after = await row_versions(kit.store)
    assert len(after["products"] - before["products"]) == 1
    assert len(after["outbox_events"] - before["outbox_events"]) == 1


async def test_a_price_set_back_while_another_writer_holds_the_product_is_written(kit):
    """The comparison is with the row as locked: the value that was read before the other's commit doesn't count."""
    product = await kit.product(price_cents=500)
    async with database.transaction(kit.scope):
        await update_product(kit.as_admin(), product, {"price_cents": 600})
        waiting = asyncio.create_task(update_product(kit.as_admin(), product, {"price_cents": 500}))
        await asyncio.sleep(0.1)
    await waiting
    assert (await kit.record("products", product))["price_cents"] == 500


async def test_the_status_that_an_order_has_changes_nothing(kit):
    product = await kit.product(stock=100)
    for status in "OPCDFIB":
        order = (await kit.order((product, 1))).id
        if status != "O":
            await change_status(kit.as_admin(family="legacy"), order, status, force=True)
        for scope in (kit.as_admin(family="legacy"), kit.as_admin(), kit.as_app(scopes=frozenset({"write_orders"}))):
            assert await tables_changed_by(kit, change_status, scope, order, status, force=True, reason="x") == [], (
                status
            )
            assert await tables_changed_by(kit, update_order, scope, order, {"status": status}) == [], status


async def test_the_same_status_with_a_new_tracking_code_is_a_change(kit):
    order = (await kit.order((await kit.product(), 1))).id
    await change_status(kit.as_admin(), order, "P")
    result = await change_status(kit.as_admin(), order, "P", tracking_code="BR1")
    assert result.changed
    assert (await kit.record("orders", order))["tracking_code"] == "BR1"
    assert (await kit.events())[-1]["name"] == "order.updated"
    assert await tables_changed_by(kit, change_status, kit.as_admin(), order, "P", tracking_code="BR1") == []


async def test_equal_notes_fiscal_data_and_fields_of_an_order_change_nothing(kit):
    order = (await kit.order((await kit.product(), 1))).id
    admin, address = kit.as_admin(), {"S": {"city": "Recife", "zipcode": "50010-000"}}
    writes: dict[str, Callable[[], Awaitable[Any]]] = {
        "notes": lambda: update_order(admin, order, {"notes": "recado", "details": "interno"}),
        "fields": lambda: update_order(admin, order, {"fields": {"gift": "Y"}}),
        "fiscal data": lambda: set_fiscal_data(admin, order, {"nota_fiscal": "1", "link_nota": None}),
        "address": lambda: update_order(admin, order, {"addresses": address}),
    }
    for name, write in writes.items():
        events = len(await kit.events())
        await write()
        assert len(await kit.events()) == events + 1, name
        assert await tables_changed_by(kit, write) == [], name


async def test_an_order_with_what_it_has_is_not_priced_again(kit):
    """Its promotions and the customer's data of then stay, whatever they are now."""
    bonus = {"name": "Dez", "conditions": {"min_subtotal": "1.00"}, "bonuses": {"order_discount": "10%"}}
    promotion = await PROMOTION_RECORDS.create(kit.scope, bonus)
    product, customer, pix = await kit.product(price_cents=1_000), await kit.customer(), await kit.payment()
    order = (await kit.order((product, 2), user=customer, payment_method=pix)).id
    await PROMOTION_RECORDS.update(kit.scope, promotion, {"status": "D"})
    await kit.execute("UPDATE users SET firstname = 'Bia'")
    row = await kit.record("orders", order)
    assert (row["discount_cents"], row["total_cents"]) == (200, 1_800)
    values: dict[str, Any] = {
        "lines": [{"product": product, "quantity": 2}],
        "discount_cents": 200,
        "payment_method": pix,
        "shipping_method": row["shipping_method_id"],
        "user": customer,
    }
    for changes in (*({name: value} for name, value in values.items()), values):
        assert await tables_changed_by(kit, update_order, kit.as_admin(), order, changes) == [], changes
    await update_order(kit.as_admin(), order, {"lines": [{"product": product, "quantity": 3}]})
    assert (await kit.record("orders", order))["total_cents"] != 1_800


async def test_settings_and_rights_set_to_what_they_are_change_nothing(kit):
    admin = await kit.customer(user_type="A")
    customer, vendor = await kit.customer(), await kit.vendor()
    group = (await create_usergroup(kit.scope, {"name": "Atacado"})).id
    warehouse = await WAREHOUSE_RECORDS.create(kit.scope, {"name": "Galpão"})
    area = {"area_name": "Recife", "zipcodes": [{"zipcode_from": "50000000", "zipcode_to": "50999999"}]}
    area_id = await create_area(kit.scope, warehouse, area)
    await add_group(kit.scope, warehouse, {"usergroup": group})
    writes: dict[str, Callable[[], Awaitable[Any]]] = {
        "store": lambda: update_store(kit.scope, {"name": "Loja Nova", "maintenance_message": "Já voltamos"}),
        "settings": lambda: update_settings(
            kit.scope, {"cart_days": 3, "credit_bureau_token": "abc", "low_stock_at": 5}
        ),
        "gateway secret": lambda: set_gateway_secret(kit.scope, "segredo"),
        "privileges": lambda: set_privileges(kit.scope, admin, ["view_orders"]),
        "membership": lambda: set_membership(kit.scope, customer, group, "A"),
        "limit": lambda: set_limit(kit.scope, {"user": customer, "vendor": vendor, "limit_cents": 5}),
        "area": lambda: update_area(kit.scope, warehouse, area_id, {**area, "states": ["PE"]}),
        "areas": lambda: WAREHOUSE_RECORDS.update(kit.scope, warehouse, {"areas": [{**area, "delivery_time": 2}]}),
        "group": lambda: update_group(kit.scope, warehouse, group, {"priority": 3}),
        "groups": lambda: WAREHOUSE_RECORDS.update(
            kit.scope, warehouse, {"groups": [{"usergroup": group, "priority": 4}]}
        ),
    }
    with active_scope(kit.scope):
        for name, write in writes.items():
            assert await tables_changed_by(kit, write) != [], name
            assert await tables_changed_by(kit, write) == [], name


async def test_an_update_of_several_fields_writes_the_row_once(kit):
    category = await CATEGORY_RECORDS.create(kit.scope, {"name": "Casa", "position": 1})
    with database.count_statements() as counted:
        await CATEGORY_RECORDS.update(kit.scope, category, {"name": "Casa", "position": 2})
    updates = [sql for sql in counted.statements if sql.lstrip().startswith("UPDATE categories")]
    assert len(updates) == 1
