"""Terms of purchases that a process keeps are those of the statement that reads the products: whatever changes, the next price has it."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from domain.carts import change, checkout
from domain.carts.record import load_cart_record
from domain.destinations.destinations import DESTINATION_RECORDS
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.purchase import terms
from domain.purchase.edit import update_order
from domain.purchase.terms import TermsCache
from domain.purchase.terms_version import MAX_ROWS, TABLES
from domain.taxes.taxes import TAX_RECORDS
from kernel.ids import uuid7
from kernel.scope import Scope, active_scope
from models.connection import database
from tests.harness.domain_store import DomainStore

ADDRESS = {
    "name": "Ana",
    "zipcode": "50010-000",
    "state": "PE",
    "city": "Recife",
    "street": "Rua do Sol",
    "number": "10",
}
_SHOWN = ("shipping_option", "discount_cents", "shipping_cents", "tax_cents", "total_cents")


class Shop:
    """A store with a row in each table of terms, and a customer."""

    def __init__(self, kit: DomainStore, url: str) -> None:
        self.kit, self.url = kit, url

    async def open(self) -> Shop:
        kit = self.kit
        self.customer = await kit.customer()
        place = await DESTINATION_RECORDS.create(
            kit.scope,
            {"name": "Recife", "zipcodes": [{"zipcode_from": "50000-000", "zipcode_to": "52999-999"}]},
        )
        vat = {"name": "ICMS", "rate_value": 10_000, "rates": [{"destination": place, "rate_value": 12_000}]}
        self.tax, on_delivery, on_surcharge = [
            await TAX_RECORDS.create(kit.scope, {**vat, "name": name}) for name in ("ICMS", "ISS", "IOF")
        ]
        self.method = await kit.shipping(
            base_cents=2_000, rates=[{"destination": place, "base_cents": 1_000}], taxes=[on_delivery]
        )
        self.payment = await kit.payment(surcharge_cents=500, taxes=[on_surcharge])
        self.product = await kit.product(price_cents=10_000, stock=1_000, taxes=[self.tax], weight_grams=500)
        await PROMOTION_RECORDS.create(kit.scope, {"name": "Oferta", "bonuses": {"order_discount": "10%"}})
        await self.change(
            f"""
            INSERT INTO usergroups (public_id, name) VALUES ('{uuid7()}', 'Atacado');
            INSERT INTO warehouses (public_id, name, shipping_delay) VALUES ('{uuid7()}', 'Olinda', 1);
            INSERT INTO warehouse_areas (public_id, warehouse_id, delivery_time) SELECT '{uuid7()}', id, 24 FROM warehouses
                WHERE tenant_id = {kit.store.id};
            INSERT INTO warehouse_zipcodes (public_id, area_id, zipcode_from, zipcode_to, first_cep, last_cep)
                SELECT '{uuid7()}', id, '50000000', '59999999', 50000000, 59999999 FROM warehouse_areas WHERE tenant_id = {kit.store.id};
            INSERT INTO warehouse_usergroups (public_id, warehouse_id, usergroup_id, allocation_type)
                SELECT '{uuid7()}', w.id, g.id, 'P' FROM warehouses w, usergroups g
                WHERE w.tenant_id = {kit.store.id} AND g.tenant_id = {kit.store.id}
            """
        )
        return self

    async def change(self, sql: str) -> None:
        """Run statements on a connection of their own, for the store."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(f"SELECT set_config('vitrine.tenant', '{self.kit.store.id}', false)")
            await connection.execute(sql)
        finally:
            await connection.close()

    async def cart(self, scope: Scope | None = None) -> Any:
        front = scope or self.kit.as_storefront()
        item = {"product": await self.kit.public_id("products", self.product), "quantity": 2}
        cart = await change.create_cart(front, {"items": [item]})
        await change.set_address(front, cart["id"], ADDRESS)
        await change.set_shipping_option(front, cart["id"], await self.kit.public_id("shipping_methods", self.method))
        return cart["id"]

    async def prices(self, cart: Any, scope: Scope | None = None) -> dict[str, Any]:
        record = await load_cart_record(scope or self.kit.as_storefront(), cart)
        assert record is not None
        return {name: record[name] for name in _SHOWN} | {"warnings": [each["code"] for each in record["warnings"]]}

    async def change_and_fail(self, rate: int, cart: Any, before: dict[str, Any]) -> None:
        """Change the tax and roll back, once the cart has shown it."""
        async with database.transaction(self.kit.scope):
            sql = "UPDATE tax_rates SET rate_value = $2 WHERE tenant_id = $1"
            await database.execute(sql, self.kit.store.id, rate)
            assert (await self.prices(cart))["tax_cents"] > before["tax_cents"]
            raise ZeroDivisionError

    async def check_out(self, cart: Any) -> dict[str, Any] | str:
        """Return the amounts of the order, or the reason of the refusal."""
        payment = await self.kit.public_id("payment_methods", self.payment)
        values = {"customer_email": "ana@example.com", "payment_id": payment}
        try:
            placed = await checkout.check_out(self.kit.as_storefront(), cart, values)
        except Exception as error:
            return str(error)
        order = await self.kit.record("orders", placed.id)
        return {name: value for name, value in order.items() if name.endswith("_cents")}


