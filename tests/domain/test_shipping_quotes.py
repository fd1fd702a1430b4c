"""Shipping quotes by method and address."""

from __future__ import annotations

import pytest

from domain.destinations.destinations import DESTINATION_RECORDS
from domain.purchase.totals import TotalsLine
from domain.shipping.address_quotes import quote_shipping
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.errors import ValidationFailed
from models.connection import database
from tests.harness.domain_store import unknown

PAULISTA, RIO = "01310-100", "20040002"


async def quoted(kit, *lines, zipcode=PAULISTA, **arguments):
    lines = lines or (TotalsLine(1, 5_000, weight_grams=1_000),)
    subtotal = sum(line.quantity * line.price_cents for line in lines)
    result = await quote_shipping(kit.scope, lines, zipcode=zipcode, subtotal_cents=subtotal, **arguments)
    return {one.name: one.price_cents for one in result}


async def test_a_method_without_rates_charges_its_own_prices_everywhere(kit):
    number = await kit.shipping(
        name="Sedex", base_cents=1_000, per_kg_cents=100, per_item_cents=10, delivery_time="2 d"
    )
    [result] = await quote_shipping(kit.scope, [TotalsLine(2, 100, weight_grams=1_500)], zipcode="", subtotal_cents=200)
    assert (result.shipping_method_id, result.price_cents, result.delivery_time) == (number, 1_320, "2 d")
    assert (result.vendor_id, result.destination_id) == (None, None)
    assert result.public_id == await kit.public_id("shipping_methods", number)


async def test_a_method_with_rates_charges_only_the_destinations_rate(kit):
    state = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    capital = await DESTINATION_RECORDS.create(
        kit.scope, {"name": "Capital", "zipcodes": [{"zipcode_from": "01000000", "zipcode_to": "05999999"}]}
    )
    await kit.shipping(
        name="Correio",
        base_cents=9_999,
        rates=[
            {"destination": state, "base_cents": 1_000, "per_kg_cents": 50, "per_item_cents": 5},
            {"destination": capital, "base_cents": 500},
        ],
    )
    await kit.shipping(name="Moto", rates=[{"destination": capital, "base_cents": 700}])
    await kit.shipping(name="Retirada")
    assert await quoted(kit) == {"Correio": 500, "Moto": 700, "Retirada": 0}
    assert await quoted(kit, zipcode="13010000") == {"Correio": 1_055, "Retirada": 0}
    assert await quoted(kit, zipcode=RIO) == {"Retirada": 0}
    # The address matches the capital only: a method without a rate there is not quoted.
    await kit.shipping(name="Interior", rates=[{"destination": state, "base_cents": 1}])
    assert "Interior" not in await quoted(kit)
    assert "Interior" in await quoted(kit, zipcode="", state="SP", city="Bauru")


@pytest.mark.parametrize("weight, carried", [(499, False), (500, True), (1_000, True), (1_001, False)])
async def test_weight_limits_of_a_method(kit, weight, carried):
    place = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    await kit.shipping(name="own", min_weight_grams=500, max_weight_grams=1_000)
    await kit.shipping(name="rate", min_weight_grams=500, rates=[{"destination": place, "max_weight_grams": 1_000}])
    assert bool(await quoted(kit, TotalsLine(1, 1, weight_grams=weight))) is carried
    assert len(await quoted(kit, TotalsLine(1, 1, weight_grams=weight))) == 2 * carried


async def test_free_shipping_from_a_subtotal_or_by_product(kit):
    place = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    await kit.shipping(
        name="x",
        free_from_cents=5_000,
        rates=[{"destination": place, "base_cents": 100, "per_item_cents": 1}],
    )
    assert await quoted(kit, TotalsLine(1, 5_000)) == {"x": 0}
    assert await quoted(kit, TotalsLine(1, 4_999)) == {"x": 101}
    assert await quoted(kit, TotalsLine(1, 10, ships_free=True)) == {"x": 0}
    assert await quoted(kit, TotalsLine(1, 10, ships_free=True), TotalsLine(2, 10)) == {"x": 102}


