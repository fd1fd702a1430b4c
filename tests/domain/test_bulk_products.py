"""Up to 500 products at once: all or nothing, or the good ones."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.categories import create_category
from domain.catalog.products import BulkErrorPolicy, bulk_upsert_products, create_product
from kernel.errors import ValidationFailed
from models import database


async def names(shop):
    found = await shop.rows(
        "SELECT name FROM products WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id"
    )
    return [row["name"] for row in found]


async def test_rows_are_made_or_changed(shop):
    by_id, by_sku = await shop.product(name="by id"), await shop.product(name="by sku", sku="S")
    shoes = await create_category(shop.scope, {"name": "Shoes"})
    results = await bulk_upsert_products(
        shop.as_admin(),
        [
            {"id": await shop.public_id("products", by_id), "name": "one", "stock": 3},
            {"sku": "S", "price_cents": 5},
            {"name": "new", "price_cents": 1, "sku": "N", "category": shoes, "images": [{"url": "/1.png"}]},
            {"name": "new", "price_cents": 2},
        ],
    )
    assert [(result.index, result.created, result.error) for result in results] == [
        (0, False, None),
        (1, False, None),
        (2, True, None),
        (3, True, None),
    ]
    assert [result.id for result in results[:2]] == [by_id, by_sku]
    assert await names(shop) == ["one", "by sku", "new", "new"]
    assert (await shop.record("products", by_sku))["price_cents"] == 5
    assert (await shop.record("products", by_id))["stock"] == 3
    made = await shop.record("products", results[2].id)
    assert (made["category_id"], made["slug"]) == (shoes, "new")
    assert (await shop.record("products", results[3].id))["slug"] == "new-2"
    told = [event["name"] for event in await shop.events()][2:]
    assert told == ["product.updated", "product.updated", "product.created", "product.created"]


BAD = [
    {"name": "good", "price_cents": 1},
    {"name": "no price"},
    {"name": "bad status", "price_cents": 1, "status": "?"},
    {"id": 10**12, "name": "nobody"},
    {"name": "also good", "price_cents": 1},
]


async def test_one_wrong_row_stops_all(shop):
    results = await bulk_upsert_products(shop.as_admin(), BAD, BulkErrorPolicy.REJECT_ALL)
    assert [result.id for result in results] == [None] * 5
    assert [result.created for result in results] == [False] * 5
    assert [result.error.fields if result.error else None for result in results] == [
        None,
        {"price_cents": "required"},
        {"status": "status_invalid"},
        {"id": "not_found"},
        None,
    ]
    assert await names(shop) == []
    assert await shop.events() == []


async def test_wrong_rows_are_left_out(shop):
    results = await bulk_upsert_products(shop.as_admin(), BAD, "REJECT_FAILED")
    assert [result.id is not None for result in results] == [True, False, False, False, True]
    assert [result.created for result in results] == [True, False, False, False, True]
    assert await names(shop) == ["good", "also good"]
    assert len(await shop.events()) == 2


async def test_a_sku_is_matched_within_the_vendor(shop):
    one, other = await shop.vendor(), await shop.vendor()
    of_one = await shop.product(sku="S", vendor=one)
    [found, made] = await bulk_upsert_products(
        shop.as_admin(),
        [
            {"sku": "S", "vendor": one, "name": "x"},
            {"sku": "S", "vendor": other, "name": "y", "price_cents": 1},
        ],
    )
    assert (found.id, found.created, made.created) == (of_one, False, True)


async def test_a_vendor_matches_and_makes_its_own(shop):
    vendor, other = await shop.vendor(), await shop.vendor()
    foreign = await shop.product(sku="S", vendor=other)
    results = await bulk_upsert_products(
        shop.as_vendor(vendor),
        [{"sku": "S", "name": "x", "price_cents": 1}, {"id": foreign, "name": "stolen"}],
        "REJECT_FAILED",
    )
    assert (await shop.record("products", results[0].id))["vendor_id"] == vendor
    assert results[1].error is not None
    assert (await shop.record("products", foreign))["name"] != "stolen"


async def test_rows_that_want_the_same_are_told_apart(shop):
    product = await shop.product(sku="A")
    results = await bulk_upsert_products(
        shop.as_admin(),
        [
            {"id": product, "name": "first"},
            {"sku": "A", "name": "second"},
            {"sku": "B", "name": "x", "price_cents": 1},
            {"sku": "B", "name": "y", "price_cents": 1},
        ],
        "REJECT_FAILED",
    )
    assert [result.error.fields if result.error else None for result in results] == [
        None,
        {"id": "duplicate"},
        None,
        {"sku": "sku_taken"},
    ]
    assert await names(shop) == ["first", "x"]


async def test_more_than_500_rows_are_refused(shop):
    with pytest.raises(ValidationFailed):
        await bulk_upsert_products(shop.as_admin(), [{}] * 501)


async def test_no_rows_are_no_work(shop):
    assert await bulk_upsert_products(shop.as_admin(), []) == []


async def test_the_number_of_statements_does_not_grow_with_the_rows(shop):
    counts = []
    for number in (2, 200):
        given = [{"name": f"n{number}-{n}", "price_cents": 1, "sku": f"{number}-{n}"} for n in range(number)]
        with database.counting() as counted:
            await bulk_upsert_products(shop.as_admin(), given)
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_imports_and_single_writes_at_once_do_not_wait_in_a_circle(shop):
    products = [await shop.product(stock=100, sku=f"S{n}") for n in range(5)]
    await shop.delivery()
    forwards = [{"sku": f"S{n}", "name": "Same name", "slug": f"slug-{n}"} for n in range(5)]
    work = [
        bulk_upsert_products(shop.as_admin(), forwards if turn % 2 else forwards[::-1]) for turn in range(6)
    ]
    work += [shop.product(name="Same name") for _ in range(6)]
    work += [
        shop.order(*((product, 1) for product in products[:: 1 if turn % 2 else -1])) for turn in range(10)
    ]
    results = await asyncio.gather(*work, return_exceptions=True)
    assert [result for result in results if isinstance(result, BaseException)] == []
    assert [await shop.figures(product) for product in products] == [(100, 10)] * 5


async def test_an_import_waits_for_a_single_write_of_the_same_sku(shop):
    results = await asyncio.gather(
        create_product(shop.as_admin(), {"name": "a", "price_cents": 1, "sku": "S"}),
        bulk_upsert_products(shop.as_admin(), [{"name": "b", "price_cents": 1, "sku": "S"}]),
        return_exceptions=True,
    )
    assert await shop.value("SELECT count(*) FROM products WHERE tenant_id = $1 AND sku = 'S'") == 1
    assert not isinstance(results[1], BaseException)
