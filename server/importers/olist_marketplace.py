"""Convert the Olist files into records of a store: vendors, customers, categories, products, orders, reviews."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kernel.clock import format_rfc3339, now
from kernel.money import parse_cents
from kernel.text import InvalidValue, slugify
from server.importers.olist_files import (
    CsvRow,
    RowErrors,
    parse_grams,
    parse_key,
    parse_number,
    parse_optional_time,
    parse_state,
    parse_status,
    parse_text,
    parse_time,
    read_rows,
)

Record = dict[str, Any]
_NO_CATEGORY = "sem_categoria"


@dataclass
class Marketplace:
    """The records, in the format of `domain.imports`."""

    vendors: dict[str, Record] = field(default_factory=dict)
    customers: dict[str, Record] = field(default_factory=dict)
    categories: dict[str, Record] = field(default_factory=dict)
    products: dict[str, Record] = field(default_factory=dict)
    orders: dict[str, Record] = field(default_factory=dict)
    reviews: dict[str, Record] = field(default_factory=dict)


def read_marketplace(folder: Path) -> tuple[Marketplace, RowErrors]:
    """Read all files; also returns the invalid rows. Raises `olist_files.ImportFileError`."""
    return _Reader(folder).read()


class _Reader:
    """Read the files in order, since each refers to earlier ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors = RowErrors()
        self.marketplace = Marketplace()
        # A customer_id identifies one purchase; customer_unique_id identifies the person.
        self.persons: dict[str, Record] = {}
        self.first_seen: dict[str, datetime] = {}
        self.line_numbers: set[tuple[str, int]] = set()

    def read(self) -> tuple[Marketplace, RowErrors]:
        self._read_file(
            "olist_sellers_dataset.csv", "seller_id seller_zip_code_prefix seller_city seller_state", self._vendor
        )
        self._read_file(
            "olist_customers_dataset.csv",
            "customer_id customer_unique_id customer_zip_code_prefix customer_city customer_state",
            self._customer,
        )
        self._read_file("product_category_name_translation.csv", "product_category_name", self._category)
        self._read_file(
            "olist_products_dataset.csv", "product_id product_category_name product_weight_g", self._product
        )
        self._read_file(
            "olist_orders_dataset.csv",
            "order_id customer_id order_status order_purchase_timestamp order_approved_at order_delivered_carrier_date",
            self._order,
        )
        self._read_file(
            "olist_order_items_dataset.csv",
            "order_id order_item_id product_id seller_id price freight_value",
            self._item,
        )
        self._read_file(
            "olist_order_payments_dataset.csv",
            "order_id payment_sequential payment_type payment_installments payment_value",
            self._payment,
        )
        self._read_file(
            "olist_order_reviews_dataset.csv",
            "review_id order_id review_score review_comment_title review_comment_message review_creation_date"
            " review_answer_timestamp",
            self._review,
        )
        self._fill_defaults()
        return self.marketplace, self.errors

    def _read_file(self, name: str, columns: str, convert: Callable[[CsvRow], None]) -> None:
        for row in read_rows(self.folder, name, columns.split(), self.errors):
            try:
                convert(row)
            except InvalidValue as error:
                self.errors.add(row, str(error))

    def _vendor(self, row: CsvRow) -> None:
        external = _new_key(row, "seller_id", self.marketplace.vendors)
        city, prefix = row.read("seller_city", parse_text), row.read("seller_zip_code_prefix", parse_text)
        self.marketplace.vendors[external] = {
            "external_id": external,
            "name": f"Loja {external[:8]} ({city})",
            "email": f"{external}@olist.invalid",
            "city": city,
            "state": row.read("seller_state", parse_state),
            "zipcode": prefix,
        }

    def _customer(self, row: CsvRow) -> None:
        purchase = _new_key(row, "customer_id", self.persons)
        person = row.read("customer_unique_id", parse_key)
        self.persons[purchase] = {
            "person": person,
            "address": {
                "city": row.read("customer_city", parse_text),
                "state": row.read("customer_state", parse_state),
                "zipcode": row.read("customer_zip_code_prefix", parse_text),
            },
        }
        self.marketplace.customers.setdefault(
            person,
            {"external_id": person, "email": f"{person}@olist.invalid", "firstname": "Cliente", "lastname": person[:8]},
        )

    def _category(self, row: CsvRow) -> None:
        self._category_named(row.read("product_category_name", parse_text))

    def _category_named(self, external: str) -> str:
        external = external or _NO_CATEGORY
        name = external.replace("_", " ").capitalize()
        self.marketplace.categories.setdefault(external, {"external_id": external, "name": name})
        return external

    def _product(self, row: CsvRow) -> None:
        external = _new_key(row, "product_id", self.marketplace.products)
        category = self._category_named(row.read("product_category_name", parse_text))
        name = f"{self.marketplace.categories[category]['name']} {external[:8]}"
        self.marketplace.products[external] = {
            "external_id": external,
            "category": category,
            "vendor": None,
            "name": name,
            "sku": external,
            "slug": slugify(f"{category} {external}"),
            "price_cents": 0,
            "weight_grams": row.read("product_weight_g", parse_grams),
        }

    def _order(self, row: CsvRow) -> None:
        external = _new_key(row, "order_id", self.marketplace.orders)
        customer = _find_record(row, "customer_id", self.persons)
        placed = row.read("order_purchase_timestamp", parse_time)
        status = row.read("order_status", parse_status)
        approved = row.read("order_approved_at", parse_optional_time)
        carried = row.read("order_delivered_carrier_date", parse_optional_time)
        person = customer["person"]
        self.first_seen[person] = min(placed, self.first_seen.get(person, placed))
        self.marketplace.orders[external] = {
            "external_id": external,
            "customer": person,
            "status": status,
            "created_at": format_rfc3339(placed),
            "address": customer["address"],
            "history": _history(status, placed, approved, carried),
            "lines": [],
            "payments": [],
        }

    def _item(self, row: CsvRow) -> None:
        order = _find_record(row, "order_id", self.marketplace.orders)
        line_number = row.read("order_item_id", parse_number(1, 1_000))
        if (order["external_id"], line_number) in self.line_numbers:
            raise InvalidValue(f"order_item_id {line_number} is repeated in order {order['external_id']}")
        self.line_numbers.add((order["external_id"], line_number))
        product, vendor = (
            _find_record(row, "product_id", self.marketplace.products),
            _find_record(row, "seller_id", self.marketplace.vendors),
        )
        price = row.read("price", parse_cents)
        order["lines"].append(
            {
                "line_number": line_number,
                "product": product["external_id"],
                "vendor": vendor["external_id"],
                "quantity": 1,
                "price_cents": price,
                "shipping_cents": row.read("freight_value", parse_cents),
            }
        )
        # The price of the last sale and the vendor of the first.
        product["vendor"] = product["vendor"] or vendor["external_id"]
        if order["created_at"] >= product.get("sold_at", ""):
            product["price_cents"], product["sold_at"] = price, order["created_at"]
        product["created_at"] = min(order["created_at"], product.get("created_at", order["created_at"]))

    def _payment(self, row: CsvRow) -> None:
        order = _find_record(row, "order_id", self.marketplace.orders)
        sequence = row.read("payment_sequential", parse_number(1, 1_000))
        if any(payment["sequence"] == sequence for payment in order["payments"]):
            raise InvalidValue(f"payment_sequential {sequence} is repeated in order {order['external_id']}")
        order["payments"].append(
            {
                "sequence": sequence,
                "kind": row.read("payment_type", parse_text),
                "installments": row.read("payment_installments", parse_number(0, 1_000)),
                "amount_cents": row.read("payment_value", parse_cents),
            }
        )

    def _review(self, row: CsvRow) -> None:
        review = row.read("review_id", parse_key)
        order = _find_record(row, "order_id", self.marketplace.orders)
        # One review may cover several orders.
        external = f"{review}:{order['external_id']}"
        if external in self.marketplace.reviews:
            raise InvalidValue(f"review_id {review} is repeated for order {order['external_id']}")
        title, message = (row.read("review_comment_title", parse_text), row.read("review_comment_message", parse_text))
        self.marketplace.reviews[external] = {
            "external_id": external,
            "order": order["external_id"],
            "message": "\n".join(part for part in (title, message) if part),
            "rating": row.read("review_score", parse_number(1, 5)),
            "created_at": format_rfc3339(row.read("review_creation_date", parse_time)),
            "updated_at": format_rfc3339(row.read("review_answer_timestamp", parse_time)),
        }

    def _fill_defaults(self) -> None:
        """Fill in the values that depend on several files."""
        # Customers without orders and unsold products have no date of their own.
        earliest = min(
            (order["created_at"] for order in self.marketplace.orders.values()), default=format_rfc3339(now())
        )
        for person, customer in self.marketplace.customers.items():
            customer["created_at"] = format_rfc3339(self.first_seen[person]) if person in self.first_seen else earliest
        for product in self.marketplace.products.values():
            product.setdefault("created_at", earliest)
            product.pop("sold_at", None)
        for order in self.marketplace.orders.values():
            order["lines"].sort(key=lambda line: line["line_number"])
            order["payments"].sort(key=lambda payment: payment["sequence"])
        self.marketplace.orders = dict(sorted(self.marketplace.orders.items(), key=lambda item: item[1]["created_at"]))


def _history(status: str, placed: datetime, approved: datetime | None, carried: datetime | None) -> list[Record]:
    """Derive the status history from the dates of an order; the last entry is its current status."""
    steps = [{"at": format_rfc3339(placed), "from_status": "", "to_status": "O"}]
    if approved is not None and status in ("P", "C", "I"):
        steps.append({"at": format_rfc3339(max(approved, placed)), "from_status": "O", "to_status": "P"})
    previous = steps[-1]["to_status"]
    if previous != status:
        latest = max(time for time in (placed, approved, carried) if time is not None)
        steps.append({"at": format_rfc3339(latest), "from_status": previous, "to_status": status})
    return steps


def _new_key(row: CsvRow, column: str, records: Mapping[str, Any]) -> str:
    external = row.read(column, parse_key)
    if external in records:
        raise InvalidValue(f"{column} {external} is repeated")
    return external


def _find_record(row: CsvRow, column: str, records: Mapping[str, Record]) -> Record:
    external = row.read(column, parse_key)
    if external not in records:
        raise InvalidValue(f"{column} {external} is in no other file")
    return records[external]
