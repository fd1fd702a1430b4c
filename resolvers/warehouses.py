"""Resolve warehouses, their delivery areas and usergroups."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.catalog.warehouse_stock import set_warehouse_stock
from domain.warehouses import areas, groups
from domain.warehouses.write import WAREHOUSE_RECORDS
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import DeletedRecordObject, deleted_record, rename_error_fields, rename_fields
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID
from schema.types.catalog import ProductObject
from schema.types.warehouses import (
    WarehouseAreaInput,
    WarehouseAreaObject,
    WarehouseInput,
    WarehouseObject,
    WarehouseStockInput,
    WarehouseUsergroupInput,
    WarehouseUsergroupObject,
)

_WRITE = Access(privileges=("manage_warehouses",), app_scope="write_inventory")
_WRITE_STOCK = Access(
    privileges=("manage_products",),
    app_scope="write_products",
    vendor=True,
    note="Vendors can write only their own products, in their own warehouses.",
)
_GROUP_FIELD_NAMES = {"usergroup_id": "usergroup"}
_STOCK_FIELD_NAMES = {"warehouse_id": "warehouse", "combination_id": "combination"}


def _to_domain_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if fields.get("groups") is not None:
        fields["groups"] = [
            {_GROUP_FIELD_NAMES.get(name, name): value for name, value in group.items()} for group in fields["groups"]
        ]
    return fields


@declare
class WarehouseMutations:
    """Mutations of delivery areas and usergroups."""

    @root_field(_WRITE)
    async def warehouse_area_create(
        self, info: Info, warehouse_id: ID, input: WarehouseAreaInput
    ) -> WarehouseAreaObject | None:
        """Add a delivery area to a warehouse."""
        number = await areas.create_area(info.context.scope, warehouse_id, provided_fields(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def warehouse_area_update(
        self, info: Info, warehouse_id: ID, area_id: ID, input: WarehouseAreaInput
    ) -> WarehouseAreaObject | None:
        """Update a delivery area of a warehouse."""
        number = await areas.update_area(info.context.scope, warehouse_id, area_id, provided_fields(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def warehouse_area_delete(self, info: Info, warehouse_id: ID, area_id: ID) -> DeletedRecordObject:
        """Remove a delivery area from a warehouse."""
        await areas.delete_area(info.context.scope, warehouse_id, area_id)
        return deleted_record(area_id)

    @root_field(_WRITE)
    async def warehouse_usergroup_add(
        self, info: Info, warehouse_id: ID, input: WarehouseUsergroupInput
    ) -> WarehouseUsergroupObject | None:
        """Add a usergroup to a warehouse."""
        with rename_error_fields(_GROUP_FIELD_NAMES):
            number = await groups.add_group(info.context.scope, warehouse_id, rename_fields(input, _GROUP_FIELD_NAMES))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def warehouse_usergroup_update(
        self, info: Info, warehouse_id: ID, usergroup_id: ID, input: WarehouseUsergroupInput
    ) -> WarehouseUsergroupObject | None:
        """Update how a warehouse serves a usergroup."""
        number = await groups.update_group(info.context.scope, warehouse_id, usergroup_id, provided_fields(input))
        return await load_record(info, number)

    @root_field(_WRITE)
    async def warehouse_usergroup_remove(self, info: Info, warehouse_id: ID, usergroup_id: ID) -> DeletedRecordObject:
        """Remove a usergroup from a warehouse."""
        await groups.remove_group(info.context.scope, warehouse_id, usergroup_id)
        return deleted_record(usergroup_id)

    @root_field(_WRITE_STOCK)
    async def product_warehouse_stock_set(
        self, info: Info, id: ID, stock: list[WarehouseStockInput]
    ) -> ProductObject | None:
        """Set the stock of a product or its combinations in warehouses, up to 1000 at once; warehouses that aren't named keep theirs.

        `stock` becomes the sum of the active warehouses. Emits `product.updated`.
        """
        with rename_error_fields(_STOCK_FIELD_NAMES):
            entries = [rename_fields(entry, _STOCK_FIELD_NAMES) for entry in stock]
            number = await set_warehouse_stock(info.context.scope, id, entries)
        return await load_record(info, number)


QUERIES = (
    build_entity_queries(WarehouseObject),
    build_entity_queries(WarehouseAreaObject),
    build_entity_queries(WarehouseUsergroupObject),
)
MUTATIONS = (
    build_entity_mutations(
        WarehouseObject,
        WarehouseInput,
        WAREHOUSE_RECORDS,
        _WRITE,
        field_names={"usergroups": "groups"},
        transform=_to_domain_fields,
        create_description="Create a warehouse with its delivery areas and usergroups.",
        delete_description="Delete a warehouse with its delivery areas and usergroups.",
    ),
    WarehouseMutations,
)
