"""Insert shipments and their lines, and check that no unit is shipped twice.

The caller has locked the order, which serializes concurrent shipments of its units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from domain.orders.locked import LockedOrder
from domain.orders.transitions import UNSUCCESSFUL
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import repr_value
from models.connection.database import execute, fetch, fetchval
from models.numbers import take_number
from models.rows import insert_rows

MAX_UNITS = 10**12

# Units by line id or public id; as pairs, a line may occur twice.
Quantities: TypeAlias = Mapping[object, int] | Sequence[tuple[object, int]]


@dataclass(frozen=True, slots=True)
class NewShipment:
    """The columns of a shipment to insert; `status` is `P` picked up, `A` packed, `S` shipped.

    An empty `shipping_name` defaults to the shipping method's name, an empty `group_key` to the group of the first line's vendor.
    """

    shipping_method_id: int | None = None
    user_id: int | None = None
    shipping_name: str = ""
    carrier: str = ""
    tracking_number: str = ""
    comments: str = ""
    group_key: str = ""
    status: str = "S"
    order_placed_at: datetime | None = None
    created_at: datetime | None = None
    label_url: str = ""


@dataclass(frozen=True, slots=True)
class UnshippedLine:
    """The number of units of an order line that are not shipped yet."""

    line_id: int
    public_id: UUID
    vendor_id: int | None
    unshipped: int


# `$3` is a shipment whose own units count as unshipped, because they are about to be replaced.
_UNSHIPPED = """
SELECT l.id AS line_id, l.public_id, l.vendor_id, (l.quantity - coalesce(s.units, 0))::bigint AS unshipped
FROM order_lines l LEFT JOIN LATERAL (
    SELECT sum(sl.quantity) AS units FROM shipment_lines sl
    WHERE sl.tenant_id = l.tenant_id AND sl.order_line_id = l.id AND sl.shipment_id IS DISTINCT FROM $3
) s ON true
WHERE l.tenant_id = $1 AND l.order_id = $2 ORDER BY l.position, l.id
"""

_INSERT = """
INSERT INTO shipments (tenant_id, id, public_id, order_id, shipping_method_id, user_id, shipping_name, carrier, tracking_number,
    comments, group_key, status, order_placed_at, created_at, updated_at, label_url)
VALUES ($1, $15, $2, $3, $4, $5,
    coalesce(nullif($6, ''), (SELECT m.name FROM shipping_methods m WHERE m.tenant_id = $1 AND m.id = $4), ''),
    $7, $8, $9, $10, $11, $12, $13, $14, $16)
"""

# As in CS-Cart, the lines form groups, one per vendor, numbered from 0 in the order of each vendor's first line.
_GROUP_KEY = """
WITH groups AS (
    SELECT coalesce(vendor_id, 0) AS vendor_id, min(position) AS first_position
    FROM order_lines WHERE tenant_id = $1 AND order_id = $2 GROUP BY 1
)
SELECT count(*) FROM groups WHERE first_position < (
    SELECT min(g.first_position) FROM groups g JOIN order_lines l ON coalesce(l.vendor_id, 0) = g.vendor_id
    WHERE l.tenant_id = $1 AND l.id = ANY($3::bigint[])
)
"""

_SET_TRACKING_CODE = """
UPDATE orders SET tracking_code = $3, updated_at = $4
WHERE tenant_id = $1 AND id = $2
"""

# With several shipments nobody knows whose code it is.
_CORRECT_ONLY_ONE = """
UPDATE shipments s SET tracking_number = $3, carrier = coalesce(nullif($4, ''), s.carrier), updated_at = $5
WHERE s.tenant_id = $1 AND s.order_id = $2 AND s.tracking_number <> $3
    AND NOT EXISTS (SELECT FROM shipments o WHERE o.tenant_id = $1 AND o.order_id = $2 AND o.id <> s.id)
