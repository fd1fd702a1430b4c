"""Write products with their categories and images, any number in a fixed number of statements. The drafts are validated; see `products`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from domain.catalog.product_draft import ProductDraft
from domain.catalog.stock import lock_stock
from domain.store_limits import check_limit
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import MAX_SLUG_LENGTH, slugify
from models.connection.database import execute, execute_later, fetch
from models.rows import insert_rows, insert_sql, json_text, update_rows
from models.tables.catalog import Product

_SUFFIXES = range(2, 12)
_DEFAULT_SLUG = "product"
_MAX_STEM = MAX_SLUG_LENGTH - len("-12345678")

_DEFAULTS = Product.column_defaults()
_UPDATED = frozenset(_DEFAULTS) - {"on_hand", "reserved", "updated_at"}

# A row whose slug was taken concurrently is skipped, with its categories and images; `_insert` retries it with a random suffix. All in one
# statement: the triggers at its end make each search entry once, with its categories.
_INSERT = f"""
WITH inserted AS (
    {insert_sql("products", _DEFAULTS)}
    ON CONFLICT (tenant_id, slug) WHERE deleted_at IS NULL DO NOTHING
    RETURNING id, public_id
), placed AS (
    INSERT INTO product_categories (tenant_id, public_id, product_id, category_id, position)
    SELECT $1, c.public_id, inserted.id, c.category_id, c.position
    FROM jsonb_to_recordset($3::text::jsonb) AS c (product uuid, public_id uuid, category_id bigint, position integer)
    JOIN inserted ON inserted.public_id = c.product
), pictured AS (
    INSERT INTO product_images (tenant_id, public_id, product_id, position, url, alt, width, height, media_id)
    SELECT $1, i.public_id, inserted.id, i.position, i.url, i.alt, i.width, i.height, i.media_id
    FROM jsonb_to_recordset($4::text::jsonb)
        AS i (product uuid, public_id uuid, position integer, url text, alt text, width integer, height integer, media_id bigint)
    JOIN inserted ON inserted.public_id = i.product
    ORDER BY inserted.id, i.position -- so are their numbers, by which programs sort them
)
SELECT id, public_id FROM inserted
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
RETURNING c.product_id
"""
_IMAGES = """
SELECT i.id, i.product_id, i.url, i.alt, i.position, i.width, i.height, i.media_id
FROM product_images i JOIN unnest($2::bigint[], $3::boolean[], $4::boolean[]) AS g (product_id, main, more) USING (product_id)
WHERE i.tenant_id = $1 AND CASE i.position WHEN 0 THEN g.main ELSE g.more END
ORDER BY i.position, i.id
"""
_DELETE_IMAGES = "DELETE FROM product_images WHERE tenant_id = $1 AND id = ANY($2::bigint[])"


async def write_rows(scope: Scope, drafts: Sequence[ProductDraft]) -> set[int]:
    """Write the products' own rows, those of new ones with their categories and images, and set the ids of new ones.

    Return the ids of the products that are new or whose row has changed.
    """
    await choose_slugs(scope, drafts)
    written = [draft for draft in drafts if draft.changes_row]
    new = [draft for draft in written if draft.is_new]
    changed = [draft for draft in written if not draft.is_new]
    if changed:
        await _update(scope, changed)
    if new:
        await _insert(scope, new)
    return {draft.product_id for draft in written if draft.product_id is not None}


async def touch_rows(scope: Scope, product_ids: set[int]) -> None:
    """Set the time of the update of products of which only parts have changed."""
    if product_ids:
        await lock_stock(scope, product_ids)
        times = [{"id": product_id, "updated_at": scope.now} for product_id in product_ids]
        await update_rows(scope, "products", times, touch=True)


async def replace_product_categories(scope: Scope, drafts: Sequence[ProductDraft]) -> set[int]:
    """Write the categories of existing products: `category_ids` are all of them; a new main category alone replaces the previous one.

    Return the ids of the products that had others.
    """
    changed = [draft for draft in drafts if draft.current is not None and _sets_categories(draft)]
    if not changed:
        return set()
    removed = json_text([_removed_categories(draft) for draft in changed])
    assigned = [{"product_id": draft.product_id, **row} for draft in changed for row in _category_rows(draft)]
    deleted = {row["product_id"] for row in await fetch(_DELETE_CATEGORIES, scope.store.id, removed)}
    return deleted | await insert_rows(scope, "product_categories", assigned, unique=("product_id", "category_id"))


async def replace_images(scope: Scope, drafts: Sequence[ProductDraft]) -> set[int]:
    """Replace those images of existing products that are in the input: all of them, the main one (position 0), or the additional ones.

    An image whose URL the product has already stays: it keeps its id, and its text and size unless the input has others. Return the ids of
    the products that had other images.
    """
    changed = [
        draft for draft in drafts if draft.current is not None and (_replaces_main(draft) or _replaces_more(draft))
    ]
    if not changed:
        return set()
    stored = await _load_images(scope, changed)
    added, moved = [], []
    for draft in changed:
        for position, image in _positioned_images(draft):
            if current := stored.get((draft.product_id, image["url"])):
                row = current.pop(0)
                if (updated := {**row, **image, "position": position}) != row:
                    moved.append(updated)
            else:
                added.append({"product_id": draft.product_id, **_image_row(position, image)})
    removed = [row for rows in stored.values() for row in rows]
    if removed:
        await execute(_DELETE_IMAGES, scope.store.id, [row["id"] for row in removed])
    await update_rows(scope, "product_images", moved)
    await insert_rows(scope, "product_images", added)
    return {row["product_id"] for row in (*removed, *moved, *added)}


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
    changed = _UPDATED.intersection(chain.from_iterable(draft.columns for draft in drafts))
    names = ", ".join(sorted(changed))
    columns = f"({names}) = (SELECT {names} FROM jsonb_populate_record(p, g.changes))," if names else ""
    changes = [{"id": draft.product_id, "changes": draft.columns} for draft in drafts]
    # A slug may be taken concurrently, which the caller reports.
    run = execute if "slug" in changed else execute_later
    await run(_UPDATE.format(columns=columns), scope.store.id, json_text(changes), scope.now)


async def _insert(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    await check_limit(scope, "products", len(drafts))
    pending = {draft.public_id: draft for draft in drafts}
    while pending:
        inserted = await fetch(
            _INSERT,
            scope.store.id,
            json_text([_new_row(scope, draft) for draft in pending.values()]),
            _rows_of_new(pending.values(), _category_rows),
            _rows_of_new(pending.values(), _image_rows),
        )
        for row in inserted:
            pending.pop(row["public_id"]).product_id = row["id"]
        for draft in pending.values():
            draft.columns["slug"] = f"{_stem(draft.columns['slug'])}-{uuid7().hex[-8:]}"


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


def _rows_of_new(drafts: Iterable[ProductDraft], rows_of: Callable[[ProductDraft], Iterable[dict[str, Any]]]) -> str:
    """Return rows that belong to new products, by the public ids of these."""
    return json_text(
        [{"product": draft.public_id, "public_id": uuid7(), **row} for draft in drafts for row in rows_of(draft)]
    )


async def choose_slugs(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set unique slugs for new products and changed slugs: `tenis`, `tenis-2`, …, `tenis-11`, then a random suffix."""
    changed = [draft for draft in drafts if draft.is_new or "slug" in draft.columns]
    if not changed:
        return
    wanted = [draft.columns.get("slug") or slugify(draft.columns["name"]) or _DEFAULT_SLUG for draft in changed]
    own = [draft.product_id for draft in changed if draft.product_id is not None]
    taken = await _taken_slugs(scope, wanted, own)
    # Most slugs are free: their numbered forms are looked up only for the others, and for those that these may take.
    numbered = {base for base, count in Counter(wanted).items() if count > 1 or base in taken}
    candidates: set[str] = set()
    while more := set(chain.from_iterable(map(_candidates, numbered))) - candidates:
        candidates |= more
        numbered |= more.intersection(wanted)
    if candidates:
        taken |= await _taken_slugs(scope, candidates, own)
    for draft, base in zip(changed, wanted, strict=True):
        available = (candidate for candidate in _candidates(base) if candidate not in taken)
        draft.columns["slug"] = next(available, f"{_stem(base)}-{uuid7().hex[-8:]}")
        taken.add(draft.columns["slug"])