@pytest.fixture
async def shop(kit: DomainStore, database_url: str) -> Shop:
    return await Shop(kit, database_url).open()


CHANGES = {
    "destinations": "UPDATE destinations SET states = '{SP}'",
    "destination_zipcodes": "UPDATE destination_zipcodes SET zipcode_from = '52000000'",
    "destination_zipcodes, deleted": "DELETE FROM destination_zipcodes; UPDATE destinations SET countries = '{PT}'",
    "shipping_methods": "UPDATE shipping_methods SET free_from_cents = 1",
    "shipping_methods, disabled": "UPDATE shipping_methods SET status = 'D'",
    "shipping_rates": "UPDATE shipping_rates SET base_cents = 1234",
    "shipping_rates, deleted": "DELETE FROM shipping_rates",
    "taxes": "UPDATE taxes SET price_includes_tax = true",
    "taxes, deleted": "UPDATE taxes SET deleted_at = now()",
    "tax_rates": "UPDATE tax_rates SET rate_value = 20000",
    "product_taxes": "DELETE FROM product_taxes",
    "shipping_method_taxes": "DELETE FROM shipping_method_taxes",
    "payment_method_taxes": "DELETE FROM payment_method_taxes",
    "payment_methods": "UPDATE payment_methods SET surcharge_cents = 700",
    "warehouses": "UPDATE warehouses SET shipping_delay = 9",
    "warehouse_areas": "UPDATE warehouse_areas SET delivery_time = 240",
    "warehouse_zipcodes": "UPDATE warehouse_zipcodes SET first_cep = 59000000",
    "warehouse_usergroups": "UPDATE warehouse_usergroups SET allocation_type = 'E'",
    "promotions": "UPDATE promotions SET status = 'D'",
    "promotions, ended": "UPDATE promotions SET to_at = now() - interval '1 day'",
    "promotions, used up": "UPDATE promotions SET usage_cap = 1, used = 1",
    "products": "UPDATE products SET price_cents = 9000",
}
# What only a checkout shows, and what only a cart does.
_OF_CHECKOUT = {"payment_method_taxes", "payment_methods"}
_OF_CART = {"warehouses", "warehouse_areas"}


