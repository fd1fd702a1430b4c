"""Describe features, and what products have for them: a list below a product, an object within it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import FEATURE_TYPES, SWITCH_STATUSES
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import QueryFilter, Record, RecordField, Resource, id_field
from rest_facade.legacy.resources.variants import entries_of
from rest_facade.legacy.value_types import (
    ABSENT,
    FLAG,
    ID,
    IDS,
    MAX_INTEGER,
    NUMBER,
    PLAIN,
    SMALL_NUMBER,
    TEXT,
    ValueType,
    code,
    id_from,
    ids_from,
    shown_with,
    text_from,
    whole_from,
)


def _take_up(row: Record) -> None:
    """Take the members of the feature and of its variant up into the row."""
    feature, variant = row.pop("feature"), row.pop("variant")
    row |= feature or {"feature_id": 0, "feature_type": "", "description": ""}
    row["variant_id"] = variant["variant_id"] if variant else 0
    row["variants"] = {str(row["variant_id"]): _show_variant(variant)} if variant else {}


_show_variant = row_shower(
    (RecordField("variant_id", NUMBER), RecordField("variant", PLAIN), RecordField("position", NUMBER))
)
_FIELDS = (
    RecordField("feature_id", NUMBER),
    RecordField("feature_type", PLAIN),
    RecordField("description", PLAIN),
    RecordField("value", TEXT),
    RecordField("variant_id", NUMBER),
    RecordField("variants", PLAIN),
)
_show_feature = row_shower(_FIELDS, prepare=_take_up)


def features_shown(values: list[Record]) -> Record:
    """Show a product's features by the feature's id; those the caller may not see are left out."""
    rows = (_show_feature(value) for value in values if value["feature"] is not None)
    return {row["feature_id"]: row for row in rows}


def features_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read `{feature_id: {feature_type, value}}`, `{feature_id: value}` or a list of objects that name their feature.

    The feature's own type decides what a value may be, so `feature_type` is not needed. A `variant_id` goes before the value.
    """
    if isinstance(value, Mapping):
        entries = [(key, entry) for key, entry in value.items()]
    elif isinstance(value, list) or value is None:
        entries = [(None, entry) for entry in value or []]
    else:
        raise Malformed(f"{label} is {shown(value)}; expected an object keyed by feature_id")
    return [_feature_from(key, entry, label) for key, entry in entries]


def _feature_from(key: str | None, entry: Any, label: str) -> dict[str, Any]:
    given = entry if isinstance(entry, Mapping) else {"value": entry}
    named = id_from(given.get("feature_id", key), f"{label}: feature_id")
    if named is None or named is ABSENT:
        raise Malformed(f"{label}: feature_id is required")
    read: dict[str, Any] = {"feature_id": named}
    variant = id_from(given.get("variant_id"), f"{label}: variant_id")
    if variant is not None and variant is not ABSENT:
        read["variant_id"] = variant
    value = given.get("value")
    if isinstance(value, bool):
        value = "Y" if value else "N"
    read["value"] = text_from(value, f"{label}: the value of {named}")
    return read


PRODUCT_FEATURES = Resource(
    path="features",
    key="feature_id",
    thing="feature",
    area="products",
    does=(),
    fields=(
        *_FIELDS,
        RecordField("value_int", shown_with(lambda number: "" if number is None else str(number))),
    ),
    prepare=_take_up,
)


# --- Features themselves -----------------------------------------------------------------------------------------------------


def _variants_shown(variants: list[Record]) -> Record:
    rows = [_show_variant(variant) for variant in variants]
    return {row["variant_id"]: row for row in rows}


def _variants_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read variants: `{variant, position?}` or bare texts, in a list or keyed by variant_id."""
    read = []
    for variant_id, entry in entries_of(value, label, name="variant"):
        variant: dict[str, Any] = {} if variant_id is None else {"id": variant_id}
        if entry.get("variant") is not None:
            variant["name"] = text_from(entry["variant"], f"{label}: variant")
        if entry.get("position") not in (None, ""):
            variant["position"] = whole_from(entry["position"], f"{label}: position", most=MAX_INTEGER)
        read.append(variant)
    return read


def _path_shown(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


FEATURES = Resource(
    path="features",
    key="feature_id",
    thing="feature",
    area="catalog",
    operations="Feature",
    fields=(
        id_field("feature_id"),
        RecordField("description", TEXT, "name", "name"),
        RecordField("feature_type", code(FEATURE_TYPES), "type", "type"),
        RecordField("parent_id", ID, "group_id", "group_id"),
        RecordField("group_id", ID, "group_id", "group_id"),
        # CS-Cart's: numbers with commas between, empty for every category.
        RecordField(
            "categories_path",
            ValueType(show=_path_shown, read=ids_from, seek=str),
            "category_ids",
            "category_id",
        ),
        RecordField("categories_ids", IDS, "category_ids", "category_id"),
        RecordField("status", code(SWITCH_STATUSES), "status", "status"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
        RecordField("prefix", TEXT, "prefix", "prefix"),
        RecordField("suffix", TEXT, "suffix", "suffix"),
        RecordField("comparison", FLAG, "comparison", "comparison"),
        RecordField("display_on_product", FLAG, "display_on_product", "display_on_product"),
        RecordField("display_on_catalog", FLAG, "display_on_catalog", "display_on_catalog"),
        RecordField("variants", ValueType(show=_variants_shown, read=_variants_from), "variants"),
    ),
    required={"description": "description is required"},
    says={"group": "group_id", "categories": "categories_ids", "type": "feature_type"},
    filters=(QueryFilter("category_id", "category_id", ID),),
    sorts={"position": "POSITION", "description": "NAME", "feature_id": "ID"},
    default_sort=("position", "asc"),
)
