"""Write products and what hangs on them, any number in a fixed number of statements: rows, places, pictures.

Drafts come here checked; see `products`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain.catalog.product_draft import ProductDraft
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import slug
from models.database import execute, rows

_SUFFIXES = range(2, 12)
_NAMELESS = "product"

_DEFAULTS: Mapping[str, Any] = {
    "vendor_id": None,
    "category_id": None,
    "sku": "",
    "description": "",
    "short_description": "",
    "status": "A",
    "compare_at_cents": None,
    "on_hand": 0,
    "reserved": 0,
    "tracking": "B",
    "weight_grams": 0,
    "is_edp": False,
    "free_shipping": False,
    "min_quantity": 0,
    "max_quantity": 0,
}

# A slug that somebody took since it was chosen leaves its row out; `_insert` tries again with one nobody has.
_INSERT = """
INSERT INTO products (tenant_id, public_id, vendor_id, category_id, name, sku, slug, description, short_description,
    status, price_cents, compare_at_cents, on_hand, reserved, tracking, weight_grams, is_edp, free_shipping,
    min_quantity, max_quantity, created_at, updated_at)
SELECT $1, public_id, vendor_id, category_id, name, sku, slug, description, short_description,
    status, price_cents, compare_at_cents, on_hand, reserved, tracking, weight_grams, is_edp, free_shipping,
    min_quantity, max_quantity, created_at, updated_at
FROM jsonb_populate_recordset(NULL::products, $2::text::jsonb)
ON CONFLICT (tenant_id, slug) WHERE deleted_at IS NULL DO NOTHING
RETURNING id, public_id
"""

# jsonb_populate_record starts from the row as it is and changes what the object names: a partial update of any columns.
# Stock is what can be sold; on hand is that plus what open orders have reserved, read from the row under its lock.
_UPDATE = """
UPDATE products p SET
    (vendor_id, category_id, name, sku, slug, description, short_description, status, price_cents,
        compare_at_cents, tracking, weight_grams, is_edp, free_shipping, min_quantity, max_quantity, created_at)
    = (SELECT n.vendor_id, n.category_id, n.name, n.sku, n.slug, n.description, n.short_description, n.status, n.price_cents,
        n.compare_at_cents, n.tracking, n.weight_grams, n.is_edp, n.free_shipping, n.min_quantity, n.max_quantity, n.created_at
        FROM jsonb_populate_record(p, g.changes) AS n),
    on_hand = coalesce(p.reserved + (g.changes ->> 'stock')::bigint, p.on_hand),
    updated_at = $3
FROM jsonb_to_recordset($2::text::jsonb) AS g (id bigint, changes jsonb)
WHERE p.tenant_id = $1 AND p.id = g.id
"""

_TAKEN_SLUGS = """
SELECT slug FROM products WHERE tenant_id = $1 AND slug = ANY($2::text[]) AND deleted_at IS NULL
    AND id <> ALL($3::bigint[])
"""

_LEAVE = """
DELETE FROM product_categories c USING jsonb_to_recordset($2::text::jsonb) AS g (product_id bigint, keep bigint[], leave bigint)
WHERE c.tenant_id = $1 AND c.product_id = g.product_id
    AND (c.category_id <> ALL(g.keep) OR c.category_id = g.leave)
"""
_STAND = """
INSERT INTO product_categories (tenant_id, public_id, product_id, category_id, position)
SELECT $1, g.public_id, g.product_id, g.category_id, g.position
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::int[]) AS g (public_id, product_id, category_id, position)
ON CONFLICT (tenant_id, product_id, category_id) DO UPDATE SET position = excluded.position
"""

_DROP_IMAGES = """
DELETE FROM product_images i USING unnest($2::bigint[], $3::boolean[], $4::boolean[]) AS g (product_id, main, more)
WHERE i.tenant_id = $1 AND i.product_id = g.product_id AND CASE i.position WHEN 0 THEN g.main ELSE g.more END
"""
_ADD_IMAGES = """
INSERT INTO product_images (tenant_id, public_id, product_id, url, alt, position, width, height)
SELECT $1, i.public_id, i.product_id, i.url, i.alt, i.position, i.width, i.height
FROM jsonb_populate_recordset(NULL::product_images, $2::text::jsonb) AS i
"""


async def write_rows(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Write the products' own rows and give the new ones their ids."""
    await _choose_slugs(scope, drafts)
    new = [draft for draft in drafts if draft.is_new]
    changed = [draft for draft in drafts if not draft.is_new]
    if changed:
        changes = [{"id": draft.product_id, "changes": draft.columns} for draft in changed]
        await execute(_UPDATE, scope.store.id, _json(changes), scope.now)
    if new:
        await _insert(scope, new)


