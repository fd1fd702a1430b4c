"""What it costs to send goods, by which method, to which address."""

from __future__ import annotations

import pytest

from domain.destinations.destinations import create_destination
from domain.orders.totals import Goods
from domain.shipping.methods import update_shipping_method
from domain.shipping.quotes import quote
from kernel.errors import ValidationFailed
from models import database
from tests.domain.kit import unknown

PAULISTA, RIO = "01310-100", "20040002"


async def quoted(shop, *goods, zipcode=PAULISTA, **asked):
    goods = goods or (Goods(1, 5_000, weight_grams=1_000),)
    subtotal = sum(some.quantity * some.price_cents for some in goods)
    found = await quote(shop.scope, goods, zipcode=zipcode, subtotal_cents=subtotal, **asked)
    return {one.name: one.price_cents for one in found}


async def test_a_method_without_rates_charges_its_own_prices_everywhere(shop):
    number = await shop.shipping(
        name="Sedex", base_cents=1_000, per_kg_cents=100, per_item_cents=10, delivery_time="2 d"
    )
    [found] = await quote(shop.scope, [Goods(2, 100, weight_grams=1_500)], zipcode="", subtotal_cents=200)
    assert (found.shipping_method_id, found.price_cents, found.delivery_time) == (number, 1_320, "2 d")
    assert (found.vendor_id, found.destination_id) == (None, None)
    assert found.public_id == await shop.public_id("shipping_methods", number)


async def test_a_method_with_rates_charges_that_of_the_destination_and_no_other(shop):
    state = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    capital = await create_destination(
        shop.scope, {"name": "Capital", "zipcodes": [{"zipcode_from": "01000000", "zipcode_to": "05999999"}]}
    )
    await shop.shipping(
        name="Correio",
        base_cents=9_999,
        rates=[
            {"destination": state, "base_cents": 1_000, "per_kg_cents": 50, "per_item_cents": 5},
            {"destination": capital, "base_cents": 500},
        ],
    )
    await shop.shipping(name="Moto", rates=[{"destination": capital, "base_cents": 700}])
    await shop.shipping(name="Retirada")
    assert await quoted(shop) == {"Correio": 500, "Moto": 700, "Retirada": 0}
    assert await quoted(shop, zipcode="13010000") == {"Correio": 1_055, "Retirada": 0}
    assert await quoted(shop, zipcode=RIO) == {"Retirada": 0}
    # The address belongs to the capital, whatever else holds it: who has no rate there doesn't go there.
    await shop.shipping(name="Interior", rates=[{"destination": state, "base_cents": 1}])
    assert "Interior" not in await quoted(shop)
    assert "Interior" in await quoted(shop, zipcode="", state="SP", city="Bauru")


@pytest.mark.parametrize("weight, carried", [(499, False), (500, True), (1_000, True), (1_001, False)])
async def test_weights_bound_what_a_method_carries(shop, weight, carried):
    place = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    await shop.shipping(name="own", min_weight_grams=500, max_weight_grams=1_000)
    await shop.shipping(
        name="rate", min_weight_grams=500, rates=[{"destination": place, "max_weight_grams": 1_000}]
    )
    assert bool(await quoted(shop, Goods(1, 1, weight_grams=weight))) is carried
    assert len(await quoted(shop, Goods(1, 1, weight_grams=weight))) == 2 * carried


async def test_from_an_amount_on_and_for_goods_that_ship_free_nothing_is_charged(shop):
    place = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    await shop.shipping(
        name="x",
        free_from_cents=5_000,
        rates=[{"destination": place, "base_cents": 100, "per_item_cents": 1}],
    )
    assert await quoted(shop, Goods(1, 5_000)) == {"x": 0}
    assert await quoted(shop, Goods(1, 4_999)) == {"x": 101}
    assert await quoted(shop, Goods(1, 10, ships_free=True)) == {"x": 0}
    assert await quoted(shop, Goods(1, 10, ships_free=True), Goods(2, 10)) == {"x": 102}


async def test_what_is_not_shipped_needs_no_method(shop):
    await shop.shipping()
    assert await quoted(shop, Goods(1, 100, is_shipped=False)) == {}


