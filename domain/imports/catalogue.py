"""Import categories and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain import events
from domain.imports.references import known, remember, take_turn
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, rows, transaction

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
_PLACES = """
INSERT INTO product_categories (tenant_id, public_id, product_id, category_id)
SELECT $1, place.public_id, place.product_id, place.category_id
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS place (public_id, product_id, category_id)
"""


async def import_categories(scope: Scope, source: str, given: Sequence[Mapping[str, Any]]) -> int:
    """Import root categories `{external_id, name}`; give how many were new."""
    async with transaction(scope):
        await take_turn(scope, source)
        before = await known(scope, source, "category", (row["external_id"] for row in given))
        new = [{**row, "public_id": uuid7()} for row in given if row["external_id"] not in before]
        made = await rows(_CATEGORIES, scope.store.id, orjson.dumps(new).decode(), scope.now)
        ids = {record["public_id"]: record["id"] for record in made}
        await execute(_PATHS, scope.store.id, list(ids.values()))
        await remember(scope, source, "category", {row["external_id"]: ids[row["public_id"]] for row in new})
    return len(new)


async def import_products(
    scope: Scope, source: str, given: Sequence[Mapping[str, Any]], *, told: bool = False
) -> int:
    """Import products `{external_id, vendor, category?, name, sku, slug, price_cents, weight_grams, created_at}`.

    `vendor` and `category` are external ids. Of their stock nothing is known, so it is not kept (`tracking` `D`). Gives how many were
    new; `told` records `product.created` for each.
    """
    async with transaction(scope):
        await take_turn(scope, source)
        before = await known(scope, source, "product", (row["external_id"] for row in given))
        new = [dict(row, public_id=uuid7()) for row in given if row["external_id"] not in before]
        vendors = await known(scope, source, "vendor", {row["vendor"] for row in new if row.get("vendor")})
        categories = await known(
            scope, source, "category", {row["category"] for row in new if row.get("category")}
        )
        for row in new:
            row["vendor_id"] = vendors.get(row.get("vendor") or "")
            row["category_id"] = categories.get(row.get("category") or "")
        made = await rows(_PRODUCTS, scope.store.id, orjson.dumps(new).decode(), scope.now)
        ids = {record["public_id"]: record["id"] for record in made}
        placed = [(uuid7(), ids[row["public_id"]], row["category_id"]) for row in new if row["category_id"]]
        if placed:
            await execute(_PLACES, scope.store.id, *(list(values) for values in zip(*placed, strict=True)))
        await remember(scope, source, "product", {row["external_id"]: ids[row["public_id"]] for row in new})
        if told:
            await events.products_changed(scope, dict.fromkeys(ids.values(), events.PRODUCT_CREATED))
    return len(new)
