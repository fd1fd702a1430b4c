"""Vendors: what is stored, what they may change themselves, and when they can't be deleted."""

from __future__ import annotations

import asyncio

import pytest

from domain.marketplace.vendors import create_vendor, delete_vendor, update_vendor
from domain.orders.lifecycle import change_status
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.harness.domain_store import unknown

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


async def test_a_vendor_stores_its_input(kit):
    vendor = await create_vendor(kit.scope, EVERYTHING)
    record = await kit.record("vendors", vendor)
    assert (record["email"], record["zipcode"], record["cnpj"]) == (
        "new@example.com",
        "01310100",
        "11222333000181",
    )
    assert (record["commission"], record["commission_type"], record["status"]) == ("12.50", "A", "D")


async def test_a_vendor_is_updated_partially(kit):
    vendor = await create_vendor(kit.scope, EVERYTHING)
    before = await kit.record("vendors", vendor)
    await update_vendor(kit.scope, vendor, {"city": "Recife"})
    after = await kit.record("vendors", vendor)
    assert {name for name in after if after[name] != before[name]} <= {"city", "updated_at"}


async def test_a_vendor_changes_only_its_own_address_and_contacts(kit):
    vendor = await kit.vendor(commission="10")
    before = await kit.record("vendors", vendor)
    await update_vendor(kit.as_vendor(vendor), vendor, EVERYTHING)
    after = await kit.record("vendors", vendor)
    changed = {name for name in after if after[name] != before[name]} - {"updated_at"}
    assert changed == {"name", "email", "phone", "address", "city", "state", "zipcode", "url"}


async def test_a_vendor_cannot_change_another(kit):
    vendor, other = await kit.vendor(), await kit.vendor()
    with pytest.raises(NotFound):
        await update_vendor(kit.as_vendor(vendor), other, {"name": "x"})
    with pytest.raises(Forbidden):
        await delete_vendor(kit.as_vendor(vendor), vendor)
    with pytest.raises(Forbidden):
        await create_vendor(kit.as_vendor(vendor), EVERYTHING)


@pytest.mark.parametrize(
    "values, fields",
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
async def test_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await create_vendor(kit.scope, {"name": "x", "email": "x@example.com", **values})
    assert error.value.fields == fields


async def test_a_commission_above_100_is_rejected_as_a_percentage(kit):
    vendor = await kit.vendor(commission="500.00", commission_type="A")
    with pytest.raises(ValidationFailed):
        await update_vendor(kit.scope, vendor, {"commission_type": "P"})


@pytest.mark.parametrize(
    "status, open_", [("O", True), ("P", True), ("B", True), ("C", False), ("I", False), ("F", False)]
)
async def test_a_vendor_with_open_orders_is_not_deleted(kit, status, open_):
    vendor = await kit.vendor()
    order = await kit.order((await kit.product(vendor=vendor), 1), (await kit.product(), 1), status=status)
    if not open_:
        await delete_vendor(kit.scope, vendor)
        return
    with pytest.raises(RuleViolation) as error:
        await delete_vendor(kit.scope, vendor)
    assert error.value.reason == "vendor_has_open_orders"
    await change_status(kit.scope, order.id, "I")
    await delete_vendor(kit.scope, vendor)


async def test_deleting_a_vendor_deletes_its_products_and_users(kit):
    vendor = await kit.vendor()
    product, untouched = await kit.product(vendor=vendor), await kit.product()
    user = await kit.customer(user_type="V", vendor_id=vendor)
    await delete_vendor(kit.scope, vendor)
    assert (await kit.record("products", product))["deleted_at"] is not None
    assert (await kit.record("products", untouched))["deleted_at"] is None
    assert (await kit.record("users", user))["status"] == "D"
    assert (await kit.event_names(await kit.public_id("products", product)))[-1] == "product.deleted"
    for work in (delete_vendor(kit.scope, vendor), update_vendor(kit.scope, vendor, {"name": "x"})):
        with pytest.raises(NotFound):
            await work


async def test_deleting_a_vendor_during_concurrent_orders_leaves_no_open_order(kit):
    vendor = await kit.vendor()
    product = await kit.product(vendor=vendor, stock=100)
    await kit.delivery()
    results = await asyncio.gather(
        *(kit.order((product, 1)) for _ in range(8)),
        delete_vendor(kit.scope, vendor),
        return_exceptions=True,
    )
    deleted = not isinstance(results[-1], BaseException)
    assert deleted or isinstance(results[-1], RuleViolation)
    placed = [result for result in results[:-1] if not isinstance(result, BaseException)]
    assert await kit.figures(product) == (100, len(placed))


async def test_no_product_of_a_vendor_that_is_deleted_meanwhile_stays(kit):
    for attempt in range(8):
        vendor = await kit.vendor()
        created, deleted = await asyncio.gather(
            kit.product(vendor=vendor), delete_vendor(kit.scope, vendor), return_exceptions=True
        )
        assert deleted is None, attempt
        if isinstance(created, BaseException):
            assert isinstance(created, ValidationFailed), attempt
        else:
            assert (await kit.record("products", created))["deleted_at"] is not None, attempt


async def test_another_stores_vendor_is_not_found(kit, other_kit):
    foreign = await other_kit.vendor()
    for reference in (foreign, await other_kit.public_id("vendors", foreign), unknown()):
        with pytest.raises(NotFound):
            await update_vendor(kit.scope, reference, {"name": "x"})
        with pytest.raises(NotFound):
            await delete_vendor(kit.scope, reference)
