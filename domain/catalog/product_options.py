"""Load the options of products with their variants, combinations and exceptions; the hash of a combination of choices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from kernel.errors import NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference, split_references
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from models.connection.database import fetch, fetchrow
from models.references import PRODUCT, ReferenceType, find, find_ids, reject_missing
from models.rows import from_row

# Types whose values are variants; the others (`I`, `T`, `F`) accept a text.
TYPES_WITH_VARIANTS = ("S", "R", "C")
ACTIVE = "A"
MAX_CHOICES = 50


@dataclass(frozen=True, slots=True)
class LoadedOptionVariant:
    """A variant; its price modifier is in cents (`A`) or hundredths of a percent (`P`)."""

    id: int
    public_id: UUID
    name: str
    modifier: int
    modifier_type: str


@dataclass(frozen=True, slots=True)
class LoadedOption:
    """An option of a product, with its variants by id and by UUID."""

    id: int
    public_id: UUID
    name: str
    type: str
    required: bool
    inventory: bool
    status: str
    position: int
    variants: dict[Reference, LoadedOptionVariant] = field(default_factory=dict)


OptionsByReference: TypeAlias = dict[Reference, LoadedOption]
"""Options by id and by UUID."""
VariantPairs: TypeAlias = tuple[tuple[int, int], ...]
"""Option and variant ids, in ascending order of the options' ids."""
VariantSet: TypeAlias = frozenset[tuple[int, int]]
"""Option and variant ids, in no order."""
FORBIDDEN = "F"
"""The type of the exceptions that exclude choices; those of the other type are all that may be chosen."""


@dataclass(frozen=True, slots=True)
class OptionCombination:
    """A combination of option variants: cents added to the price, sellable stock, its own freight per unit (None: the product's)."""

    id: int
    variants: VariantSet
    sku: str
    price_cents: int
    stock: int
    freight_cents: int | None = None
    public_id: UUID | None = None


@dataclass(slots=True)
class SelectableOptions:
    """The options, combinations, in their order, and exceptions of a product."""

    options: OptionsByReference = field(default_factory=dict)
    combinations: list[OptionCombination] = field(default_factory=list)
    forbidden: list[VariantSet] = field(default_factory=list)
    allowed: list[VariantSet] = field(default_factory=list)


_OF_PRODUCTS = """
SELECT po.product_id, o.id, o.public_id, o.name, o.type, o.required, o.inventory, o.status, o.position,
    v.id AS variant_id, v.public_id AS variant_public_id, v.name AS variant_name, v.modifier, v.modifier_type
FROM product_options po
JOIN options o ON o.tenant_id = po.tenant_id AND o.id = po.option_id AND o.deleted_at IS NULL
LEFT JOIN option_variants v ON v.tenant_id = o.tenant_id AND v.option_id = o.id
WHERE po.tenant_id = $1 AND po.product_id = ANY($2::bigint[])
ORDER BY o.position, o.id, v.position, v.id
"""
_SHARED = """
SELECT NULL::bigint AS product_id, o.id, o.public_id, o.name, o.type, o.required, o.inventory, o.status, o.position,
    v.id AS variant_id, v.public_id AS variant_public_id, v.name AS variant_name, v.modifier, v.modifier_type
FROM options o
LEFT JOIN option_variants v ON v.tenant_id = o.tenant_id AND v.option_id = o.id
WHERE o.tenant_id = $1 AND (o.id = ANY($2::bigint[]) OR o.public_id = ANY($3::uuid[])) AND o.deleted_at IS NULL
    AND o.product_id IS NULL AND (o.vendor_id IS NULL OR o.vendor_id = $4)
ORDER BY o.position, o.id, v.position, v.id
"""
_COMBINATIONS = """
SELECT product_id, NULL AS type, id, public_id, hash, sku, price_cents, stock, shipping_freight_cents, position FROM combinations
WHERE tenant_id = $1 AND product_id = ANY($2::bigint[]) AND deleted_at IS NULL
UNION ALL
SELECT product_id, type, id, NULL, hash, '', 0, 0, NULL, 0 FROM option_exceptions WHERE tenant_id = $1 AND product_id = ANY($2::bigint[])
ORDER BY position, id
"""

_PRODUCT = """
SELECT id, public_id, vendor_id FROM products WHERE tenant_id = $1 AND {key} = $2 AND deleted_at IS NULL
"""
_OF_VENDOR = "SELECT id FROM products WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND vendor_id = $3"


@dataclass(frozen=True, slots=True)
class EditableProduct:
    """The product that options, combinations etc. belong to."""

    id: int
    public_id: UUID
    vendor_id: int | None


async def find_editable_product(scope: Scope, product: object) -> EditableProduct | None:
    """Return a product that the caller may edit (a vendor only its own), or None."""
    reference = parse_reference(product)
    if reference is None:
        return None
    key = "id" if isinstance(reference, int) else "public_id"
    row = await fetchrow(_PRODUCT.format(key=key), scope.store.id, reference)
    if row is None:
        return None
    if scope.actor.kind is ActorKind.VENDOR and row["vendor_id"] != scope.actor.vendor_id:
        return None
    return EditableProduct(**row)


