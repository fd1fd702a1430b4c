"""Find out, for any number of product drafts at once, what they mean here: whose product, which row, which categories, whose SKU.

Nothing is raised for a single draft: what is wrong is collected in it, so that a bulk import can tell it row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from domain.catalog.product_draft import ProductDraft
from domain.references import CATEGORY, NOT_FOUND, PRODUCT, TAX, VENDOR, look_up, missing_text
from domain.store_settings import setting
from kernel.ids import Reference, parse_reference
from kernel.scope import ActorKind, Scope
from models.database import execute, rows, value

SKU_TAKEN = ("sku_taken", "sku is used by another product of the vendor")

_FIRST_VENDOR = """
SELECT id FROM vendors WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT 1
"""

# Bulk imports exclude each other and every single write; single writes go on side by side, and only those with the same SKU wait.
# Without it two imports could each hold an address (slug) the other one waits for.
_ENTER_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('catalog:' || $1::bigint, 0))"
_ENTER = """
SELECT pg_advisory_xact_lock_shared(hashtextextended('catalog:' || $1::bigint, 0)),
    (SELECT count(pg_advisory_xact_lock(hashtextextended('sku:' || $1::bigint || ':' || s.sku, 0))) FROM unnest($2::text[]) AS s (sku))
"""

# In the order of the ids, as orders lock products too.
_EXISTING = """
SELECT id, public_id, vendor_id, category_id, status, sku, slug, name, stock, tracking FROM products
WHERE tenant_id = $1 AND deleted_at IS NULL AND ($5::bigint IS NULL OR vendor_id = $5)
    AND (id = ANY($2::bigint[]) OR public_id = ANY($3::uuid[]) OR (sku <> '' AND sku = ANY($4::text[])))
ORDER BY id FOR NO KEY UPDATE
"""


async def enter_catalogue(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Wait for imports that are under way, and for writers of the same SKUs, until the end of the transaction."""
    skus = {draft.columns["sku"] for draft in drafts if draft.columns.get("sku")}
    await execute(_ENTER, scope.store.id, sorted(skus))


async def enter_catalogue_alone(scope: Scope) -> None:
    """Keep every other writer of the store's catalogue out until the end of the transaction."""
    await execute(_ENTER_ALONE, scope.store.id)


async def match(
    scope: Scope,
    drafts: Sequence[ProductDraft],
    subjects: Sequence[object | None],
    *,
    by_sku: bool = False,
    check_sku: bool = True,
) -> None:
    """Tie each draft to the product its subject names (None: a new one, or `by_sku` the vendor's with the same SKU), and lock that.

    Settles vendors, SKUs and categories too. A subject that isn't there leaves the code `not_found` under `id`.
    """
    await _settle_vendors(scope, drafts, subjects)
    existing = await _existing(scope, drafts, subjects, by_sku or check_sku)
    by_reference: dict[Reference, Mapping[str, Any]] = {}
    by_code: dict[tuple[int | None, str], Mapping[str, Any]] = {}
    for found in existing:
        by_reference[found["id"]] = by_reference[found["public_id"]] = found
        by_code.setdefault((found["vendor_id"], found["sku"]), found)
    taken: set[int] = set()
    for draft, subject in zip(drafts, subjects, strict=True):
        row: Mapping[str, Any] | None = None
        if subject is not None:
            reference = parse_reference(subject)
            row = by_reference.get(reference) if reference is not None else None
            if row is None:
                draft.wrong["id"] = (NOT_FOUND, missing_text(PRODUCT, [subject]))
        elif by_sku and draft.columns.get("sku"):
            row = by_code.get((draft.columns.get("vendor_id"), draft.columns["sku"]))
        if row is not None:
            draft.product_id, draft.before, draft.public_id = row["id"], row, row["public_id"]
            if row["id"] in taken:
                draft.wrong["id"] = ("duplicate", f"product {row['id']} is named in an earlier row")
            taken.add(row["id"])
    if check_sku:
        _refuse_taken_skus(drafts, by_code)
    await _settle_categories(scope, drafts)
    await _settle_taxes(scope, drafts)


