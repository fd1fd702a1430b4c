"""Know what products offer to choose: their options and variants, and what a set of choices is called (its hash)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from kernel.errors import ValidationFailed
from kernel.ids import Reference, parse_reference
from kernel.scope import ActorKind, Scope
from kernel.text import shown
from models.database import row, rows

# Types whose values are variants; the others (`I`, `T`, `F`) take a text.
BY_VARIANT = ("S", "R", "C")
ACTIVE = "A"
MAX_CHOICES = 50


@dataclass(frozen=True, slots=True)
class Variant:
    """Describe a variant: its modifier in cents (`A`) or hundredths of a percent (`P`)."""

    id: int
    public_id: UUID
    name: str
    modifier: int
    modifier_type: str


@dataclass(frozen=True, slots=True)
class Offered:
    """Describe an option as a product offers it, its variants by number and by UUID."""

    id: int
    public_id: UUID
    name: str
    type: str
    required: bool
    inventory: bool
    status: str
    position: int
    variants: dict[Reference, Variant] = field(default_factory=dict)


Options: TypeAlias = dict[Reference, Offered]
"""Options by number and by UUID."""
Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""Option and variant, in the order of the options' numbers."""

_OFFERED = """
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
_PRODUCT = """
SELECT id, public_id, vendor_id FROM products WHERE tenant_id = $1 AND {key} = $2 AND deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class ProductRef:
    """Name the product that options, combinations and the like belong to."""

    id: int
    public_id: UUID
    vendor_id: int | None


async def find_owner(scope: Scope, product: object) -> ProductRef | None:
    """Find a product that the caller may work on: a vendor's own, any to staff and apps; None where there is none."""
    reference = parse_reference(product)
    if reference is None:
        return None
    key = "id" if isinstance(reference, int) else "public_id"
    found = await row(_PRODUCT.format(key=key), scope.store.id, reference)
    if found is None:
        return None
    if scope.actor.kind is ActorKind.VENDOR and found["vendor_id"] != scope.actor.company_id:
        return None
    return ProductRef(**found)


async def owner_named(scope: Scope, product: object, *, field: str = "product") -> ProductRef:
    """Find the product that a field refers to, or raise ValidationFailed naming it."""
    if product is None:
        raise ValidationFailed(f"{field}_id is required", field=field, code="required")
    found = await find_owner(scope, product)
    if found is None:
        named = str(product) if isinstance(product, int | UUID) else shown(product)
        raise ValidationFailed(f"product {named} not found", field=field, code="not_found")
    return found


async def offered_by(scope: Scope, products: Iterable[int]) -> dict[int, Options]:
    """Read what products offer, by the product's id, in one statement."""
    found: dict[int, Options] = {product: {} for product in products}
    for record in await rows(_OFFERED, scope.store.id, list(found)):
        _add(found[record["product_id"]], record)
    return found


async def shared_options(scope: Scope, references: Iterable[Reference], vendor_id: int | None) -> Options:
    """Read options that belong to no single product and may be used by a vendor's."""
    wanted = list(references)
    numbers = [reference for reference in wanted if isinstance(reference, int)]
    public_ids = [reference for reference in wanted if isinstance(reference, UUID)]
    found: Options = {}
    for record in await rows(_SHARED, scope.store.id, numbers, public_ids, vendor_id):
        _add(found, record)
    return found


def _add(options: Options, record: Mapping[str, Any]) -> None:
    option = options.get(record["id"])
    if option is None:
        names = ("id", "public_id", "name", "type", "required", "inventory", "status", "position")
        option = Offered(**{name: record[name] for name in names})
        options[option.id] = options[option.public_id] = option
    if record["variant_id"] is not None:
        variant = Variant(
            record["variant_id"],
            record["variant_public_id"],
            record["variant_name"],
            record["modifier"],
            record["modifier_type"],
        )
        option.variants[variant.id] = option.variants[variant.public_id] = variant


def hash_of(pairs: Iterable[tuple[int, int]]) -> str:
    """Write a set of choices as `<option>_<variant>_<option>_<variant>`, options in ascending order."""
    return "_".join(f"{option}_{variant}" for option, variant in sorted(pairs))


def pairs_of(hash_: str) -> Pairs:
    """Read a hash that `hash_of` wrote."""
    numbers = [int(number) for number in hash_.split("_")]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def modifier_cents(price_cents: int, variant: Variant) -> int:
    """Give what a variant adds to a price; percentages are rounded half away from zero."""
    if variant.modifier_type == "A":
        return variant.modifier
    amount = price_cents * variant.modifier
    rounded = (2 * abs(amount) + 10_000) // 20_000
    return rounded if amount >= 0 else -rounded
