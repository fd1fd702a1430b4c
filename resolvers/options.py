"""Resolve options, combinations, exceptions, attachments, required products and boxes."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.catalog import attachments, combinations, option_exceptions, options
from domain.catalog.boxes import BOX_RECORDS, DESCRIPTION_RECORDS
from domain.catalog.product_options import find_editable_product
from models.reading import row_reads
from models.reading.queries import by_ids
from models.reading.response_shapes import ResponseShape, ScalarField
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import RecordFunctions, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import (
    DeletedRecordObject,
    delete_field,
    deleted_record,
    rename_error_fields,
    rename_fields,
)
from schema.declaration import declare
from schema.fields import root_field
from schema.scalars import ID, BigInt
from schema.selection import requested_shape
from schema.types.catalog import ProductObject
from schema.types.options import (
    AttachmentInput,
    AttachmentObject,
    BoxDescriptionInput,
    BoxDescriptionObject,
    CombinationInput,
    CombinationObject,
    OptionExceptionInput,
    OptionExceptionObject,
    OptionInput,
    OptionObject,
    ProductBoxInput,
    ProductBoxObject,
)

_WRITE = Access(
    privileges=("manage_catalog",),
    app_scope="write_products",
    vendor=True,
    note="Vendors can write only their own records.",
)
_WRITE_BOXES = Access(privileges=("manage_catalog",), app_scope="write_products")
_READ_HASHES = Access(privileges=("view_catalog",), vendor=True)

_OPTION_FIELD_NAMES = {"product_id": "product", "product_ids": "products", "vendor_id": "vendor"}
_PRODUCT_FIELD_NAMES = {"product_id": "product"}

_OPTIONS = RecordFunctions(options.create_option, options.update_option, options.delete_option)


def _with_choices(input: Any) -> dict[str, Any]:
    """Return the provided fields with `choices` as a mapping of options to variants."""
    fields = rename_fields(input, _PRODUCT_FIELD_NAMES)
    if fields.get("choices") is not None:
        fields["choices"] = {choice["option_id"]: choice["variant_id"] for choice in fields["choices"]}
    return fields


@declare
class CombinationQueries:
    """Queries for the legacy API."""

    @root_field(_READ_HASHES, internal=True)
    async def combination_called(self, info: Info, hash: str, product_id: ID | None = None) -> CombinationObject | None:
        """Return a combination by its hash."""
        number = await combinations.find_combination_by_hash(info.context.scope, hash, product_id)
        return await load_record(info, number)

    @root_field(_READ_HASHES, internal=True)
    async def combination_owner(self, info: Info, product_id: ID) -> BigInt | None:
        """Return the legacy numeric ID of a product whose combinations the caller may see."""
        owner = await find_editable_product(info.context.scope, product_id)
        return None if owner is None else BigInt(owner.id)


@declare
class CombinationMutations:
    """Mutations of combinations, exceptions and required products."""

    @root_field(_WRITE)
    async def combination_create(self, info: Info, input: CombinationInput) -> CombinationObject | None:
        """Create a combination of variants of a product's options."""
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await combinations.create_combination(info.context.scope, _with_choices(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def combination_batch_create(
        self, info: Info, product_id: ID, inputs: list[CombinationInput]
    ) -> list[CombinationObject]:
        """Create up to 500 combinations of a product in one transaction; returned in the order of `inputs`."""
        scope = info.context.scope
        created = await combinations.create_combinations(
            scope, product_id, [_with_choices(fields) for fields in inputs]
        )
        order = {combination.id: index for index, combination in enumerate(created)}
        shape = requested_shape(info)
        keyed = ResponseShape(shape.entity, (*shape.fields, ScalarField("@number", "t.id")))
        rows = await row_reads.fetch_many(scope, keyed, conditions=[by_ids(list(order))], limit=len(order))
        return sorted(rows, key=lambda row: order[row["@number"]])  # type: ignore[arg-type, index, return-value]

    @root_field(_WRITE)
    async def combination_update(
        self, info: Info, id: ID, input: CombinationInput, product_id: ID | None = None
    ) -> CombinationObject | None:
        """Update a combination; with `product_id`, only a combination of that product."""
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await combinations.update_combination(
                info.context.scope, id, _with_choices(input), product=product_id
            )
        return await load_record(info, number)

    @root_field(_WRITE)
    async def combination_delete(self, info: Info, id: ID, product_id: ID | None = None) -> DeletedRecordObject:
        """Delete a combination; existing orders still release its stock."""
        await combinations.delete_combination(info.context.scope, id, product=product_id)
        return deleted_record(id)

    @root_field(_WRITE, internal=True)
    async def combination_called_update(
        self, info: Info, hash: str, input: CombinationInput, product_id: ID | None = None
    ) -> CombinationObject | None:
        """Update a combination by its hash."""
        scope = info.context.scope
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await combinations.find_combination_by_hash(scope, hash, product_id)
            number = await combinations.update_combination(scope, number, _with_choices(input))
        return await load_record(info, number)

    @root_field(_WRITE, internal=True)
    async def combination_called_delete(
        self, info: Info, hash: str, product_id: ID | None = None
    ) -> DeletedRecordObject:
        """Delete a combination by its hash."""
        scope = info.context.scope
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await combinations.find_combination_by_hash(scope, hash, product_id)
        await combinations.delete_combination(scope, number)
        return deleted_record(hash)

    @root_field(_WRITE)
    async def option_exception_create(self, info: Info, input: OptionExceptionInput) -> OptionExceptionObject | None:
        """Create an option exception: a forbidden or an exclusively allowed set of variants."""
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await option_exceptions.create_exception(info.context.scope, _with_choices(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def option_exception_update(
        self, info: Info, id: ID, input: OptionExceptionInput
    ) -> OptionExceptionObject | None:
        """Update an option exception, which keeps its product; omitted fields stay unchanged."""
        with rename_error_fields(_PRODUCT_FIELD_NAMES):
            number = await option_exceptions.update_exception(info.context.scope, id, _with_choices(input))
        return await load_record(info, number)

    option_exception_delete = delete_field(_WRITE, "Delete an option exception.", option_exceptions.delete_exception)

    @root_field(_WRITE)
    async def product_required_products_set(self, info: Info, id: ID, product_ids: list[ID]) -> ProductObject | None:
        """Set the products that must be bought together with a product, replacing the existing list."""
        with rename_error_fields({"product_ids": "required"}):
            number = await attachments.set_required_products(info.context.scope, id, product_ids)
        return await load_record(info, number)


QUERIES = (
    build_entity_queries(OptionObject),
    build_entity_queries(CombinationObject),
    build_entity_queries(OptionExceptionObject),
    build_entity_queries(AttachmentObject),
    build_entity_queries(ProductBoxObject),
    build_entity_queries(BoxDescriptionObject),
    CombinationQueries,
)
MUTATIONS = (
    CombinationMutations,
    build_entity_mutations(
        OptionObject,
        OptionInput,
        _OPTIONS,
        _WRITE,
        field_names=_OPTION_FIELD_NAMES,
        create_description="Create an option of a product, or one shared by several products.",
        update_description="Update an option. Omitted variants are deleted together with their combinations.",
        delete_description="Delete an option with its combinations and exceptions.",
    ),
    build_entity_mutations(
        AttachmentObject,
        AttachmentInput,
        attachments.ATTACHMENT_RECORDS,
        _WRITE,
        field_names=_PRODUCT_FIELD_NAMES,
        create_description="Attach a file to a product.",
    ),
    build_entity_mutations(
        ProductBoxObject,
        ProductBoxInput,
        BOX_RECORDS,
        _WRITE_BOXES,
        label="a box",
        delete_description="Delete a box and its descriptions.",
    ),
    build_entity_mutations(
        BoxDescriptionObject,
        BoxDescriptionInput,
        DESCRIPTION_RECORDS,
        _WRITE_BOXES,
        field_names={"box_id": "box"},
        label="a description",
        create_description="Create the description of a box in a language.",
    ),
)
