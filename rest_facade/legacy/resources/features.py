"""Describe features, and the feature values of products: a list below a product, an object within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kernel.codes import FEATURE_TYPES, SWITCH_STATUSES
from kernel.json_schema import (
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    array,
    described,
    map_of,
    named,
    one_of,
    optional_members,
)
from kernel.record_conversion import RecordConversion
from kernel.scope import Scope
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.record_schemas import selected_record
from rest_facade.legacy.reshape import is_cscart, record_renderer
from rest_facade.legacy.resource import (
    IN_CSCART,
    SEARCH,
    STORE_OWNED,
    CombinedFilter,
    NestedList,
    QueryFilter,
    Record,
    RecordField,
    Resource,
    id_field,
    same_names,
    selection_of,
)
from rest_facade.legacy.resources.variants import variant_entries
from rest_facade.legacy.value_schemas import EMPTY_OR_NUMBER, SCALAR, rows_of
from rest_facade.openapi import SelectedValue


def _flatten(row: Record) -> None:
    """Move the members of the feature and of its variant into the row."""
    feature, variant = row.pop("feature"), row.pop("variant")
    chosen = [variant] if variant else row["variants"]
    row |= feature or {"feature_id": 0, "feature_type": "", "description": ""}
    row["variant_id"] = variant["variant_id"] if variant else 0
    row["variant"] = variant["variant"] if variant else ""
    row["variants"] = {str(item["variant_id"]): _render_variant(item) for item in chosen}


_VARIANT = (
    RecordField("variant_id", types.BIGINT, source="number"),
    RecordField("variant", types.RAW, source="name"),
    RecordField("position", types.BIGINT),
)
_render_variant = record_renderer(_VARIANT)
_FIELDS = (
    RecordField("feature_id", types.BIGINT, filter_name="feature_id"),
    RecordField(
        "feature_type",
        replace(types.code(FEATURE_TYPES), schema=SelectedValue("feature.feature_type")),
        filter_name="feature_type",
    ),
    RecordField("description", replace(types.TEXT, schema=STRING), filter_name="description"),
    RecordField("value", types.TEXT, filter_name="value"),
    RecordField("variant_id", types.BIGINT, filter_name="variant_id"),
    RecordField("variant", replace(types.TEXT, schema=STRING), filter_name="variant"),
    RecordField("variants", types.added(map_of(selected_record("FeatureVariant", _VARIANT)))),
)
_VALUE_INT = RecordField(
    "value_int",
    replace(types.BIGINT, render=lambda number: "" if number is None else str(number), schema=EMPTY_OR_NUMBER),
    filter_name="value_int",
)
# What CS-Cart's records show besides.
_CSCART_FIELDS = (
    *(
        RecordField(name, replace(types.TEXT, schema=STRING), permission=IN_CSCART)
        for name in ("internal_name", "prefix", "suffix")
    ),
    RecordField("parent_id", replace(types.BIGINT, schema=STRING), permission=IN_CSCART),
)
_render_feature = record_renderer(_FIELDS, prepare=_flatten)
_render_feature_in_cscart = record_renderer((*_FIELDS, _VALUE_INT, *_CSCART_FIELDS), prepare=_flatten)


def _renderer(render: RecordConversion) -> Callable[[list[Record]], Record]:
    def render_features(values: list[Record]) -> Record:
        """Render a product's features by id; those hidden from the caller are omitted."""
        rows = (render(value) for value in values if value["feature"] is not None)
        return {row["feature_id"]: row for row in rows}

    return render_features


