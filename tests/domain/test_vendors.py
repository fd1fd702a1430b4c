"""Sellers: what they are given, what they may change themselves, and when they can't be deleted."""

from __future__ import annotations

import asyncio

import pytest

from domain.marketplace.vendors import create_vendor, delete_vendor, update_vendor
from domain.orders.lifecycle import move
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown

EVERYTHING = {
    "name": "New name",
    "email": "New@Example.com",
    "status": "D",
    "phone": "1",
    "address": "a",
    "city": "c",
    "state": "SP",
    "country": "BR",
    "zipcode": "01310-100",
    "url": "https://example.com",
    "cnpj": "11.222.333/0001-81",
    "commission": "12.5",
    "commission_type": "A",
}


async def test_a_seller_holds_what_it_was_given(shop):
    vendor = await create_vendor(shop.scope, EVERYTHING)
    record = await shop.record("vendors", vendor)
    assert (record["email"], record["zipcode"], record["cnpj"]) == (
        "new@example.com",
        "01310100",
        "11222333000181",
    )
    assert (record["commission"], record["commission_type"], record["status"]) == ("12.50", "A", "D")


async def test_a_seller_changes_partially(shop):
    vendor = await create_vendor(shop.scope, EVERYTHING)
    before = await shop.record("vendors", vendor)
    await update_vendor(shop.scope, vendor, {"city": "Recife"})
    after = await shop.record("vendors", vendor)
    assert {name for name in after if after[name] != before[name]} <= {"city", "updated_at"}


async def test_a_seller_changes_of_itself_its_address_and_contacts_only(shop):
    vendor = await shop.vendor(commission="10")
    before = await shop.record("vendors", vendor)
    await update_vendor(shop.as_vendor(vendor), vendor, EVERYTHING)
    after = await shop.record("vendors", vendor)
    changed = {name for name in after if after[name] != before[name]} - {"updated_at"}
    assert changed == {"name", "email", "phone", "address", "city", "state", "zipcode", "url"}


async def test_a_seller_reaches_no_other(shop):
    vendor, other = await shop.vendor(), await shop.vendor()
    with pytest.raises(NotFound):
        await update_vendor(shop.as_vendor(vendor), other, {"name": "x"})
    with pytest.raises(Forbidden):
        await delete_vendor(shop.as_vendor(vendor), vendor)
    with pytest.raises(Forbidden):
        await create_vendor(shop.as_vendor(vendor), EVERYTHING)


@pytest.mark.parametrize(
    "given, fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"email": None}, {"email": "required"}),
        ({"email": "x"}, {"email": "email_invalid"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"cnpj": "123"}, {"cnpj": "cnpj_invalid"}),
        ({"commission": "x"}, {"commission": "commission_invalid"}),
        ({"commission": "-1"}, {"commission": "commission_invalid"}),
        ({"commission": "1.999"}, {"commission": "commission_invalid"}),
        ({"commission": "100.01"}, {"commission": "commission_invalid"}),
        ({"commission_type": "X"}, {"commission_type": "commission_invalid"}),
    ],
)
async def test_what_is_wrong_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_vendor(shop.scope, {"name": "x", "email": "x@example.com", **given})
    assert refusal.value.fields == fields


async def test_an_amount_may_be_more_than_a_hundred_until_it_is_a_percentage(shop):
    vendor = await shop.vendor(commission="500.00", commission_type="A")
    with pytest.raises(ValidationFailed):
        await update_vendor(shop.scope, vendor, {"commission_type": "P"})


@pytest.mark.parametrize(
    "status, open_", [("O", True), ("P", True), ("B", True), ("C", False), ("I", False), ("F", False)]
)
async def test_a_seller_with_open_orders_stays(shop, status, open_):
    vendor = await shop.vendor()
    order = await shop.order((await shop.product(vendor=vendor), 1), (await shop.product(), 1), status=status)
    if not open_:
        await delete_vendor(shop.scope, vendor)
        return
    with pytest.raises(RuleViolation) as refusal:
        await delete_vendor(shop.scope, vendor)
    assert refusal.value.reason == "vendor_has_open_orders"
    await move(shop.scope, order.id, "I")
    await delete_vendor(shop.scope, vendor)


async def test_a_deleted_seller_takes_its_products_and_users_along(shop):
    vendor = await shop.vendor()
    product, untouched = await shop.product(vendor=vendor), await shop.product()
    user = await shop.customer(user_type="V", vendor_id=vendor)
    await delete_vendor(shop.scope, vendor)
    assert (await shop.record("products", product))["deleted_at"] is not None
    assert (await shop.record("products", untouched))["deleted_at"] is None
    assert (await shop.record("users", user))["status"] == "D"
    assert (await shop.event_names(await shop.public_id("products", product)))[-1] == "product.deleted"
    for work in (delete_vendor(shop.scope, vendor), update_vendor(shop.scope, vendor, {"name": "x"})):
        with pytest.raises(NotFound):
            await work


async def test_deleting_a_seller_while_orders_come_in_leaves_no_open_order(shop):
    vendor = await shop.vendor()
    product = await shop.product(vendor=vendor, stock=100)
    await shop.delivery()
    results = await asyncio.gather(
        *(shop.order((product, 1)) for _ in range(8)),
        delete_vendor(shop.scope, vendor),
        return_exceptions=True,
    )
    deleted = not isinstance(results[-1], BaseException)
    assert deleted or isinstance(results[-1], RuleViolation)
    placed = [result for result in results[:-1] if not isinstance(result, BaseException)]
    assert await shop.figures(product) == (100, len(placed))


async def test_another_stores_seller_is_not_found(shop, other_shop):
    foreign = await other_shop.vendor()
    for reference in (foreign, await other_shop.public_id("vendors", foreign), unknown()):
        with pytest.raises(NotFound):
            await update_vendor(shop.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await delete_vendor(shop.scope, reference)
