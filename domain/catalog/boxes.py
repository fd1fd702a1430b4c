"""Create, update and delete packaging boxes and their descriptions per language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import (
    MAX_QUANTITY,
    InputField,
    InputValues,
    code_in,
    integer,
    name_text,
    read_fields,
    short_text,
    text,
)
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.boxes import BoxDescription, ProductBox
from models.database import UniqueViolation, transaction
from models.references import BOX, BOX_DESCRIPTION, find, resolve

_LANGUAGE = re.compile(r"[a-z]{2}(-[A-Z]{2})?")


def language(value: object) -> str:
    """Read a language code: two lower-case letters, optionally followed by a country code (`pt`, `pt-BR`)."""
    if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
        raise InvalidValue(f"is {repr_value(value)}; expected a code such as pt or pt-BR")
    return value


BOX_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "height_mm": InputField("height_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "width_mm": InputField("width_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "length_mm": InputField("length_mm", integer(0, MAX_QUANTITY), code="size_invalid"),
    "weight_grams": InputField("weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
    "max_weight_grams": InputField("max_weight_grams", integer(0, MAX_QUANTITY), code="weight_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
}
DESCRIPTION_FIELDS: Mapping[str, InputField] = {
    "lang_code": InputField("lang_code", language, code="lang_code_invalid"),
    "title": InputField("title", short_text),
    "full_description": InputField("full_description", text()),
    "meta_keywords": InputField("meta_keywords", short_text),
    "meta_description": InputField("meta_description", text()),
}


async def create_box(scope: Scope, values: InputValues) -> int:
    """Create a box and return its internal id.

    Keys: `name`*, `height_mm`, `width_mm`, `length_mm` (inside), `weight_grams` (empty), `max_weight_grams` (0: any), `status`, `position`.
    """
    columns = read_fields(BOX_FIELDS, values, creating=True)
    async with transaction(scope):
        box = ProductBox(**columns, created_at=scope.now, updated_at=scope.now)
        await box.save()
        box_id: int = box.id
        await audit.record(scope, "box.created", "product_box", box.public_id)
    return box_id


async def update_box(scope: Scope, box: object, values: InputValues) -> int:
    """Update a box partially and return its internal id."""
    columns = read_fields(BOX_FIELDS, values)
    async with transaction(scope):
        box_id = await find(scope, BOX, box)
        await ProductBox.filter(id=box_id).update(**columns, updated_at=scope.now)
        await audit.record(scope, "box.updated", "product_box", box_id, {"fields": sorted(map(str, values))})
    return box_id


async def delete_box(scope: Scope, box: object) -> None:
    """Soft-delete a box, and with it its descriptions."""
    async with transaction(scope):
        box_id = await find(scope, BOX, box)
        await ProductBox.filter(id=box_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "box.deleted", "product_box", box_id)


async def create_description(scope: Scope, values: InputValues) -> int:
    """Add the description of a box in a language and return its internal id.

    Keys: `box`*, `lang_code` (`pt`), `title`, `full_description`, `meta_keywords`, `meta_description`. Raises ValidationFailed, also for a
    language that the box already has a description in.
    """
    columns = read_fields(DESCRIPTION_FIELDS, values)
    if values.get("box") is None:
        raise ValidationFailed("box_id is required", field="box", code="required")
    async with transaction(scope):
        box_id = await resolve(scope, BOX, values["box"], field="box")
        description = BoxDescription(**columns, box_id=box_id)
        try:
            await description.save()
        except UniqueViolation as error:
            raise _language_taken() from error
        description_id: int = description.id
        await audit.record(scope, "box_description.created", "box_description", description.public_id)
    return description_id


async def update_description(scope: Scope, description: object, values: InputValues) -> int:
    """Update a description partially and return its internal id; its box can't change."""
    columns = read_fields(DESCRIPTION_FIELDS, values)
    async with transaction(scope):
        description_id = await find(scope, BOX_DESCRIPTION, description)
        if columns:
            try:
                await BoxDescription.filter(id=description_id).update(**columns)
            except UniqueViolation as error:
                raise _language_taken() from error
        await audit.record_update(scope, "box_description", description_id, values)
    return description_id


async def delete_description(scope: Scope, description: object) -> None:
    """Delete a description."""
    async with transaction(scope):
        description_id = await find(scope, BOX_DESCRIPTION, description)
        await audit.record(scope, "box_description.deleted", "box_description", description_id)
        await BoxDescription.filter(id=description_id).delete()


def _language_taken() -> ValidationFailed:
    return ValidationFailed(
        "the box is described in that language", field="lang_code", code="lang_code_taken"
    )
