"""Import vendors, customers, a catalog and reviews of another marketplace, a batch in a transaction; orders are in `orders`.

Records are identified by their `external_id`: those that were imported before are skipped. Each function returns how many were new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from domain import event_types, events
from domain.imports.references import begin_import, find_imported_ids, store_external_ids
from kernel.scope import Scope
from models.connection.database import execute, fetch, transaction
from models.numbers import RESERVED_TABLES, take_numbers
from models.rows import insert_numbered_rows, insert_rows, insert_sql, rows_json

Record = Mapping[str, Any]

_BY_EMAIL = "SELECT email, id FROM users WHERE tenant_id = $1 AND email = ANY($2::text[]) AND deleted_at IS NULL"
_PATHS = "UPDATE categories SET id_path = id::text WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_REVIEWED = """
SELECT o.id, o.user_id, o.firstname,
    (SELECT l.product_id FROM order_lines l WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id ORDER BY l.position LIMIT 1) AS product_id
FROM orders o WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[])
"""
_THREADS = (
    insert_sql("discussion_threads", ("object_type", "object_id", "type"))
    + " ON CONFLICT (tenant_id, object_type, object_id) DO NOTHING"
)
_THREAD_IDS = """
SELECT t.id, t.object_type, t.object_id FROM discussion_threads t
JOIN unnest($2::text[], $3::bigint[]) AS wanted (object_type, object_id) USING (object_type, object_id)
WHERE t.tenant_id = $1
"""


async def import_vendors(scope: Scope, source: str, records: Sequence[Record]) -> int:
    """Import vendors `{external_id, name, email, city, state, zipcode}`."""
    async with transaction(scope):
        new = await begin_import(scope, source, "vendor", records)
        times = {"created_at": scope.now, "updated_at": scope.now}
        names = ("name", "email", "city", "state", "zipcode")
        await _insert(scope, source, "vendor", new, "vendors", lambda record: _columns(record, names) | times)
    return len(new)


async def import_customers(scope: Scope, source: str, records: Sequence[Record], *, emit_events: bool = False) -> int:
    """Import customers `{external_id, email, firstname, lastname, created_at}`; an existing account with the e-mail is taken as it is.

    `emit_events` emits `user.registered` and `customer.created` for each new account.
    """
    async with transaction(scope):
        unknown = await begin_import(scope, source, "customer", records)
        accounts = await fetch(_BY_EMAIL, scope.store.id, [record["email"] for record in unknown])
        by_email = {row["email"]: row["id"] for row in accounts}
        new = [record for record in unknown if record["email"] not in by_email]
        rest = {"user_type": "C", "status": "A", "email_verified_at": scope.now, "updated_at": scope.now}
        names = ("email", "firstname", "lastname", "created_at")
        await _insert(scope, source, "customer", new, "users", lambda record: _columns(record, names) | rest)
        existing = {record["external_id"]: by_email.get(record["email"]) for record in unknown}
        await store_external_ids(scope, source, "customer", {key: id_ for key, id_ in existing.items() if id_})
        if emit_events:
            users = map(_registered_user, new)
            await events.emit_all(
                scope, [event for user in users for event in events.registration_events(user, scope.now)]
            )
    return len(new)


def _registered_user(record: Record) -> dict[str, Any]:
    name = f"{record['firstname']} {record['lastname']}".strip()
    return {"public_id": record["public_id"], "name": name, "email": record["email"], "user_type": "C", "status": "A"}


async def import_categories(scope: Scope, source: str, records: Sequence[Record]) -> int:
    """Import root categories `{external_id, name}`."""
    async with transaction(scope):
        new = await begin_import(scope, source, "category", records)
        times = {"created_at": scope.now, "updated_at": scope.now}
        ids = await _insert(
            scope, source, "category", new, "categories", lambda record: {"name": record["name"], **times}
        )
        await execute(_PATHS, scope.store.id, ids)
    return len(new)


async def import_products(scope: Scope, source: str, records: Sequence[Record], *, emit_events: bool = False) -> int:
    """Import products `{external_id, vendor, category?, name, sku, slug, price_cents, weight_grams, created_at}`.

    `vendor` and `category` are external ids. Their stock is unknown and therefore untracked (`tracking` `D`). `emit_events` emits
    `product.created` for each.
    """
    async with transaction(scope):
        new = await begin_import(scope, source, "product", records)
        vendors = await find_imported_ids(scope, source, "vendor", _named(new, "vendor"))
        categories = await find_imported_ids(scope, source, "category", _named(new, "category"))
        names = ("name", "sku", "slug", "price_cents", "weight_grams", "created_at")

        def columns(record: Record) -> dict[str, Any]:
            return {
                **_columns(record, names),
                "vendor_id": vendors.get(record.get("vendor") or ""),
                "category_id": categories.get(record.get("category") or ""),
                "status": "A",
                "tracking": "D",
                "description": "",
                "updated_at": scope.now,
            }

        ids = await _insert(scope, source, "product", new, "products", columns)
        placed = [(product, columns(record)["category_id"]) for product, record in zip(ids, new, strict=True)]
        links = [{"product_id": product, "category_id": category} for product, category in placed if category]
        await insert_rows(scope, "product_categories", links)
        if emit_events:
            await events.emit_products_changed(scope, dict.fromkeys(ids, event_types.PRODUCT_CREATED))
    return len(new)


async def import_reviews(scope: Scope, source: str, records: Sequence[Record]) -> int:
    """Import reviews `{external_id, order, message, rating, created_at, updated_at}`.

    A review is about the first product of its `order` (an external id), or about the order itself if that has no lines.
    """
    async with transaction(scope):
        new = await begin_import(scope, source, "review", records)
        numbers = await find_imported_ids(scope, source, "order", _named(new, "order"))
        reviewed = {row["id"]: row for row in await fetch(_REVIEWED, scope.store.id, list(numbers.values()))}
        orders = {external_id: reviewed[number] for external_id, number in numbers.items()}
        threads = await _threads(scope, sorted({_subject(order) for order in orders.values()}))
        names = ("message", "rating", "created_at", "updated_at")

        def columns(record: Record) -> dict[str, Any]:
            order = orders[record["order"]]
            author = {"user_id": order["user_id"], "name": order["firstname"]}
            return {**_columns(record, names), **author, "thread_id": threads[_subject(order)]}

        await _insert(scope, source, "review", new, "discussion_posts", columns)
    return len(new)


def _subject(order: Any) -> tuple[str, int]:
    return ("O", order["id"]) if order["product_id"] is None else ("P", order["product_id"])


async def _threads(scope: Scope, subjects: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    types, object_ids = [object_type for object_type, _ in subjects], [object_id for _, object_id in subjects]
    rows = [{"object_type": type_, "object_id": object_id, "type": "B"} for type_, object_id in subjects]
    await execute(_THREADS, scope.store.id, rows_json(rows))
    threads = await fetch(_THREAD_IDS, scope.store.id, types, object_ids)
    return {(thread["object_type"], thread["object_id"]): thread["id"] for thread in threads}


async def _insert(
    scope: Scope, source: str, kind: str, new: Sequence[Record], table: str, columns: Callable[[Record], dict[str, Any]]
) -> list[int]:
    """Insert a row for each record, store their external ids, and return the rows' ids in the records' order."""
    if not new:
        return []
    rows = [{"public_id": record["public_id"], **columns(record)} for record in new]
    if table in RESERVED_TABLES:
        numbers = (await take_numbers(scope, {table: len(rows)}))[table]
        rows = [{**row, "id": number} for row, number in zip(rows, numbers, strict=True)]
    ids = await insert_numbered_rows(scope, table, rows)
    external_ids = [record["external_id"] for record in new]
    await store_external_ids(scope, source, kind, dict(zip(external_ids, ids, strict=True)))
    return ids


def _columns(record: Record, names: Iterable[str]) -> dict[str, Any]:
    return {name: record[name] for name in names}


def _named(records: Iterable[Record], name: str) -> set[str]:
    """Return the external ids in a field of records."""
    return {record[name] for record in records if record.get(name)}