async def load_editable(scope: Scope, reference_type: ReferenceType, statement: str, subject: object) -> dict[str, Any]:
    """Return the row of a record selected by `statement` (with `vendor_id`); raises NotFound, for a vendor also for another vendor's."""
    row = await fetchrow(statement, scope.store.id, await find(scope, reference_type, subject))
    if row is None or (scope.actor.kind is ActorKind.VENDOR and row["vendor_id"] != scope.actor.vendor_id):
        raise NotFound(reference_type.name)
    return dict(row)


async def resolve_editable_product(scope: Scope, product: object) -> EditableProduct:
    """Return the product that a field refers to, or raise ValidationFailed naming it."""
    if product is None:
        raise ValidationFailed("product_id is required", field="product", code="required")
    editable = await find_editable_product(scope, product)
    if editable is None:
        reference = str(product) if isinstance(product, int | UUID) else repr_value(product)
        raise ValidationFailed(f"product {reference} not found", field="product", code="not_found")
    return editable


async def resolve_editable_products(scope: Scope, products: Iterable[object], *, field: str) -> dict[object, int]:
    """Return the internal id of each product that a field refers to, or raise ValidationFailed naming those the caller may not edit."""
    wanted = list(dict.fromkeys(products))
    ids = await find_ids(scope, PRODUCT, wanted)
    if scope.actor.kind is ActorKind.VENDOR:
        rows = await fetch(_OF_VENDOR, scope.store.id, list(ids.values()), scope.actor.vendor_id)
        own = {row["id"] for row in rows}
        ids = {reference: number for reference, number in ids.items() if number in own}
    reject_missing(PRODUCT, [reference for reference in wanted if reference not in ids], field=field)
    return ids


async def load_product_options(scope: Scope, products: Iterable[int]) -> dict[int, OptionsByReference]:
    """Load the options of products, by product id, in one statement."""
    options: dict[int, OptionsByReference] = {product: {} for product in products}
    for row in await fetch(_OF_PRODUCTS, scope.store.id, list(options)):
        _add(options[row["product_id"]], row)
    return options


async def load_selectable_options(scope: Scope, products: Iterable[int]) -> dict[int, SelectableOptions]:
    """Load the selectable options of products, in two statements."""
    ids = list(products)
    if not ids:
        return {}
    selectable = {
        product: SelectableOptions(options) for product, options in (await load_product_options(scope, ids)).items()
    }
    for record in await fetch(_COMBINATIONS, scope.store.id, ids):
        product, variants = (selectable[record["product_id"]], frozenset(parse_combination_hash(record["hash"])))
        if record["type"] is None:
            freight = record["shipping_freight_cents"]
            product.combinations.append(from_row(OptionCombination, record, variants=variants, freight_cents=freight))
        else:
            conditions = frozenset(pair for pair in variants if pair[1] != ANY_VARIANT)
            (product.forbidden if record["type"] == FORBIDDEN else product.allowed).append(conditions)
    return selectable


async def load_shared_options(
    scope: Scope, references: Collection[Reference], vendor_id: int | None
) -> OptionsByReference:
    """Load options that belong to no single product and may be used by a vendor's products."""
    options: OptionsByReference = {}
    for row in await fetch(_SHARED, scope.store.id, *split_references(references), vendor_id):
        _add(options, row)
    return options


def _add(options: OptionsByReference, row: Mapping[str, Any]) -> None:
    option = options.get(row["id"])
    if option is None:
        names = ("id", "public_id", "name", "type", "required", "inventory", "status", "position")
        option = LoadedOption(**{name: row[name] for name in names})
        options[option.id] = options[option.public_id] = option
    if row["variant_id"] is not None:
        variant = LoadedOptionVariant(
            row["variant_id"], row["variant_public_id"], row["variant_name"], row["modifier"], row["modifier_type"]
        )
        option.variants[variant.id] = option.variants[variant.public_id] = variant


def combination_hash(pairs: Iterable[tuple[int, int]]) -> str:
    """Format choices as `<option>_<variant>_<option>_<variant>`, options in ascending order."""
    return "_".join(f"{option}_{variant}" for option, variant in sorted(pairs))


NO_VARIANT, ANY_VARIANT = 0, 2**63 - 1
"""In the hash of an exception: the option is not selected, or anything is. Such a choice has no row; no variant has these numbers."""
WILDCARDS = {"-1": ANY_VARIANT, "-2": NO_VARIANT}
"""What an exception may name in place of a variant."""


def parse_combination_hash(hash_: str) -> VariantPairs:
    """Parse a hash formatted by `combination_hash`."""
    numbers = [int(number) for number in hash_.split("_")]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def reference_text(reference: object) -> str:
    """Return how an error message names an option or variant."""
    return str(reference) if parse_reference(reference) is not None else repr_value(reference)


def modifier_cents(price_cents: int, variant: LoadedOptionVariant) -> int:
    """Return what a variant adds to a price, in cents; percentages are rounded half away from zero."""
    if variant.modifier_type == "A":
        return variant.modifier
    amount = price_cents * variant.modifier
    rounded = (2 * abs(amount) + 10_000) // 20_000
    return rounded if amount >= 0 else -rounded
