"""The products of variation groups: which may be in one, which of them are shown as one product, and what these have in common.

Each product has a variant of every feature of its group, and no two have the same ones. Products with the same variants of the features
whose purpose is `group_catalog_item` are shown as one product: its default is the first of them by position, the parent of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from domain.catalog.stock import lock_stock
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.scope import ActorKind, Scope
from models.connection.database import execute, fetch, fetchrow, fetchval
from models.references import PRODUCT, VARIATION_GROUP, find, find_ids
from models.rows import delete_rows, insert_rows

CATALOG_ITEM, VARIATION_OF_ITEM = "group_catalog_item", "group_variation_catalog_item"
"""The purposes of a group's feature: its variants are products of their own, or variations of one product."""

# What became of a product that was to be added, as CS-Cart's API numbers it (docs/reference/legacy.md#variation-groups).
UNCHANGED, ADDED, OTHER_VENDOR, SAME_VARIANTS, NO_VARIANT = 0, 1, 253, 254, 255
FIELD, MISFIT = "variation_group", "variation_invalid"
_MESSAGES: Mapping[int, str] = {
    OTHER_VENDOR: "has products of another vendor",
    SAME_VARIANTS: "has a product with the same variants",
    NO_VARIANT: "has a feature of which the product has no variant",
}
COMMON_FIELDS = (
    "description", "short_description", "category", "categories", "taxes", "meta_keywords", "meta_description", "free_shipping", "is_edp",
)  # fmt: skip
"""The fields that an update of a default product also sets for the variations of it; the others are a product's own."""

_VARIANTS = """
SELECT v.product_id, v.feature_id, v.variant_id FROM feature_values v
WHERE v.tenant_id = $1 AND v.product_id = ANY($2::bigint[]) AND v.variant_id IS NOT NULL
"""
_FEATURES = """
SELECT feature_id FROM variation_group_features WHERE tenant_id = $1 AND group_id = $2 ORDER BY position
"""
# The group's row is locked, so that concurrent changes can't add products with the same variants.
_LOCK_GROUP = "SELECT id FROM variation_groups WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE"
_LOCK_GROUPS_OF = """
SELECT g.id FROM variation_groups g WHERE g.tenant_id = $1 AND g.deleted_at IS NULL AND g.id IN (
    SELECT m.group_id FROM variation_group_products m WHERE m.tenant_id = $1 AND m.product_id = ANY($2::bigint[])
) ORDER BY g.id FOR UPDATE
"""
_MEMBERS = """
SELECT m.product_id, m.position, p.vendor_id FROM variation_group_products m
JOIN products p ON p.tenant_id = m.tenant_id AND p.id = m.product_id
WHERE m.tenant_id = $1 AND m.group_id = $2 AND p.deleted_at IS NULL ORDER BY m.position, m.product_id
"""
_HAS_ONLY = """
SELECT bool_and(p.vendor_id IS NOT DISTINCT FROM $3) FROM variation_group_products m
JOIN products p ON p.tenant_id = m.tenant_id AND p.id = m.product_id WHERE m.tenant_id = $1 AND m.group_id = $2
"""
_VENDORS = "SELECT id, vendor_id FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND deleted_at IS NULL"
_GROUP_OF = "SELECT group_id FROM variation_group_products WHERE tenant_id = $1 AND product_id = $2"
_LEAVE = """
DELETE FROM variation_group_products WHERE tenant_id = $1 AND product_id = ANY($2::bigint[]) RETURNING product_id
"""
_SET_DEFAULT = """
UPDATE variation_group_products SET position = CASE product_id WHEN $3 THEN $4 ELSE position + 1 END
WHERE tenant_id = $1 AND group_id = $2 AND (product_id = $3 OR position >= $4)
"""

# The default of the products shown as one with the member {0} of its group.
DEFAULT_SQL = """(SELECT d.product_id FROM variation_group_products d
    JOIN products dp ON dp.tenant_id = d.tenant_id AND dp.id = d.product_id AND dp.deleted_at IS NULL
    WHERE d.tenant_id = {0}.tenant_id AND d.group_id = {0}.group_id AND NOT EXISTS (
        SELECT FROM variation_group_features g
        LEFT JOIN feature_values a ON a.tenant_id = g.tenant_id AND a.product_id = d.product_id AND a.feature_id = g.feature_id
        LEFT JOIN feature_values b ON b.tenant_id = g.tenant_id AND b.product_id = {0}.product_id AND b.feature_id = g.feature_id
        WHERE g.tenant_id = {0}.tenant_id AND g.group_id = {0}.group_id AND g.purpose = 'group_catalog_item'
            AND a.variant_id IS DISTINCT FROM b.variant_id
    ) ORDER BY d.position, d.product_id LIMIT 1)"""
