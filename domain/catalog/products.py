"""Create, update and delete products, one at a time or up to 500 at once; a single product is a list of one.

    validate  the input, without the database               (`product_draft`)
    match     existing rows, vendors, categories            (`product_matching`, `feature_values`)
    reject    invalid input, all fields at once
    write     rows and parts that differ                    (`product_writing`, `feature_values`)
    emit      product.created or product.updated            (`events`)

A vendor can edit only its own products; fields that only staff may set (vendor, approval) are ignored for vendors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from domain import event_types, events
from domain.catalog import stock
from domain.catalog.feature_values import ParsedFeatureValue, read_feature_values, write_feature_values
from domain.catalog.option_exceptions import set_exception_types
from domain.catalog.product_draft import (
    ProductDraft,
    apply_new_product_rules,
    check_quantities,
    protect_approval_status,
    raise_draft_errors,
    read_draft,
)
from domain.catalog.product_matching import lock_catalog, lock_catalog_exclusively, lock_changed, match_drafts
from domain.catalog.product_parts import delete_product_parts
from domain.catalog.product_writing import replace_images, replace_product_categories, touch_rows, write_rows
from domain.catalog.stock import lock_stock
from domain.catalog.tags import set_tags
from domain.catalog.variation_members import (
    COMMON_FIELDS,
    FIELD,
    MISFIT,
    Misfits,
    find_children,
    place_products,
    reject_misfits,
)
from domain.media.received import store_images
from domain.notifications import write as notifications
from domain.taxes.taxes import set_taxes_in_bulk
from kernel.errors import Conflict, NotFound
from kernel.fields import InputValues, check_count
from kernel.scope import ActorKind, Scope
from models import audit
from models.audit import AuditLogEntry
from models.connection.database import Plans, UniqueViolation, fetch, transaction
from models.references import PRODUCT, find_ids

MAX_ROWS = 500

_SOFT_DELETE = """
UPDATE products SET deleted_at = $3, updated_at = $3
WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL AND ($4::bigint IS NULL OR vendor_id = $4)
RETURNING id, public_id
"""


class BulkErrorPolicy(StrEnum):
    """What happens to the valid rows of an import when others are invalid."""

    REJECT_ALL = "REJECT_ALL"
    REJECT_FAILED = "REJECT_FAILED"


@dataclass(frozen=True, slots=True)
class RowError:
    """The errors of a row: codes by field, and a message."""

    message: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one row: the product's internal id, or null if it was refused; `changed` is False for what the product was already."""

    index: int
    id: int | None
    created: bool
    changed: bool = True
    error: RowError | None = None


async def create_product(scope: Scope, values: InputValues, *, check_sku: bool = True) -> int:
    """Create a product and return its internal id.

    Keys: those of PRODUCT_FIELDS (`name` and `price_cents` are required), `vendor`, `category` (the main one), `categories`, `images [{url,
    alt, width, height}]`, `main_image`, `more_images`, `features [{feature, value | variant}]`, `taxes` (references), `tags`.

    `check_sku=False` lets a vendor repeat a SKU (legacy API only). Raises ValidationFailed with a code for every invalid field
    (`name_required`, `price_invalid`, `status_invalid`, `category_required`, `sku_taken`, `not_found`, …).
    """
    await _store_images(scope, values)
    draft = read_draft(scope, values)
    async with transaction(scope, Plans.REUSED):
        await _save(scope, [draft], [None], check_sku=check_sku)
    assert draft.product_id is not None
    return draft.product_id


async def update_product(scope: Scope, product: object, values: InputValues, *, check_sku: bool = True) -> int:
    """Update a product partially (keys as in `create_product`) and return its internal id.

    `stock` sets the available stock. `images` and `categories` replace all existing ones; a `category` alone replaces the main one. Raises
    NotFound (for a vendor also for another vendor's product) and ValidationFailed.
    """
    await _store_images(scope, values)
    draft = read_draft(scope, values)
    async with transaction(scope, Plans.REUSED):
        await _save(scope, [draft], [product], check_sku=check_sku)
        assert draft.product_id is not None
        await _update_variations(scope, draft.product_id, values)
    return draft.product_id


async def _update_variations(scope: Scope, product_id: int, values: InputValues) -> None:
    """Set what a default product and its variations have in common for these too."""
    common = {name: values[name] for name in COMMON_FIELDS if name in values}
    children = await find_children(scope, product_id) if common else []
    if children:
        await _save(scope, [read_draft(scope, common) for _ in children], children, check_sku=False)


