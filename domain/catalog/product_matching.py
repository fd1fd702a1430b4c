"""Resolve product drafts in bulk: existing rows, vendors, categories, taxes, variation groups and duplicate SKUs.

Nothing is raised for a single draft: errors are collected in it, so that a bulk import reports them row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain.catalog.availability import IS_COMBINED
from domain.catalog.listing import of_row
from domain.catalog.product_draft import ProductDraft
from domain.catalog.variation_members import FIELD, find_groups
from domain.media.images import resolve_images
from domain.store_settings import setting
from kernel.fields import FieldErrors
from kernel.ids import Reference, parse_reference, split_references
from kernel.product_fields import path_errors
from kernel.scope import ActorKind, Scope
from models.connection.database import execute_later, fetch, fetchval
from models.references import CATEGORY, NOT_FOUND, PRODUCT, TAX, VARIATION_GROUP, VENDOR, find_ids, missing_message

SKU_TAKEN = ("sku_taken", "sku is used by another product of the vendor")

_FIRST_VENDOR = """
SELECT id FROM vendors WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT 1
"""

# Bulk imports exclude each other and all single writes; single writes run concurrently unless they share a SKU. Without this, two imports
# could deadlock on slugs.
# Both return no rows, so that they go with the statement that reads under the lock.
_LOCK_EXCLUSIVELY = "SELECT 1 WHERE pg_advisory_xact_lock(hashtextextended('catalog:' || $1::bigint, 0)) IS NULL"
_LOCK_SHARED = """
SELECT 1 WHERE pg_advisory_xact_lock_shared(hashtextextended('catalog:' || $1::bigint, 0)) IS NULL OR (
    SELECT count(pg_advisory_xact_lock(hashtextextended('sku:' || $1::bigint || ':' || s.sku, 0))) FROM unnest($2::text[]) AS s (sku)
) < 0
"""

# With the columns that the input may change, to compare.
_EXISTING = """
SELECT {columns} FROM products
WHERE tenant_id = $1 AND deleted_at IS NULL AND ($5::bigint IS NULL OR vendor_id = $5)
    AND (id = ANY($2::bigint[]) OR public_id = ANY($3::uuid[]) OR (sku <> '' AND sku = ANY($4::text[])))
ORDER BY id
"""
_IMAGE_PATHS = """
SELECT product_id, url FROM product_images WHERE tenant_id = $1 AND product_id = ANY($2::bigint[]) AND starts_with(url, '/')
"""
# In ascending id order, as orders do.
_LOCK = " FOR NO KEY UPDATE"
_LOCK_MATCHED = f"""
SELECT {{columns}} FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL ORDER BY id{_LOCK}
"""
_IS_COMBINED = f"{of_row(IS_COMBINED, 'products')} AS is_combined"
_COLUMNS = frozenset({
    "id", "public_id", "vendor_id", "category_id", "status", "sku", "slug", "name", "stock", "tracking", "min_quantity", "max_quantity",
})  # fmt: skip


async def lock_catalog(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Wait for running imports and for writers of the same SKUs; locks until the transaction ends."""
    skus = {draft.columns["sku"] for draft in drafts if draft.columns.get("sku")}
    await execute_later(_LOCK_SHARED, scope.store.id, sorted(skus))


async def lock_catalog_exclusively(scope: Scope) -> None:
    """Exclude every other writer of the store's catalog until the transaction ends."""
    await execute_later(_LOCK_EXCLUSIVELY, scope.store.id)


