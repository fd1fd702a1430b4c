"""Define variation groups."""

from __future__ import annotations

import strawberry

from domain.catalog.variation_groups import VARIATION_FEATURES, VARIATION_GROUPS
from domain.catalog.variation_members import DEFAULT_SQL
from models.reading.queries import ToMany, ToOne, many_to_many
from schema.fields import INHERITED, column, computed, entity_type, object_type, output_field, relation, unix_seconds
from schema.inputs import input_type, optional_field, required_field
from schema.scalars import ID, JSON, BigInt
from schema.types.catalog import FeatureObject
from schema.types.references import Product

_FEATURES = """(SELECT coalesce(jsonb_agg(jsonb_build_object(
    'feature_id', f.feature_id, 'purpose', f.purpose,
    'is_purpose_create_catalog_item', f.purpose = 'group_catalog_item',
    'is_purpose_create_variation_of_catalog_item', f.purpose <> 'group_catalog_item'
) ORDER BY f.position), '[]'::jsonb) FROM variation_group_features f WHERE f.tenant_id = t.tenant_id AND f.group_id = t.id)"""
_VALUES = """(SELECT coalesce(jsonb_agg(jsonb_build_object('feature_id', v.feature_id, 'variant_id', v.variant_id::text)
    ORDER BY f.position), '[]'::jsonb) FROM variation_group_features f
    JOIN feature_values v ON v.tenant_id = f.tenant_id AND v.feature_id = f.feature_id AND v.product_id = m.product_id
    WHERE f.tenant_id = t.tenant_id AND f.group_id = t.id)"""
_PRODUCTS = f"""(SELECT coalesce(jsonb_agg(jsonb_build_object(
    'product_id', m.product_id, 'parent_product_id', coalesce(nullif({DEFAULT_SQL.format("m")}, m.product_id), 0),
    'company_id', coalesce(p.vendor_id, 0), 'feature_values', {_VALUES}
) ORDER BY m.position, m.product_id), '[]'::jsonb) FROM variation_group_products m
    JOIN products p ON p.tenant_id = m.tenant_id AND p.id = m.product_id AND p.deleted_at IS NULL
    WHERE m.tenant_id = t.tenant_id AND m.group_id = t.id)"""


@entity_type(VARIATION_FEATURES, "VariationGroupFeature")
class VariationGroupFeatureObject:
    """A feature of whose variants the products of a variation group differ."""

    feature: FeatureObject | None = relation(ToOne("feature_id"), "The feature.")
    purpose: str = column(
        description="`group_catalog_item`: products of their own, `group_variation_catalog_item`: variations of one."
    )
    position: int = column(description="The sort position.")


@entity_type(VARIATION_GROUPS, "VariationGroup", key="id", times="created_at updated_at created_unix")
class VariationGroupObject:
    """Products between which a storefront switches, because they differ in the variants of some features."""

    code: str = column(description="The code, unique in the store.")
    features: list[VariationGroupFeatureObject] = relation(
        ToMany("t.group_id", "t.position, t.id"), "The features in which the products differ."
    )
    products: list[Product] = relation(
        many_to_many("variation_group_products", "group_id", "products", "product_id", "l.position, t.id"),
        "The products, defaults of those shown as one first.",
    )
    legacy_features: JSON = computed(_FEATURES, "The features as in the legacy API.", internal=True)
    legacy_products: JSON = computed(_PRODUCTS, "The products as in the legacy API.", internal=True)
    updated_unix: BigInt = unix_seconds("updated_at", "When the group was last updated")


@object_type("VariationGroupResult", access=INHERITED)
class VariationGroupResultObject:
    """A changed variation group, for the legacy API."""

    number: BigInt = output_field("The legacy numeric ID.")
    statuses: JSON = output_field("What became of each product, by its legacy numeric ID.")


@input_type
class VariationGroupFeatureInput:
    """A feature of a variation group."""

    feature_id: ID = strawberry.field(description="The feature.")
    purpose: str | None = optional_field(
        "`group_catalog_item`: products of their own, `group_variation_catalog_item` (default): variations of one."
    )


@input_type
class VariationGroupInput:
    """Changes to a variation group."""

    code: str | None = optional_field("The code, unique in the store.")
    product_ids: list[ID] | None = optional_field("Products to add, which no other group has then.")
    features: list[VariationGroupFeatureInput] | None = optional_field("Ignored.", internal=True)


@input_type
class VariationGroupCreateInput(VariationGroupInput):
    """A new variation group."""

    code: str | None = optional_field("The code, unique in the store; generated if omitted.")
    product_ids: list[ID] | None = required_field("The products, which no other group has then.")
    features: list[VariationGroupFeatureInput] | None = optional_field(
        "The features in which the products differ, of type S, E, B, A or N."
    )