async def _store_images(scope: Scope, values: InputValues) -> None:
    """Store the files that came in place of images."""
    images = [values.get("main_image"), *(values.get("more_images") or ())]
    if any(image and image.get("upload") for image in images):
        await store_images(scope, images)


async def delete_product(scope: Scope, product: object) -> None:
    """Soft-delete a product: its slug and SKU become free, and existing orders keep their lines."""
    _, missing = await delete_products(scope, [product])
    if missing:
        raise NotFound("product")


async def delete_products(scope: Scope, products: Iterable[object]) -> tuple[dict[object, int], list[object]]:
    """Soft-delete several products in one transaction; return the ids of the deleted ones by reference, and the missing references."""
    references = list(dict.fromkeys(products))
    own_vendor = scope.actor.vendor_id if scope.actor.kind is ActorKind.VENDOR else None
    async with transaction(scope):
        ids = await find_ids(scope, PRODUCT, references)
        await lock_stock(scope, ids.values())
        deleted_rows = await fetch(_SOFT_DELETE, scope.store.id, list(ids.values()), scope.now, own_vendor)
        public_ids: dict[int, UUID] = {row["id"]: row["public_id"] for row in deleted_rows}
        await delete_product_parts(scope, public_ids)
        await events.emit_products_deleted(scope, public_ids.values())
        await audit.record_all(
            scope, [AuditLogEntry("product.deleted", "product", public_id) for public_id in public_ids.values()]
        )
    deleted = {reference: ids[reference] for reference in references if ids.get(reference) in public_ids}
    return deleted, [reference for reference in references if ids.get(reference) not in public_ids]


async def bulk_upsert_products(
    scope: Scope,
    rows: Sequence[InputValues],
    error_policy: BulkErrorPolicy | str = BulkErrorPolicy.REJECT_ALL,
    *,
    check_sku: bool = True,
) -> list[RowResult]:
    """Create or update up to 500 products in one transaction and return the result of each row.

    A row is matched by `id`, else by `sku` within its vendor; one without a match is created. With REJECT_ALL one invalid row rejects all,
    with REJECT_FAILED only itself. Raises ValidationFailed for more than 500 rows (docs/reference/graphql.md#bulk).
    """
    check_count(rows, MAX_ROWS, "rows", field="rows")
    policy = BulkErrorPolicy(error_policy)
    drafts = [read_draft(scope, row) for row in rows]
    subjects = [row.get("id") for row in rows]
    async with transaction(scope):
        await lock_catalog_exclusively(scope)
        values = await _match(scope, drafts, subjects, by_sku=True, check_sku=check_sku)
        await lock_changed(scope, [draft for draft in drafts if not draft.errors])
        created = [draft.is_new for draft in drafts]
        written, changed = await _write_valid(scope, drafts, values, policy)
    return [
        RowResult(
            index,
            draft.product_id if index in written else None,
            created=created[index] and index in written,
            changed=index in written and draft.product_id in changed,
            error=_row_error(draft),
        )
        for index, draft in enumerate(drafts)
    ]


async def _write_valid(
    scope: Scope,
    drafts: Sequence[ProductDraft],
    values: Mapping[int, dict[int, ParsedFeatureValue]],
    policy: BulkErrorPolicy,
) -> tuple[set[int], set[int]]:
    """Write the rows that the policy lets through; return their indexes, and the ids of the products that are new or have changed.

    Only what is written shows which products don't fit into their variation groups: these get an error, and the others are written again.
    """
    while True:
        valid = [index for index, draft in enumerate(drafts) if not draft.errors]
        if policy is BulkErrorPolicy.REJECT_ALL and len(valid) < len(drafts):
            valid = []
        writing = [drafts[index] for index in valid]
        try:
            async with transaction(scope):  # a savepoint
                return set(valid), await _write(scope, writing, [values.get(index, {}) for index in valid])
        except Misfits as error:
            _reject_misfits(writing, error)


def _reject_misfits(drafts: Sequence[ProductDraft], misfits: Misfits) -> None:
    """Set the errors of the drafts at fault; new products are none again."""
    for draft in drafts:
        if draft.product_id is not None and draft.product_id in misfits.products:
            draft.errors[FIELD] = (MISFIT, misfits.products[draft.product_id])
        if draft.current is None:
            draft.product_id = None


# --- Shared steps --------------------------------------------------------------------------------------------------------------


async def _save(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Sequence[object | None], *, check_sku: bool
) -> None:
    await lock_catalog(scope, drafts if check_sku else ())
    values = await _match(scope, drafts, subjects, by_sku=False, check_sku=check_sku)
    raise_draft_errors(drafts)
    await _write(scope, drafts, [values.get(index, {}) for index in range(len(drafts))])