async def _existing(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Iterable[object | None], with_skus: bool
) -> list[Mapping[str, Any]]:
    references = [parse_reference(subject) for subject in subjects if subject is not None]
    numbers = [reference for reference in references if isinstance(reference, int)]
    public_ids = [reference for reference in references if isinstance(reference, UUID)]
    skus = [draft.columns["sku"] for draft in drafts if with_skus and draft.columns.get("sku")]
    if not numbers and not public_ids and not skus:
        return []
    only = scope.actor.company_id if scope.actor.kind is ActorKind.VENDOR else None
    return list(await rows(_EXISTING, scope.store.id, numbers, public_ids, skus, only))


# --- Vendors ---------------------------------------------------------------------------------------------------------------


async def _settle_vendors(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Sequence[object | None]
) -> None:
    """Fill in whose product it is: a vendor's own whatever it says; in the legacy layer, unless said, the store's first vendor."""
    if scope.actor.kind is ActorKind.VENDOR:
        for draft, subject in zip(drafts, subjects, strict=True):
            if subject is None:
                draft.columns["vendor_id"] = scope.actor.company_id
        return
    named = [draft.given["vendor"] for draft in drafts if draft.given.get("vendor") is not None]
    found = await look_up(scope, VENDOR, named) if named else {}
    first = await value(_FIRST_VENDOR, scope.store.id) if scope.family == "legacy" else None
    for draft, subject in zip(drafts, subjects, strict=True):
        if "vendor" in draft.given:
            vendor = draft.given["vendor"]
            if vendor is not None and vendor not in found:
                draft.wrong["vendor"] = (NOT_FOUND, missing_text(VENDOR, [vendor]))
            draft.columns["vendor_id"] = found.get(vendor)
        elif subject is None and first is not None:
            draft.columns["vendor_id"] = first


def _refuse_taken_skus(
    drafts: Sequence[ProductDraft], by_code: Mapping[tuple[int | None, str], Mapping[str, Any]]
) -> None:
    """Note SKUs that another product of the vendor has, stored or earlier in the same import."""
    earlier: set[tuple[int | None, str]] = set()
    for draft in drafts:
        sku = draft.columns.get("sku")
        if not sku:
            continue
        before = draft.before["vendor_id"] if draft.before is not None else None
        code = (draft.columns.get("vendor_id", before), sku)
        owner = by_code.get(code)
        if code in earlier or (owner is not None and owner["id"] != draft.product_id):
            draft.wrong["sku"] = SKU_TAKEN
        earlier.add(code)


# --- Categories ------------------------------------------------------------------------------------------------------------


async def _settle_categories(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Fill in the main category and the places: `categories` are all of them, `category` (else the first) the main one."""
    named = [reference for draft in drafts for reference in _categories_of(draft)]
    found = await look_up(scope, CATEGORY, named) if named else {}
    required = setting(scope, "products_require_category")
    for draft in drafts:
        missing = [reference for reference in _categories_of(draft) if reference not in found]
        if missing:
            draft.wrong["category"] = (NOT_FOUND, missing_text(CATEGORY, missing))
            continue
        _settle_places(draft, found)
        settled = (draft.is_new and "id" not in draft.wrong) or "category_id" in draft.columns
        if required and settled and draft.columns.get("category_id") is None:
            draft.wrong["category"] = ("category_required", "category is required")


async def _settle_taxes(scope: Scope, drafts: Sequence[ProductDraft]) -> None:
    """Fill in the taxes that lie on the products, where they were given."""
    giving = [
        draft for draft in drafts if draft.given.get("taxes") is not None and "taxes" not in draft.wrong
    ]
    named = [reference for draft in giving for reference in draft.given["taxes"]]
    found = await look_up(scope, TAX, named) if named else {}
    for draft in giving:
        missing = [reference for reference in draft.given["taxes"] if reference not in found]
        if missing:
            draft.wrong["taxes"] = (NOT_FOUND, missing_text(TAX, missing))
        draft.taxes = [found[reference] for reference in draft.given["taxes"] if reference in found]


def _categories_of(draft: ProductDraft) -> list[object]:
    several = draft.given.get("categories")
    listed = list(several) if isinstance(several, Sequence) and not isinstance(several, str) else []
    main = draft.given.get("category")
    return listed if main is None else [main, *listed]


def _settle_places(draft: ProductDraft, found: Mapping[object, int]) -> None:
    main = draft.given.get("category")
    if draft.given.get("categories") is not None:
        places = list(dict.fromkeys(found[reference] for reference in _categories_of(draft)))
        draft.places = places
        draft.columns["category_id"] = next(iter(places), None)
    elif "category" in draft.given:
        draft.columns["category_id"] = found[main] if main is not None else None
