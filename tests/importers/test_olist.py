"""The Olist importer with the real sample, if it is next to the project, and with small, partly invalid copies of its format."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from kernel.scope import Scope, Store, active_scope
from models.connection import database
from server.importers import olist
from server.importers.olist_files import ImportFileError

SAMPLE = Path(__file__).parents[3] / "shared" / "data" / "olist"
needs_sample = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the Olist sample is not in ../shared/data/olist")

VENDOR, CUSTOMER, OTHER = "a" * 32, "b" * 32, "c" * 32
FIRST, SECOND = "d" * 32, "e" * 32
PRODUCT, ORDER, EMPTY_ORDER, REVIEW = "1" * 32, "2" * 32, "3" * 32, "4" * 32

SMALL = {
    "olist_sellers_dataset.csv": [
        "seller_id,seller_zip_code_prefix,seller_city,seller_state",
        f"{VENDOR},01310,sao paulo,SP",
    ],
    "olist_customers_dataset.csv": [
        "customer_id,customer_unique_id,customer_zip_code_prefix,customer_city,customer_state",
        f"{FIRST},{CUSTOMER},35182,timoteo,MG",
        f"{SECOND},{CUSTOMER},35182,timoteo,MG",
    ],
    "product_category_name_translation.csv": [
        "product_category_name,product_category_name_english",
        "beleza_saude,health_beauty",
    ],
    "olist_products_dataset.csv": [
        "product_id,product_category_name,product_weight_g",
        f"{PRODUCT},beleza_saude,500",
    ],
    "olist_orders_dataset.csv": [
        "order_id,customer_id,order_status,order_purchase_timestamp,order_approved_at,order_delivered_carrier_date",
        f"{ORDER},{FIRST},delivered,2017-07-09 21:57:05,2017-07-09 22:10:13,2017-07-11 14:58:04",
        f"{EMPTY_ORDER},{SECOND},unavailable,2017-08-01 10:00:00,,",
    ],
    "olist_order_items_dataset.csv": [
        "order_id,order_item_id,product_id,seller_id,price,freight_value",
        f"{ORDER},2,{PRODUCT},{VENDOR},99.9,27.65",
        f"{ORDER},1,{PRODUCT},{VENDOR},10.0,0.0",
    ],
    "olist_order_payments_dataset.csv": [
        "order_id,payment_sequential,payment_type,payment_installments,payment_value",
        f"{ORDER},1,credit_card,2,137.55",
        f"{EMPTY_ORDER},2,voucher,1,5.5",
        f"{EMPTY_ORDER},1,boleto,1,20.0",
    ],
    "olist_order_reviews_dataset.csv": [
        "review_id,order_id,review_score,review_comment_title,review_comment_message,review_creation_date,review_answer_timestamp",
        f'{REVIEW},{ORDER},5,Ótimo,"Chegou, e rápido.\nRecomendo",2017-08-15 00:00:00,2017-08-15 04:10:37',
        f"{REVIEW},{EMPTY_ORDER},1,,,2017-08-15 00:00:00,2017-08-15 04:10:37",
    ],
}  # fmt: skip


def write(folder: Path, **changed: list[str]) -> Path:
    """Write the small marketplace; `changed` replaces files by the distinguishing word of their names."""
    for name, lines in SMALL.items():
        key = name.removeprefix("olist_").removeprefix("order_").partition("_")[0]
        (folder / name).write_text("\n".join(changed.get(key, lines)) + "\n", encoding="utf-8")
    return folder


async def _count(table: str) -> int:
    return int(await database.fetchval(f"SELECT count(*) FROM {table}"))  # a literal of this test


async def test_a_small_marketplace_is_imported(tmp_path: Path, store: Store, scope: Scope) -> None:
    report = await olist.run(write(tmp_path), store.public_id, progress=False)
    assert report.added == {
        "vendors": 1,
        "customers": 1,
        "categories": 1,
        "products": 1,
        "orders": 2,
        "reviews": 2,
    }
    with active_scope(scope):
        delivered, empty = await database.fetch("SELECT * FROM orders ORDER BY created_at")
        assert (delivered["status"], delivered["subtotal_cents"], delivered["shipping_cents"]) == (
            "C",
            10990,
            2765,
        )
        assert (delivered["total_cents"], delivered["payment_status"], delivered["stock_state"]) == (
            13755,
            "paid",
            "N",
        )
        assert delivered["vendor_id"] is not None
        assert (empty["status"], empty["total_cents"], empty["imported"], empty["vendor_id"]) == (
            "F",
            2550,
            True,
            None,
        )
        lines = await database.fetch("SELECT position, price_cents FROM order_lines ORDER BY position")
        assert [tuple(line) for line in lines] == [(1, 1000), (2, 9990)]
        steps = await database.fetch(
            "SELECT to_status FROM order_status_changes WHERE order_id = $1 ORDER BY at, id", delivered["id"]
        )
        assert [step["to_status"] for step in steps] == ["O", "P", "C"]
        user = await database.fetchrow("SELECT email, user_type FROM users")
        assert user is not None
        assert tuple(user) == (f"{CUSTOMER}@olist.invalid", "C")
        posts = await database.fetch(
            "SELECT p.message, p.rating, t.object_type FROM discussion_posts p JOIN discussion_threads t ON t.id = p.thread_id"
            " ORDER BY p.rating"
        )
        assert [tuple(post) for post in posts] == [
            ("", 1, "O"),
            ("Ótimo\nChegou, e rápido.\nRecomendo", 5, "P"),
        ]
        assert await _count("outbox_events") == 0


async def test_importing_again_adds_nothing(tmp_path: Path, store: Store, scope: Scope) -> None:
    folder = write(tmp_path)
    await olist.run(folder, store.public_id, progress=False)
    again = await olist.run(folder, store.public_id, progress=False)
    assert set(again.added.values()) == {0}
    with active_scope(scope):
        assert await _count("orders") == 2
        assert await _count("payments") == 3


async def test_a_second_import_adds_new_rows_only(tmp_path: Path, store: Store, scope: Scope) -> None:
    first = tmp_path / "first"
    first.mkdir()
    orders = SMALL["olist_orders_dataset.csv"]
    payments = [line for line in SMALL["olist_order_payments_dataset.csv"] if not line.startswith(EMPTY_ORDER)]
    reviews = SMALL["olist_order_reviews_dataset.csv"]
    await olist.run(
        write(first, orders=orders[:2], payments=payments, reviews=reviews[:2]),
        store.public_id,
        progress=False,
    )
    report = await olist.run(write(tmp_path), store.public_id, progress=False)
    assert (report.added["orders"], report.added["reviews"], report.added["products"]) == (1, 1, 0)


async def test_events_are_emitted_only_on_request(tmp_path: Path, store: Store, scope: Scope) -> None:
    await olist.run(write(tmp_path), store.public_id, events=True, progress=False)
    with active_scope(scope):
        names = await database.fetch("SELECT name, count(*) AS times FROM outbox_events GROUP BY name ORDER BY name")
        assert {record["name"]: record["times"] for record in names} == {
            "customer.created": 1, "order.created": 2, "product.created": 1, "user.registered": 1,
        }  # fmt: skip


INVALID = {
    "an amount": ("items", 1, f"{ORDER},2,{PRODUCT},{VENDOR},99.9x,27.65", "olist_order_items_dataset.csv:2: price"),
    "a negative amount": ("payments", 1, f"{ORDER},1,credit_card,2,-1.0", "olist_order_payments_dataset.csv:2: payment_value"),
    "a state of an order": ("orders", 2, f"{EMPTY_ORDER},{SECOND},lost,2017-08-01 10:00:00,,", "olist_orders_dataset.csv:3: order_status"),
    "a time": ("orders", 1, f"{ORDER},{FIRST},created,2017-13-09 21:57:05,,", "olist_orders_dataset.csv:2: order_purchase_timestamp"),
    "a key": ("sellers", 1, "x,01310,sao paulo,SP", "olist_sellers_dataset.csv:2: seller_id"),
    "a reference": ("items", 2, f"{ORDER},1,{OTHER},{VENDOR},10.0,0.0", "olist_order_items_dataset.csv:3: product_id"),
    "a repetition": ("items", 2, f"{ORDER},2,{PRODUCT},{VENDOR},10.0,0.0", "olist_order_items_dataset.csv:3: order_item_id 2 is repeated"),
    "a score": (
        "reviews", 2, f"{REVIEW},{EMPTY_ORDER},6,,,2017-08-15 00:00:00,2017-08-15 04:10:37",
        "olist_order_reviews_dataset.csv:4: review_score",
    ),
    "too few values": ("payments", 2, f"{EMPTY_ORDER},2", "olist_order_payments_dataset.csv:3: has 2 values; expected 5"),
}  # fmt: skip


@pytest.mark.parametrize("case", INVALID)
async def test_an_invalid_row_is_reported_and_nothing_is_written(
    case: str, tmp_path: Path, store: Store, scope: Scope
) -> None:
    file, index, line, expected = INVALID[case]
    name = next(name for name in SMALL if file in name)
    lines = list(SMALL[name])
    lines[index] = line
    report = await olist.run(write(tmp_path, **{file: lines}), store.public_id, progress=False)
    assert report.is_rejected
    assert report.error_lines[0].startswith(expected)
    assert "nothing was imported" in report.summary()
    with active_scope(scope):
        assert await _count("vendors") == await _count("users") == await _count("orders") == 0


async def test_a_missing_file_and_a_missing_column_are_reported(tmp_path: Path, store: Store) -> None:
    with pytest.raises(ImportFileError, match="olist_sellers_dataset"):
        await olist.run(tmp_path, store.public_id, progress=False)
    write(tmp_path, sellers=["seller_id,seller_city", f"{VENDOR},x"])
    with pytest.raises(ImportFileError, match="no column seller_zip_code_prefix"):
        await olist.run(tmp_path, store.public_id, progress=False)
    (tmp_path / "olist_sellers_dataset.csv").write_bytes(b"seller_id,\xff\xfe")
    with pytest.raises(ImportFileError, match="UTF-8"):
        await olist.run(tmp_path, store.public_id, progress=False)


def order_totals(folder: Path) -> dict[str, Decimal]:
    """Calculate the total of each order in the files, independently of the importer."""
    items: dict[str, Decimal] = defaultdict(Decimal)
    payments: dict[str, Decimal] = defaultdict(Decimal)
    with (folder / "olist_order_items_dataset.csv").open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            items[row["order_id"]] += Decimal(row["price"]) + Decimal(row["freight_value"])
    with (folder / "olist_order_payments_dataset.csv").open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            payments[row["order_id"]] += Decimal(row["payment_value"])
    with (folder / "olist_orders_dataset.csv").open(newline="", encoding="utf-8") as handle:
        return {
            row["order_id"]: items.get(row["order_id"], payments[row["order_id"]]) for row in csv.DictReader(handle)
        }


@needs_sample
@pytest.mark.slow(seconds=11)
async def test_the_whole_sample_is_imported_with_its_totals(store: Store, scope: Scope) -> None:
    report = await olist.run(SAMPLE, store.public_id, progress=False)
    assert report.error_lines == []
    assert report.added["orders"] == 8135
    assert report.added["products"] == 5460
    assert report.added["vendors"] == 1610
    assert report.added["reviews"] == report.read["reviews"]
    expected = order_totals(SAMPLE)
    with active_scope(scope):
        rows = await database.fetch(
            "SELECT r.external_id, o.total_cents FROM external_references r"
            " JOIN orders o ON o.tenant_id = r.tenant_id AND o.id = r.local_id WHERE r.tenant_id = $1 AND r.kind = 'order'",
            store.id,
        )
        assert {record["external_id"]: Decimal(record["total_cents"]) / 100 for record in rows} == expected
        assert await _count("order_lines") == 8365
        assert await _count("payments") == 8924
        assert (
            await database.fetchval(
                "SELECT count(*) FROM orders o WHERE o.tenant_id = $1"
                " AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id)",
                store.id,
            )
            == 775
        )
        status_rows = await database.fetch("SELECT status, count(*) AS times FROM orders GROUP BY status")
        assert {record["status"]: record["times"] for record in status_rows} == {
            "C": 6279,
            "P": 617,
            "I": 625,
            "F": 609,
            "O": 5,
        }
    again = await olist.run(SAMPLE, store.public_id, progress=False)
    assert set(again.added.values()) == {0}


@needs_sample
async def test_an_invalid_row_in_the_whole_sample_is_reported(tmp_path: Path, store: Store, scope: Scope) -> None:
    for path in SAMPLE.glob("*.csv"):
        shutil.copy(path, tmp_path)
    invalid = tmp_path / "olist_order_payments_dataset.csv"
    lines = invalid.read_text(encoding="utf-8").splitlines()
    lines[4000] = lines[4000].replace(",", ";")
    invalid.write_text("\n".join(lines), encoding="utf-8")
    report = await olist.run(tmp_path, store.public_id, progress=False)
    assert report.error_lines[0].startswith("olist_order_payments_dataset.csv:4001: ")
    with active_scope(scope):
        assert await _count("orders") == 0
