"""Assemble what can be asked and done about the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any
from uuid import UUID

import strawberry
from strawberry import Info

from auth.access import Access
from domain.catalog import categories, features, products
from domain.catalog.read import CATEGORIES, FEATURES, PRODUCTS
from kernel.errors import ValidationFailed
from models import reading
from models.reading import Column, Row, Selection, named
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import INHERITED, part, root
from schema.inputs.catalog import CategoryInput, FeatureInput, ProductInput, ProductUpsertInput
from schema.scalars import Ident
from schema.types.catalog import CategoryObject, FeatureObject, ProductObject

_READ_CATEGORIES = Access(
    privileges=("view_catalog",),
    app_scope="read_categories",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_READ_FEATURES = Access(
    privileges=("view_catalog",),
    app_scope="read_products",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_WRITE_PRODUCTS = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="A vendor writes its own products only.",
)
_WRITE_CATEGORIES = Access(privileges=("manage_catalog",), app_scope="write_categories")
_WRITE_FEATURES = Access(privileges=("manage_catalog",), app_scope="write_products")

_PRODUCT_WORDS = {
    "vendor_id": "vendor",
    "category_id": "category",
    "category_ids": "categories",
    "tax_ids": "taxes",
}
_AS_GIVEN = {domain: given for given, domain in _PRODUCT_WORDS.items()}
_FEATURE_VALUE_WORDS = {"feature_id": "feature", "variant_id": "variant"}
_IDS = Selection(PRODUCTS, (Column("number", "t.id"), Column("id", "t.public_id")))


@strawberry.enum(description="What a bulk change does when some of its rows are wrong.")
class ErrorPolicy(Enum):
    """Choose between all or nothing and the good rows."""

    REJECT_ALL = strawberry.enum_value("REJECT_ALL", description="One wrong row refuses them all.")
    REJECT_FAILED = strawberry.enum_value(
        "REJECT_FAILED", description="Wrong rows are refused, the others are written."
    )


@part("FieldError", "What is wrong with a field.", access=INHERITED)
class FieldError:
    """One field."""

    field: str = strawberry.field(description="The field's name in the input.")
    code: str = strawberry.field(description="A short stable code: `name_required`, `price_invalid`, ….")


@part("BulkError", "Why a row of a bulk change was refused.", access=INHERITED)
class BulkError:
    """One refusal."""

    code: str = strawberry.field(description="The code, as in `extensions.code`.")
    message: str = strawberry.field(description="The sentence.")
    fields: list[FieldError] = strawberry.field(description="The fields that are wrong.")


@part("BulkResult", "What became of a row of a bulk change.", access=INHERITED)
class BulkResult:
    """One row."""

    index: int = strawberry.field(description="The row's place in the request, from 0.")
    id: Ident | None = strawberry.field(description="The record; null when the row was refused.")
    created: bool = strawberry.field(description="Whether the record is new.")
    error: BulkError | None = strawberry.field(description="Why it was refused.")


def _product(input: Any) -> dict[str, Any]:
    given = renamed(input, _PRODUCT_WORDS)
    if given.get("features") is not None:
        given["features"] = [
            {_FEATURE_VALUE_WORDS.get(name, name): value for name, value in feature.items()}
            for feature in given["features"]
        ]
    return given


def _category(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("parent") == "0":
        given["parent"] = None
    return given


@strawberry.type
class CatalogMutations:
    """What can be done with products."""

    @root(_WRITE_PRODUCTS, "Make a product. Fires `product.created`.")
    async def product_create(self, info: Info, input: ProductInput) -> ProductObject | None:
        """Make a product."""
        scope = info.context.scope
        with words(_PRODUCT_WORDS):
            made = await products.create_product(scope, _product(input), check_sku=scope.family != "legacy")
        return await shown(info, PRODUCTS, made)

    @root(_WRITE_PRODUCTS, "Change a product. Fires `product.updated`.")
    async def product_update(self, info: Info, id: Ident, input: ProductInput) -> ProductObject | None:
        """Change a product."""
        scope = info.context.scope
        with words(_PRODUCT_WORDS):
            changed = await products.update_product(
                scope, id, _product(input), check_sku=scope.family != "legacy"
            )
        return await shown(info, PRODUCTS, changed)

    @root(_WRITE_PRODUCTS, "Delete a product; what orders show of it stays. Fires `product.deleted`.")
    async def product_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a product."""
        await products.delete_product(info.context.scope, id)
        return deleted(id)

    @root(
        _WRITE_PRODUCTS,
        "Make or change up to 500 products at once; each row is found by `id`, else by `sku` within the vendor.",
    )
    async def product_bulk_upsert(
        self, info: Info, rows: list[ProductUpsertInput], error_policy: ErrorPolicy = ErrorPolicy.REJECT_ALL
    ) -> list[BulkResult]:
        """Make or change many products."""
        scope = info.context.scope
        results = await products.bulk_upsert_products(
            scope,
            [_product(row) for row in rows],
            error_policy=str(error_policy.value),
            check_sku=scope.family != "legacy",
        )
        written = [result.id for result in results if result.id is not None]
        found = await reading.many(scope, _IDS, conditions=[named(written)], limit=len(written))
        public_ids = {row["number"]: row["id"] for row in found}
        return [_bulk_result(result, public_ids) for result in results]  # type: ignore[misc]


def _bulk_result(result: products.RowResult, public_ids: Mapping[int, UUID]) -> Row:
    refusal = result.error
    return Row(
        index=result.index,
        id=public_ids.get(result.id) if result.id is not None else None,
        created=result.created,
        error=Row(
            code=ValidationFailed.code,
            message=refusal.message,
            fields=[Row(field=_AS_GIVEN.get(name, name), code=code) for name, code in refusal.fields.items()],
        )
        if refusal
        else None,
    )


QUERIES = (
    reads(ProductObject, PRODUCTS, "product", "products", connection=True),
    reads(CategoryObject, CATEGORIES, "category", "categories", access=_READ_CATEGORIES),
    reads(FeatureObject, FEATURES, "feature", "features", access=_READ_FEATURES),
)
CATEGORY_WRITER = Writer(
    create=categories.create_category,
    update=categories.update_category,
    delete=categories.delete_category,
    access=_WRITE_CATEGORIES,
    words={"parent_id": "parent", "vendor_id": "vendor"},
    adjust=_category,
    texts=(
        "Make a category.",
        "Change a category; it can't be moved below itself.",
        "Delete a category that holds neither products nor categories.",
    ),
)
FEATURE_WRITER = Writer(
    create=features.create_feature,
    update=features.update_feature,
    delete=features.delete_feature,
    access=_WRITE_FEATURES,
    words={"group_id": "group", "category_ids": "categories"},
    texts=("Make a feature.", "Change a feature.", "Delete a feature and what products have for it."),
)
MUTATIONS = (
    CatalogMutations,
    writes(CategoryObject, CATEGORIES, "category", CategoryInput, CATEGORY_WRITER),
    writes(FeatureObject, FEATURES, "feature", FeatureInput, FEATURE_WRITER),
)
