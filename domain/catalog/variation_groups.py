"""Variation groups: products between which a storefront switches, because they differ in the variants of some features."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from domain.catalog.feature_values import (
    INTERCHANGEABLE_TYPES,
    NUMBER_OR_VARIANT,
    load_definitions,
    parse_feature_value,
)
from domain.catalog.product_options import resolve_editable_products
from domain.catalog.products import create_product
from domain.catalog.stock import lock_stock
from domain.catalog.variation_members import (
    CATALOG_ITEM,
    UNCHANGED,
    VARIATION_OF_ITEM,
    add_products,
    detach_product,
    find_group_of,
    find_own_product,
    load_members,
    load_variants,
    lock_group,
    may_change_group,
    set_default,
)
from domain.filters import exact, ids, linked_to, sorts
from domain.visibility import published
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import InputValues, check_count
from kernel.ids import parse_reference
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import UniqueViolation, fetch, fetchrow, fetchval, transaction
from models.reading.queries import Entity
from models.references import FEATURE, PRODUCT, VARIATION_GROUP, find, resolve_all
from models.rows import delete_rows, insert_row, insert_rows, mark_deleted, update_row

PURPOSES = (CATALOG_ITEM, VARIATION_OF_ITEM)
MAX_PRODUCTS = 500
MAX_FEATURES = 10
MAX_COMBINATIONS = 100
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TYPES = (*INTERCHANGEABLE_TYPES, NUMBER_OR_VARIANT)

_OWN = """EXISTS (
    SELECT 1 FROM variation_group_products m JOIN products p ON p.tenant_id = m.tenant_id AND p.id = m.product_id
    WHERE m.tenant_id = t.tenant_id AND m.group_id = t.id AND p.vendor_id = {company})"""

VARIATION_GROUPS = Entity(
    table="variation_groups",
    visible=published(("view_products", "view_catalog"), "read_products", "", vendor=_OWN),
    filters={
        "id": ids("variation groups"),
        **exact("text", "code"),
        "product_id": linked_to(
            "variation_group_products", "group_id", "product_id", "products", "of any of these products"
        ),
        "feature_id": linked_to(
            "variation_group_features", "group_id", "feature_id", "features", "with any of these features"
        ),
    },
    sorts=sorts("id", "code"),
)
# Reached only through a group, whose rows are already filtered.
VARIATION_FEATURES = Entity(
    table="variation_group_features", visible=published(("view_products",), "read_products", "")
)

# Locked, so that they stay as they are until the group has them (`domain.catalog.features`).
_FEATURE_TYPES = """
SELECT id, type FROM features WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL ORDER BY id FOR SHARE
"""
_BY_CODE = "SELECT id FROM variation_groups WHERE tenant_id = $1 AND code = $2 AND deleted_at IS NULL"
# What a generated variation takes from its product; its stock is its own.
_COPIED = (
    "name", "description", "short_description", "price_cents", "compare_at_cents", "status", "weight_grams", "length_mm", "width_mm",
    "height_mm", "shipping_freight_cents", "is_edp", "free_shipping", "tracking", "min_quantity", "max_quantity",
    "meta_keywords", "meta_description",
)  # fmt: skip
_SOURCE = f"""
SELECT {", ".join(_COPIED)}, vendor_id,
    ARRAY(SELECT l.category_id FROM product_categories l WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id
        ORDER BY l.category_id <> coalesce(p.category_id, 0), l.position, l.category_id) AS categories,
    ARRAY(SELECT x.tax_id FROM product_taxes x WHERE x.tenant_id = p.tenant_id AND x.product_id = p.id) AS taxes