RETURNING s.id
"""


async def insert_shipment(
    scope: Scope, order: LockedOrder, shipment: NewShipment, quantities: Quantities | None = None
) -> int | None:
    """Insert a shipment with units by line (None: all unshipped) and return its id; None when no units were requested or left.

    Raises ValidationFailed for a line not of the order (or not of the calling vendor) and for more units than are unshipped, RuleViolation
    for an order in a status that can't be shipped.
    """
    if order.status in UNSUCCESSFUL or scope.store.order_statuses.get(order.status) == "I":
        raise RuleViolation(f"an order in status {order.status} can't be shipped", reason="order_not_shippable")
    units = await resolve_units(scope, order, quantities)
    if not units:
        return None
    if not shipment.group_key:
        shipment = replace(shipment, group_key=str(await fetchval(_GROUP_KEY, scope.store.id, order.id, list(units))))
    shipment_id = await _insert_row(scope, order, shipment)
    await insert_rows(scope, "shipment_lines", line_rows(shipment_id, units))
    if shipment.tracking_number:
        await set_tracking_code(scope, order, shipment.tracking_number)
    return shipment_id


async def resolve_units(
    scope: Scope, order: LockedOrder, quantities: Quantities | None, *, replacing: int | None = None
) -> dict[int, int]:
    """Return the units to ship by internal line id, checked against the unshipped quantities."""
    unshipped = await _load_unshipped(scope, order, replacing)
    if quantities is None:
        return {line.line_id: line.unshipped for line in unshipped if line.unshipped > 0}
    by_reference = {line.line_id: line for line in unshipped} | {line.public_id: line for line in unshipped}
    units: dict[int, int] = {}
    for item, quantity in quantities.items() if isinstance(quantities, Mapping) else quantities:
        reference = parse_reference(item)
        line = by_reference.get(reference) if reference is not None else None
        if line is None:
            raise ValidationFailed(f"item {item} does not belong to the order", field="lines", code="not_in_order")
        _check_quantity(quantity, item)
        units[line.line_id] = units.get(line.line_id, 0) + quantity
        if units[line.line_id] > line.unshipped:
            raise ValidationFailed(
                f"{units[line.line_id]} units of item {item} are more than the {line.unshipped} ordered and not yet shipped",
                field="lines",
                code="too_many",
            )
    if not units:
        raise ValidationFailed("lines is required", field="lines", code="required")
    return units


def line_rows(shipment_id: int, units: Mapping[int, int]) -> list[dict[str, int]]:
    """Return the lines of a shipment with these units by order line."""
    return [
        {"shipment_id": shipment_id, "order_line_id": line, "quantity": quantity} for line, quantity in units.items()
    ]


async def set_tracking_code(scope: Scope, order: LockedOrder, tracking_code: str) -> bool:
    """Set the order's tracking code; return whether it changed."""
    if order.tracking_code == tracking_code:
        return False
    return await execute(_SET_TRACKING_CODE, scope.store.id, order.id, tracking_code, scope.now) > 0


async def correct_only_shipment(scope: Scope, order: LockedOrder, tracking_code: str, carrier: str) -> int | None:
    """Give the only shipment of an order this tracking code, and the carrier unless empty; return its id if that changed it."""
    shipment_id: int | None = await fetchval(
        _CORRECT_ONLY_ONE, scope.store.id, order.id, tracking_code, carrier, scope.now
    )
    return shipment_id


async def _load_unshipped(scope: Scope, order: LockedOrder, replacing: int | None) -> list[UnshippedLine]:
    lines = [UnshippedLine(**line) for line in await fetch(_UNSHIPPED, scope.store.id, order.id, replacing)]
    if scope.actor.kind is ActorKind.VENDOR:
        return [line for line in lines if line.vendor_id == scope.actor.vendor_id]
    return lines


async def _insert_row(scope: Scope, order: LockedOrder, shipment: NewShipment) -> int:
    shipment_id = await take_number(scope, "shipments")
    await execute(
        _INSERT,
        scope.store.id,
        uuid7(),
        order.id,
        shipment.shipping_method_id,
        shipment.user_id,
        shipment.shipping_name,
        shipment.carrier,
        shipment.tracking_number,
        shipment.comments,
        shipment.group_key,
        shipment.status,
        shipment.order_placed_at,
        shipment.created_at or scope.now,
        scope.now,
        shipment_id,
        shipment.label_url,
    )
    return shipment_id


def _check_quantity(quantity: object, item: object) -> None:
    if isinstance(quantity, bool) or not isinstance(quantity, int) or not 1 <= quantity <= MAX_UNITS:
        raise ValidationFailed(
            f"the quantity of item {item} is {repr_value(quantity)}; expected a whole number of at least 1",
            field="lines",
            code="quantity_invalid",
        )