async def match_drafts(
    scope: Scope,
    drafts: Sequence[ProductDraft],
    subjects: Sequence[object | None],
    *,
    by_sku: bool = False,
    check_sku: bool = True,
    lock: bool = True,
) -> None:
    """Match each draft to the product its subject names (None: a new one, or with `by_sku` the vendor's with the same SKU) and lock it.

    Without `lock` those that change are to be locked by `lock_changed`: for callers that exclude other writers of the catalog. Also
    resolves vendors, SKUs, categories and taxes. A missing subject sets the error `not_found` on `id`.
    """
    await _resolve_vendors(scope, drafts, subjects)
    existing = await _load_existing(scope, drafts, subjects, with_skus=by_sku or check_sku, lock=lock)
    by_reference: dict[Reference, Mapping[str, Any]] = {}
    by_sku_key: dict[tuple[int | None, str], Mapping[str, Any]] = {}
    for candidate in existing:
        by_reference[candidate["id"]] = by_reference[candidate["public_id"]] = candidate
        by_sku_key.setdefault((candidate["vendor_id"], candidate["sku"]), candidate)
    matched_ids: set[int] = set()
    for draft, subject in zip(drafts, subjects, strict=True):
        row: Mapping[str, Any] | None = None
        if subject is not None:
            reference = parse_reference(subject)
            row = by_reference.get(reference) if reference is not None else None
            if row is None:
                draft.errors["id"] = (NOT_FOUND, missing_message(PRODUCT, [subject]))
        elif by_sku and draft.columns.get("sku"):
            row = by_sku_key.get((draft.columns.get("vendor_id"), draft.columns["sku"]))
        if row is not None:
            if row["is_combined"]:
                draft.columns.pop("stock", None)  # its own is neither shown nor sold
            draft.product_id, draft.current, draft.public_id = row["id"], row, row["public_id"]
            if row["id"] in matched_ids:
                draft.errors["id"] = ("duplicate", f"product {row['id']} is named in an earlier row")
            matched_ids.add(row["id"])
    if check_sku:
        _check_skus(drafts, by_sku_key)
    await _resolve_categories(scope, drafts)
    await _resolve_taxes(scope, drafts)
    await _resolve_groups(scope, drafts)
    await _resolve_images(scope, drafts)


async def _load_existing(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Iterable[object | None], *, with_skus: bool, lock: bool
) -> list[Mapping[str, Any]]:
    parsed = [parse_reference(subject) for subject in subjects if subject is not None]
    numbers, public_ids = split_references([reference for reference in parsed if reference is not None])
    skus = [draft.columns["sku"] for draft in drafts if with_skus and draft.columns.get("sku")]
    if not numbers and not public_ids and not skus:
        return []
    own_vendor = scope.actor.vendor_id if scope.actor.kind is ActorKind.VENDOR else None
    statement = _with_columns(_EXISTING, drafts) + (_LOCK if lock else "")
    return list(await fetch(statement, scope.store.id, numbers, public_ids, skus, own_vendor))