FROM products p WHERE p.tenant_id = $1 AND p.id = $2 AND p.deleted_at IS NULL
"""  # names of this module


async def create_group(scope: Scope, values: InputValues) -> tuple[int, dict[int, int]]:
    """Create a group and return its internal id, and what became of each product (`variation_members`).

    Keys: `products`* (references), `code` (default: a new one), `features [{feature, purpose}]`, by default those of which each product
    has another variant. Raises ValidationFailed, also when no product can be added.
    """
    code = read_code(values.get("code")) or f"PV-{secrets.token_hex(5).upper()}"
    async with transaction(scope):
        products = await _resolve_products(scope, values.get("products") or ())
        features = await _read_features(scope, values.get("features"), products)
        group_id = await _insert(scope, code, features)
        results = await add_products(scope, group_id, products)
        if not any(result == 1 for result in results.values()):
            raise ValidationFailed(
                "products can't be added: each needs a variant of every feature, and no two the same ones",
                field="products",
                code="variation_invalid",
            )
        await audit.record(scope, "variation_group.created", "variation_group", group_id, {"code": code})
    return group_id, results


async def update_group(scope: Scope, group: object, values: InputValues) -> tuple[int, dict[int, int]]:
    """Update a group and return its internal id, and what became of each of the `products` that are to be added; `code` renames it."""
    async with transaction(scope):
        group_id = await find_group(scope, group)
        results: dict[int, int] = {}
        if values.get("products"):
            results = await add_products(scope, group_id, await _resolve_products(scope, values["products"]))
        code = read_code(values.get("code"))
        columns: dict[str, Any] = {"code": code} if code else {}
        try:
            changed = await update_row(scope, "variation_groups", group_id, **columns, updated_at=scope.now)
        except UniqueViolation as error:
            raise _taken(code) from error
        if changed or any(result == 1 for result in results.values()):
            await audit.record_update(scope, "variation_group", group_id, values)
    return group_id, results


async def delete_group(scope: Scope, group: object) -> None:
    """Delete a group; its products stay, each on its own."""
    async with transaction(scope):
        group_id = await find_group(scope, group)
        await lock_group(scope, group_id)
        await delete_rows(scope, "variation_group_products", group_id=group_id)
        await audit.record(scope, "variation_group.deleted", "variation_group", group_id)
        await mark_deleted(scope, "variation_groups", group_id)


async def detach_variation(scope: Scope, product: object) -> int:
    """Take a product out of its group, and return its internal id."""
    async with transaction(scope):
        product_id = await find_own_product(scope, product)
        await detach_product(scope, product_id)
        await audit.record(scope, "product.variation_detached", "product", product_id)
    return product_id


async def set_default_variation(scope: Scope, product: object) -> int:
    """Make a product the default of those that are shown as one with it, and return its internal id."""
    async with transaction(scope):
        product_id = await find_own_product(scope, product)
        await set_default(scope, product_id)
        await audit.record(scope, "product.variation_default", "product", product_id)
    return product_id


async def generate_variations(
    scope: Scope, product: object, combinations: Sequence[Mapping[object, object]]
) -> tuple[int, dict[int, int]]:
    """Create a product like this one for each combination of variants (feature to variant), and put them into its group.

    A product in no group begins one with the features of the combinations. A combination that the group has makes no second product, so
    that a request may be repeated. Return the group's internal id and what became of each product.
    """
    check_count(combinations, MAX_COMBINATIONS, "combinations", field="combinations")
    if not combinations or not all(combinations):
        raise ValidationFailed("combinations is required", field="combinations", code="required")
    async with transaction(scope):
        product_id = await find_own_product(scope, product)
        # Of concurrent requests each finds what those before it have made.
        await lock_stock(scope, [product_id])
        source = await fetchrow(_SOURCE, scope.store.id, product_id)
        if source is None:
            raise NotFound(PRODUCT.name)
        group_id = await find_group_of(scope, product_id)
        results: dict[int, int] = {}
        if group_id is None:
            features = [{"feature": feature} for feature in combinations[0]]
            group_id, results = await create_group(scope, {"products": [product_id], "features": features})
        features_of_group, products = await load_members(scope, group_id)
        created: list[int] = []
        for combination, variants in zip(combinations, await _read_variants(scope, combinations), strict=True):
            if not variants.keys() >= set(features_of_group):
                raise ValidationFailed(
                    "combinations: each needs a variant of every feature of the group",
                    field="combinations",
                    code="variation_invalid",
                )
            chosen = tuple(variants[feature] for feature in features_of_group)
            if chosen in products:
                results.setdefault(products[chosen], UNCHANGED)
                continue
            products[chosen] = await create_product(scope, _copy(source, combination))
            created.append(products[chosen])
        return group_id, results | (await add_products(scope, group_id, created) if created else {})


async def find_group(scope: Scope, group: object) -> int:
    """Return the internal id of a group by id or code; raises NotFound, for a vendor also unless it has products, all of them its own."""
    group_id: int | None = None
    if parse_reference(group) is not None or isinstance(group, int):
        group_id = await find(scope, VARIATION_GROUP, group)
    else:
        group_id = await fetchval(_BY_CODE, scope.store.id, str(group))
    if group_id is None:
        raise NotFound(VARIATION_GROUP.name)
    if not await may_change_group(scope, group_id):
        raise NotFound(VARIATION_GROUP.name)
    return group_id


async def _read_variants(scope: Scope, combinations: Sequence[Mapping[object, object]]) -> list[dict[int, int]]:
    """Return the variants of combinations, by the internal ids of features; raises ValidationFailed."""
    named = list(dict.fromkeys(feature for combination in combinations for feature in combination))
    features = await resolve_all(scope, FEATURE, named, field="combinations")
    definitions = await load_definitions(scope, list(set(features.values())))
    read: list[dict[int, int]] = []
    for combination in combinations:
        variants: dict[int, int] = {}
        for feature, variant in combination.items():
            definition = definitions[features[feature]]
            try:
                parsed = parse_feature_value(definition, {"variant": variant})
            except InvalidValue as error:
                message = f"the value of feature {feature} {error}"
                raise ValidationFailed(message, field="combinations", code="feature_invalid") from error
            variants.update((definition.id, each) for each in parsed.variants if isinstance(each, int))
        read.append(variants)
    return read


def _copy(source: Mapping[str, Any], combination: Mapping[object, object]) -> dict[str, Any]:
    features = [{"feature": feature, "variant": variant} for feature, variant in combination.items()]
    return {
        **{name: source[name] for name in _COPIED if source[name] is not None},
        "vendor": source["vendor_id"],
        "categories": list(source["categories"]),
        "taxes": list(source["taxes"]),
        "features": features,
    }


async def _resolve_products(scope: Scope, references: Sequence[object]) -> list[int]:
    if not references:
        raise ValidationFailed("products is required", field="products", code="required")
    check_count(references, MAX_PRODUCTS, "products", field="products")
    resolved = await resolve_editable_products(scope, references, field="products")
    return list(dict.fromkeys(resolved[reference] for reference in references))


async def _insert(scope: Scope, code: str, features: Mapping[int, str]) -> int:
    try:
        group_id: int = await insert_row(
            scope, "variation_groups", code=code, created_at=scope.now, updated_at=scope.now
        )
    except UniqueViolation as error:
        raise _taken(code) from error
    rows = [
        {"group_id": group_id, "feature_id": feature, "purpose": purpose, "position": position}
        for position, (feature, purpose) in enumerate(features.items())
    ]
    await insert_rows(scope, "variation_group_features", rows)
    return group_id


async def _read_features(scope: Scope, value: Any, products: Sequence[int]) -> dict[int, str]:
    """Return the purpose of each feature of a new group; by default of those whose variants distinguish the products."""
    if not value:
        return await _distinguishing_features(scope, products)
    check_count(value, MAX_FEATURES, "features", field="features")
    feature_ids = await resolve_all(scope, FEATURE, [entry.get("feature") for entry in value], field="features")
    types = {row["id"]: row["type"] for row in await fetch(_FEATURE_TYPES, scope.store.id, list(feature_ids.values()))}
    purposes: dict[int, str] = {}
    for entry in value:
        feature_id, purpose = feature_ids[entry["feature"]], entry.get("purpose") or VARIATION_OF_ITEM
        if purpose not in PURPOSES:
            expected = f"features: purpose is {repr_value(purpose)}; expected one of {', '.join(PURPOSES)}"
            raise ValidationFailed(expected, field="features", code="purpose_invalid")
        if feature_id not in types:
            raise NotFound("feature")  # deleted meanwhile
        if types[feature_id] not in _TYPES:
            raise ValidationFailed(
                f"features: one of type {types[feature_id]} has no single variant",
                field="features",
                code="type_invalid",
            )
        purposes[feature_id] = purpose
    return purposes


async def _distinguishing_features(scope: Scope, products: Sequence[int]) -> dict[int, str]:
    variants = await load_variants(scope, products)
    common = set.intersection(*(set(of_product) for of_product in variants.values()))
    distinguishing = [feature for feature in sorted(common) if len({each[feature] for each in variants.values()}) > 1]
    if not distinguishing:
        raise ValidationFailed("features is required", field="features", code="required")
    return dict.fromkeys(distinguishing[:MAX_FEATURES], VARIATION_OF_ITEM)


def read_code(value: Any) -> str:
    """Read the code of a group, empty for none; raises ValidationFailed."""
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or not _CODE.fullmatch(value) or value.isdecimal():
        expected = "1 to 64 letters, digits, '.', '_' and '-', and not digits alone"
        raise ValidationFailed(f"code is {repr_value(value)}; expected {expected}", field="code", code="code_invalid")
    return value


def _taken(code: str) -> ValidationFailed:
    return ValidationFailed(f"code is {code!r}, which another variation group has", field="code", code="code_taken")
