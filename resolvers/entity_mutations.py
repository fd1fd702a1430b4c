"""Build the create, update and delete mutations of an entity.

This module doesn't postpone annotations: the resolvers' signatures use types that are local to the factory.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from resolvers.mutation_helpers import (
    DeletedRecordObject,
    deleted_record,
    load_record,
    rename_error_fields,
    rename_fields,
)
from schema.fields import root_field
from schema.scalars import ID


@dataclass(frozen=True)
class EntityMutations:
    """The create, update and delete functions of an entity and their access rules.

    `create(scope, fields)` and `update(scope, id, fields)` are domain functions that return the record's numeric id, `delete(scope, id)`
    returns None. `field_names` maps input field names to the domain's; `transform` converts the renamed fields further.
    `update_access` overrides `access` for updates.
    """

    create: Callable[..., Awaitable[int]]
    update: Callable[..., Awaitable[int]]
    delete: Callable[..., Awaitable[None]]
    access: Access
    descriptions: tuple[str, str, str]
    """The GraphQL descriptions of create, update and delete."""
    field_names: Mapping[str, str] = field(default_factory=dict)
    transform: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    update_access: Access | None = None

    def domain_fields(self, input: Any) -> dict[str, Any]:
        """Return the provided input fields with the domain's names."""
        fields = rename_fields(input, self.field_names)
        return fields if self.transform is None else self.transform(fields)


def build_entity_mutations(type_: Any, singular: str, input_type: Any, mutations: EntityMutations) -> type:
    """Build a class with the mutations `x_create(input)`, `x_update(id, input)` and `x_delete(id)`."""

    async def create(info: Info, input: input_type) -> type_ | None:  # type: ignore[valid-type]
        with rename_error_fields(mutations.field_names):
            number = await mutations.create(info.context.scope, mutations.domain_fields(input))
        return await load_record(info, number)

    async def update(info: Info, id: ID, input: input_type) -> type_ | None:  # type: ignore[valid-type]
        with rename_error_fields(mutations.field_names):
            number = await mutations.update(info.context.scope, id, mutations.domain_fields(input))
        return await load_record(info, number)

    async def delete(info: Info, id: ID) -> DeletedRecordObject:
        await mutations.delete(info.context.scope, id)
        return deleted_record(id)

    create_description, update_description, delete_description = mutations.descriptions
    fields = {
        f"{singular}_create": root_field(mutations.access, create_description)(create),
        f"{singular}_update": root_field(mutations.update_access or mutations.access, update_description)(
            update
        ),
        f"{singular}_delete": root_field(mutations.access, delete_description)(delete),
    }
    name = type_.__strawberry_definition__.name
    return strawberry.type(type(f"{name}Mutations", (), fields))
