"""Bulk upserts of up to 500 products: all or nothing, or only the valid ones."""

from __future__ import annotations

import asyncio

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.products import BulkErrorPolicy, bulk_upsert_products, create_product
from kernel.errors import ValidationFailed
from models.connection import database


async def names(kit):
    records = await kit.rows("SELECT name FROM products WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id")
    return [row["name"] for row in records]


async def test_rows_are_created_or_updated(kit):
    by_id, by_sku = await kit.product(name="by id"), await kit.product(name="by sku", sku="S")
    shoes = await CATEGORY_RECORDS.create(kit.scope, {"name": "Shoes"})
    results = await bulk_upsert_products(
        kit.as_admin(),
        [
            {"id": await kit.public_id("products", by_id), "name": "one", "stock": 3},
            {"sku": "S", "price_cents": 5},
            {
                "name": "new",
                "price_cents": 1,
                "sku": "N",
                "category": shoes,
                "images": [{"url": "https://x.example/1.png"}],
            },
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
    assert await names(kit) == ["one", "by sku", "new", "new"]
    assert (await kit.record("products", by_sku))["price_cents"] == 5
    assert (await kit.record("products", by_id))["stock"] == 3
    made = await kit.record("products", results[2].id)
    assert (made["category_id"], made["slug"]) == (shoes, "new")
    assert (await kit.record("products", results[3].id))["slug"] == "new-2"
    event_names = [event["name"] for event in await kit.events() if event["name"] != "category.created"][2:]
    assert event_names == ["product.updated", "product.updated", "product.created", "product.created"]


BAD = [
    {"name": "good", "price_cents": 1},
    {"name": "no price"},
    {"name": "bad status", "price_cents": 1, "status": "?"},
    {"id": 10**12, "name": "missing"},
    {"name": "also good", "price_cents": 1},
]


async def test_one_invalid_row_aborts_all(kit):
    results = await bulk_upsert_products(kit.as_admin(), BAD, BulkErrorPolicy.REJECT_ALL)
    assert [result.id for result in results] == [None] * 5
    assert [result.created for result in results] == [False] * 5
    assert [result.error.fields if result.error else None for result in results] == [
        None,
        {"price_cents": "required"},
        {"status": "status_invalid"},
        {"id": "not_found"},
        None,
    ]
    assert await names(kit) == []
    assert await kit.events() == []


async def test_invalid_rows_are_skipped(kit):
    results = await bulk_upsert_products(kit.as_admin(), BAD, "REJECT_FAILED")
    assert [result.id is not None for result in results] == [True, False, False, False, True]
    assert [result.created for result in results] == [True, False, False, False, True]
    assert await names(kit) == ["good", "also good"]
    assert len(await kit.events()) == 2


async def test_a_sku_is_matched_within_the_vendor(kit):
    one, other = await kit.vendor(), await kit.vendor()
    of_one = await kit.product(sku="S", vendor=one)
    [records, made] = await bulk_upsert_products(
        kit.as_admin(),
        [
            {"sku": "S", "vendor": one, "name": "x"},
            {"sku": "S", "vendor": other, "name": "y", "price_cents": 1},
        ],
    )
    assert (records.id, records.created, made.created) == (of_one, False, True)


async def test_a_vendor_matches_and_creates_only_its_own_products(kit):
    vendor, other = await kit.vendor(), await kit.vendor()
    foreign = await kit.product(sku="S", vendor=other)
    results = await bulk_upsert_products(
        kit.as_vendor(vendor),
        [{"sku": "S", "name": "x", "price_cents": 1}, {"id": foreign, "name": "stolen"}],
        "REJECT_FAILED",
    )
    assert (await kit.record("products", results[0].id))["vendor_id"] == vendor
    assert results[1].error is not None
    assert (await kit.record("products", foreign))["name"] != "stolen"


async def test_rows_with_the_same_key_are_rejected(kit):
    product = await kit.product(sku="A")
    results = await bulk_upsert_products(
        kit.as_admin(),
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
    assert await names(kit) == ["first", "x"]


async def test_more_than_500_rows_are_rejected(kit):
    with pytest.raises(ValidationFailed):
        await bulk_upsert_products(kit.as_admin(), [{}] * 501)


async def test_an_empty_list_does_nothing(kit):
    assert await bulk_upsert_products(kit.as_admin(), []) == []


async def test_the_number_of_statements_does_not_grow_with_the_rows(kit):
    counts = []
    for number in (2, 200):
        rows = [{"name": f"n{number}-{n}", "price_cents": 1, "sku": f"{number}-{n}"} for n in range(number)]
        with database.count_statements() as counted:
            await bulk_upsert_products(kit.as_admin(), rows)
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_concurrent_imports_and_single_writes_do_not_deadlock(kit):
    products = [await kit.product(stock=100, sku=f"S{n}") for n in range(5)]
    await kit.delivery()
    forwards = [{"sku": f"S{n}", "name": "Same name", "slug": f"slug-{n}"} for n in range(5)]
    work = [bulk_upsert_products(kit.as_admin(), forwards if turn % 2 else forwards[::-1]) for turn in range(6)]
    work += [kit.product(name="Same name") for _ in range(6)]
    work += [kit.order(*((product, 1) for product in products[:: 1 if turn % 2 else -1])) for turn in range(10)]
    results = await asyncio.gather(*work, return_exceptions=True)
    assert [result for result in results if isinstance(result, BaseException)] == []
    assert [await kit.figures(product) for product in products] == [(100, 10)] * 5


async def test_an_import_waits_for_a_concurrent_write_of_the_same_sku(kit):
    results = await asyncio.gather(
        create_product(kit.as_admin(), {"name": "a", "price_cents": 1, "sku": "S"}),
        bulk_upsert_products(kit.as_admin(), [{"name": "b", "price_cents": 1, "sku": "S"}]),
        return_exceptions=True,
    )
    assert await kit.value("SELECT count(*) FROM products WHERE tenant_id = $1 AND sku = 'S'") == 1
    assert not isinstance(results[1], BaseException)
