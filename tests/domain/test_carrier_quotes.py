"""The price of a carrier in a cart and an order: asked once, kept, replaced by the method's table, and never 0."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from orjson import loads

from domain.carriers import quotes as carrier_quotes
from domain.carriers import source
from domain.carriers.params import decrypt_params
from domain.carts import change, checkout, lines
from domain.carts.record import load_cart_record
from domain.outgoing import calls
from domain.purchase.edit import update_order
from domain.retention import delete_expired
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from domain.shipping.product_quotes import find_vendor_offers, quote_product
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import ActorKind, Scope, active_scope
from models.connection import database
from models.connection.database import in_transaction, retry_conflicts
from tests.harness.carriers import CarrierServer, carrier_server, melhor_envio_service
from tests.harness.domain_store import DomainStore

ADDRESS = {"name": "Ana", "zipcode": "50010-000", "state": "PE", "city": "Recife", "street": "Rua", "number": "10"}


@pytest.fixture
async def carriers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CarrierServer]:
    """Run the carriers; no call may happen within a transaction."""
    async with carrier_server() as server:
        caller = calls._caller
        assert caller is not None

        async def checked(*args: Any, **kwargs: Any) -> Any:
            assert not in_transaction()
            return await caller(*args, **kwargs)

        monkeypatch.setattr(calls, "_caller", checked)
        yield server


class Shop:
    """A store with a method by Melhor Envio and a cart."""

    def __init__(self, kit: DomainStore, carriers: CarrierServer) -> None:
        self.kit, self.carriers = kit, carriers
        self.scope = kit.as_storefront()

    async def open(self, **method: Any) -> Shop:
        self.method = await self.add_method(**method)
        self.payment = await self.kit.payment()
        self.product = await self.kit.product(
            price_cents=10_000, stock=100, weight_grams=500, length_mm=200, width_mm=150, height_mm=100
        )
        item = {"product": await self.kit.public_id("products", self.product), "quantity": 2}
        self.cart = (await change.create_cart(self.scope, {"items": [item], "customer_email": "ana@example.com"}))["id"]
        await self.run(change.set_address, ADDRESS)
        return self

    async def add_method(self, **values: Any) -> int:
        params = self.carriers.melhor_envio_params() if values.get("rate_source") in (None, "melhor_envio") else {}
        return await self.kit.shipping(**{"rate_source": "melhor_envio", "rate_params": params, **values})

    async def run(self, operation: Any, *args: Any, scope: Scope | None = None) -> Any:
        """Run an operation on the cart as a mutation does: repeated as a whole where it needs a call."""
        return await retry_conflicts(partial(operation, scope or self.scope, self.cart, *args))

    async def options(self, scope: Scope | None = None) -> dict[int, int]:
        """Return the price of each option, as `cart.shipping_options` reads it."""
        from domain.carts.locked import find_cart
        from domain.carts.totals import shipping_options_for

        scope = scope or self.scope
        quotes = await shipping_options_for(scope, await find_cart(scope, self.cart))
        return {quote.shipping_method_id: quote.price_cents for quote in quotes}

    async def select(self, method: int | None = None) -> Any:
        method_id = await self.kit.public_id("shipping_methods", method or self.method)
        return await self.run(change.set_shipping_option, method_id)

    async def check_out(self, scope: Scope | None = None) -> Any:
        payment = {"payment_id": await self.kit.public_id("payment_methods", self.payment)}
        return await self.run(checkout.check_out, payment, scope=scope)

    def later(self, **passed: int) -> Scope:
        return replace(self.scope, now=self.scope.now + timedelta(**passed))


async def execute(kit: DomainStore, sql: str) -> None:
    with active_scope(kit.scope):
        await database.execute(sql)


@pytest.fixture
async def shop(kit: DomainStore, carriers: CarrierServer) -> Shop:
    return await Shop(kit, carriers).open()


async def test_a_carrier_is_asked_once_for_the_content_of_a_cart_and_its_cep(shop):
    assert await shop.options() == {shop.method: 2_550}
    record = await shop.select()
    assert (record["shipping_cents"], record["shipping_option"]["delivery_time"]) == (2_550, "4 a 5 dias")
    assert (await load_cart_record(shop.scope, shop.cart))["total_cents"] == 22_550
    assert len(shop.carriers.requests) == 1
    [(_, _, body)] = shop.carriers.requests
    assert (body["from"]["postal_code"], body["to"]["postal_code"]) == ("01310100", "50010000")
    [parcel] = body["products"]
    assert (parcel["weight"], parcel["insurance_value"], parcel["quantity"]) == (1.0, 200.0, 1)


async def test_the_order_costs_what_the_customer_saw_and_keeps_the_quote(kit, shop):
    await shop.options()
    await shop.select()
    shop.carriers.melhor_envio = [melhor_envio_service(price="99.00")]
    await execute(kit, "UPDATE products SET weight_grams = 29000, length_mm = 900")
    placed = await shop.check_out(shop.later(minutes=14))
    order = await kit.record("orders", placed.id)
    assert (order["shipping_cents"], order["total_cents"], order["delivery_time"]) == (2_550, 22_550, "4 a 5 dias")
    quote = {
        name: loads(order["shipping_quote"])[name] for name in ("source", "service", "name", "price_cents", "days_max")
    }
    assert quote == {
        "source": "melhor_envio", "service": "1", "name": "Correios PAC", "price_cents": 2_550, "days_max": 5
    }  # fmt: skip
    assert len(shop.carriers.requests) == 1


async def test_after_a_quarter_of_an_hour_the_carrier_is_asked_again(kit, shop):
    await shop.options()
    await shop.select()
    shop.carriers.melhor_envio = [melhor_envio_service(price="31.00")]
    placed = await shop.check_out(shop.later(minutes=16))
    assert (await kit.record("orders", placed.id))["shipping_cents"] == 3_100
    assert len(shop.carriers.requests) == 2


async def test_another_content_and_another_cep_are_asked_for_outside_of_the_transaction_of_the_change(kit, shop):
    await shop.options()
    await shop.select()
    shop.carriers.melhor_envio = [melhor_envio_service(price="40.00")]
    item = {"product": await kit.public_id("products", shop.product), "quantity": 1}
    assert (await shop.run(lines.add_item, item))["shipping_cents"] == 4_000
    shop.carriers.melhor_envio = [melhor_envio_service(price="50.00")]
    assert (await shop.run(change.set_address, {**ADDRESS, "zipcode": "20040-002"}))["shipping_cents"] == 5_000
    assert (await shop.run(change.set_address, ADDRESS))["shipping_cents"] == 4_000
    assert [line["quantity"] for line in (await load_cart_record(shop.scope, shop.cart))["items"]] == [3]
    assert len(shop.carriers.requests) == 3


async def test_the_sources_of_a_cart_are_asked_at_the_same_time_and_each_account_once(kit, shop):
    carriers = shop.carriers
    carriers.melhor_envio = [melhor_envio_service(1, "25.00"), melhor_envio_service(2, "45.00")]
    params = carriers.melhor_envio_params
    fast = await shop.add_method(rate_params=params(services=["2"]))
    frenet = await kit.shipping(rate_source="frenet", rate_params=carriers.frenet_params())
    other = await kit.shipping(rate_source="frenet", rate_params=carriers.frenet_params(token="another"))
    carriers.seconds = 0.5
    started = time.monotonic()
    prices = await shop.options()
    assert time.monotonic() - started < 1.2
    assert prices == {shop.method: 2_500, fast: 4_500, frenet: 3_250, other: 3_250}
    assert len(carriers.requests) == 3


async def test_methods_that_can_not_ship_the_cart_are_not_asked(kit, shop):
    other = await kit.vendor()
    params = shop.carriers.melhor_envio_params
    await shop.add_method(vendor=other, rate_params=params(token="other"))
    await shop.add_method(max_weight_grams=500, rate_params=params(token="light"))
    await shop.add_method(status="D", rate_params=params(token="off"))
    assert await shop.options() == {shop.method: 2_550}
    assert [headers["Authorization"] for _, headers, _ in shop.carriers.requests] == ["Bearer me-secret"]


async def test_readers_at_the_same_time_see_one_price_whatever_each_was_answered(shop):
    shop.carriers.raises_prices, shop.carriers.seconds = True, 0.2
    seen = await asyncio.gather(*(shop.options() for _ in range(6)))
    assert len(shop.carriers.requests) == 6
    assert {prices[shop.method] for prices in seen} == {(await shop.options())[shop.method]}


@pytest.mark.parametrize("has_table", [True, False])
async def test_a_carrier_that_fails_is_replaced_by_the_table_or_left_out_and_the_store_is_notified_once(
    kit, carriers, has_table
):
    clerk = await kit.customer(user_type="A")
    await execute(kit, f"UPDATE users SET privileges = '{{view_shipping}}' WHERE id = {clerk}")
    carriers.status = 503
    shop = await Shop(kit, carriers).open(name="PAC", **({"base_cents": 1_900} if has_table else {}))
    expected = {shop.method: 1_900} if has_table else {}
    assert await shop.options() == expected
    assert await shop.options(shop.later(seconds=30)) == expected
    assert len(carriers.requests) == 1, (
        "a failure is kept for a minute, and where a table's price was shown as long as a quote"
    )
    assert await shop.options(shop.later(minutes=2)) == expected
    assert len(carriers.requests) == 2 - has_table
    assert await shop.options(shop.later(minutes=18)) == expected
    assert len(carriers.requests) == 3 - has_table
    titles = "SELECT title, message, user_id FROM notifications WHERE tenant_id = $1 AND type = 'shipping' ORDER BY id"
    [row] = await kit.rows(titles)
    assert (row["title"], row["user_id"]) == ("Frete sem resposta: PAC", clerk)
    assert "503" in row["message"]
    await shop.options(shop.later(days=1, minutes=5))
    assert len(await kit.rows(titles)) == 2
    carriers.status = 200
    assert await shop.options(shop.later(days=1, minutes=25)) == {shop.method: 2_550}


@pytest.mark.parametrize("price", ["0.00", "-5.00", "99999999.00", "x"])
async def test_a_wrong_price_is_never_shown(kit, carriers, price):
    carriers.melhor_envio = [melhor_envio_service(price=price)]
    shop = await Shop(kit, carriers).open()
    assert await shop.options() == {}
    with pytest.raises(RuleViolation) as refused:
        await shop.select()
    assert refused.value.reason == "shipping_unavailable"


async def test_slow_carriers_delay_a_cart_by_no_more_than_the_deadline(kit, carriers, monkeypatch):
    for module in (source, carrier_quotes):
        monkeypatch.setattr(module, "DEADLINE_SECONDS", 0.3)
    carriers.seconds = 2.0
    shop = await Shop(kit, carriers).open(base_cents=1_900)
    await kit.shipping(rate_source="frenet", rate_params=carriers.frenet_params())
    started = time.monotonic()
    assert await shop.options() == {shop.method: 1_900}
    assert time.monotonic() - started < 1.0
    started = time.monotonic()
    await shop.options()
    assert time.monotonic() - started < 0.3, "that they are slow is remembered"
    assert source.DEADLINE_SECONDS < 4


async def test_three_sources_take_no_longer_than_the_slowest_of_them(kit, carriers):
    carriers.seconds = 0.6
    shop = await Shop(kit, carriers).open()
    await kit.shipping(rate_source="frenet", rate_params=carriers.frenet_params())
    elsewhere = carriers.melhor_envio_params(origin_zipcode="20040002")
    await kit.shipping(rate_source="melhor_envio", rate_params=elsewhere)
    started = time.monotonic()
    assert len(await shop.options()) == 3
    elapsed = time.monotonic() - started
    assert len(carriers.requests) == 3
    assert 0.6 <= elapsed < 1.2, "two of them one after the other take longer"


async def test_what_no_carrier_delivers_is_left_out_without_a_notification(kit, carriers):
    carriers.melhor_envio = [{"id": 1, "name": "PAC", "error": "Fora de área"}]
    shop = await Shop(kit, carriers).open(base_cents=1_900)
    assert await shop.options() == {}
    assert await kit.rows("SELECT 1 FROM notifications WHERE tenant_id = $1 AND type = 'shipping'") == []


async def test_lines_that_ship_for_free_are_not_sent_to_a_carrier_and_cost_nothing(kit, shop):
    await execute(kit, "UPDATE products SET free_shipping = true")
    assert await shop.options() == {shop.method: 0}
    assert shop.carriers.requests == []


async def test_freight_is_added_to_the_price_of_a_carrier_and_free_from_ends_it(kit, shop):
    await execute(kit, "UPDATE products SET shipping_freight_cents = 150")
    assert await shop.options() == {shop.method: 2_550 + 2 * 150}
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"free_from_cents": 20_000})
    assert await shop.options() == {shop.method: 0}


async def test_an_order_without_a_cart_is_priced_by_the_carrier(kit, shop):
    app = kit.as_app()
    ordered = {"shipping_method": shop.method, "addresses": {"S": ADDRESS}}
    placed = await retry_conflicts(lambda: kit.order((shop.product, 2), scope=app, **ordered))
    assert (await kit.record("orders", placed.id))["shipping_cents"] == 2_550
    shop.carriers.status = 401
    with pytest.raises(RuleViolation) as refused:
        await retry_conflicts(lambda: kit.order((shop.product, 3), scope=app, **ordered))
    assert refused.value.reason == "shipping_unavailable"


async def test_a_changed_order_keeps_its_quote_unless_it_ships_something_else(kit, shop):
    app = kit.as_app()
    ordered = {"shipping_method": shop.method, "addresses": {"S": ADDRESS}}
    placed = await retry_conflicts(lambda: kit.order((shop.product, 2), scope=app, **ordered))
    admin = replace(kit.as_admin(), now=kit.scope.now + timedelta(hours=1))
    shop.carriers.melhor_envio = [melhor_envio_service(price="70.00", name="SEDEX")]

    async def update(**changes: Any) -> dict[str, Any]:
        await retry_conflicts(lambda: update_order(admin, placed.id, changes))
        return await kit.record("orders", placed.id)

    assert (await update(discount_cents=100))["shipping_cents"] == 2_550
    assert len(shop.carriers.requests) == 1
    order = await update(lines=[{"product": shop.product, "quantity": 3}])
    assert (order["shipping_cents"], loads(order["shipping_quote"])["name"]) == (7_000, "Correios SEDEX")
    table = await kit.shipping(base_cents=800)
    order = await update(shipping_method=table)
    assert (order["shipping_cents"], order["shipping_quote"]) == (800, None)


async def test_a_product_is_quoted_by_carriers_and_vendors_deliver_by_them(kit, shop):
    quotes = (await quote_product(shop.scope, shop.product, "50010-000", 2)).quotes
    assert [quote.price_cents for quote in quotes] == [2_550]
    await shop.options()
    assert len(shop.carriers.requests) == 1, "the content and the CEP are the same"
    [offer] = await find_vendor_offers(shop.scope, shop.product, "50010-000")
    assert offer.is_deliverable
    assert len(shop.carriers.requests) == 1


async def test_the_platforms_own_work_asks_no_source_and_takes_the_last_quote(kit, shop):
    await shop.options()
    await shop.select()
    worker = replace(kit.scope, now=kit.scope.now + timedelta(hours=5))
    assert worker.actor.kind is ActorKind.SYSTEM
    assert (await load_cart_record(worker, shop.cart))["shipping_cents"] == 2_550
    assert len(shop.carriers.requests) == 1


async def test_kept_quotes_are_deleted_a_day_after_their_end(kit, shop):
    await shop.options()
    await delete_expired(replace(kit.scope, now=kit.scope.now + timedelta(hours=20)))
    assert len(await kit.rows("SELECT 1 FROM carrier_quotes WHERE tenant_id = $1")) == 1
    await delete_expired(replace(kit.scope, now=kit.scope.now + timedelta(hours=25)))
    assert await kit.rows("SELECT 1 FROM carrier_quotes WHERE tenant_id = $1") == []


async def test_prices_in_another_currency_than_the_stores_are_no_prices(kit, shop):
    scope = replace(shop.scope, store=replace(shop.scope.store, currency="USD"))
    assert await shop.options(scope) == {}
    assert shop.carriers.requests == []


async def test_more_parcels_than_a_carrier_takes_are_not_asked_for(kit, shop):
    product = await kit.product(price_cents=100, stock=1_000, length_mm=900, width_mm=900, height_mm=900)
    quotes = (await quote_product(shop.scope, product, "50010-000", source.MAX_PARCELS + 1)).quotes
    assert list(quotes) == []
    assert shop.carriers.requests == []


# --- Parameters --------------------------------------------------------------------------------------------------------------


async def stored_params(kit, method):
    return decrypt_params((await kit.record("shipping_methods", method))["rate_params"])


async def test_parameters_are_encrypted_and_a_mask_keeps_the_token(kit, shop):
    raw = bytes((await kit.record("shipping_methods", shop.method))["rate_params"])
    assert b"me-secret" not in raw
    params = shop.carriers.melhor_envio_params(token="****", services=[2, "3"])
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"rate_params": params})
    stored = await stored_params(kit, shop.method)
    assert (stored["token"], stored["services"], stored["origin_zipcode"]) == ("me-secret", ["2", "3"], "01310100")
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"rate_source": "table"})
    assert await stored_params(kit, shop.method) == {}


@pytest.mark.parametrize(
    "change", [{"rate_params": {"address": "https://elsewhere.example"}}, {"rate_source": "frenet", "rate_params": {}}]
)
async def test_a_masked_token_is_sent_to_no_other_address(kit, shop, change):
    params = (
        shop.carriers.melhor_envio_params(token="****")
        if "rate_source" not in change
        else {"token": "****", "origin_zipcode": "01310100"}
    )
    values = {**change, "rate_params": {**params, **change["rate_params"]}}
    with pytest.raises(ValidationFailed) as refused:
        await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, values)
    assert refused.value.fields == {"rate_params.token": "required"}
    assert (await stored_params(kit, shop.method))["token"] == "me-secret"


async def test_parameters_of_a_lost_key_are_entered_again(kit, shop):
    await execute(kit, "UPDATE shipping_methods SET rate_params = '\\x0100'")
    assert await shop.options() == {}
    [row] = await kit.rows("SELECT failure FROM carrier_quotes WHERE tenant_id = $1")
    assert row["failure"] == "the parameters can't be decrypted: enter them again"
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"rate_params": shop.carriers.melhor_envio_params()})
    assert await shop.options() == {shop.method: 2_550}


async def test_other_parameters_make_kept_quotes_void(kit, shop):
    await shop.options()
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"name": "Correios"})
    await shop.options()
    assert len(shop.carriers.requests) == 1
    params = shop.carriers.melhor_envio_params(origin_zipcode="20040-002")
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shop.method, {"rate_params": params})
    await shop.options()
    assert [body["from"]["postal_code"] for _, _, body in shop.carriers.requests] == ["01310100", "20040002"]


@pytest.mark.parametrize(
    "values, field",
    [
        ({"rate_source": "correios"}, "rate_source"),
        ({"rate_source": None}, "rate_source"),
        ({"rate_source": "frenet"}, "rate_params.token"),
        ({"rate_source": "frenet", "rate_params": "x"}, "rate_params"),
        ({"rate_params": {"token": "t"}}, "rate_params"),
        ({"rate_source": "frenet", "rate_params": {"token": "t"}}, "rate_params.origin_zipcode"),
        (
            {"rate_source": "frenet", "rate_params": {"token": "****", "origin_zipcode": "01310100"}},
            "rate_params.token",
        ),
        ({"rate_source": "frenet", "rate_params": {"token": "a b", "origin_zipcode": "01310100"}}, "rate_params.token"),
        ({"rate_source": "frenet", "rate_params": {"token": "t", "origin_zipcode": "1"}}, "rate_params.origin_zipcode"),
        ({"rate_source": "frenet", "rate_params": {"token": "t", "cep": "01310100"}}, "rate_params"),
        ({"rate_source": "frenet", "rate_params": {"token": "t", "services": "1"}}, "rate_params.services"),
        ({"rate_source": "frenet", "rate_params": {"token": "t", "address": "ftp://x"}}, "rate_params.address"),
        (
            {"rate_source": "frenet", "rate_params": {"token": "t", "address": "https://10.0.0.1"}},
            "rate_params.address",
        ),
        ({"rate_source": "melhor_envio", "rate_params": {"contact_email": "x"}}, "rate_params.contact_email"),
    ],
)
async def test_wrong_parameters_are_refused(kit, values, field):
    with pytest.raises(ValidationFailed) as refused:
        await SHIPPING_METHOD_RECORDS.create(kit.scope, {"name": "x", **values})
    assert field in refused.value.fields
