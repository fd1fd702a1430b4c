"""Write products with their categories and images, any number in a fixed number of statements. The drafts are validated; see `products`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from domain.catalog.product_draft import ProductDraft
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import slugify
from models.catalog import Product
from models.database import execute, fetch
from models.rows import insert_rows, json_text, update_rows

_SUFFIXES = range(2, 12)
_DEFAULT_SLUG = "product"

_DEFAULTS = Product.column_defaults()
_COLUMNS = ", ".join(_DEFAULTS)
_UPDATED = frozenset(_DEFAULTS) - {"on_hand", "reserved", "updated_at"}

# A row whose slug was taken concurrently is skipped; `_insert` retries it with a random suffix.
_INSERT = f"""
INSERT INTO products (tenant_id, public_id, {_COLUMNS})
SELECT $1, public_id, {_COLUMNS} FROM jsonb_populate_recordset(NULL::products, $2::text::jsonb)
ON CONFLICT (tenant_id, slug) WHERE deleted_at IS NULL DO NOTHING
RETURNING id, public_id
"""

# jsonb_populate_record starts from the current row and changes what the object names: a partial update of any columns. Those that no
# product of the batch changes are not assigned, else PostgreSQL would make all search vectors again.
# `stock` is the available stock; on hand is that plus what open orders have reserved, read from the locked row.
_UPDATE = """
UPDATE products p SET {columns}
    on_hand = coalesce(p.reserved + (g.changes ->> 'stock')::bigint, p.on_hand),
    updated_at = $3
FROM jsonb_to_recordset($2::text::jsonb) AS g (id bigint, changes jsonb)
WHERE p.tenant_id = $1 AND p.id = g.id
"""

_TAKEN_SLUGS = """
SELECT slug FROM products WHERE tenant_id = $1 AND slug = ANY($2::text[]) AND deleted_at IS NULL
    AND id <> ALL($3::bigint[])
"""

_DELETE_CATEGORIES = """
DELETE FROM product_categories c USING jsonb_to_recordset($2::text::jsonb) AS g (product_id bigint, keep bigint[], remove bigint)
WHERE c.tenant_id = $1 AND c.product_id = g.product_id
    AND (c.category_id <> ALL(g.keep) OR c.category_id = g.remove)
"""
_IMAGES = """
SELECT i.id, i.product_id, i.url, i.alt, i.position, i.width, i.height
FROM product_images i JOIN unnest($2::bigint[], $3::boolean[], $4::boolean[]) AS g (product_id, main, more) USING (product_id)
WHERE i.tenant_id = $1 AND CASE i.position WHEN 0 THEN g.main ELSE g.more END
ORDER BY i.position, i.id
"""
_DELETE_IMAGES = "DELETE FROM product_images WHERE tenant_id = $1 AND id = ANY($2::bigint[])"


async def write_rows(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Write the products' own rows and set the ids of new ones."""
    await choose_slugs(scope, drafts)
    new = [draft for draft in drafts if draft.is_new]
    changed = [draft for draft in drafts if not draft.is_new]
    if changed:
        await _update(scope, changed)
    if new:
        await _insert(scope, new)