def test_each_table_of_terms_is_changed() -> None:
    assert {name.partition(",")[0] for name in CHANGES} >= set(TABLES)


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_is_seen_by_the_next_cart_and_checkout(
    name: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = [await shop.cart() for _ in range(3)]
    before, ordered = await shop.prices(second), await shop.check_out(first)
    assert await shop.prices(second) == before

    await shop.change(CHANGES[name])
    after, then_ordered = await shop.prices(second), await shop.check_out(second)

    monkeypatch.setattr(terms, "_cache", TermsCache[Any]())
    assert await shop.prices(third) == after
    assert await shop.check_out(third) == then_ordered
    assert (after != before) is (name not in _OF_CHECKOUT)
    assert (then_ordered != ordered) is (name not in _OF_CART)


async def test_a_change_of_the_same_transaction_is_seen_and_forgotten_with_it(shop: Shop) -> None:
    cart = await shop.cart()
    before = await shop.prices(cart)
    for rate in (20_000, 30_000):
        with pytest.raises(ZeroDivisionError):
            await shop.change_and_fail(rate, cart, before)
        assert await shop.prices(cart) == before, rate


async def test_a_cart_takes_one_statement_while_its_terms_are_kept(shop: Shop) -> None:
    cart = await shop.cart()
    await shop.prices(cart)
    with database.count_statements() as counted:
        await shop.prices(cart)
    assert counted.count == 1
    await shop.change("UPDATE taxes SET priority = priority + 1")
    with database.count_statements() as counted:
        await shop.prices(cart)
    assert counted.count == 2


async def test_what_depends_on_the_customer_is_read_for_each(shop: Shop) -> None:
    """An exclusive warehouse, and a promotion for a usergroup."""
    kit = shop.kit
    own = kit.as_customer(shop.customer)
    guests, customers = await shop.cart(), await shop.cart(own)
    await PROMOTION_RECORDS.create(
        kit.scope,
        {
            "name": "Atacado",
            "conditions": {"usergroups": [await kit.value("SELECT id FROM usergroups WHERE tenant_id = $1")]},
            "bonuses": {"order_discount": "50%"},
        },
    )
    await shop.change("UPDATE warehouse_usergroups SET allocation_type = 'E'")
    seen = [await shop.prices(guests), await shop.prices(customers, own)]
    assert [each["shipping_option"] for each in seen] == [None, None]

    await shop.change(
        f"""INSERT INTO usergroup_memberships (public_id, user_id, usergroup_id)
        SELECT '{uuid7()}', {shop.customer}, id FROM usergroups WHERE tenant_id = {kit.store.id}"""
    )
    guest, member = await shop.prices(guests), await shop.prices(customers, own)
    assert guest == seen[0]
    assert member["shipping_option"] is not None
    assert member["discount_cents"] > guest["discount_cents"]

    await shop.change(f"DELETE FROM usergroup_memberships WHERE user_id = {shop.customer}")
    assert await shop.prices(customers, own) == seen[1]


async def test_an_order_with_other_lines_keeps_the_promotion_of_its_customers_group(shop: Shop) -> None:
    kit = shop.kit
    await shop.change(
        f"""INSERT INTO usergroup_memberships (public_id, user_id, usergroup_id)
        SELECT '{uuid7()}', {shop.customer}, id FROM usergroups WHERE tenant_id = {kit.store.id};
        UPDATE promotions SET status = 'D' WHERE tenant_id = {kit.store.id}"""
    )
    group = await kit.value("SELECT id FROM usergroups WHERE tenant_id = $1")
    for repetition in range(2):  # the second time with kept terms
        await PROMOTION_RECORDS.create(
            kit.scope, {"name": "Atacado", "conditions": {"usergroups": [group]}, "bonuses": {"order_discount": "10%"}}
        )
        order = await kit.order((shop.product, 1), user=shop.customer)
        discount = (await kit.record("orders", order.id))["discount_cents"]
        assert discount > 0, repetition
        other = await kit.product(price_cents=10_000)
        await update_order(kit.scope, order.id, {"lines": [{"product": other, "quantity": 1}]})
        assert (await kit.record("orders", order.id))["discount_cents"] == discount, repetition


async def test_two_stores_with_equal_rows_never_share_terms(
    shop: Shop, other_kit: DomainStore, database_url: str
) -> None:
    other = await Shop(other_kit, database_url).open()
    await other.change("UPDATE tax_rates SET rate_value = 50000")
    carts = [(shop, await shop.cart()), (other, await other.cart())]
    alone = [await each.prices(cart) for each, cart in carts]
    assert alone[0]["tax_cents"] != alone[1]["tax_cents"]
    for repetition in range(2):
        assert [await each.prices(cart) for each, cart in carts] == alone, repetition


def test_terms_of_one_store_are_not_those_of_another_at_the_same_version() -> None:
    kept = TermsCache[str]()
    kept.keep((uuid7(), 1, None), 1, "of the first", 100)
    assert kept.find((uuid7(), 1, None), 1) is None


async def test_a_store_with_many_rows_is_priced_right_without_a_version(shop: Shop) -> None:
    cart = await shop.cart()
    before = await shop.prices(cart)
    await shop.change(
        f"""INSERT INTO destination_zipcodes (public_id, destination_id, zipcode_from, zipcode_to)
        SELECT gen_random_uuid(), d.id, lpad(n::text, 8, '0'), lpad(n::text, 8, '0')
        FROM destinations d, generate_series(1, {MAX_ROWS}) AS n WHERE d.tenant_id = {shop.kit.store.id}"""
    )
    assert await shop.prices(cart) == before
    with active_scope(shop.kit.scope), database.count_statements() as counted:
        assert await shop.prices(cart) == before
    assert counted.count == 2
    await shop.change("UPDATE tax_rates SET rate_value = 20000")
    assert (await shop.prices(cart))["tax_cents"] > before["tax_cents"]


def test_what_is_kept_is_bounded_and_the_least_recently_used_is_dropped() -> None:
    kept = TermsCache[str](max_bytes=1_000)
    for number in range(100):
        kept.keep(("store", number), 1, f"terms {number}", 300)
        assert kept.find(("store", 0), 1) == "terms 0", number
        assert kept.size <= 1_000, number
    assert [number for number in range(100) if kept.find(("store", number), 1)] == [0, 98, 99]
    kept.keep(("store", 0), 2, "new", 100)
    assert (kept.find(("store", 0), 1), kept.find(("store", 0), 2), kept.size) == (None, "new", 700)
    kept.keep(("store", 0), None, "without a version", 100)
    assert (kept.find(("store", 0), None), kept.size) == (None, 600)
    kept.keep(("store", 0), 1, "larger than all", 1_001)
    assert (kept.find(("store", 0), 1), kept.size) == (None, 600)
