"""Assemble what can be asked and done about warehouses."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.warehouses import areas, groups, write
from domain.warehouses.read import WAREHOUSE_AREAS, WAREHOUSE_USERGROUPS, WAREHOUSES
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.given import provided
from schema.inputs.warehouses import WarehouseAreaInput, WarehouseInput, WarehouseUsergroupInput
from schema.scalars import Ident
from schema.types.warehouses import WarehouseAreaObject, WarehouseObject, WarehouseUsergroupObject

_WRITE = Access(privileges=("manage_warehouses",), app_scope="write_inventory")
_GROUP_WORDS = {"usergroup_id": "usergroup"}


def _in_domain_words(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("groups") is not None:
        given["groups"] = [
            {_GROUP_WORDS.get(name, name): value for name, value in group.items()}
            for group in given["groups"]
        ]
    return given


WAREHOUSE_WRITER = Writer(
    create=write.create_warehouse,
    update=write.update_warehouse,
    delete=write.delete_warehouse,
    access=_WRITE,
    words={"vendor_id": "vendor", "usergroups": "groups"},
    adjust=_in_domain_words,
    texts=(
        "Make a warehouse, with its areas and groups if they are given.",
        "Change a warehouse.",
        "Delete a warehouse with all that hangs on it.",
    ),
)


@strawberry.type
class WarehouseMutations:
    """What can be done with what hangs on a warehouse."""

    @root(_WRITE, "Add a delivery area to a warehouse.")
    async def warehouse_area_create(
        self, info: Info, warehouse_id: Ident, input: WarehouseAreaInput
    ) -> WarehouseAreaObject | None:
        """Add an area."""
        made = await areas.create_area(info.context.scope, warehouse_id, provided(input))
        return await shown(info, WAREHOUSE_AREAS, made)

    @root(_WRITE, "Change a delivery area of a warehouse.")
    async def warehouse_area_update(
        self, info: Info, warehouse_id: Ident, area_id: Ident, input: WarehouseAreaInput
    ) -> WarehouseAreaObject | None:
        """Change an area."""
        changed = await areas.update_area(info.context.scope, warehouse_id, area_id, provided(input))
        return await shown(info, WAREHOUSE_AREAS, changed)

    @root(_WRITE, "Remove a delivery area from a warehouse.")
    async def warehouse_area_delete(self, info: Info, warehouse_id: Ident, area_id: Ident) -> DeletedRecord:
        """Remove an area."""
        await areas.delete_area(info.context.scope, warehouse_id, area_id)
        return deleted(area_id)

    @root(_WRITE, "Let a warehouse serve a group of customers.")
    async def warehouse_usergroup_add(
        self, info: Info, warehouse_id: Ident, input: WarehouseUsergroupInput
    ) -> WarehouseUsergroupObject | None:
        """Add a group."""
        with words(_GROUP_WORDS):
            made = await groups.add_group(info.context.scope, warehouse_id, renamed(input, _GROUP_WORDS))
        return await shown(info, WAREHOUSE_USERGROUPS, made)

    @root(_WRITE, "Change how a warehouse serves a group of customers.")
    async def warehouse_usergroup_update(
        self, info: Info, warehouse_id: Ident, usergroup_id: Ident, input: WarehouseUsergroupInput
    ) -> WarehouseUsergroupObject | None:
        """Change a group's place."""
        changed = await groups.update_group(info.context.scope, warehouse_id, usergroup_id, provided(input))
        return await shown(info, WAREHOUSE_USERGROUPS, changed)

    @root(_WRITE, "Let a warehouse no longer serve a group of its own.")
    async def warehouse_usergroup_remove(
        self, info: Info, warehouse_id: Ident, usergroup_id: Ident
    ) -> DeletedRecord:
        """Remove a group."""
        await groups.remove_group(info.context.scope, warehouse_id, usergroup_id)
        return deleted(usergroup_id)


QUERIES = (
    reads(WarehouseObject, WAREHOUSES, "warehouse", "warehouses"),
    reads(WarehouseAreaObject, WAREHOUSE_AREAS, "warehouse_area", "warehouse_areas"),
    reads(WarehouseUsergroupObject, WAREHOUSE_USERGROUPS, "warehouse_usergroup", "warehouse_usergroups"),
)
MUTATIONS = (
    writes(WarehouseObject, WAREHOUSES, "warehouse", WarehouseInput, WAREHOUSE_WRITER),
    WarehouseMutations,
)
