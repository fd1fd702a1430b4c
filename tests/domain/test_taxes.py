"""Calculating and writing taxes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.catalog.products import create_product, update_product
from domain.destinations.destinations import DESTINATION_RECORDS
from domain.purchase.totals import AppliedTax, TaxableAmount, added_tax_cents, calculate_taxes
from domain.taxes.taxes import TAX_RECORDS
from kernel.errors import NotFound, ValidationFailed
from kernel.money import allocate
from tests.harness.domain_store import unknown


def tax(number=1, *, rate="P", value=18_000, included=False, priority=0):
    return AppliedTax(number, f"tax {number}", rate, value, included, priority)


def charged(shares, *taxes):
    result = calculate_taxes(shares, {tax_.id: tax_ for tax_ in taxes})
    return {tax_.tax.id: tax_.amount_cents for tax_ in result}, added_tax_cents(result)


@pytest.mark.parametrize(
    "amount, quantity, of, cents, added",
    [
        (10_000, 1, tax(), 1_800, 1_800),
        (10_000, 1, tax(value=7_125), 713, 713),  # 712.5 is rounded half up
        (10_000, 1, tax(value=0), None, 0),
        (11_800, 1, tax(included=True), 1_800, 0),
        (10_000, 1, tax(included=True), 1_525, 0),  # 10,000 × 18 / 118 = 1,525.4
        (10_000, 3, tax(rate="F", value=2_500), 750, 750),
        (500, 3, tax(rate="F", value=2_500, included=True), 500, 0),
        (0, 1, tax(rate="F", value=2_500), None, 0),
    ],
)
def test_percentage_and_fixed_taxes_included_and_excluded(amount, quantity, of, cents, added):
    expected = {} if cents is None else {1: cents}
    assert charged([TaxableAmount(amount, [1], quantity)], of) == (expected, added)


def test_taxes_of_one_priority_share_a_base_and_later_ones_include_earlier_taxes():
    first, same_priority, later = tax(1, value=10_000), tax(2, value=5_000), tax(3, value=10_000, priority=1)
    assert charged([TaxableAmount(1_000, [3, 2, 1])], later, same_priority, first) == (
        {1: 100, 2: 50, 3: 115},
        265,
    )


def test_each_tax_is_rounded_once_per_taxable_amount():
    assert charged([TaxableAmount(5, [1]), TaxableAmount(5, [1])], tax(value=10_000)) == (
        {1: 2},
        2,
    )  # 0.5 cent and 0.5 cent
    assert charged([TaxableAmount(10, [1])], tax(value=10_000)) == ({1: 1}, 1)


def test_amounts_without_taxes_are_not_taxed():
    assert charged([TaxableAmount(1_000, []), TaxableAmount(1_000, [9])], tax()) == ({}, 0)


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**9), max_size=20))
def test_an_amount_is_allocated_to_the_cent(amount, weights):
    parts = allocate(amount, weights)
    assert sum(parts) == (amount if sum(weights) else 0)
    if sum(weights):
        assert all(abs(p * sum(weights) - amount * w) < sum(weights) for p, w in zip(parts, weights, strict=True))
        if amount <= sum(weights):
            assert all(part <= weight for part, weight in zip(parts, weights, strict=True))


async def test_a_tax_is_updated_partially_and_its_rates_together(kit):
    one, two = [await DESTINATION_RECORDS.create(kit.scope, {"name": name}) for name in "ab"]
    number = await TAX_RECORDS.create(
        kit.scope,
        {
            "name": "ICMS",
            "regnumber": "123",
            "rate_value": 18_000,
            "rates": [
                {"destination": one, "rate_value": 12_000},
                {"destination": two, "rate_type": "F", "rate_value": 50},
            ],
        },
    )
    sql = "SELECT destination_id, rate_type, rate_value FROM tax_rates WHERE tenant_id = $1 ORDER BY destination_id"
    assert [tuple(row) for row in await kit.rows(sql)] == [(one, "P", 12_000), (two, "F", 50)]
    await TAX_RECORDS.update(kit.scope, number, {"price_includes_tax": True, "rates": [{"destination": two}]})
    assert [tuple(row) for row in await kit.rows(sql)] == [(two, "P", 0)]
    record = await kit.record("taxes", number)
    assert (record["regnumber"], record["rate_value"], record["price_includes_tax"]) == ("123", 18_000, True)
    await TAX_RECORDS.delete(kit.scope, number)
    for reference in (number, unknown()):
        with pytest.raises(NotFound, match="tax not found"):
            await TAX_RECORDS.update(kit.scope, reference, {"name": "x"})


@pytest.mark.parametrize(
    "invalid, fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"address_type": "X"}, {"address_type": "address_type_invalid"}),
        ({"rate_type": "X"}, {"rate_type": "rate_invalid"}),
        ({"rate_value": -1}, {"rate_value": "rate_invalid"}),
        ({"rate_value": 1_000_001}, {"rate_value": "rate_invalid"}),
        ({"rate_type": "F", "rate_value": 5}, {"rate_value": "rate_invalid"}),
        ({"status": "H"}, {"status": "status_invalid"}),
        ({"rates": [{"destination": 10**12}]}, {"destination": "not_found"}),
        ({"rates": [{"destination": 1, "rate_value": "x"}]}, {"rate_value": "rate_invalid"}),
    ],
)
async def test_tax_field_errors_are_reported(kit, invalid, fields):
    with pytest.raises(ValidationFailed) as error:
        await TAX_RECORDS.create(kit.scope, {"name": "x", **invalid})
    assert error.value.fields == fields
    assert await kit.value("SELECT count(*) FROM taxes WHERE tenant_id = $1") == 0


async def test_a_fixed_rate_must_be_whole_cents(kit):
    number = await TAX_RECORDS.create(kit.scope, {"name": "x", "rate_value": 18_125})
    with pytest.raises(ValidationFailed):
        await TAX_RECORDS.update(kit.scope, number, {"rate_type": "F"})


async def test_products_have_taxes_until_these_are_deleted(kit, other_kit):
    one, two = [await TAX_RECORDS.create(kit.scope, {"name": name}) for name in "ab"]
    product = await kit.product(taxes=[one, two, one])
    other = await kit.product(taxes=[two])
    sql = "SELECT product_id, tax_id FROM product_taxes WHERE tenant_id = $1 ORDER BY 1, 2"
    assert [tuple(row) for row in await kit.rows(sql)] == [(product, one), (product, two), (other, two)]
    await update_product(kit.scope, product, {"taxes": [one]})
    await update_product(kit.scope, product, {"name": "x"})
    assert [tuple(row) for row in await kit.rows(sql)] == [(product, one), (other, two)]
    await TAX_RECORDS.delete(kit.scope, two)
    assert [tuple(row) for row in await kit.rows(sql)] == [(product, one)]
    foreign = [await TAX_RECORDS.create(other_kit.scope, {"name": "x"}) for _ in range(4)][-1]
    for invalid in ([foreign], [two], [unknown()], "x", [None]):
        with pytest.raises(ValidationFailed) as error:
            await create_product(kit.scope, {"name": "x", "price_cents": 1, "taxes": invalid})
        assert "taxes" in error.value.fields, invalid
