"""Change an order partially: what a mapping names is changed, the rest stays.

Lines, and what the totals depend on, change only while nobody paid for the order (`O` and `B`); after that a change of methods is
noted and the amounts stay what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from domain import audit, events
from domain.catalog import stock
from domain.fields import Given, read_fields
from domain.orders import limits
from domain.orders.choosing import key_of
from domain.orders.draft import CONTACT_FIELDS, ORDER_FIELDS, DraftLine, addresses_from, lines_from
from domain.orders.lifecycle import Moved, take_step, track
from domain.orders.lines import (
    PricedLine,
    combined_units,
    offers_for,
    price_lines,
    refuse_unsaleable,
    shared_vendor,
    tracked_units,
)
from domain.orders.locked import LockedOrder, lock_order, refuse_shared
from domain.orders.parties import Parties, find_parties, refuse_unavailable
from domain.orders.repricing import amounts, let_go_of_promotions, moves, old_lines
from domain.orders.transitions import CANCELLED, EDITABLE, HOLDS
from domain.orders.writing import address_row, line_row
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import ActorKind, Scope
from models.database import execute, transaction, value
from models.orders import Order, OrderAddress

_STAFF = (ActorKind.ADMIN, ActorKind.SYSTEM)
_METHODS = ("payment_method", "shipping_method")
# Decisions-legacy section 4; what it sends besides is ignored.
_BY_VENDOR = ("lines", "status", "tracking_code", "carrier")
_REPRICES = ("lines", "discount_cents", *_METHODS)
_CHANGES = (*CONTACT_FIELDS, *_REPRICES, "addresses", "user", "fields", "status", "tracking_code")


_REPLACE_LINES = """
INSERT INTO order_lines (tenant_id, public_id, order_id, position, product_id, vendor_id, product_name,
    product_code, quantity, price_cents, base_price_cents, weight_grams, tracked, combination_id, options, extra)
SELECT $1, l.public_id, $2, l.position, l.product_id, l.vendor_id, l.product_name,
    l.product_code, l.quantity, l.price_cents, l.base_price_cents, l.weight_grams, l.tracked,
    l.combination_id, l.options, l.extra
FROM jsonb_populate_recordset(NULL::order_lines, $3::text::jsonb) AS l
"""

_ADD_FIELDS = (
    "UPDATE orders SET fields_data = fields_data || $3::text::jsonb WHERE tenant_id = $1 AND id = $2"
)


async def update_order(
    scope: Scope,
    order: object,
    changes: Given,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
    told: bool = True,
) -> Moved:
    """Change an order: the words of `Draft`, `status` (moved as `lifecycle.move` does), `tracking_code` and `carrier`.

    `lines` replace the lines: a product the order holds already keeps its price unless staff gives another. Promotions the order has
    are looked at again, no other joins (`repricing`). `fields` are merged into those there are. Only staff changes `discount_cents`.
    Of a vendor nothing but lines (without their prices), `status`, `tracking_code` and `carrier` is taken.

    Raises NotFound, Forbidden (a vendor, for a shared order), ValidationFailed, and RuleViolation: `order_not_editable` for lines
    of an order that is paid or under way, and what placing and moving raise.
    """
    changes = _permitted(scope, changes)
    columns = read_fields(CONTACT_FIELDS, changes)
    async with transaction(scope):
        held = await lock_order(scope, order)
        refuse_shared(scope, held)
        parties = await _parties(scope, held, changes)
        columns |= _references(parties, changes)
        columns |= await _reprice(scope, held, parties, changes)
        await _write(scope, held, columns, changes)
        buyer = columns.get("user_id", held.user_id)
        if buyer is not None and columns.get("total_cents", 0) > held.total_cents:
            await limits.refuse_grown(scope, buyer, held.id)
        step = None
        if changes.get("status") is not None:
            step = await take_step(
                scope,
                replace(held, user_id=buyer),
                changes["status"],
                force=force,
                reason=reason,
                restock=restock,
            )
        status = step.to_status if step else held.status
        await track(
            scope,
            replace(
                held,
                status=status,
                shipping_method_id=columns.get("shipping_method_id", held.shipping_method_id),
            ),
            changes.get("tracking_code"),
            changes.get("carrier"),
        )
        edited = sorted(str(name) for name in changes if name != "status")
        if edited:
            await audit.record(scope, "order.updated", "order", held.public_id, {"fields": edited})
        if any(name in changes for name in _CHANGES):
            await events.order_changed(
                scope,
                held.id,
                previous_status=held.status if step else None,
                cancelled=step is not None and status == CANCELLED,
                told=told,
            )
    return Moved(
        held.id, held.public_id, held.status, status, bool(changes), step is not None and step.forced
    )


def _permitted(scope: Scope, changes: Given) -> Given:
    """Leave out what the caller may not change: the discount is staff's, and a vendor touches goods, status and parcels only."""
    if scope.actor.kind in _STAFF:
        return changes
    if scope.actor.kind is ActorKind.VENDOR:
        return {name: change for name, change in changes.items() if name in _BY_VENDOR}
    return {name: change for name, change in changes.items() if name != "discount_cents"}


