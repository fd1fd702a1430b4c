"""Make the three mutations that most entities have: create, update, delete.

No postponed annotations here: the resolvers' signatures are made of types that exist only inside the factory.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from models.reading import Entity
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from schema.fields import root
from schema.inputs.given import provided
from schema.scalars import Ident


@dataclass(frozen=True)
class Writer:
    """Describe how an entity is changed.

    `create(scope, fields)` and `update(scope, id, fields)` are domain functions that give the record's number, `delete(scope, id)` one
    that gives nothing. `words` maps names of the input to the domain's; `adjust` makes of the given fields what the domain takes.
    `update_access` holds where changing asks for another right than making.
    """

    create: Callable[..., Awaitable[int]]
    update: Callable[..., Awaitable[int]]
    delete: Callable[..., Awaitable[None]]
    access: Access
    texts: tuple[str, str, str]
    """What each does, for the schema: create, update, delete."""
    words: Mapping[str, str] = field(default_factory=dict)
    adjust: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    update_access: Access | None = None

    def given(self, fields: Any) -> dict[str, Any]:
        """Give an input in the domain's words."""
        found = renamed(fields, self.words) if self.words else provided(fields)
        return found if self.adjust is None else self.adjust(found)


def writes(type_: Any, entity: Entity, singular: str, input_type: Any, writer: Writer) -> type:
    """Make a class with the mutations `x_create(input)`, `x_update(id, input)` and `x_delete(id)`."""

    async def create(info: Info, input: input_type) -> type_ | None:  # type: ignore[valid-type]
        with words(writer.words):
            made = await writer.create(info.context.scope, writer.given(input))
        return await shown(info, entity, made)

    async def update(info: Info, id: Ident, input: input_type) -> type_ | None:  # type: ignore[valid-type]
        with words(writer.words):
            changed = await writer.update(info.context.scope, id, writer.given(input))
        return await shown(info, entity, changed)

    async def delete(info: Info, id: Ident) -> DeletedRecord:
        await writer.delete(info.context.scope, id)
        return deleted(id)

    of_create, of_update, of_delete = writer.texts
    fields = {
        f"{singular}_create": root(writer.access, of_create)(create),
        f"{singular}_update": root(writer.update_access or writer.access, of_update)(update),
        f"{singular}_delete": root(writer.access, of_delete)(delete),
    }
    name = type_.__strawberry_definition__.name
    return strawberry.type(type(f"{name}Writes", (), fields))