async def write_product_categories(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Write the products' categories: `category_ids` are all of them; a new main category alone replaces the previous one."""
    changed = [draft for draft in drafts if draft.category_ids is not None or "category_id" in draft.columns]
    removed = [_removed_categories(draft) for draft in changed if draft.current is not None]
    if removed:
        await execute(_DELETE_CATEGORIES, scope.store.id, json_text(removed))
    assigned = [
        {"product_id": draft.product_id, "category_id": category_id, "position": position}
        for draft in changed
        for position, category_id in enumerate(_categories(draft))
    ]
    await insert_rows(scope, "product_categories", assigned, unique=("product_id", "category_id"))


async def write_images(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Replace the images in the input: all of them, the main one (position 0), or the additional ones.

    An image whose URL the product has already stays: it keeps its id, and its size unless the input has another.
    """
    changed = [draft for draft in drafts if _replaces_main(draft) or _replaces_more(draft)]
    stored = await _load_images(scope, [draft for draft in changed if draft.current is not None])
    added, moved = [], []
    for draft in changed:
        for position, image in _positioned_images(draft):
            if current := stored.get((draft.product_id, image["url"])):
                row = current.pop(0)
                if (updated := {**row, "alt": "", **image, "position": position}) != row:
                    moved.append(updated)
            else:
                added.append(_image_row(draft, position, image))
    if removed := [row["id"] for rows in stored.values() for row in rows]:
        await execute(_DELETE_IMAGES, scope.store.id, removed)
    await update_rows(scope, "product_images", moved)
    await insert_rows(scope, "product_images", added)


async def _load_images(
    scope: Scope, drafts: Sequence[ProductDraft]
) -> dict[tuple[int | None, str], list[Mapping[str, Any]]]:
    """Return the stored images that the drafts replace, by product and URL."""
    images: dict[tuple[int | None, str], list[Mapping[str, Any]]] = {}
    if drafts:
        ids = [draft.product_id for draft in drafts]
        replaced = [_replaces_main(draft) for draft in drafts], [_replaces_more(draft) for draft in drafts]
        for row in await fetch(_IMAGES, scope.store.id, ids, *replaced):
            images.setdefault((row["product_id"], row["url"]), []).append(dict(row))
    return images


# --- Rows ------------------------------------------------------------------------------------------------------------------


async def _update(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    names = ", ".join(sorted(_UPDATED.intersection(chain.from_iterable(draft.columns for draft in drafts))))
    columns = f"({names}) = (SELECT {names} FROM jsonb_populate_record(p, g.changes))," if names else ""
    changes = [{"id": draft.product_id, "changes": draft.columns} for draft in drafts]
    await execute(_UPDATE.format(columns=columns), scope.store.id, json_text(changes), scope.now)


async def _insert(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    pending = {draft.public_id: draft for draft in drafts}
    while pending:
        inserted = await fetch(
            _INSERT, scope.store.id, json_text([_new_row(scope, draft) for draft in pending.values()])
        )
        for row in inserted:
            pending.pop(row["public_id"]).product_id = row["id"]
        for draft in pending.values():
            draft.columns["slug"] = f"{draft.columns['slug'][:100]}-{uuid7().hex[-8:]}"


def _new_row(scope: Scope, draft: ProductDraft) -> dict[str, Any]:
    columns = {name: value for name, value in draft.columns.items() if name != "stock"}
    return {
        **_DEFAULTS,
        "created_at": scope.now,
        "updated_at": scope.now,
        **columns,
        "on_hand": draft.columns.get("stock", 0),
        "public_id": draft.public_id,
    }


async def choose_slugs(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set unique slugs for new products and changed slugs: `tenis`, `tenis-2`, …, `tenis-11`, then a random suffix."""
    changed = [draft for draft in drafts if draft.is_new or "slug" in draft.columns]
    if not changed:
        return
    wanted = [draft.columns.get("slug") or slugify(draft.columns["name"]) or _DEFAULT_SLUG for draft in changed]
    candidates = {candidate for base in wanted for candidate in _candidates(base)}
    own = [draft.product_id for draft in changed if draft.product_id is not None]
    rows = await fetch(_TAKEN_SLUGS, scope.store.id, list(candidates), own)
    taken = {row["slug"] for row in rows}
    for draft, base in zip(changed, wanted, strict=True):
        available = (candidate for candidate in _candidates(base) if candidate not in taken)
        draft.columns["slug"] = next(available, f"{base}-{uuid7().hex[-8:]}")
        taken.add(draft.columns["slug"])


def _candidates(base: str) -> list[str]:
    return [base, *(f"{base}-{number}" for number in _SUFFIXES)]


# --- Categories and images ---------------------------------------------------------------------------------------------------


def _removed_categories(draft: ProductDraft) -> dict[str, Any]:
    """Return which categories to remove: all but those to keep, or only the previous main one."""
    assert draft.current is not None
    if draft.category_ids is not None:
        return {"product_id": draft.product_id, "keep": draft.category_ids, "remove": None}
    return {"product_id": draft.product_id, "keep": None, "remove": draft.current["category_id"]}


def _categories(draft: ProductDraft) -> list[int]:
    if draft.category_ids is not None:
        return draft.category_ids
    main = draft.columns["category_id"]
    return [] if main is None else [main]


def _positioned_images(draft: ProductDraft) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the images to add with their positions; a main image precedes a list."""
    main, more = draft.main_image or [], draft.more_images or []
    if draft.images is None:
        return [*enumerate(main), *enumerate(more, start=1)]
    return list(enumerate([*main, *draft.images, *more]))


def _replaces_main(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.main_image is not None


def _replaces_more(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.more_images is not None


def _image_row(draft: ProductDraft, position: int, image: Mapping[str, Any]) -> dict[str, Any]:
    return {"alt": "", "width": 0, "height": 0, **image, "product_id": draft.product_id, "position": position}
