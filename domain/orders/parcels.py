"""Write parcels: which units of an order's lines went out, and check that no unit goes twice.

The caller has locked the order, so nobody else ships its units meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from domain.orders.locked import LockedOrder
from domain.orders.transitions import CANCELLED, DECLINED, FAILED
from kernel.errors import RuleViolation, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import shown
from models.database import execute, rows, value

MAX_UNITS = 10**12

# Units by the line's number or public id; as pairs, a line may come twice.
Quantities: TypeAlias = Mapping[object, int] | Sequence[tuple[object, int]]


@dataclass(frozen=True, slots=True)
class Parcel:
    """Describe a parcel apart from what it holds; `status` is `P` picked up, `A` packed, `S` shipped.

    Without a name of its own it bears that of its shipping method; without a group key that of its first line's vendor.
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


@dataclass(frozen=True, slots=True)
class Unshipped:
    """Say how many units of a line have not gone out yet."""

    line_id: int
    public_id: UUID
    vendor_id: int | None
    left: int


# `$3` is a parcel whose own units count as not shipped, because they are about to be replaced.
_UNSHIPPED = """
SELECT l.id AS line_id, l.public_id, l.vendor_id, (l.quantity - coalesce(s.units, 0))::bigint AS left
FROM order_lines l LEFT JOIN LATERAL (
    SELECT sum(sl.quantity) AS units FROM shipment_lines sl
    WHERE sl.tenant_id = l.tenant_id AND sl.order_line_id = l.id AND sl.shipment_id IS DISTINCT FROM $3
) s ON true
WHERE l.tenant_id = $1 AND l.order_id = $2 ORDER BY l.position, l.id
"""

_INSERT = """
INSERT INTO shipments (tenant_id, public_id, order_id, shipping_method_id, user_id, shipping_name, carrier, tracking_number,
    comments, group_key, status, order_placed_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5,
    coalesce(nullif($6, ''), (SELECT m.name FROM shipping_methods m WHERE m.tenant_id = $1 AND m.id = $4), ''),
    $7, $8, $9, $10, $11, $12, $13, $14)
RETURNING id
"""

_INSERT_LINES = """
INSERT INTO shipment_lines (tenant_id, public_id, shipment_id, order_line_id, quantity)
SELECT $1, public_id, $2, line_id, quantity
FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS given (public_id, line_id, quantity)
"""

# CS-Cart sorts an order into groups, one for each vendor, counted from 0 in the order in which the vendors come.
_GROUP = """
WITH groups AS (
    SELECT coalesce(vendor_id, 0) AS vendor_id, min(position) AS place
    FROM order_lines WHERE tenant_id = $1 AND order_id = $2 GROUP BY 1
)
SELECT count(*) FROM groups WHERE place < (
    SELECT min(g.place) FROM groups g JOIN order_lines l ON coalesce(l.vendor_id, 0) = g.vendor_id
    WHERE l.tenant_id = $1 AND l.id = ANY($3::bigint[])
)
"""

_TRACK = """
UPDATE orders SET tracking_code = $3, updated_at = $4
WHERE tenant_id = $1 AND id = $2 AND tracking_code IS DISTINCT FROM $3
"""


async def send(
    scope: Scope, order: LockedOrder, parcel: Parcel, quantities: Quantities | None = None
) -> int | None:
    """Record a parcel with units of lines (line → units; None: all that have not gone out) and give its id.

    None when nothing was named and nothing is left. Raises ValidationFailed for a line that is not the order's (or not the
    calling vendor's) and for more units than are left, RuleViolation for an order that came to nothing.
    """
    if order.status in (CANCELLED, DECLINED, FAILED) or scope.store.order_statuses.get(order.status) == "I":
        raise RuleViolation(
            f"an order in status {order.status} can't be shipped", reason="order_not_shippable"
        )
    units = await units_to_ship(scope, order, quantities)
    if not units:
        return None
    if not parcel.group_key:
        parcel = replace(parcel, group_key=str(await value(_GROUP, scope.store.id, order.id, list(units))))
    shipment_id = await _insert(scope, order, parcel)
    await put_in(scope, shipment_id, units)
    if parcel.tracking_number:
        await keep_tracking_code(scope, order, parcel.tracking_number)
    return shipment_id


async def units_to_ship(
    scope: Scope, order: LockedOrder, quantities: Quantities | None, *, replacing: int | None = None
) -> dict[int, int]:
    """Give the units of each line (by internal id) that a parcel is to hold, checked against what is left."""
    left = await _unshipped(scope, order, replacing)
    if quantities is None:
        return {line.line_id: line.left for line in left if line.left > 0}
    by_reference = {line.line_id: line for line in left} | {line.public_id: line for line in left}
    units: dict[int, int] = {}
    for given, quantity in quantities.items() if isinstance(quantities, Mapping) else quantities:
        reference = parse_reference(given)
        line = by_reference.get(reference) if reference is not None else None
        if line is None:
            raise ValidationFailed(
                f"item {given} does not belong to the order", field="lines", code="not_in_order"
            )
        _check_units(quantity, given)
        units[line.line_id] = units.get(line.line_id, 0) + quantity
        if units[line.line_id] > line.left:
            raise ValidationFailed(
                f"{units[line.line_id]} units of item {given} are more than the {line.left} ordered and not yet shipped",
                field="lines",
                code="too_many",
            )
    if not units:
        raise ValidationFailed("products is required", field="lines", code="required")
    return units


async def put_in(scope: Scope, shipment_id: int, units: Mapping[int, int]) -> None:
    """Write what a parcel holds."""
    await execute(
        _INSERT_LINES,
        scope.store.id,
        shipment_id,
        [uuid7() for _ in units],
        list(units),
        list(units.values()),
    )


async def keep_tracking_code(scope: Scope, order: LockedOrder, tracking_code: str) -> bool:
    """Show the code with the order; say whether it is a new one."""
    return await execute(_TRACK, scope.store.id, order.id, tracking_code, scope.now) > 0


async def _unshipped(scope: Scope, order: LockedOrder, replacing: int | None) -> list[Unshipped]:
    found = [Unshipped(**line) for line in await rows(_UNSHIPPED, scope.store.id, order.id, replacing)]
    if scope.actor.kind is ActorKind.VENDOR:
        return [line for line in found if line.vendor_id == scope.actor.company_id]
    return found


async def _insert(scope: Scope, order: LockedOrder, parcel: Parcel) -> int:
    shipment_id: int = await value(
        _INSERT,
        scope.store.id,
        uuid7(),
        order.id,
        parcel.shipping_method_id,
        parcel.user_id,
        parcel.shipping_name,
        parcel.carrier,
        parcel.tracking_number,
        parcel.comments,
        parcel.group_key,
        parcel.status,
        parcel.order_placed_at,
        parcel.created_at or scope.now,
        scope.now,
    )
    return shipment_id


def _check_units(quantity: object, given: object) -> None:
    if isinstance(quantity, bool) or not isinstance(quantity, int) or not 1 <= quantity <= MAX_UNITS:
        raise ValidationFailed(
            f"the quantity of item {given} is {shown(quantity)}; expected a whole number of at least 1",
            field="lines",
            code="quantity_invalid",
        )