async def test_unshipped_lines_get_no_quotes(kit):
    await kit.shipping()
    assert await quoted(kit, TotalsLine(1, 100, is_shipped=False)) == {}


async def test_disabled_methods_and_other_stores_are_not_quoted(kit, other_kit):
    await kit.shipping(name="off", status="D")
    await other_kit.shipping(name="elsewhere")
    assert await quoted(kit) == {}


async def test_quotes_take_two_statements_for_any_number_of_methods(kit):
    places = [await DESTINATION_RECORDS.create(kit.scope, {"name": str(n), "cities": [str(n)]}) for n in range(5)]
    for n in range(10):
        await kit.shipping(name=str(n), rates=[{"destination": place} for place in places])
    with database.count_statements() as counted:
        assert len(await quoted(kit, city="3")) == 10
    assert counted.count == 2


async def test_rates_are_replaced_together(kit):
    one, two = [await DESTINATION_RECORDS.create(kit.scope, {"name": name}) for name in ("a", "b")]
    method = await kit.shipping(rates=[{"destination": one, "base_cents": 1}])
    sql = "SELECT destination_id, base_cents FROM shipping_rates WHERE tenant_id = $1 ORDER BY destination_id"
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"name": "y"})
    assert [tuple(row) for row in await kit.rows(sql)] == [(one, 1)]
    await SHIPPING_METHOD_RECORDS.update(
        kit.scope, method, {"rates": [{"destination": two, "base_cents": 2}, {"destination": one}]}
    )
    assert [tuple(row) for row in await kit.rows(sql)] == [(one, 0), (two, 2)]
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"rates": []})
    assert await kit.rows(sql) == []


async def test_a_rate_without_a_destination_sets_the_methods_own_prices(kit):
    place = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    method = await kit.shipping(
        name="x", rates=[{"base_cents": 300, "per_item_cents": 5}, {"destination": place, "base_cents": 700}]
    )
    record = await kit.record("shipping_methods", method)
    assert (record["base_cents"], record["per_kg_cents"], record["per_item_cents"]) == (300, 0, 5)
    assert await quoted(kit) == {"x": 700}
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"rates": [{"destination": None, "per_kg_cents": 10}]})
    assert await quoted(kit, zipcode=RIO) == {"x": 10}


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
async def test_rate_field_errors_are_reported(kit, rates, fields):
    with pytest.raises(ValidationFailed) as error:
        await kit.shipping(rates=rates)
    assert error.value.fields == fields
    assert await kit.value("SELECT count(*) FROM shipping_methods WHERE tenant_id = $1") == 0


async def test_rates_for_foreign_or_repeated_destinations_are_rejected(kit, other_kit):
    foreign = [await DESTINATION_RECORDS.create(other_kit.scope, {"name": "x"}) for _ in range(4)][-1]
    own = await DESTINATION_RECORDS.create(kit.scope, {"name": "x"})
    for rates in ([{"destination": foreign}], [{"destination": unknown()}], [{"destination": own}] * 2):
        with pytest.raises(ValidationFailed):
            await kit.shipping(rates=rates)


async def test_a_method_stores_its_taxes_and_service(kit):
    from domain.taxes.taxes import TAX_RECORDS

    tax = await TAX_RECORDS.create(kit.scope, {"name": "ISS"})
    method = await kit.shipping(service={"carrier": "correios", "code": 4014}, taxes=[tax, tax])
    assert (await kit.record("shipping_methods", method))["service"] in (
        '{"code": 4014, "carrier": "correios"}',
        {"code": 4014, "carrier": "correios"},
    )
    sql = "SELECT tax_id FROM shipping_method_taxes WHERE tenant_id = $1"
    assert [row["tax_id"] for row in await kit.rows(sql)] == [tax]
    await SHIPPING_METHOD_RECORDS.update(kit.scope, method, {"taxes": []})
    assert await kit.rows(sql) == []
    with pytest.raises(ValidationFailed) as error:
        await kit.shipping(service="x")
    assert error.value.fields == {"service": "service_invalid"}