async def lock_changed(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Lock the products whose rows change, as they are now; one that was deleted meanwhile gets the error `not_found` on `id`."""
    changed = {draft.product_id: draft for draft in drafts if draft.current is not None and draft.changes_row}
    if not changed:
        return
    rows = {row["id"]: row for row in await fetch(_with_columns(_LOCK_MATCHED, drafts), scope.store.id, list(changed))}
    for product_id, draft in changed.items():
        draft.current = rows.get(product_id)
        if draft.current is None:
            draft.errors["id"] = (NOT_FOUND, missing_message(PRODUCT, [draft.public_id]))


def _with_columns(statement: str, drafts: Iterable[ProductDraft]) -> str:
    columns = sorted(_COLUMNS.union(*(draft.columns for draft in drafts)))
    return statement.format(columns=", ".join([*columns, _IS_COMBINED]))


# --- Vendors ---------------------------------------------------------------------------------------------------------------


async def _resolve_vendors(scope: Scope, drafts: Sequence[ProductDraft], subjects: Sequence[object | None]) -> None:
    """Set the vendor: a vendor's own whatever the input; in the legacy API, by default the store's first vendor."""
    if scope.actor.kind is ActorKind.VENDOR:
        for draft, subject in zip(drafts, subjects, strict=True):
            if subject is None:
                draft.columns["vendor_id"] = scope.actor.vendor_id
        return
    references = [draft.values["vendor"] for draft in drafts if draft.values.get("vendor") is not None]
    ids = await find_ids(scope, VENDOR, references) if references else {}
    first_vendor = await fetchval(_FIRST_VENDOR, scope.store.id) if scope.family == "legacy" else None
    for draft, subject in zip(drafts, subjects, strict=True):
        if "vendor" in draft.values:
            vendor = draft.values["vendor"]
            if vendor is not None and vendor not in ids:
                draft.errors["vendor"] = (NOT_FOUND, missing_message(VENDOR, [vendor]))
            draft.columns["vendor_id"] = ids.get(vendor)
        elif subject is None and first_vendor is not None:
            draft.columns["vendor_id"] = first_vendor


def _check_skus(drafts: Sequence[ProductDraft], by_sku_key: Mapping[tuple[int | None, str], Mapping[str, Any]]) -> None:
    """Record an error for SKUs that another product of the vendor has, stored or earlier in the same import."""
    earlier: set[tuple[int | None, str]] = set()
    for draft in drafts:
        sku = draft.columns.get("sku")
        if not sku:
            continue
        current_vendor = draft.current["vendor_id"] if draft.current is not None else None
        key = (draft.columns.get("vendor_id", current_vendor), sku)
        owner = by_sku_key.get(key)
        if key in earlier or (owner is not None and owner["id"] != draft.product_id):
            draft.errors["sku"] = SKU_TAKEN
        earlier.add(key)


async def _resolve_images(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set the file of each image, and record an error for one that isn't there or a path that the product doesn't have already."""
    named = [(draft, name, image) for draft in drafts for name, image in draft.named_images() if not draft.errors]
    errors = await resolve_images(scope, [image for _, _, image in named]) if named else {}
    for index, (member, error) in errors.items():
        draft, name, _ = named[index]
        draft.errors[f"{name}.{member}"] = error
    refused = [index for index, draft in enumerate(drafts) if _path_errors(scope, draft, ())]
    ids = [product_id for index in refused if (product_id := drafts[index].product_id) is not None]
    stored = await fetch(_IMAGE_PATHS, scope.store.id, ids) if ids else ()
    for index in refused:
        draft = drafts[index]
        paths = [row["url"] for row in stored if row["product_id"] == draft.product_id]
        draft.errors |= _path_errors(scope, draft, paths)


def _path_errors(scope: Scope, draft: ProductDraft, stored: Sequence[str]) -> FieldErrors:
    links = [(name, image) for name, image in draft.named_images() if image.get("media_id") is None]
    errors = [path_errors(scope, f"{name}.url", image.get("url", ""), stored) for name, image in links]
    return {field: error for of_image in errors for field, error in of_image.items()}


# --- Categories ------------------------------------------------------------------------------------------------------------


async def _resolve_categories(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set the main category and all categories: `categories` lists all, `category` (else the first) is the main one."""
    references = [reference for draft in drafts for reference in _categories_of(draft)]
    ids = await find_ids(scope, CATEGORY, references) if references else {}
    for draft in drafts:
        missing = [reference for reference in _categories_of(draft) if reference not in ids]
        if missing:
            name = "category" if draft.values.get("category") in missing else "categories"
            draft.errors[name] = (NOT_FOUND, missing_message(CATEGORY, missing))
            continue
        _set_categories(draft, ids)
        is_set = (draft.is_new and "id" not in draft.errors) or "category_id" in draft.columns
        if is_set and draft.columns.get("category_id") is None and setting(scope, "products_require_category"):
            draft.errors["category"] = ("category_required", "category is required")


async def _resolve_taxes(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set the taxes of the products whose input has them."""
    with_taxes = [draft for draft in drafts if draft.values.get("taxes") is not None and "taxes" not in draft.errors]
    references = [reference for draft in with_taxes for reference in draft.values["taxes"]]
    ids = await find_ids(scope, TAX, references) if references else {}
    for draft in with_taxes:
        missing = [reference for reference in draft.values["taxes"] if reference not in ids]
        if missing:
            draft.errors["taxes"] = (NOT_FOUND, missing_message(TAX, missing))
        draft.taxes = [ids[reference] for reference in draft.values["taxes"] if reference in ids]


async def _resolve_groups(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Set the variation groups of the products whose input puts them into one."""
    joining = [draft for draft in drafts if draft.values.get(FIELD) is not None]
    ids = await find_groups(scope, [draft.values[FIELD] for draft in joining]) if joining else {}
    for draft in joining:
        draft.group_id = ids.get(draft.values[FIELD])
        if draft.group_id is None:
            draft.errors[FIELD] = (NOT_FOUND, missing_message(VARIATION_GROUP, [draft.values[FIELD]]))


def _categories_of(draft: ProductDraft) -> list[object]:
    several = draft.values.get("categories")
    listed = list(several) if isinstance(several, Sequence) and not isinstance(several, str) else []
    main = draft.values.get("category")
    return listed if main is None else [main, *listed]


def _set_categories(draft: ProductDraft, ids: Mapping[object, int]) -> None:
    main = draft.values.get("category")
    if draft.values.get("categories") is not None:
        category_ids = list(dict.fromkeys(ids[reference] for reference in _categories_of(draft)))
        draft.category_ids = category_ids
        draft.columns["category_id"] = next(iter(category_ids), None)
    elif "category" in draft.values:
        draft.columns["category_id"] = ids[main] if main is not None else None
