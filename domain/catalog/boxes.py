"""Packaging boxes and their descriptions per language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, code_in, integer, name_text, short_text, text
from kernel.text import InvalidValue, repr_value
from models.references import BOX, resolve
from models.tables.boxes import BoxDescription, ProductBox

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


BOX_RECORDS = RecordType(ProductBox, BOX_FIELDS, audit_subject="product_box", audit_input=True)
"""Inside measures; `weight_grams` is the empty box's, `max_weight_grams` 0 means any. A deleted box hides its descriptions."""


def _check_box(change: Change) -> None:
    if change.is_new and change.values.get("box") is None:
        raise ValidationFailed("box_id is required", field="box", code="required")


async def _set_box(change: Change) -> None:
    if change.is_new:  # the box of a description can't change
        change.columns["box_id"] = await resolve(change.scope, BOX, change.values["box"], field="box")


def _language_taken(_: Change) -> ValidationFailed:
    return ValidationFailed("the box is described in that language", field="lang_code", code="lang_code_taken")


DESCRIPTION_RECORDS = RecordType(
    BoxDescription,
    DESCRIPTION_FIELDS,
    unique={"box_descriptions_language_key": _language_taken},
    audit_name="box_description",
    audit_input=True,
    hard_delete=True,
    check=_check_box,
    prepare=_set_box,
)
