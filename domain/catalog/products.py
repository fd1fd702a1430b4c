"""Make, change and delete products, one at a time or up to 500 at once. One path serves both: a single product is a list of one.

    read      what was given, without the database          (`product_draft`)
    match     which rows, vendors, categories it means      (`product_matching`, `feature_values`)
    refuse    what is wrong, all fields at once
    write     rows, places, pictures, features              (`product_writing`, `feature_values`)
    tell      product.created or product.updated            (`events`)

A vendor reaches only its own products, and what only the shop may decide (vendor, approval) is ignored when a vendor sends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from domain import audit, events
from domain.audit import Entry
from domain.catalog import stock
from domain.catalog.feature_values import Value, read_values, write_values
from domain.catalog.product_draft import ProductDraft, keep_approval, read_draft, refuse_drafts, start_as_new
from domain.catalog.product_matching import enter_catalogue, enter_catalogue_alone, match
from domain.catalog.product_parts import hide_parts
from domain.catalog.product_writing import write_images, write_places, write_rows
from domain.fields import Given
from domain.notifications import write as notifications
from domain.references import PRODUCT, look_up
from domain.store_settings import setting
from domain.taxes.taxes import lay
from kernel.errors import Conflict, NotFound, ValidationFailed
from kernel.scope import ActorKind, Scope
from models.database import UniqueViolation, rows, transaction

MAX_ROWS = 500

# In the order of the ids, as orders lock products too.
_HIDE = """
WITH locked AS (
    SELECT id FROM products
    WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL AND ($4::bigint IS NULL OR vendor_id = $4)
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE products p SET deleted_at = $3, updated_at = $3 FROM locked
WHERE p.tenant_id = $1 AND p.id = locked.id
RETURNING p.id, p.public_id
"""


class BulkErrorPolicy(StrEnum):
    """Say what becomes of the good rows of an import when others are wrong."""

    REJECT_ALL = "REJECT_ALL"
    REJECT_FAILED = "REJECT_FAILED"


@dataclass(frozen=True, slots=True)
class RowError:
    """Say what is wrong with a row: field → code, and a sentence."""

    message: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowResult:
    """Tell what became of one row: the product's internal id, or null when it was not written."""

    index: int
    id: int | None
    created: bool
    error: RowError | None = None


async def create_product(scope: Scope, given: Given, *, check_sku: bool = True) -> int:
    """Make a product and give its internal id.

    Keys: `name`*, `price_cents`*, `sku`, `slug`, `description`, `short_description`, `status`, `compare_at_cents`, `stock`,
    `tracking`, `weight_grams`, `is_edp`, `free_shipping`, `min_quantity`, `max_quantity`, `vendor`, `category` (the main one),
    `categories`, `images [{url, alt, width, height}]`, `main_image`, `more_images`, `features [{feature, value | variant}]`,
    `taxes` (references).

    `check_sku=False` lets a vendor repeat a SKU (the legacy layer may). Raises ValidationFailed with a code for every wrong field
    (`name_required`, `price_invalid`, `status_invalid`, `category_required`, `sku_taken`, `not_found`, …).
    """
    draft = read_draft(scope, given)
    async with transaction(scope):
        await _save(scope, [draft], [None], check_sku=check_sku)
    assert draft.product_id is not None
    return draft.product_id


async def update_product(scope: Scope, product: object, given: Given, *, check_sku: bool = True) -> int:
    """Change a product partially (keys as in `create_product`) and give its internal id.

    `stock` sets what can be sold. `images` and `categories` replace all there are; a `category` alone takes the place of the main
    one. Raises NotFound (for a vendor also where the product is another's) and ValidationFailed.
    """
    draft = read_draft(scope, given)
    async with transaction(scope):
        await _save(scope, [draft], [product], check_sku=check_sku)
    assert draft.product_id is not None
    return draft.product_id


async def delete_product(scope: Scope, product: object) -> None:
    """Hide a product: it is absent everywhere, its address and SKU are free again, and orders go on showing what they sold."""
    _, missing = await delete_products(scope, [product])
    if missing:
        raise NotFound("product")


async def delete_products(scope: Scope, products: Iterable[object]) -> tuple[dict[object, int], list[object]]:
    """Hide several products in one transaction; give the ids of those deleted, by reference, and the references not found."""
    wanted = list(dict.fromkeys(products))
    only = scope.actor.company_id if scope.actor.kind is ActorKind.VENDOR else None
    async with transaction(scope):
        ids = await look_up(scope, PRODUCT, wanted)
        hidden = await rows(_HIDE, scope.store.id, list(ids.values()), scope.now, only)
        public_ids: dict[int, UUID] = {row["id"]: row["public_id"] for row in hidden}
        await hide_parts(scope, public_ids)
        await events.products_deleted(scope, public_ids.values())
        await audit.record_all(
            scope, [Entry("product.deleted", "product", public_id) for public_id in public_ids.values()]
        )
    deleted = {reference: ids[reference] for reference in wanted if ids.get(reference) in public_ids}
    return deleted, [reference for reference in wanted if ids.get(reference) not in public_ids]


async def bulk_upsert_products(
    scope: Scope,
    given_rows: Sequence[Given],
    error_policy: BulkErrorPolicy | str = BulkErrorPolicy.REJECT_ALL,
    *,
    check_sku: bool = True,
) -> list[RowResult]:
    """Make or change up to 500 products in one transaction and tell what became of each row.

    A row is matched by `id`, else by `sku` within its vendor; one that matches nothing is made. With REJECT_ALL one wrong row stops
    all, with REJECT_FAILED only itself. Raises ValidationFailed for more than 500 rows.
    """
    if len(given_rows) > MAX_ROWS:
        raise ValidationFailed(
            f"there are {len(given_rows)} rows; expected at most {MAX_ROWS}", field="rows", code="too_many"
        )
    policy = BulkErrorPolicy(error_policy)
    drafts = [read_draft(scope, given) for given in given_rows]
    subjects = [given.get("id") for given in given_rows]
    async with transaction(scope):
        await enter_catalogue_alone(scope)
        values = await _settle(scope, drafts, subjects, by_sku=True, check_sku=check_sku)
        created = [draft.is_new for draft in drafts]
        good = [place for place, draft in enumerate(drafts) if not draft.wrong]
        if policy is BulkErrorPolicy.REJECT_ALL and len(good) < len(drafts):
            good = []
        await _write(scope, [drafts[place] for place in good], [values.get(place, {}) for place in good])
    written = set(good)
    return [
        RowResult(
            index,
            draft.product_id if index in written else None,
            created[index] and index in written,
            _row_error(draft),
        )
        for index, draft in enumerate(drafts)
    ]


# --- The path all of them take -----------------------------------------------------------------------------------------------


async def _save(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Sequence[object | None], *, check_sku: bool
) -> None:
    await enter_catalogue(scope, drafts if check_sku else ())
    values = await _settle(scope, drafts, subjects, by_sku=False, check_sku=check_sku)
    refuse_drafts(drafts)
    await _write(scope, drafts, [values.get(place, {}) for place in range(len(drafts))])


async def _settle(
    scope: Scope,
    drafts: Sequence[ProductDraft],
    subjects: Sequence[object | None],
    *,
    by_sku: bool,
    check_sku: bool,
) -> dict[int, dict[int, Value]]:
    await match(scope, drafts, subjects, by_sku=by_sku, check_sku=check_sku)
    needs_approval = bool(setting(scope, "vendor_products_need_approval"))
    for draft in drafts:
        if not draft.is_new:
            keep_approval(scope, draft)
        elif "id" not in draft.wrong:
            start_as_new(scope, draft, needs_approval=needs_approval)
    return await read_values(scope, drafts)


async def _write(scope: Scope, drafts: Sequence[ProductDraft], values: Sequence[dict[int, Value]]) -> None:
    if not drafts:
        return
    new = {id(draft) for draft in drafts if draft.is_new}
    try:
        await write_rows(scope, drafts)
    except UniqueViolation as error:
        # Only an address given to an existing product can be taken in this very moment: `write_rows` avoids those that were.
        raise Conflict(
            "the slug was taken by another product meanwhile; try again", reason="slug_taken"
        ) from error
    await write_places(scope, drafts)
    await write_images(scope, drafts)
    taxed = {draft.product_id: draft.taxes for draft in drafts if draft.taxes is not None}
    if taxed:
        await lay(
            scope,
            "product_taxes",
            {product: taxes for product, taxes in taxed.items() if product is not None},
        )
    by_product = {draft.product_id: of_draft for draft, of_draft in zip(drafts, values, strict=True)}
    await write_values(
        scope, {product: given for product, given in by_product.items() if product is not None}
    )
    await notifications.stock_changed(scope, [shelf for draft in drafts for shelf in _shelves(draft)])
    told = await events.products_changed(
        scope,
        {
            draft.product_id: events.PRODUCT_CREATED if id(draft) in new else events.PRODUCT_UPDATED
            for draft in drafts
            if draft.product_id is not None
        },
    )
    await audit.record_all(
        scope,
        [
            Entry("product.created", "product", told[draft.product_id])
            if id(draft) in new
            else Entry(
                "product.updated",
                "product",
                told[draft.product_id],
                {"fields": sorted(map(str, draft.given))},
            )
            for draft in drafts
            if draft.product_id is not None
        ],
    )


def _row_error(draft: ProductDraft) -> RowError | None:
    if not draft.wrong:
        return None
    return RowError(
        "; ".join(sentence for _, sentence in draft.wrong.values()),
        {name: code for name, (code, _) in draft.wrong.items()},
    )


def _shelves(draft: ProductDraft) -> list[notifications.Shelf]:
    """Give the product's shelf when the stock of one that was there, and whose stock is kept, was set."""
    before = draft.before
    if before is None or "stock" not in draft.columns:
        return []
    now = {**before, **draft.columns}
    if now["tracking"] == stock.NOT_KEPT:
        return []
    return [notifications.Shelf(now["name"], now["vendor_id"], before["stock"], now["stock"])]
