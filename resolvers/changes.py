"""Say what every mutation does with what it was given and what it shows afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import strawberry

from kernel.errors import ValidationFailed
from models import reading
from models.reading import Entity, Row
from schema.fields import INHERITED, part
from schema.inputs.given import provided
from schema.scalars import Ident
from schema.selection import selection_below


@part("DeletedRecord", "A record that is no more.", access=INHERITED)
class DeletedRecord:
    """The id of what was deleted."""

    id: Ident = strawberry.field(description="The id that was given.")


async def shown(info: Any, entity: Entity, number: int) -> Any:
    """Read the changed record as the mutation's selection asks; null for a caller who may change it but not see it."""
    return await reading.one(info.context.scope, selection_below(info), number)


def deleted(id: str) -> Any:
    """Show the id of a deleted record."""
    return Row(id=id)


def renamed(given: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Give an input as plain data in the domain's words."""
    return {names.get(name, name): value for name, value in provided(given).items()}


@contextmanager
def words(names: Mapping[str, str]) -> Iterator[None]:
    """Let refusals name fields as the caller wrote them: the domain says `category` where the input says `category_id`."""
    back = {domain: given for given, domain in names.items()}
    try:
        yield
    except ValidationFailed as refusal:
        refusal.fields = {back.get(name, name): code for name, code in refusal.fields.items()}
        refusal.field = back.get(refusal.field or "", refusal.field)
        raise