_CHILDREN = f"""
SELECT m.product_id FROM variation_group_products m JOIN variation_group_products own
    ON own.tenant_id = m.tenant_id AND own.group_id = m.group_id AND own.product_id = $2
WHERE m.tenant_id = $1 AND m.product_id <> $2 AND {DEFAULT_SQL.format("m")} = $2 ORDER BY m.product_id
"""


class Misfits(ValidationFailed):
    """Products don't fit into their groups; `products` says why, by product, and the message is the first reason."""

    def __init__(self, products: Mapping[int, str]) -> None:
        super().__init__(next(iter(products.values())), field=FIELD, code=MISFIT)
        self.products = products


async def find_own_product(scope: Scope, product: object) -> int:
    """Return the internal id of a product that the caller may change; raises NotFound."""
    product_id = await find(scope, PRODUCT, product)
    if not await may_change_products(scope, [product_id]):
        raise NotFound(PRODUCT.name)
    return product_id


async def may_change_products(scope: Scope, products: Sequence[int]) -> bool:
    """Return whether the caller may change all of these products, in one statement at most: a vendor its own."""
    if scope.actor.kind is not ActorKind.VENDOR:
        return True
    rows = await fetch(_VENDORS, scope.store.id, list(products))
    return all(row["vendor_id"] == scope.actor.vendor_id for row in rows)


async def may_change_group(scope: Scope, group_id: int) -> bool:
    """Return whether the caller may change a group: a vendor one that has products, all of them its own."""
    if scope.actor.kind is not ActorKind.VENDOR:
        return True
    return bool(await fetchval(_HAS_ONLY, scope.store.id, group_id, scope.actor.vendor_id))


async def add_products(scope: Scope, group_id: int, products: Sequence[int]) -> dict[int, int]:
    """Add products to a group, also those of other groups, and return what became of each."""
    await lock_stock(scope, products)
    await lock_group(scope, group_id)
    members = await fetch(_MEMBERS, scope.store.id, group_id)
    features = [row["feature_id"] for row in await fetch(_FEATURES, scope.store.id, group_id)]
    variants = await load_variants(scope, [*products, *(row["product_id"] for row in members)])
    vendors = {row["id"]: row["vendor_id"] for row in await fetch(_VENDORS, scope.store.id, list(products))}
    if not vendors.keys() >= set(products):
        raise NotFound(PRODUCT.name)  # deleted meanwhile
    vendor = members[0]["vendor_id"] if members else vendors[products[0]]
    present = {row["product_id"] for row in members}
    taken = {_chosen(variants, product, features) for product in present}
    position = max((row["position"] for row in members), default=-1) + 1
    results: dict[int, int] = {}
    rows: list[dict[str, int]] = []
    for product in dict.fromkeys(products):
        chosen = _chosen(variants, product, features)
        results[product] = _result(product in present, vendors[product] == vendor, chosen, taken)
        if results[product] == ADDED:
            taken.add(chosen)
            rows.append({"product_id": product, "group_id": group_id, "position": position + len(rows)})
    await insert_rows(scope, "variation_group_products", rows, unique=("product_id",))
    return results


async def load_members(scope: Scope, group_id: int) -> tuple[list[int], dict[tuple[int | None, ...], int]]:
    """Lock a group, and return its features and its products by their variants of these, in their order. Raises NotFound."""
    await lock_group(scope, group_id)
    members = [row["product_id"] for row in await fetch(_MEMBERS, scope.store.id, group_id)]
    features = [row["feature_id"] for row in await fetch(_FEATURES, scope.store.id, group_id)]
    variants = await load_variants(scope, members)
    return features, {_chosen(variants, product, features): product for product in members}


async def lock_group(scope: Scope, group_id: int) -> None:
    """Lock a group until the transaction ends; raises NotFound for one that was deleted."""
    if await fetchrow(_LOCK_GROUP, scope.store.id, group_id) is None:
        raise NotFound(VARIATION_GROUP.name)