async def _parties(scope: Scope, held: LockedOrder, changes: Given) -> Parties:
    """Find the buyer when changed, and the methods the order will have."""
    return await find_parties(
        scope,
        user=changes.get("user"),
        payment_method=changes.get("payment_method", held.payment_method_id),
        shipping_method=changes.get("shipping_method", held.shipping_method_id),
        kept_payment=held.payment_method_id,
        kept_shipping=held.shipping_method_id,
    )


def _references(parties: Parties, changes: Given) -> dict[str, Any]:
    """Give the columns of what is referred to; with another buyer come its name and addresses, unless they are given too."""
    found = {
        "user": ("user_id", parties.buyer),
        "payment_method": ("payment_method_id", parties.payment),
        "shipping_method": ("shipping_method_id", parties.shipping),
    }
    columns = {
        column: party.id if party else None for name, (column, party) in found.items() if name in changes
    }
    contact = {} if parties.buyer is None else parties.buyer.contact
    return columns | {name: told for name, told in contact.items() if name not in changes}


async def _reprice(scope: Scope, held: LockedOrder, parties: Parties, changes: Given) -> dict[str, Any]:
    """Replace the lines when asked to and give the amounts that change; nothing once the order is paid or under way."""
    if not any(name in changes for name in _REPRICES) and (
        held.imported or held.status not in EDITABLE or not await moves(scope, held, changes)
    ):
        return {}
    if held.status not in EDITABLE:
        if "lines" in changes or "discount_cents" in changes:
            raise RuleViolation(
                f"the lines of an order in status {held.status} can't change; expected {' or '.join(EDITABLE)}",
                reason="order_not_editable",
            )
        return {}
    await let_go_of_promotions(scope, held, changes)
    old = await old_lines(scope, held)
    if "lines" not in changes:
        return await amounts(scope, held, parties, changes, old)
    lines = await _new_lines(scope, held, lines_from(changes["lines"] or ()), old)
    if not held.imported:
        refuse_unavailable(scope, parties, lines)
    await _replace(scope, held, lines, old)
    return {**await amounts(scope, held, parties, changes, lines), "vendor_id": shared_vendor(lines)}


async def _new_lines(
    scope: Scope, held: LockedOrder, drafts: Sequence[DraftLine], old: Sequence[PricedLine]
) -> list[PricedLine]:
    if not drafts:
        raise ValidationFailed("products is required", field="lines", code="required")
    # Of a product that was bought and given away too, what was agreed is the price of the first line: gifts stand behind.
    agreed = {
        (line.offer.id, key_of(line.choice)): line.price_cents for line in reversed(old) if line.offer.id
    }
    offers = await offers_for(scope, [draft.product for draft in drafts])
    lines = price_lines(
        drafts, offers, trusted=scope.actor.kind in _STAFF, imported=held.imported, agreed=agreed
    )
    _refuse_foreign(scope, lines)
    refuse_unsaleable(lines, already=[product for product, _ in agreed])
    return lines


def _refuse_foreign(scope: Scope, lines: Sequence[PricedLine]) -> None:
    """Refuse a vendor that puts other vendors' products into its order."""
    if scope.actor.kind is ActorKind.VENDOR and shared_vendor(lines) != scope.actor.company_id:
        raise ValidationFailed("product not found", field="product", code="not_found")


async def _replace(
    scope: Scope, held: LockedOrder, lines: Sequence[PricedLine], old: Sequence[PricedLine]
) -> None:
    """Write new lines in place of the old, and take or give back the difference in stock."""
    shipped = await value(
        "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND order_id = $2)",
        scope.store.id,
        held.id,
    )
    if shipped:
        raise RuleViolation("the lines of an order with a shipment can't change", reason="order_not_editable")
    await execute("DELETE FROM order_lines WHERE tenant_id = $1 AND order_id = $2", scope.store.id, held.id)
    written = [line_row(line, position) for position, line in enumerate(lines, start=1)]
    await execute(_REPLACE_LINES, scope.store.id, held.id, orjson.dumps(written).decode())
    kept = [line for line in old if line.offer.id]
    await _take_difference(scope, held, tracked_units(kept), tracked_units(lines), stock.Stocked.PRODUCT)
    await _take_difference(
        scope, held, combined_units(kept), combined_units(lines), stock.Stocked.COMBINATION
    )


async def _take_difference(
    scope: Scope,
    held: LockedOrder,
    before: Mapping[int, int],
    after: Mapping[int, int],
    stocked: stock.Stocked,
) -> None:
    per_unit = stock.PER_UNIT[stock.NOTHING, HOLDS[held.status]]
    units = {each: after.get(each, 0) - before.get(each, 0) for each in before.keys() | after.keys()}
    await stock.change(scope, {each: per_unit.times(count) for each, count in units.items()}, stocked)


async def _write(scope: Scope, held: LockedOrder, columns: Mapping[str, Any], changes: Given) -> None:
    if columns:
        await Order.filter(id=held.id).update(**columns, updated_at=scope.now)
    for kind, address in addresses_from(changes.get("addresses") or {}).items():
        if address and not await OrderAddress.filter(order_id=held.id, kind=kind).update(**address):
            await OrderAddress(order_id=held.id, **address_row(kind, address)).save()
    given = read_fields({"fields": ORDER_FIELDS["fields"]}, changes)
    if given.get("fields"):
        await execute(_ADD_FIELDS, scope.store.id, held.id, orjson.dumps(given["fields"]).decode())
