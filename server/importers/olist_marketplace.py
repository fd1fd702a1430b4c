"""Make of the Olist files the records of a store: vendors, customers, categories, products, orders, reviews."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kernel.clock import now, rfc3339
from kernel.text import Malformed, slug
from server.importers.olist_files import (
    CsvRow,
    Problems,
    amount,
    grams,
    key,
    moment,
    number,
    optional_moment,
    rows_of,
    state,
    status,
    text,
)

Record = dict[str, Any]
_NO_CATEGORY = "sem_categoria"


@dataclass
class Marketplace:
    """Hold what the files say, in the words of `domain.imports`."""

    vendors: dict[str, Record] = field(default_factory=dict)
    customers: dict[str, Record] = field(default_factory=dict)
    categories: dict[str, Record] = field(default_factory=dict)
    products: dict[str, Record] = field(default_factory=dict)
    orders: dict[str, Record] = field(default_factory=dict)
    reviews: dict[str, Record] = field(default_factory=dict)


def read_marketplace(folder: Path) -> tuple[Marketplace, Problems]:
    """Read all files; the problems say which rows are wrong. Raises `olist_files.Missing`."""
    return _Reader(folder).read()


class _Reader:
    """Read file after file, for each refers to those before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems = Problems()
        self.found = Marketplace()
        # A customer_id stands for one purchase; the person is customer_unique_id.
        self.persons: dict[str, Record] = {}
        self.first_seen: dict[str, datetime] = {}
        self.places: set[tuple[str, int]] = set()

    def read(self) -> tuple[Marketplace, Problems]:
        self._each(
            "olist_sellers_dataset.csv",
            "seller_id seller_zip_code_prefix seller_city seller_state",
            self._vendor,
        )
        self._each(
            "olist_customers_dataset.csv",
            "customer_id customer_unique_id customer_zip_code_prefix customer_city customer_state",
            self._customer,
        )
        self._each("product_category_name_translation.csv", "product_category_name", self._category)
        self._each(
            "olist_products_dataset.csv", "product_id product_category_name product_weight_g", self._product
        )
        self._each(
            "olist_orders_dataset.csv",
            "order_id customer_id order_status order_purchase_timestamp order_approved_at order_delivered_carrier_date",
            self._order,
        )
        self._each(
            "olist_order_items_dataset.csv",
            "order_id order_item_id product_id seller_id price freight_value",
            self._item,
        )
        self._each(
            "olist_order_payments_dataset.csv",
            "order_id payment_sequential payment_type payment_installments payment_value",
            self._payment,
        )
        self._each(
            "olist_order_reviews_dataset.csv",
            "review_id order_id review_score review_comment_title review_comment_message review_creation_date"
            " review_answer_timestamp",
            self._review,
        )
        self._settle()
        return self.found, self.problems

    def _each(self, name: str, columns: str, take: Callable[[CsvRow], None]) -> None:
        for row in rows_of(self.folder, name, columns.split(), self.problems):
            try:
                take(row)
            except Malformed as problem:
                self.problems.add(row, str(problem))

    def _vendor(self, row: CsvRow) -> None:
        external = _new(row, "seller_id", self.found.vendors)
        city, prefix = row.read("seller_city", text), row.read("seller_zip_code_prefix", text)
        self.found.vendors[external] = {
            "external_id": external,
            "name": f"Loja {external[:8]} ({city})",
            "email": f"{external}@olist.invalid",
            "city": city,
            "state": row.read("seller_state", state),
            "zipcode": prefix,
        }

    def _customer(self, row: CsvRow) -> None:
        purchase = _new(row, "customer_id", self.persons)
        person = row.read("customer_unique_id", key)
        self.persons[purchase] = {
            "person": person,
            "address": {
                "city": row.read("customer_city", text),
                "state": row.read("customer_state", state),
                "zipcode": row.read("customer_zip_code_prefix", text),
            },
        }
        self.found.customers.setdefault(
            person,
            {
                "external_id": person,
                "email": f"{person}@olist.invalid",
                "firstname": "Cliente",
                "lastname": person[:8],
            },
        )

    def _category(self, row: CsvRow) -> None:
        self._category_named(row.read("product_category_name", text))

    def _category_named(self, external: str) -> str:
        external = external or _NO_CATEGORY
        name = external.replace("_", " ").capitalize()
        self.found.categories.setdefault(external, {"external_id": external, "name": name})
        return external

    def _product(self, row: CsvRow) -> None:
        external = _new(row, "product_id", self.found.products)
        category = self._category_named(row.read("product_category_name", text))
        name = f"{self.found.categories[category]['name']} {external[:8]}"
        self.found.products[external] = {
            "external_id": external,
            "category": category,
            "vendor": None,
            "name": name,
            "sku": external,
            "slug": slug(f"{category} {external}"),
            "price_cents": 0,
            "weight_grams": row.read("product_weight_g", grams),
        }

    def _order(self, row: CsvRow) -> None:
        external = _new(row, "order_id", self.found.orders)
        customer = _known(row, "customer_id", self.persons)
        placed = row.read("order_purchase_timestamp", moment)
        letter = row.read("order_status", status)
        approved = row.read("order_approved_at", optional_moment)
        carried = row.read("order_delivered_carrier_date", optional_moment)
        person = customer["person"]
        self.first_seen[person] = min(placed, self.first_seen.get(person, placed))
        self.found.orders[external] = {
            "external_id": external,
            "customer": person,
            "status": letter,
            "created_at": rfc3339(placed),
            "address": customer["address"],
            "history": _history(letter, placed, approved, carried),
            "lines": [],
            "payments": [],
        }

    def _item(self, row: CsvRow) -> None:
        order = _known(row, "order_id", self.found.orders)
        place = row.read("order_item_id", number(1, 1_000))
        if (order["external_id"], place) in self.places:
            raise Malformed(f"order_item_id {place} stands twice in order {order['external_id']}")
        self.places.add((order["external_id"], place))
        product, vendor = (
            _known(row, "product_id", self.found.products),
            _known(row, "seller_id", self.found.vendors),
        )
        price = row.read("price", amount)
        order["lines"].append(
            {
                "place": place,
                "product": product["external_id"],
                "vendor": vendor["external_id"],
                "quantity": 1,
                "price_cents": price,
                "shipping_cents": row.read("freight_value", amount),
            }
        )
        # What it was last sold for, by whoever sold it first.
        product["vendor"] = product["vendor"] or vendor["external_id"]
        if order["created_at"] >= product.get("sold_at", ""):
            product["price_cents"], product["sold_at"] = price, order["created_at"]
        product["created_at"] = min(order["created_at"], product.get("created_at", order["created_at"]))

    def _payment(self, row: CsvRow) -> None:
        order = _known(row, "order_id", self.found.orders)
        sequence = row.read("payment_sequential", number(1, 1_000))
        if any(payment["sequence"] == sequence for payment in order["payments"]):
            raise Malformed(f"payment_sequential {sequence} stands twice in order {order['external_id']}")
        order["payments"].append(
            {
                "sequence": sequence,
                "kind": row.read("payment_type", text),
                "installments": row.read("payment_installments", number(0, 1_000)),
                "amount_cents": row.read("payment_value", amount),
            }
        )

    def _review(self, row: CsvRow) -> None:
        review = row.read("review_id", key)
        order = _known(row, "order_id", self.found.orders)
        # One review may speak of several orders.
        external = f"{review}:{order['external_id']}"
        if external in self.found.reviews:
            raise Malformed(f"review_id {review} stands twice for order {order['external_id']}")
        title, message = row.read("review_comment_title", text), row.read("review_comment_message", text)
        self.found.reviews[external] = {
            "external_id": external,
            "order": order["external_id"],
            "message": "\n".join(part for part in (title, message) if part),
            "rating": row.read("review_score", number(1, 5)),
            "created_at": rfc3339(row.read("review_creation_date", moment)),
            "updated_at": rfc3339(row.read("review_answer_timestamp", moment)),
        }

    def _settle(self) -> None:
        """Fill in what only the whole tells."""
        # Who bought nothing and what was never sold have no date of their own.
        earliest = min((order["created_at"] for order in self.found.orders.values()), default=rfc3339(now()))
        for person, customer in self.found.customers.items():
            customer["created_at"] = (
                rfc3339(self.first_seen[person]) if person in self.first_seen else earliest
            )
        for product in self.found.products.values():
            product.setdefault("created_at", earliest)
            product.pop("sold_at", None)
        for order in self.found.orders.values():
            order["lines"].sort(key=lambda line: line["place"])
            order["payments"].sort(key=lambda payment: payment["sequence"])
        self.found.orders = dict(sorted(self.found.orders.items(), key=lambda entry: entry[1]["created_at"]))


def _history(
    letter: str, placed: datetime, approved: datetime | None, carried: datetime | None
) -> list[Record]:
    """Tell the steps that the dates of an order prove; the last one leads to its letter."""
    steps = [{"at": rfc3339(placed), "from_status": "", "to_status": "O"}]
    if approved is not None and letter in ("P", "C", "I"):
        steps.append({"at": rfc3339(max(approved, placed)), "from_status": "O", "to_status": "P"})
    before = steps[-1]["to_status"]
    if before != letter:
        latest = max(moment for moment in (placed, approved, carried) if moment is not None)
        steps.append({"at": rfc3339(latest), "from_status": before, "to_status": letter})
    return steps


def _new(row: CsvRow, column: str, known: Mapping[str, Any]) -> str:
    external = row.read(column, key)
    if external in known:
        raise Malformed(f"{column} {external} stands twice")
    return external


def _known(row: CsvRow, column: str, known: Mapping[str, Record]) -> Record:
    external = row.read(column, key)
    if external not in known:
        raise Malformed(f"{column} {external} is in no other file")
    return known[external]
