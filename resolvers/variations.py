"""Resolve variation groups."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.catalog import variation_groups
from kernel.errors import ValidationFailed
from kernel.text import repr_value
from models.reading.queries import Row
from resolvers.engine.complete import load_record
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
from schema.scalars import ID, JSON, parse_id
from schema.types.catalog import ProductObject
from schema.types.variations import (
    VariationGroupCreateInput,
    VariationGroupInput,
    VariationGroupObject,
    VariationGroupResultObject,
)

_READ = Access(privileges=("view_products",), vendor=True)
_WRITE = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="Vendors can write only groups of their own products.",
)
_NAMES = {"product_ids": "products", "feature_id": "feature"}


def _fields(input: VariationGroupInput) -> dict[str, Any]:
    fields = rename_fields(input, _NAMES)
    if fields.get("features") is not None:
        fields["features"] = [
            {_NAMES.get(name, name): value for name, value in entry.items()} for entry in fields["features"]
        ]
    return fields


def _combinations(combinations: list[JSON]) -> list[dict[object, object]]:
    """Return combinations of features and variants by references; raise ValidationFailed for what is none."""
    parsed = []
    for combination in combinations:
        entries = combination.items() if isinstance(combination, dict) else ()
        references = {parse_id(str(feature)): parse_id(str(variant)) for feature, variant in entries}
        if not references or None in references or None in references.values():
            message = f"combinations holds {repr_value(combination)}; expected objects of feature ID to variant ID"
            raise ValidationFailed(message, field="combinations", code="combinations_invalid")
        parsed.append(references)
    return parsed  # type: ignore[return-value]  # checked above


def _result(written: tuple[int, dict[int, int]]) -> VariationGroupResultObject:
    number, statuses = written
    result: Any = Row(number=number, statuses={str(product): status for product, status in statuses.items()})
    return result  # type: ignore[no-any-return]


@declare
class VariationQueries:
    """Queries for the legacy API."""

    @root_field(_READ, internal=True)
    async def variation_group_called(self, info: Info, id: str) -> VariationGroupObject | None:
        """Return a variation group by its ID or code."""
        return await load_record(info, await variation_groups.find_group(info.context.scope, id))


@declare
class VariationMutations:
    """Mutations of variation groups and their products."""

    @root_field(_WRITE)
    async def variation_group_create(self, info: Info, input: VariationGroupCreateInput) -> VariationGroupObject | None:
        """Create a variation group of products; those that can't be added are left out."""
        with rename_error_fields(_NAMES):
            number, _ = await variation_groups.create_group(info.context.scope, _fields(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def variation_group_update(
        self, info: Info, id: ID, input: VariationGroupInput
    ) -> VariationGroupObject | None:
        """Rename a variation group, or add products; those that can't be added are left out."""
        with rename_error_fields(_NAMES):
            number, _ = await variation_groups.update_group(info.context.scope, id, _fields(input))
        return await load_record(info, number)

    variation_group_delete = delete_field(
        _WRITE, "Delete a variation group; its products stay.", variation_groups.delete_group
    )

    @root_field(_WRITE)
    async def product_variation_detach(self, info: Info, id: ID) -> ProductObject | None:
        """Take a product out of its variation group."""
        return await load_record(info, await variation_groups.detach_variation(info.context.scope, id))

    @root_field(_WRITE)
    async def product_variation_set_default(self, info: Info, id: ID) -> ProductObject | None:
        """Make a product the default of those that are shown as one with it."""
        return await load_record(info, await variation_groups.set_default_variation(info.context.scope, id))

    @root_field(_WRITE)
    async def product_variations_generate(
        self, info: Info, id: ID, combinations: list[JSON]
    ) -> VariationGroupObject | None:
        """Create a product like this one for each combination, an object of feature ID to variant ID, in its variation group."""
        number, _ = await variation_groups.generate_variations(info.context.scope, id, _combinations(combinations))
        return await load_record(info, number)

    @root_field(_WRITE, internal=True)
    async def variation_group_add(self, info: Info, input: VariationGroupCreateInput) -> VariationGroupResultObject:
        """Create a variation group and return what became of each product."""
        with rename_error_fields(_NAMES):
            return _result(await variation_groups.create_group(info.context.scope, _fields(input)))

    @root_field(_WRITE, internal=True)
    async def variation_group_called_update(
        self, info: Info, id: str, input: VariationGroupInput
    ) -> VariationGroupResultObject:
        """Update a variation group by its ID or code."""
        with rename_error_fields(_NAMES):
            return _result(await variation_groups.update_group(info.context.scope, id, _fields(input)))

    @root_field(_WRITE, internal=True)
    async def variation_group_called_delete(self, info: Info, id: str) -> DeletedRecordObject:
        """Delete a variation group by its ID or code."""
        await variation_groups.delete_group(info.context.scope, id)
        return deleted_record(ID(id))

    @root_field(_WRITE, internal=True)
    async def product_variations_add(self, info: Info, id: ID, combinations: list[JSON]) -> VariationGroupResultObject:
        """Generate variations of a product and return what became of each."""
        return _result(await variation_groups.generate_variations(info.context.scope, id, _combinations(combinations)))


QUERIES = (build_entity_queries(VariationGroupObject), VariationQueries)
MUTATIONS = (VariationMutations,)