async def test_methods_that_are_off_or_another_stores_are_not_offered(shop, other_shop):
    await shop.shipping(name="off", status="D")
    await other_shop.shipping(name="elsewhere")
    assert await quoted(shop) == {}


async def test_quotes_take_two_statements_however_many_methods_there_are(shop):
    places = [await create_destination(shop.scope, {"name": str(n), "cities": [str(n)]}) for n in range(5)]
    for n in range(10):
        await shop.shipping(name=str(n), rates=[{"destination": place} for place in places])
    with database.counting() as counted:
        assert len(await quoted(shop, city="3")) == 10
    assert counted.count == 2


async def test_rates_are_replaced_as_a_whole(shop):
    one, two = [await create_destination(shop.scope, {"name": name}) for name in ("a", "b")]
    method = await shop.shipping(rates=[{"destination": one, "base_cents": 1}])
    sql = "SELECT destination_id, base_cents FROM shipping_rates WHERE tenant_id = $1 ORDER BY destination_id"
    await update_shipping_method(shop.scope, method, {"name": "y"})
    assert [tuple(row) for row in await shop.rows(sql)] == [(one, 1)]
    await update_shipping_method(
        shop.scope, method, {"rates": [{"destination": two, "base_cents": 2}, {"destination": one}]}
    )
    assert [tuple(row) for row in await shop.rows(sql)] == [(one, 0), (two, 2)]
    await update_shipping_method(shop.scope, method, {"rates": []})
    assert await shop.rows(sql) == []


async def test_a_rate_without_a_destination_holds_the_methods_own_prices(shop):
    place = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    method = await shop.shipping(
        name="x", rates=[{"base_cents": 300, "per_item_cents": 5}, {"destination": place, "base_cents": 700}]
    )
    record = await shop.record("shipping_methods", method)
    assert (record["base_cents"], record["per_kg_cents"], record["per_item_cents"]) == (300, 0, 5)
    assert await quoted(shop) == {"x": 700}
    await update_shipping_method(shop.scope, method, {"rates": [{"destination": None, "per_kg_cents": 10}]})
    assert await quoted(shop, zipcode=RIO) == {"x": 10}


@pytest.mark.parametrize(
    "rates, fields",
    [
        ([{"destination": 10**12}], {"destination": "not_found"}),
        ([{"destination": "nonsense"}], {"destination": "not_found"}),
        ([{"base_cents": "x"}], {"base_cents": "price_invalid"}),
        ([{"destination": 1, "base_cents": -1}], {"base_cents": "price_invalid"}),
        ([{"destination": 1, "max_weight_grams": "x"}], {"max_weight_grams": "weight_invalid"}),
    ],
)
async def test_what_is_wrong_with_a_rate_is_named(shop, rates, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await shop.shipping(rates=rates)
    assert refusal.value.fields == fields
    assert await shop.value("SELECT count(*) FROM shipping_methods WHERE tenant_id = $1") == 0


async def test_a_rate_for_another_stores_destination_or_twice_for_one_is_refused(shop, other_shop):
    foreign = await create_destination(other_shop.scope, {"name": "x"})
    own = await create_destination(shop.scope, {"name": "x"})
    for rates in ([{"destination": foreign}], [{"destination": unknown()}], [{"destination": own}] * 2):
        with pytest.raises(ValidationFailed):
            await shop.shipping(rates=rates)


async def test_taxes_and_a_service_are_kept_with_a_method(shop):
    from domain.taxes.taxes import create_tax

    tax = await create_tax(shop.scope, {"name": "ISS"})
    method = await shop.shipping(service={"carrier": "correios", "code": 4014}, taxes=[tax, tax])
    assert (await shop.record("shipping_methods", method))["service"] in (
        '{"code": 4014, "carrier": "correios"}',
        {"code": 4014, "carrier": "correios"},
    )
    sql = "SELECT tax_id FROM shipping_method_taxes WHERE tenant_id = $1"
    assert [row["tax_id"] for row in await shop.rows(sql)] == [tax]
    await update_shipping_method(shop.scope, method, {"taxes": []})
    assert await shop.rows(sql) == []
    with pytest.raises(ValidationFailed) as refusal:
        await shop.shipping(service="x")
    assert refusal.value.fields == {"service": "service_invalid"}
