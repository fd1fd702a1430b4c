"""Resolve products, categories and features."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any
from uuid import UUID

import strawberry
from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.catalog import products
from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.features import FEATURE_RECORDS
from domain.catalog.read import PRODUCTS
from kernel.errors import ValidationFailed
from models.reading import row_reads
from models.reading.queries import Row, by_ids
from models.reading.response_shapes import ResponseShape, ScalarField
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, rename_error_fields, rename_fields, unless_changed
from schema.declaration import declare
from schema.fields import INHERITED, object_type, output_field, root_field
from schema.scalars import ID
from schema.types.catalog import (
    CategoryInput,
    CategoryObject,
    FeatureInput,
    FeatureObject,
    ProductInput,
    ProductObject,
    ProductUpsertInput,
)

_READ_CATEGORIES = open_to_shoppers("view_catalog", "read_categories")
_READ_FEATURES = open_to_shoppers("view_catalog", "read_products")
_WRITE_PRODUCTS = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="Vendors can write only their own products.",
)
_WRITE_CATEGORIES = Access(privileges=("manage_catalog",), app_scope="write_categories")
_WRITE_FEATURES = Access(privileges=("manage_catalog",), app_scope="write_products")

_PRODUCT_FIELD_NAMES = {
    "vendor_id": "vendor",
    "category_id": "category",
    "category_ids": "categories",
    "tax_ids": "taxes",
    "variation_group_id": "variation_group",
}
_INPUT_NAMES = {domain: fields for fields, domain in _PRODUCT_FIELD_NAMES.items()}
_FEATURE_VALUE_FIELD_NAMES = {"feature_id": "feature", "variant_id": "variant", "variant_ids": "variants"}
_IDS = ResponseShape(PRODUCTS, (ScalarField("number", "t.id"), ScalarField("id", "t.public_id")))


@strawberry.enum(description="The handling of invalid rows in a bulk mutation.")
class ErrorPolicy(Enum):
    """Reject all rows or only the invalid ones."""

    REJECT_ALL = strawberry.enum_value("REJECT_ALL", description="An invalid row rejects all rows.")
    REJECT_FAILED = strawberry.enum_value(
        "REJECT_FAILED", description="Invalid rows are rejected, the others are saved."
    )


@object_type("FieldError", access=INHERITED)
class FieldErrorObject:
    """A validation error of a field."""

    field: str = output_field("The name of the input field.")
    code: str = output_field("A stable error code: `name_required`, `price_invalid`, etc.")


@object_type("BulkError", access=INHERITED)
class BulkErrorObject:
    """The error of a rejected row in a bulk mutation."""

    code: str = output_field("The error code, as in `extensions.code`.")
    message: str = output_field("The error message.")
    fields: list[FieldErrorObject] = output_field("The invalid fields.")


@object_type("BulkResult", access=INHERITED)
class BulkResultObject:
    """The result of a row in a bulk mutation."""

    index: int = output_field("The index of the row in the request, starting at 0.")
    id: ID | None = output_field("The ID of the saved record; null if the row was rejected.")
    created: bool = output_field("Whether the record was created.")
    error: BulkErrorObject | None = output_field("The error, if the row was rejected.")


def _product_fields(input: Any) -> dict[str, Any]:
    fields = rename_fields(input, _PRODUCT_FIELD_NAMES)
    if fields.get("features") is not None:
        fields["features"] = [
            {_FEATURE_VALUE_FIELD_NAMES.get(name, name): value for name, value in feature.items()}
            for feature in fields["features"]
        ]
    return fields


def _category_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if fields.get("parent") == "0":
        fields["parent"] = None
    return fields


@declare
class CatalogMutations:
    """Mutations of products."""

    @root_field(_WRITE_PRODUCTS)
    async def product_create(self, info: Info, input: ProductInput) -> ProductObject | None:
        """Create a product. Emits `product.created`."""
        scope = info.context.scope
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await products.create_product(scope, _product_fields(input), check_sku=scope.family != "legacy")
        return await load_record(info, number)

    @root_field(_WRITE_PRODUCTS)
    @unless_changed(ProductObject)
    async def product_update(self, info: Info, id: ID, input: ProductInput) -> ProductObject | None:
        """Update a product; omitted fields stay unchanged. Emits `product.updated`."""
        scope = info.context.scope
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await products.update_product(
                scope, id, _product_fields(input), check_sku=scope.family != "legacy"
            )
        return await load_record(info, number)

    product_delete = delete_field(
        _WRITE_PRODUCTS,
        "Delete a product; existing orders keep its data. Emits `product.deleted`.",
        products.delete_product,
    )

    @root_field(_WRITE_PRODUCTS)
    async def product_bulk_upsert(
        self, info: Info, rows: list[ProductUpsertInput], error_policy: ErrorPolicy = ErrorPolicy.REJECT_ALL
    ) -> list[BulkResultObject]:
        """Create or update up to 500 products; each row is matched by `id`, then by `sku` within the vendor."""
        scope = info.context.scope
        results = await products.bulk_upsert_products(
            scope,
            [_product_fields(row) for row in rows],
            error_policy=str(error_policy.value),
            check_sku=scope.family != "legacy",
        )
        saved = [result.id for result in results if result.id is not None]
        records = await row_reads.fetch_many(scope, _IDS, conditions=[by_ids(saved)], limit=len(saved))
        public_ids = {row["number"]: row["id"] for row in records}
        return [_bulk_result(result, public_ids) for result in results]  # type: ignore[misc]


def _bulk_result(result: products.RowResult, public_ids: Mapping[int, UUID]) -> Row:
    error = result.error
    return Row(
        index=result.index,
        id=public_ids.get(result.id) if result.id is not None else None,
        created=result.created,
        error=Row(
            code=ValidationFailed.code,
            message=error.message,
            fields=[Row(field=_INPUT_NAMES.get(name, name), code=code) for name, code in error.fields.items()],
        )
        if error
        else None,
    )


QUERIES = (
    build_entity_queries(ProductObject),
    build_entity_queries(CategoryObject, access=_READ_CATEGORIES),
    build_entity_queries(FeatureObject, access=_READ_FEATURES),
)
MUTATIONS = (
    CatalogMutations,
    build_entity_mutations(
        CategoryObject,
        CategoryInput,
        CATEGORY_RECORDS,
        _WRITE_CATEGORIES,
        transform=_category_fields,
        update_description="Update a category; it can't be moved below itself.",
        delete_description="Delete a category without products and subcategories.",
    ),
    build_entity_mutations(
        FeatureObject,
        FeatureInput,
        FEATURE_RECORDS,
        _WRITE_FEATURES,
        field_names={"group_id": "group", "category_ids": "categories"},
        delete_description="Delete a feature and its values on products.",
    ),
)