async def write_places(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Put products where they stand: `places` are all of them; a new main category alone takes the old one's place."""
    moved = [draft for draft in drafts if draft.places is not None or "category_id" in draft.columns]
    leaving = [_leaving(draft) for draft in moved if draft.before is not None]
    standing = [
        (draft.product_id, place, position)
        for draft in moved
        for position, place in enumerate(_standing(draft))
    ]
    if leaving:
        await execute(_LEAVE, scope.store.id, _json(leaving))
    if standing:
        products, places, positions = zip(*standing, strict=True)
        public_ids = [uuid7() for _ in standing]
        await execute(_STAND, scope.store.id, public_ids, list(products), list(places), list(positions))


async def write_images(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Replace the pictures that were given: all of them, the main one, which stands at position 0, or those besides it."""
    pictured = [draft for draft in drafts if _replaces_main(draft) or _replaces_more(draft)]
    dropping = [draft for draft in pictured if draft.before is not None]
    if dropping:
        await execute(
            _DROP_IMAGES,
            scope.store.id,
            [draft.product_id for draft in dropping],
            [_replaces_main(draft) for draft in dropping],
            [_replaces_more(draft) for draft in dropping],
        )
    added = [_image_row(draft, position, image) for draft in pictured for position, image in _pictures(draft)]
    if added:
        await execute(_ADD_IMAGES, scope.store.id, _json(added))


# --- Rows ------------------------------------------------------------------------------------------------------------------


async def _insert(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    waiting = {draft.public_id: draft for draft in drafts}
    while waiting:
        written = await rows(
            _INSERT, scope.store.id, _json([_new_row(scope, draft) for draft in waiting.values()])
        )
        for row in written:
            waiting.pop(row["public_id"]).product_id = row["id"]
        for draft in waiting.values():
            draft.columns["slug"] = f"{draft.columns['slug'][:100]}-{uuid7().hex[-8:]}"


def _new_row(scope: Scope, draft: ProductDraft) -> dict[str, Any]:
    columns = {name: given for name, given in draft.columns.items() if name != "stock"}
    return {
        **_DEFAULTS,
        "created_at": scope.now,
        "updated_at": scope.now,
        **columns,
        "on_hand": draft.columns.get("stock", 0),
        "public_id": draft.public_id,
    }


async def _choose_slugs(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Give every new or newly named address a form that no other product has: `tenis`, `tenis-2`, …, `tenis-11`, then at random."""
    wanting = [draft for draft in drafts if draft.is_new or "slug" in draft.columns]
    if not wanting:
        return
    wanted = [draft.columns.get("slug") or slug(draft.columns["name"]) or _NAMELESS for draft in wanting]
    candidates = {candidate for base in wanted for candidate in _candidates(base)}
    own = [draft.product_id for draft in wanting if draft.product_id is not None]
    found = await rows(_TAKEN_SLUGS, scope.store.id, list(candidates), own)
    taken = {row["slug"] for row in found}
    for draft, base in zip(wanting, wanted, strict=True):
        free = (candidate for candidate in _candidates(base) if candidate not in taken)
        draft.columns["slug"] = next(free, f"{base}-{uuid7().hex[-8:]}")
        taken.add(draft.columns["slug"])


def _candidates(base: str) -> list[str]:
    return [base, *(f"{base}-{number}" for number in _SUFFIXES)]


# --- Places and pictures ---------------------------------------------------------------------------------------------------


def _leaving(draft: ProductDraft) -> dict[str, Any]:
    """Say which places a product leaves: all but those kept, or only its old main one."""
    assert draft.before is not None
    if draft.places is not None:
        return {"product_id": draft.product_id, "keep": draft.places, "leave": None}
    return {"product_id": draft.product_id, "keep": None, "leave": draft.before["category_id"]}


def _standing(draft: ProductDraft) -> list[int]:
    if draft.places is not None:
        return draft.places
    main = draft.columns["category_id"]
    return [] if main is None else [main]


def _pictures(draft: ProductDraft) -> list[tuple[int, Mapping[str, Any]]]:
    """Give the pictures to add with their positions; a main one beside a list goes before it."""
    main, more = draft.main_image or [], draft.more_images or []
    if draft.images is None:
        return [*enumerate(main), *enumerate(more, start=1)]
    return list(enumerate([*main, *draft.images, *more]))


def _replaces_main(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.main_image is not None


def _replaces_more(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.more_images is not None


def _image_row(draft: ProductDraft, position: int, image: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "alt": "",
        "width": 0,
        "height": 0,
        **image,
        "public_id": uuid7(),
        "product_id": draft.product_id,
        "position": position,
    }


def _json(given: object) -> str:
    return orjson.dumps(given).decode()
