"""Build the create, update and delete mutations of an entity.

This module doesn't postpone annotations: the resolvers' signatures use types that are local to the factory.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from strawberry import Info

from auth.access import Access
from domain.records import RecordType
from kernel.text import with_article
from resolvers.engine.complete import load_record
from resolvers.entity_queries import singular_of
from resolvers.mutation_helpers import delete_field, rename_error_fields, rename_fields, unless_changed
from schema.declaration import declare
from schema.fields import root_field
from schema.scalars import ID


class RecordFunctions(NamedTuple):
    """The functions of an entity that no `RecordType` describes."""

    create: Callable[..., Awaitable[int]]
    update: Callable[..., Awaitable[int]]
    delete: Callable[..., Awaitable[None]]


def build_entity_mutations(
    type_: Any,
    input_type: Any,
    records: RecordType | RecordFunctions,
    access: Access,
    *,
    singular: str = "",
    create_type: Any = None,
    update_access: Access | None = None,
    field_names: Mapping[str, str] | None = None,
    transform: Callable[[dict[str, Any]], dict[str, Any]] = lambda fields: fields,
    label: str = "",
    create_description: str = "",
    update_description: str = "",
    delete_description: str = "",
) -> type:
    """Build a class with the mutations `x_create(input)`, `x_update(id, input)` and `x_delete(id)`.

    `x` is `singular`, by default the name of the type in snake case. The domain's names of input fields are the same, without `_id` for the
    references of a `RecordType`, except for `field_names`; `transform` converts the renamed fields further. `create_type` is the input of
    creations, if it is another one, and `update_access` overrides `access` for updates. Descriptions default to sentences with the `label`
    (by default made from `singular`).
    """
    references = records.references if isinstance(records, RecordType) else ()
    names = {f"{name}_id": name for name in references} | dict(field_names or {})
    singular = singular or singular_of(type_)
    label = label or with_article(singular)

    async def create(info: Info, input: create_type or input_type) -> type_ | None:  # type: ignore[valid-type]
        with rename_error_fields(names):
            number = await records.create(info.context.scope, transform(rename_fields(input, names)))
        return await load_record(info, number)

    async def update(info: Info, id: ID, input: input_type) -> type_ | None:  # type: ignore[valid-type]
        with rename_error_fields(names):
            number = await records.update(info.context.scope, id, transform(rename_fields(input, names)))
        return await load_record(info, number)

    fields = {
        f"{singular}_create": root_field(access, create_description or f"Create {label}.")(create),
        f"{singular}_update": root_field(
            update_access or access, update_description or f"Update {label}; omitted fields stay unchanged."
        )(unless_changed(type_)(update)),
        f"{singular}_delete": delete_field(access, delete_description or f"Delete {label}.", records.delete),
    }
    name = type_.__strawberry_definition__.name
    return declare(type(f"{name}Mutations", (), fields))