def parse_features(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse `{feature_id: {…}}`, `{feature_id: value}` or a list of objects with a `feature_id`.

    Of an object, `variant_id`, `variants`, `variant` and `value` are read in this order, the first that is not empty; one that has none of
    them changes nothing. `feature_type` is ignored: the feature's own type determines valid values.
    """
    if isinstance(value, Mapping):
        entries = [(key, entry) for key, entry in value.items()]
    elif isinstance(value, list) or value is None:
        entries = [(None, entry) for entry in value or []]
    else:
        raise types.unexpected(label, value, "an object keyed by feature_id")
    return [feature for key, entry in entries if (feature := _parse_feature(key, entry, label)) is not None]


_EMPTY: tuple[Any, ...] = (None, "", 0, "0", [], {})


def _parse_feature(key: str | None, entry: Any, label: str) -> dict[str, Any] | None:
    if isinstance(entry, Mapping):
        members = entry
    else:
        members = {
            "variants" if isinstance(entry, list) and entry else "value": entry or None
            if isinstance(entry, list)
            else entry
        }
    feature_id = types.parse_id(members.get("feature_id", key), f"{label}: feature_id")
    if feature_id is None or feature_id is types.ABSENT:
        raise InvalidValue(f"{label}: feature_id is required")
    feature: dict[str, Any] = {"feature_id": feature_id}
    where = f"{label}: the value of {feature_id}"
    if not any(name in members for name in ("variant_id", "variants", "variant", "value")):
        return None
    if members.get("variant_id") not in _EMPTY:
        return {**feature, "variant_id": types.parse_id(members["variant_id"], f"{label}: variant_id")}
    if members.get("variants") not in _EMPTY:
        return {**feature, **_parse_choices(members["variants"], where)}
    value = members["variant"] if members.get("variant") not in (None, "") else members.get("value")
    if isinstance(value, bool):
        value = "Y" if value else "N"
    return {**feature, "value": types.parse_text(value, where)}


def _parse_choices(value: Any, label: str) -> dict[str, Any]:
    """Parse chosen variants: objects with their ids or names, keyed by id or listed, or ids and names alone.

    Where members say which are `selected`, the others are not.
    """
    entries = list(variant_entries(value, label, name="variant"))
    if any("selected" in members for _, members in entries):
        entries = [entry for entry in entries if entry[1].get("selected") not in (*_EMPTY, False, "N")]
    if entries and all(variant_id is not None for variant_id, _ in entries):
        return {"variant_ids": [variant_id for variant_id, _ in entries]}
    return {"values": [types.parse_text(members.get("variant"), label) or "" for _, members in entries]}


FEATURE_VALUE_INPUT = named(
    "FeatureValueBody",
    optional_members(
        feature_id=types.ID.body_schema,
        variant_id=types.ID.body_schema,
        variant=SCALAR,
        value=SCALAR,
        variants=rows_of(
            one_of(optional_members(variant_id=types.ID.body_schema, variant=STRING, selected=SCALAR), STRING, INTEGER)
        ),
    ),
)
VARIANTS_OF_FEATURES = types.ValueType(
    parse=parse_features, body_schema=described(map_of(one_of(STRING, INTEGER)), "Variant id by feature id.")
)
FEATURES_OF_PRODUCT = types.rendered_by(
    _renderer(_render_feature),
    parse_features,
    schema=described(
        map_of(
            selected_record("ProductFeature", (*_FIELDS, replace(_VALUE_INT, permission=IN_CSCART), *_CSCART_FIELDS))
        ),
        "By `feature_id`.",
    ),
    body_schema=one_of(
        map_of(one_of(FEATURE_VALUE_INPUT, STRING, NUMBER, BOOLEAN, NULL, array(one_of(STRING, INTEGER)))),
        array(FEATURE_VALUE_INPUT),
    ),
)

CSCART_FEATURES_OF_PRODUCT = types.rendered_by(_renderer(_render_feature_in_cscart), schema=FEATURES_OF_PRODUCT.schema)
PRODUCT_FEATURES = Resource(
    path="features",
    privilege_area="products",
    actions=(),
    fields=(*_FIELDS, _VALUE_INT, *_CSCART_FIELDS),
    permissions={IN_CSCART: is_cscart},
    prepare=_flatten,
)


# --- Features ----------------------------------------------------------------------------------------------------------------


def _render_variants(variants: list[Record]) -> Record:
    rows = [_render_variant(variant) for variant in variants]
    return {row["variant_id"]: row for row in rows}


def _parse_variants(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse variants: `{variant, position?}` or plain texts, in a list or keyed by variant_id."""
    variants = []
    for variant_id, entry in variant_entries(value, label, name="variant"):
        variant: dict[str, Any] = {} if variant_id is None else {"id": variant_id}
        if entry.get("variant") is not None:
            variant["name"] = types.parse_text(entry["variant"], f"{label}: variant")
        if entry.get("position") not in (None, ""):
            variant["position"] = types.parse_integer(
                entry["position"], f"{label}: position", maximum=types.MAX_INTEGER
            )
        variants.append(variant)
    return variants


_VARIANT_INPUT = named(
    "FeatureVariantBody",
    optional_members(variant_id=types.ID.body_schema, variant=STRING, position=types.INTEGER.body_schema),
)


def _render_path(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


FEATURE_VARIANTS = Resource(
    path="variants",
    privilege_area="catalog",
    actions=(),
    fields=(
        RecordField("variant_id", types.ID, filter_name="id"),
        RecordField("variant", types.TEXT, filter_name="name"),
        RecordField("position", types.BIGINT, filter_name="position"),
    ),
)

# CS-Cart's purposes of a feature, by the types whose features can have them there.
_PURPOSES = {
    "find_products": ["S", "N", "M", "C"],
    "group_catalog_item": ["S", "N"],
    "group_variation_catalog_item": ["S", "N"],
    "organize_catalog": ["E", "B", "A"],
    "describe_product": ["T", "O", "D"],
}


def _parse_purpose(parameters: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Parse `purpose`, one or several: features of the types that can have any of them."""
    types_ = {letter for name in parameters["purpose"] for letter in _PURPOSES.get(name, ())}
    if not types_:
        raise InvalidValue("no feature has the purpose")
    return {"type": sorted(types_)}


def _name_new(body: Record) -> Record:
    """Name a new feature as administrators see it, if the body has no name for customers."""
    if body.get("description") not in (None, "") or not body.get("internal_name"):
        return body
    return {
        "description" if name == "internal_name" else name: value
        for name, value in body.items()
        if name != "description"
    }


FEATURES = Resource(
    path="features",
    privilege_area="catalog",
    texts=("description", "prefix", "suffix", "variants"),
    fields=(
        id_field("feature_id"),
        RecordField("description", types.TEXT, "name", "name"),
        RecordField("internal_name", types.TEXT, source="name", permission=IN_CSCART),
        RecordField("feature_type", types.code(FEATURE_TYPES), "type", "type"),
        RecordField("parent_id", types.ID, "group_id", "group_id", source="parent_number"),
        RecordField("group_id", types.ID, "group_id", "group_id", source="parent_number"),
        # CS-Cart format: comma-separated numbers, empty for all categories.
        RecordField(
            "categories_path",
            types.ValueType(
                render=_render_path,
                parse=types.parse_ids,
                parse_filter=str,
                schema=STRING,
                body_schema=types.IDS.body_schema,
            ),
            "category_ids",
            "category_id",
        ),
        RecordField("categories_ids", types.IDS, "category_ids", "category_id"),
        RecordField("status", types.code(SWITCH_STATUSES), "status", "status", cscart_type=types.HIDDEN_AS_DISABLED),
        RecordField("position", types.INTEGER, "position", "position"),
        *same_names(types.TEXT, "prefix", "suffix"),
        *same_names(types.FLAG, "comparison", "display_on_product", "display_on_catalog"),
        RecordField(
            "variants",
            types.rendered_by(
                _render_variants,
                _parse_variants,
                schema=map_of(selected_record("FeatureVariant", _VARIANT)),
                body_schema=rows_of(one_of(_VARIANT_INPUT, STRING)),
            ),
            "variants",
            source=f"variants {selection_of(_VARIANT)}",
        ),
        STORE_OWNED,
    ),
    permissions={IN_CSCART: is_cscart},
    required=("description",),
    cscart_new=_name_new,
    message_terms={
        "group": "group_id",
        "categories": "categories_ids",
        "type": "feature_type",
        "variants: name": "variants: variant",
    },
    filters=(
        SEARCH,
        QueryFilter("category_id", "category_id", types.ID),
        QueryFilter("product_id", "product_id", types.ID, keys_rows=False),
        CombinedFilter(("purpose",), _parse_purpose),
    ),
    sorts={"position": "POSITION", "description": "NAME", "feature_id": "ID"},
    subroutes=(NestedList("variants", "FeatureVariants", FEATURE_VARIANTS),),
)
