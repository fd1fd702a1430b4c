"""Describe variation groups, whose records have JSON integers and booleans as CS-Cart's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.json_schema import BOOLEAN, INTEGER, STRING, array, enum, named, object_schema, optional_members
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource

PURPOSES = ("group_catalog_item", "group_variation_catalog_item")
_FLAGS = ("is_purpose_create_catalog_item", "is_purpose_create_variation_of_catalog_item")
_FEATURE = named(
    "VariationGroupFeature",
    object_schema(feature_id=INTEGER, purpose=enum(PURPOSES), **dict.fromkeys(_FLAGS, BOOLEAN)),
)
_PRODUCT = named(
    "VariationGroupProduct",
    object_schema(
        product_id=INTEGER,
        parent_product_id=INTEGER,
        company_id=INTEGER,
        feature_values=array(object_schema(feature_id=INTEGER, variant_id=STRING)),
    ),
)
_FEATURE_INPUT = named(
    "VariationGroupFeatureBody", optional_members(feature_id=types.ID.body_schema, purpose=enum(PURPOSES))
)
_NUMBER = types.ValueType(parse_filter=str, schema=INTEGER)


def _parse_features(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse features `{feature_id, purpose}`, in a list or a map."""
    features = []
    for entry in types.as_list(value or []):
        members = entry if isinstance(entry, Mapping) else {"feature_id": entry}
        feature_id = types.parse_id(members.get("feature_id"), f"{label}: feature_id")
        if not isinstance(feature_id, str):
            raise types.unexpected(label, entry, "objects such as {feature_id, purpose}", verb="holds")
        purpose = types.parse_text(members.get("purpose"), f"{label}: purpose")
        features.append({"feature_id": feature_id, **({"purpose": purpose} if purpose else {})})
    return features


_FEATURES = types.ValueType(parse=_parse_features, schema=array(_FEATURE), body_schema=array(_FEATURE_INPUT))

VARIATION_GROUPS = Resource(
    path="product_variations_groups",
    collection="groups",
    key="id",
    display_name="variation group",
    privilege_area="products",
    operations="VariationGroup",
    fields=(
        RecordField("id", _NUMBER, filter_name="id", source="number"),
        RecordField("code", types.TEXT, "code", "code"),
        RecordField("features", _FEATURES, "features", source="legacy_features"),
        RecordField("products", types.ValueType(schema=array(_PRODUCT)), source="legacy_products"),
        RecordField("created_at", types.ValueType(schema=INTEGER), source="created_unix"),
        RecordField("updated_at", types.ValueType(schema=INTEGER), source="updated_unix"),
    ),
    input_fields=(RecordField("product_ids", types.IDS, "product_ids"),),
    message_terms={"products": "product_ids"},
    filters=(
        QueryFilter("product_ids", "product_id", types.ID, keys_rows=False),
        QueryFilter("feature_ids", "feature_id", types.ID, keys_rows=False),
    ),
    sorts={"id": "ID", "code": "CODE"},
)
