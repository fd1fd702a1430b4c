"""`vitrine import csv` and `jsonl`: products with prices, stock, categories and images (docs/reference/bulk.md#products)."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kernel.scope import Store
from models.connection import database
from server.importers import record_files
from server.importers.olist_files import ImportFileError
from server.importers.product_files import PRODUCTS
from tests.harness.records import add_category, add_product, add_vendor
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.scopes import rows

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "bulk.md"
HEADER = "sku,name,price,stock,status,categories,images,free_shipping"
FULL = 'CAN-1,"Caneca, de\n Ágata",49.90,7,A,Casa > Cozinha|Presentes,https://img.example/1.jpg | https://img.example/2.jpg,1'


async def run(store: Store, folder: Path, content: str | bytes, format_: str = "csv", **options: Any) -> Any:
    path = folder / f"products.{format_}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return await record_files.run(PRODUCTS, path, format_, store.public_id, progress=False, **options)


def csv(*lines: str) -> str:
    return "\n".join([HEADER, *lines]) + "\n"


async def products(store: Store) -> list[dict[str, Any]]:
    records = await rows(
        store,
        """
        select sku, name, price_cents, stock, status, free_shipping,
            array(select c.name from product_categories pc join categories c on c.tenant_id = pc.tenant_id and c.id = pc.category_id
                where pc.tenant_id = p.tenant_id and pc.product_id = p.id order by pc.position) as categories,
            array(select i.url from product_images i where i.tenant_id = p.tenant_id and i.product_id = p.id order by i.position) as images
        from products p where deleted_at is null order by id
        """,
    )
    return [dict(record) for record in records]


async def category_paths(store: Store) -> list[str]:
    sql = "select name, parent_id is null as is_root from categories order by id"
    return [f"{'' if row['is_root'] else '> '}{row['name']}" for row in await rows(store, sql)]


CANECA: dict[str, Any] = {
    "sku": "CAN-1",
    "name": "Caneca, de\n Ágata",
    "price_cents": 4990,
    "stock": 7,
    "status": "A",
    "free_shipping": True,
    "categories": ["Cozinha", "Presentes"],
    "images": ["https://img.example/1.jpg", "https://img.example/2.jpg"],
}


async def test_a_description_in_csv_may_be_as_long_as_elsewhere(store: Store, tmp_path: Path):
    content = "sku,name,price,description\n" + f"A,A,1,{'x' * 1_000_000}\n" + f"B,B,1,{'x' * 1_000_001}\n" + "C,C,1,x\n"
    report = await run(store, tmp_path, content)
    assert [row["sku"] for row in await products(store)] == ["A", "C"]
    assert [error[:30] for error in report.errors] == ["products.csv:3: description: d"]


async def test_a_csv_file_becomes_products_with_their_categories_and_images(store: Store, tmp_path: Path):
    report = await run(store, tmp_path, "\ufeff" + csv(FULL, "PRA-2,Prato,10,0,hidden,casa,,"))
    assert list(report.lines()) == ["products: 2 read, 2 created, 0 updated, 0 refused", "categories: 3 created"]
    first, second = await products(store)
    assert first == CANECA
    assert (second["sku"], second["price_cents"], second["status"], second["categories"]) == (
        "PRA-2",
        1000,
        "H",
        ["Casa"],
    )
    assert await category_paths(store) == ["Casa", "> Cozinha", "Presentes"]


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
async def test_the_same_file_again_writes_nothing(store: Store, tmp_path: Path, format_: str):
    line = {**CANECA, "categories": ["Casa > Cozinha"], "images": [{"url": url} for url in CANECA["images"]]}
    content = csv(FULL, "PRA-2,Prato,10,0,hidden,casa,,") if format_ == "csv" else json.dumps(line) + "\n"
    count = (await run(store, tmp_path, content, format_)).counts["created"]
    before = await row_versions(store)
    report = await run(store, tmp_path, content, format_)
    assert list(report.lines()) == [f"products: {count} read, 0 created, 0 updated, {count} unchanged, 0 refused"]
    assert changed_tables(before, await row_versions(store)) == []


async def test_a_jsonl_file_becomes_the_same_products(store: Store, tmp_path: Path):
    line = {
        "sku": "CAN-1", "name": "Caneca, de\n Ágata", "price_cents": 4990, "stock": 7, "free_shipping": True,
        "categories": ["Casa > Cozinha", "Presentes"],
        "images": [{"url": "https://img.example/1.jpg", "alt": "A"}, {"url": "https://img.example/2.jpg"}],
    }  # fmt: skip
    report = await run(store, tmp_path, json.dumps(line) + "\n\n" + json.dumps({"name": "B", "price": "1.50"}), "jsonl")
    assert (report.counts["created"], report.failed) == (2, 0)
    first, second = await products(store)
    assert first == CANECA
    assert second["price_cents"] == 150


# A value of each field that a file may set, as CSV has it.
VALUES = {
    "name": "Bule", "sku": "B-1", "slug": "bule", "description": "Longa", "short_description": "Curta", "status": "H",
    "price_cents": "4990", "compare_at_cents": "5990", "stock": "7", "tracking": "D", "weight_grams": "350", "length_mm": "10",
    "width_mm": "20", "height_mm": "30", "box_min_quantity": "1", "box_max_quantity": "4", "gtin": "4006381333931",
    "shipping_freight_cents": "100", "is_edp": "1", "free_shipping": "0", "min_quantity": "2", "max_quantity": "8",
    "quantity_step": "2", "quantity_choices": "4", "low_stock_limit": "3", "available_since": "2199-01-01T00:00:00",
    "out_of_stock_action": "B", "zero_price_action": "P", "unlimited_download": "1", "promo_text": "Novo", "exception_type": "A",
    "option_order": "S", "details_layout": "largo", "search_words": "chaleira", "ncm": "69111010", "page_title": "Bule",
    "meta_keywords": "bule", "meta_description": "Um bule",
}  # fmt: skip


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
async def test_a_file_sets_every_field_of_a_product(store: Store, tmp_path: Path, format_: str):
    text = {
        name: column.parse(VALUES[name]) for name, column in PRODUCTS.record_format.columns.items() if name in VALUES
    }
    line = json.dumps({name: VALUES[name] if isinstance(value, datetime) else value for name, value in text.items()})
    content = f"{','.join(VALUES)}\n{','.join(VALUES.values())}\n" if format_ == "csv" else line
    report = await run(store, tmp_path, content, format_)
    assert (list(report.errors), report.counts["created"]) == ([], 1)
    (row,) = await rows(store, "select quantity_step, unlimited_download, available_since from products")
    assert dict(row) == {
        "quantity_step": 2,
        "unlimited_download": True,
        "available_since": datetime(2199, 1, 1, tzinfo=UTC),
    }


def test_the_reference_names_every_column_of_products():
    text = REFERENCE.read_text(encoding="utf-8").partition("### Products")[2].partition("### Customers")[0]
    named = set(re.findall(r"`(\w+)`", text))
    # The page says of amounts that each may be in cents.
    assert {name for name in PRODUCTS.record_format.columns if not name.endswith("_cents")} - named == set()


async def test_a_repeated_import_updates_by_sku_and_leaves_empty_values_alone(store: Store, tmp_path: Path):
    await add_category(store, name="Presentes")
    await run(store, tmp_path, csv(FULL))
    report = await run(store, tmp_path, csv("CAN-1,,59.90,,,,,", "NEW-1,Nova,1,,,,,"))
    assert (report.counts["created"], report.counts["updated"]) == (1, 1)
    assert (await products(store))[0] == {**CANECA, "price_cents": 5990}
    assert await category_paths(store) == ["Presentes", "Casa", "> Cozinha"]


async def test_a_wrong_row_names_its_line_and_column_and_the_others_are_imported(store: Store, tmp_path: Path):
    content = csv(
        FULL,
        "B-1,Boa,1,1,A,,,",
        "C-1,Cara,1.999,1,A,,,",
        "D-1,,1,x,A,,,",
        "E-1,E,1,1,Z,,,",
        "F-1,F,1,1,A,> Vazia,,",
        "G-1,G,1",
        "B-1,Outra,2,1,A,,,",
        "H-1,H,1,1,A,,javascript:alert(1),",
        "I-1,,1,1,A,,,",
        "J-1,J,1,1,A,,/images/a.png,",
    )
    report = await run(store, tmp_path, content)
    assert [product["sku"] for product in await products(store)] == ["CAN-1", "B-1"]
    assert report.failed == 9
    # The first product takes two lines.
    reported = [line.split(": ")[:2] for line in report.errors]
    assert reported == [
        ["products.csv:5", "price"],
        ["products.csv:6", "stock"],
        ["products.csv:7", "status"],
        ["products.csv:8", "categories"],
        ["products.csv:9", "has 3 values; expected 8"],
        ["products.csv:10", "sku"],
        ["products.csv:11", "images"],
        ["products.csv:12", "name"],
        ["products.csv:13", "images"],
    ]


@pytest.mark.parametrize(
    "line, error",
    [
        (b"{", "products.jsonl:2: the line is not JSON"),
        (b'{"name": "\xe9"}', "products.jsonl:2: the line is not JSON"),
        (b'{"name": "C", "price": 1, "color": "x"}', "products.jsonl:2: color: is unknown"),
        (b'{"name": "C", "price": 1, "price_cents": 100}', "products.jsonl:2: price_cents: sets what another member sets"),
        (b'{"name": "C", "price": "a"}', "products.jsonl:2: price: is 'a'"),
        (b'{"name": "C", "price": 1, "categories": "Casa"}', "products.jsonl:2: categories: is 'Casa'; expected a list"),
        (b'{"name": "C", "price": 1, "images": ["x"]}', "products.jsonl:2: images: "),
        (b'{"name": "C", "price": 1, "images": [{"url": "/a.png"}]}', "products.jsonl:2: images: url is '/a.png'"),
        (b'{"name": "C"}', "products.jsonl:2: price_cents: price_cents is required"),
        (b'{"name": 5, "price": 1}', "products.jsonl:2: name: "),
        (b'{"x": "' + b"y" * 2_097_152 + b'"}', "products.jsonl:2: is longer than 2097152 bytes"),
    ],
)  # fmt: skip
async def test_a_broken_line_of_json_is_reported_and_the_others_are_imported(
    store: Store, tmp_path: Path, line: bytes, error: str
):
    good = b'{"name": "%s", "price": 1}\n'
    report = await run(store, tmp_path, good % b"A" + line + b"\n" + good % b"B", "jsonl")
    assert [product["name"] for product in await products(store)] == ["A", "B"]
    assert len(report.errors) == 1
    assert report.errors[0].startswith(error), report.errors


@pytest.mark.parametrize(
    "content, error",
    [
        ("sku,cor\n", "products.csv: line 1: the column 'cor' is unknown"),
        ("price,price_cents\n", "products.csv: line 1: the column price_cents sets what another column sets"),
        (b"sku,name,price\nA,\xe9,1\n", "products.csv: line 2 is not UTF-8"),
        ('sku,name,price\nA,"B,1\n', "products.csv: line 2 is not CSV"),
        ("sku,name,price\n" + "A" * 2_097_153, "products.csv: line 2 is longer than 2097152 bytes"),
    ],
)
async def test_a_file_that_can_not_be_read_is_refused(store: Store, tmp_path: Path, content: str | bytes, error: str):
    with pytest.raises(ImportFileError) as raised:
        await run(store, tmp_path, content)
    assert str(raised.value).startswith(error)
    assert await products(store) == []


async def test_a_missing_file_is_refused(store: Store, tmp_path: Path):
    with pytest.raises(ImportFileError, match="can't be read: No such file"):
        await record_files.run(PRODUCTS, tmp_path / "none.csv", "csv", store.public_id, progress=False)


async def test_a_dry_run_reports_the_same_and_writes_nothing(store: Store, tmp_path: Path):
    content = csv(FULL, "D-1,,1,x,A,,,", *(f"N-{n},Nova {n},1,,,Casa > Sala,," for n in range(600)))
    report = await run(store, tmp_path, content, dry_run=True)
    assert list(report.lines()) == [
        "products.csv:4: stock: is 'x'; expected a whole number",
        "products: 602 read, 601 to be created, 0 to be updated, 1 refused",
        "categories: 4 to be created",
    ]
    assert await products(store) == []
    assert await category_paths(store) == []
    assert not await rows(store, "select 1 from outbox_events")


async def test_a_batch_takes_the_same_number_of_statements_whatever_its_size(store: Store, tmp_path: Path):
    counts = []
    for size in (2, 50):
        content = csv(*(f"S{size}-{n},Nova {size} {n},1,,,Casa,https://img.example/{n}.jpg," for n in range(size)))
        await run(store, tmp_path, csv("Z,Z,1,,,Casa,,"))
        with database.count_statements() as counted:
            await run(store, tmp_path, content)
        counts.append(counted.count)
    assert counts[0] == counts[1]


async def test_skus_are_those_of_the_vendor_in_the_row(store: Store, tmp_path: Path):
    vendor = await add_vendor(store)
    await run(store, tmp_path, csv(FULL))
    content = f"vendor_id,sku,name,price\n{vendor.id},CAN-1,Outra,1\n{vendor.id},CAN-1,,2\nx,V-2,Sem,1\n"
    report = await run(store, tmp_path, content)
    assert report.counts["created"] == 1
    assert [error.split(": ")[1] for error in report.errors] == ["sku, name", "vendor_id"]
    owners = await rows(store, "select name, vendor_id from products order by id")
    assert [tuple(row) for row in owners] == [(CANECA["name"], None), ("Outra", vendor.number)]


async def test_an_import_changes_no_other_store(store: Store, other_store: Store, tmp_path: Path):
    theirs = await add_product(other_store, sku="CAN-1", name="Alheia")
    await run(store, tmp_path, csv(FULL))
    assert [
        (row["public_id"], row["name"]) for row in await rows(other_store, "select public_id, name from products")
    ] == [(UUID(theirs.id), "Alheia")]


async def test_sizes_gtin_and_freight_are_read(store: Store, tmp_path: Path) -> None:
    lines = (
        "name,price,length_mm,width_mm,height_mm,gtin,shipping_freight\nCaneca,49.90,120,90,100,7891000315507,2.50\n"
    )
    await run(store, tmp_path, lines)
    [record] = await rows(store, "select length_mm, width_mm, height_mm, gtin, shipping_freight_cents from products")
    assert tuple(record) == (120, 90, 100, "7891000315507", 250)


async def test_a_category_whose_name_the_file_decomposes_is_the_one_of_the_store(store: Store, tmp_path: Path) -> None:
    content = unicodedata.normalize("NFD", csv("CAN-1,Caneca,10,1,A,Sótão > Café,,"))
    for _ in range(2):
        await run(store, tmp_path, content)
    assert await category_paths(store) == ["Sótão", "> Café"]


@pytest.mark.parametrize(
    "member, error",
    [
        ({"vendor_id": {"id": 1}}, "vendor_id: is {'id': 1}; expected an ID"),
        ({"vendor_id": True}, "vendor_id: is true; expected an ID"),
        ({"id": [1]}, "id: is [1]; expected an ID"),
        (
            {"categories": [" > ".join(map(str, range(300)))]},
            "categories: has '0 > 1 > 2 > 3 > 4 > 5 > 6 > 7 > 8 > 9 > 10 > 11 > 12 > 13 > ':"
            " the category would stand too deep in the tree",
        ),
    ],
)
async def test_a_reference_that_no_record_can_have_is_refused_and_the_others_are_imported(
    store: Store, tmp_path: Path, member: dict[str, Any], error: str
) -> None:
    lines = [{"sku": "A", "name": "A", "price": "1", **member}, {"sku": "B", "name": "B", "price": "1"}]
    report = await run(store, tmp_path, "\n".join(map(json.dumps, lines)), "jsonl")
    assert report.errors == [f"products.jsonl:1: {error}"]
    assert [product["sku"] for product in await products(store)] == ["B"]