async def _taken_slugs(scope: Scope, slugs: Iterable[str], own: Sequence[int]) -> set[str]:
    return {row["slug"] for row in await fetch(_TAKEN_SLUGS, scope.store.id, list(slugs), own)}


def _candidates(base: str) -> list[str]:
    return [base, *(f"{_stem(base)}-{number}" for number in _SUFFIXES)]


def _stem(base: str) -> str:
    """Return what a suffix follows: with it a slug is no longer than one that is made of a name."""
    return base[:_MAX_STEM].rstrip("-_./")


# --- Categories and images ---------------------------------------------------------------------------------------------------


def _removed_categories(draft: ProductDraft) -> dict[str, Any]:
    """Return which categories to remove: all but those to keep, or only the previous main one."""
    assert draft.current is not None
    if draft.category_ids is not None:
        return {"product_id": draft.product_id, "keep": draft.category_ids, "remove": None}
    return {"product_id": draft.product_id, "keep": None, "remove": draft.current["category_id"]}


def _sets_categories(draft: ProductDraft) -> bool:
    assert draft.current is not None
    current_main = draft.current["category_id"]
    return draft.category_ids is not None or draft.columns.get("category_id", current_main) != current_main


def _category_rows(draft: ProductDraft) -> Iterator[dict[str, Any]]:
    """Yield the categories of a product's input with their positions."""
    category_ids = draft.category_ids
    if category_ids is None:
        main = draft.columns.get("category_id")
        category_ids = [] if main is None else [main]
    for position, category_id in enumerate(category_ids):
        yield {"category_id": category_id, "position": position}


def _image_rows(draft: ProductDraft) -> Iterator[dict[str, Any]]:
    return (_image_row(position, image) for position, image in _positioned_images(draft))


def _positioned_images(draft: ProductDraft) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the images of a product's input with their positions; a main image precedes a list."""
    main, more = draft.main_image or [], draft.more_images or []
    if draft.images is None:
        return [*enumerate(main), *enumerate(more, start=1)]
    return [*enumerate([*main, *draft.images, *more])]


def _image_row(position: int, image: Mapping[str, Any]) -> dict[str, Any]:
    return {"alt": "", "width": 0, "height": 0, "media_id": None, **image, "position": position}


def _replaces_main(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.main_image is not None


def _replaces_more(draft: ProductDraft) -> bool:
    return draft.images is not None or draft.more_images is not None