async def _match(
    scope: Scope, drafts: Sequence[ProductDraft], subjects: Sequence[object | None], *, by_sku: bool, check_sku: bool
) -> dict[int, dict[int, ParsedFeatureValue]]:
    # An import excludes the others that write what it compares, and locks only what it changes.
    await match_drafts(scope, drafts, subjects, by_sku=by_sku, check_sku=check_sku, lock=not by_sku)
    for draft in drafts:
        check_quantities(scope, draft)
        if not draft.is_new:
            protect_approval_status(scope, draft)
        elif "id" not in draft.errors:
            apply_new_product_rules(scope, draft)
    return await read_feature_values(scope, drafts) if any(draft.features for draft in drafts) else {}


async def _write(
    scope: Scope, drafts: Sequence[ProductDraft], values: Sequence[dict[int, ParsedFeatureValue]]
) -> set[int]:
    """Write the products with their parts, and return the ids of those that are new or have changed."""
    if not drafts:
        return set()
    new = {id(draft) for draft in drafts if draft.is_new}
    types = {
        draft.product_id: draft.columns["exception_type"]
        for draft in drafts
        if draft.product_id is not None and "exception_type" in draft.columns
    }
    if types:
        await set_exception_types(scope, types)
    try:
        written = await write_rows(scope, drafts)
    except UniqueViolation as error:
        # Only the slug of an updated product can be taken concurrently; `write_rows` avoids this for new ones.
        raise Conflict("the slug was taken by another product meanwhile; try again", reason="slug_taken") from error
    changed = written | await replace_product_categories(scope, drafts) | await replace_images(scope, drafts)
    taxed = {
        draft.product_id: draft.taxes for draft in drafts if draft.product_id is not None and draft.taxes is not None
    }
    if taxed:
        changed |= await set_taxes_in_bulk(scope, "product_taxes", taxed)
    tags = {draft.product_id: draft.tags for draft in drafts if draft.product_id is not None and draft.tags is not None}
    if tags:
        changed |= await set_tags(scope, tags)
    by_product = {draft.product_id: of_draft for draft, of_draft in zip(drafts, values, strict=True) if of_draft}
    described: set[int] = set()
    if by_product:
        described = await write_feature_values(
            scope, {product: feature_values for product, feature_values in by_product.items() if product is not None}
        )
        changed |= described
    groups = {
        draft.product_id: draft.group_id for draft in drafts if draft.product_id is not None and FIELD in draft.values
    }
    changed |= await place_products(scope, groups) if groups else set()
    refitted = {
        draft.product_id
        for draft in drafts
        if draft.product_id is not None
        and draft.current is not None
        and (draft.changes_vendor or draft.product_id in described)
    }
    if refitted:
        await reject_misfits(scope, refitted)
    await touch_rows(scope, changed - written)
    await _announce(scope, [draft for draft in drafts if draft.product_id in changed], new)
    return changed


async def _announce(scope: Scope, drafts: Sequence[ProductDraft], new: set[int]) -> None:
    """Notify of low stock, emit the events and write the audit log; `new` are the identities of the drafts of new products."""
    if low := [level for draft in drafts for level in _low_stock(scope, draft)]:
        await notifications.notify_low_stock(scope, low)
    names = {
        draft.product_id: event_types.PRODUCT_CREATED if id(draft) in new else event_types.PRODUCT_UPDATED
        for draft in drafts
        if draft.product_id is not None
    }
    if not names:
        return
    await events.emit_products_changed(scope, names)
    await audit.record_all(
        scope,
        [
            AuditLogEntry("product.created", "product", draft.public_id)
            if id(draft) in new
            else AuditLogEntry(
                "product.updated", "product", draft.public_id, {"fields": sorted(map(str, draft.values))}
            )
            for draft in drafts
            if draft.product_id is not None
        ],
    )


def _row_error(draft: ProductDraft) -> RowError | None:
    if not draft.errors:
        return None
    return RowError(
        "; ".join(sentence for _, sentence in draft.errors.values()),
        {name: code for name, (code, _) in draft.errors.items()},
    )


def _low_stock(scope: Scope, draft: ProductDraft) -> list[notifications.LowStock]:
    """Return the stock of an existing, tracked product if it was set so that it has become low."""
    current = draft.current
    if current is None or "stock" not in draft.columns:
        return []
    updated = {**current, **draft.columns}
    if updated["tracking"] == stock.UNTRACKED or not stock.becomes_low(scope, current["stock"], updated["stock"]):
        return []
    return [notifications.LowStock(updated["name"], updated["vendor_id"], updated["stock"])]