async def find_groups(scope: Scope, references: Iterable[object]) -> dict[object, int]:
    """Return the internal ids of those groups that exist and that the caller may change, by the references to them."""
    ids = await find_ids(scope, VARIATION_GROUP, references)
    return {group: group_id for group, group_id in ids.items() if await may_change_group(scope, group_id)}


async def place_products(scope: Scope, groups: Mapping[int, int | None]) -> set[int]:
    """Put products into groups, or into none, and return those that were elsewhere. Raises Misfits."""
    leaving = [product for product, group_id in groups.items() if group_id is None]
    moved = {row["product_id"] for row in await fetch(_LEAVE, scope.store.id, leaving)} if leaving else set()
    results: dict[int, int] = {}
    for group_id in dict.fromkeys(group_id for group_id in groups.values() if group_id is not None):
        results |= await add_products(scope, group_id, [product for product in groups if groups[product] == group_id])
    _reject_refused(results)
    return moved | {product for product, result in results.items() if result == ADDED}


async def reject_misfits(scope: Scope, products: AbstractSet[int]) -> None:
    """Refuse changes of products, written by now, after which they don't fit into their groups. Raises Misfits."""
    results: dict[int, int] = {}
    for group in await fetch(_LOCK_GROUPS_OF, scope.store.id, list(products)):
        members = {row["product_id"]: row for row in await fetch(_MEMBERS, scope.store.id, group["id"])}
        features = [row["feature_id"] for row in await fetch(_FEATURES, scope.store.id, group["id"])]
        variants = await load_variants(scope, list(members))
        chosen = {product: _chosen(variants, product, features) for product in members}
        repeated = {of_products for of_products, count in Counter(chosen.values()).items() if count > 1}
        is_of_one_vendor = len({row["vendor_id"] for row in members.values()}) == 1
        results |= {
            product: _result(False, is_of_one_vendor, chosen[product], repeated)
            for product in sorted(products & members.keys())
        }
    _reject_refused(results)


def _reject_refused(results: Mapping[int, int]) -> None:
    refused = {product: _MESSAGES[result] for product, result in results.items() if result in _MESSAGES}
    if refused:
        raise Misfits({product: f"variation_group {message}" for product, message in refused.items()})


async def detach_product(scope: Scope, product_id: int) -> None:
    """Take a product out of its group; raises RuleViolation if it is in none."""
    if not await delete_rows(scope, "variation_group_products", product_id=product_id):
        raise RuleViolation("the product is in no variation group", reason="no_variation")


async def set_default(scope: Scope, product_id: int) -> None:
    """Make a product the default of those that are shown as one with it; raises RuleViolation if it is in no group."""
    row = await fetchrow(_GROUP_OF, scope.store.id, product_id)
    if row is None:
        raise RuleViolation("the product is in no variation group", reason="no_variation")
    await fetchrow(_LOCK_GROUP, scope.store.id, row["group_id"])
    members = await fetch(_MEMBERS, scope.store.id, row["group_id"])
    first = members[0]["position"] if members else 0
    await execute(_SET_DEFAULT, scope.store.id, row["group_id"], product_id, first)


async def find_group_of(scope: Scope, product_id: int) -> int | None:
    """Return the internal id of a product's group, if it is in one."""
    row = await fetchrow(_GROUP_OF, scope.store.id, product_id)
    return None if row is None else row["group_id"]


async def find_children(scope: Scope, product_id: int) -> list[int]:
    """Return the variations whose default is this product."""
    return [row["product_id"] for row in await fetch(_CHILDREN, scope.store.id, product_id)]


async def load_variants(scope: Scope, products: Sequence[int]) -> dict[int, dict[int, int]]:
    """Return the variants of products, by product and feature."""
    variants: dict[int, dict[int, int]] = {product: {} for product in products}
    for row in await fetch(_VARIANTS, scope.store.id, list(variants)):
        variants[row["product_id"]][row["feature_id"]] = row["variant_id"]
    return variants


def _chosen(variants: Mapping[int, Mapping[int, int]], product: int, features: Sequence[int]) -> tuple[int | None, ...]:
    return tuple(variants[product].get(feature) for feature in features)


def _result(
    is_present: bool, is_of_vendor: bool, chosen: tuple[int | None, ...], taken: set[tuple[int | None, ...]]
) -> int:
    if is_present:
        return UNCHANGED
    if not is_of_vendor:
        return OTHER_VENDOR
    if None in chosen:
        return NO_VARIANT
    return SAME_VARIANTS if chosen in taken else ADDED
