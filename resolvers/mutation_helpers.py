"""Shared helpers of mutations: map input fields to domain names and back in errors, and load the record to return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kernel.errors import ValidationFailed
from models import row_reads
from models.queries import Row
from schema.fields import INHERITED, object_type, output_field
from schema.inputs.optional_fields import provided_fields
from schema.scalars import ID
from schema.selection import requested_shape


@object_type("DeletedRecord", "A deleted record.", access=INHERITED)
class DeletedRecordObject:
    """The id of a deleted record."""

    id: ID = output_field("The ID passed as the argument.")


async def load_record(info: Any, number: int) -> Any:
    """Load the changed record with the mutation's selection; None for a caller who may change but not see it."""
    return await row_reads.fetch_one(info.context.scope, requested_shape(info), number)


def deleted_record(id: str) -> Any:
    """Return a `DeletedRecord`."""
    return Row(id=id)


def rename_fields(input: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the provided input fields with the domain's names."""
    return {names.get(name, name): value for name, value in provided_fields(input).items()}


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
