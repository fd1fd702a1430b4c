"""Shared helpers of mutations: map input fields to domain names and back in errors, refuse changed records, delete records."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from strawberry import Info

from auth.access import Access
from kernel.clock import format_rfc3339
from kernel.errors import Conflict, ValidationFailed
from kernel.ids import PublicId
from kernel.scope import Scope, requires_uuid
from models.connection import database
from models.reading import row_reads
from models.reading.queries import Entity, Row, by_id
from models.reading.response_shapes import ResponseShape, ScalarField
from schema.fields import INHERITED, object_type, output_field, root_field
from schema.inputs import provided_fields
from schema.scalars import ID, DateTime, parse_id

LINE_FIELD_NAMES = {"product_id": "product"}


@object_type("DeletedRecord", access=INHERITED)
class DeletedRecordObject:
    """A deleted record."""

    id: ID = output_field("The ID passed as the argument.")


def unless_changed(type_: Any) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]:
    """Add the argument `expected_updated_at` to an update of one record of a type, where its records have `updated_at`."""
    if not any(field.name == "updated_at" for field in type_.__strawberry_definition__.fields):
        return lambda update: update
    argument = Parameter("expected_updated_at", Parameter.KEYWORD_ONLY, default=None, annotation=DateTime | None)

    def decorate(update: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(update)
        async def checked(*args: Any, expected_updated_at: datetime | None = None, **kwargs: Any) -> Any:
            if expected_updated_at is None:
                return await update(*args, **kwargs)
            scope = kwargs["info"].context.scope
            async with database.transaction(scope):
                await _reject_changed(scope, type_.__entity__, kwargs["id"], expected_updated_at)
                return await update(*args, **kwargs)

        declared = signature(update)
        checked.__signature__ = declared.replace(parameters=[*declared.parameters.values(), argument])  # type: ignore[attr-defined]
        return checked

    return decorate


async def _reject_changed(scope: Scope, entity: Entity, id: Any, expected: datetime) -> None:
    """Lock a record that the caller sees and raise Conflict unless it was last updated in the second of a time."""
    reference = parse_id(id, numeric=entity.has_numeric_ids)
    if reference is None:
        return  # which the update answers
    condition = by_id(reference)
    lock = f"SELECT t.id FROM {entity.table} t WHERE t.tenant_id = $1 AND {condition.sql.format('$2')} FOR UPDATE"
    await database.fetchval(lock, scope.store.id, *condition.params)
    row = await row_reads.fetch_first(
        scope, ResponseShape(entity, (ScalarField("updated_at", "t.updated_at", "python"),)), condition
    )
    if row is None:
        return
    updated = format_rfc3339(row["updated_at"])
    if updated != format_rfc3339(expected):
        raise Conflict(
            f"the record was updated at {updated}; expected {format_rfc3339(expected)}",
            reason="changed_meanwhile",
            details={"updated_at": updated},
        )


def deleted_record(id: str) -> Any:
    """Return a `DeletedRecord`."""
    return Row(id=id)


def acknowledgement(message: str) -> Any:
    """Return an `Acknowledgement`, or another object that has a message alone."""
    return Row(message=message)


def delete_field(access: Access, description: str, delete: Callable[[Scope, ID], Awaitable[object]]) -> Any:
    """Declare a mutation that deletes a record by its ID, or revokes it."""

    async def resolve(info: Info, id: ID) -> DeletedRecordObject:
        await delete(info.context.scope, id)
        return deleted_record(id)

    return root_field(access, description)(resolve)


def rename_fields(input: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the provided input fields with the domain's names."""
    return {names.get(name, name): value for name, value in provided_fields(input).items()}


def rename_line_fields(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an order line or cart item with the domain's names; its options follow the id rule of the interface."""
    fields = {LINE_FIELD_NAMES.get(name, name): value for name, value in line.items()}
    if isinstance(fields.get("options"), dict) and requires_uuid():
        fields["options"] = {PublicId(option): _public_choice(choice) for option, choice in fields["options"].items()}
    return fields


def _public_choice(choice: object) -> object:
    """Return a variant that a number doesn't name; the text of a text option may be a number."""
    return PublicId(choice) if isinstance(choice, str | int) and not isinstance(choice, bool) else choice


@contextmanager
def rename_error_fields(names: Mapping[str, str]) -> Iterator[None]:
    """Rename fields of validation errors back to the input's names: the domain reports `category` for the input field `category_id`."""
    input_names = {domain: field for field, domain in names.items()}
    try:
        yield
    except ValidationFailed as error:
        error.fields = {input_names.get(name, name): code for name, code in error.fields.items()}
        error.field = input_names.get(error.field or "", error.field)
        raise
