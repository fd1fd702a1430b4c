"""Import categories and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain import events
from domain.imports.references import begin_import, find_imported_ids, store_external_ids
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, fetch, transaction

_CATEGORIES = """
INSERT INTO categories (tenant_id, public_id, name, created_at, updated_at)
SELECT $1, c.public_id, c.name, $3, $3 FROM jsonb_populate_recordset(NULL::categories, $2::text::jsonb) AS c
RETURNING id, public_id
"""
_PATHS = "UPDATE categories SET id_path = id::text WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_PRODUCTS = """
INSERT INTO products (tenant_id, public_id, vendor_id, category_id, name, sku, slug, status, price_cents, tracking, weight_grams,
    description, created_at, updated_at)
SELECT $1, p.public_id, p.vendor_id, p.category_id, p.name, p.sku, p.slug, 'A', p.price_cents, 'D', p.weight_grams, '',
    p.created_at, $3
FROM jsonb_populate_recordset(NULL::products, $2::text::jsonb) AS p
RETURNING id, public_id
"""
_PRODUCT_CATEGORIES = """
INSERT INTO product_categories (tenant_id, public_id, product_id, category_id)
SELECT $1, link.public_id, link.product_id, link.category_id
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS link (public_id, product_id, category_id)
"""


async def import_categories(scope: Scope, source: str, records: Sequence[Mapping[str, Any]]) -> int:
    """Import root categories `{external_id, name}`; return how many were new."""
    async with transaction(scope):
        new = await begin_import(scope, source, "category", records)
        inserted = await fetch(_CATEGORIES, scope.store.id, orjson.dumps(new).decode(), scope.now)
        ids = {inserted_row["public_id"]: inserted_row["id"] for inserted_row in inserted}
        await execute(_PATHS, scope.store.id, list(ids.values()))
        await store_external_ids(scope, source, "category", {row["external_id"]: ids[row["public_id"]] for row in new})
    return len(new)


async def import_products(
    scope: Scope, source: str, records: Sequence[Mapping[str, Any]], *, emit_events: bool = False
) -> int:
    """Import products `{external_id, vendor, category?, name, sku, slug, price_cents, weight_grams, created_at}`; return how many were new.

    `vendor` and `category` are external ids. Their stock is unknown and therefore untracked (`tracking` `D`). `emit_events` emits
    `product.created` for each.
    """
    async with transaction(scope):
        new = await begin_import(scope, source, "product", records)
        vendors = await find_imported_ids(scope, source, "vendor", {row["vendor"] for row in new if row.get("vendor")})
        categories = await find_imported_ids(
            scope, source, "category", {row["category"] for row in new if row.get("category")}
        )
        for row in new:
            row["vendor_id"] = vendors.get(row.get("vendor") or "")
            row["category_id"] = categories.get(row.get("category") or "")
        inserted = await fetch(_PRODUCTS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        ids = {inserted_row["public_id"]: inserted_row["id"] for inserted_row in inserted}
        categorized = [(uuid7(), ids[row["public_id"]], row["category_id"]) for row in new if row["category_id"]]
        if categorized:
            await execute(
                _PRODUCT_CATEGORIES, scope.store.id, *(list(values) for values in zip(*categorized, strict=True))
            )
        await store_external_ids(scope, source, "product", {row["external_id"]: ids[row["public_id"]] for row in new})
        if emit_events:
            await events.emit_products_changed(scope, dict.fromkeys(ids.values(), events.PRODUCT_CREATED))
    return len(new)
