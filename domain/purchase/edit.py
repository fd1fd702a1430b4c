"""Update an order partially: keys in the input change, the rest stays.

Lines and whatever determines the totals change only before payment (`O` and `B`); after that, a change of methods is stored without
recalculating the amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from domain import events
from domain.catalog import stock
from domain.ledger.entries import write_order_entries
from domain.orders import limits, payments
from domain.orders.lifecycle import (
    OrderUpdateResult,
    after_transition,
    apply_transition,
    read_tracking,
    update_tracking,
)
from domain.orders.locked import LockedOrder, lock_order, reject_shared
from domain.orders.transitions import EDITABLE, STOCK_STATES, UNPAID
from domain.points.orders import settle_points
from domain.promotions.rewards import lock_uses
from domain.purchase import repricing
from domain.purchase.draft import CONTACT_FIELDS, ORDER_FIELDS, check_addresses, parse_addresses
from domain.purchase.edited_lines import edited_lines, replace_lines, stored_lines
from domain.purchase.lines import (
    PricedLine,
    sole_vendor,
    stock_units,
)
from domain.purchase.order_rows import address_row
from domain.purchase.references import OrderReferences, load_references, reject_unavailable
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.scope import STAFF, ActorKind, Scope
from models import audit
from models.connection.database import fetchval, transaction
from models.rows import insert_row, json_text, update_row

_LEDGER_COLUMNS = frozenset(
    {"total_cents", "discount_cents", "shipping_cents", "surcharge_cents", "tax_cents", "shipping_method_id"}
)
_POINT_COLUMNS = ("points_earned", "points_spent", "points_cents")
_METHODS = ("payment_method", "shipping_method")
# docs/reference/legacy.md#vendor-app; other fields are ignored.
_VENDOR_FIELDS = ("lines", "status", "tracking_code", "carrier")
_PRICING_FIELDS = frozenset({"discount_cents", *_METHODS})


_ADD_FIELDS = """
UPDATE orders SET fields_data = fields_data || $3::text::jsonb
WHERE tenant_id = $1 AND id = $2 AND fields_data || $3::text::jsonb <> fields_data
RETURNING octet_length(fields_data::text)
"""
# Fields are added, never replaced as a whole; a note's XML, in two forms, and its other fields have room.
_MAX_FIELDS_BYTES = 8 * 1024 * 1024
_ADDRESS = "SELECT id FROM order_addresses WHERE tenant_id = $1 AND order_id = $2 AND kind = $3"


async def update_order(
    scope: Scope,
    order: object,
    changes: InputValues,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
) -> OrderUpdateResult:
    """Update an order: the fields of `OrderDraft`, `status` (as in `lifecycle.change_status`), `tracking_code` and `carrier`.

    `lines` replace the lines; products already in the order keep their price unless staff sets another. The order's promotions are
    evaluated again, no others apply (`repricing`). `fields` are merged. Only staff changes `discount_cents`. From a vendor only lines
    (without prices), `status`, `tracking_code` and `carrier` are used. What is as it was changes nothing: equal lines, methods or discount
    don't price the order again.

    Raises NotFound, Forbidden (a vendor, to change a multi-vendor order), ValidationFailed, and RuleViolation: `order_not_editable` for
    lines of a paid or processed order, and what placing and status changes raise.
    """
    is_asked, changes = bool(changes), _permitted(scope, changes)
    columns = read_fields(CONTACT_FIELDS, changes)
    async with transaction(scope):
        locked = await lock_order(scope, order)
        if is_asked:
            reject_shared(scope, locked)
        references = await _load_references(scope, locked, changes)
        changes = _without_equal(locked, references, changes)
        columns |= _reference_columns(references, changes) | _delivery_time(locked, references)
        columns |= _hold(scope, locked, references, changes)
        repricing_result = await _reprice(scope, locked, references, changes)
        if repricing_result is not None:
            columns |= repricing_result.columns
            columns |= _payment_columns(locked, columns["total_cents"])
        changed = await _write(scope, locked, columns, changes, is_repriced=repricing_result is not None)
        if columns.get("total_cents", locked.total_cents) != locked.total_cents:
            await payments.cancel_pending(scope, locked)
        user_id = columns.get("user_id", locked.user_id)
        # Lock order (`domain.orders.locked`): points, limits, promotions, stock.
        locked, had_points = _with_points(locked, columns), locked.has_points
        if changed and (had_points or locked.has_points):
            await settle_points(scope, locked.id)
        if user_id is not None and columns.get("total_cents", 0) > locked.total_cents:
            await limits.reject_growth_over_limit(scope, user_id, locked.id)
        if repricing_result is not None:
            await _move_uses_and_stock(scope, locked, repricing_result, changes)
        tracking = read_tracking(changes.get("tracking_code"), changes.get("carrier"))
        transition = None
        if changes.get("status") is not None:
            updated = replace(locked, user_id=user_id)
            transition = await apply_transition(
                scope,
                updated,
                changes["status"],
                force=force,
                reason=reason,
                restock=restock,
                tracking=tracking,
                writes_ledger=False,
            )
        updated = after_transition(locked, transition, tracking)
        shipping_method_id = columns.get("shipping_method_id", locked.shipping_method_id)
        changed |= await update_tracking(scope, replace(updated, shipping_method_id=shipping_method_id), tracking)
        changed |= transition is not None
        is_settled_otherwise = any(locked.settlement()) and columns.keys() & _LEDGER_COLUMNS
        if is_settled_otherwise or locked.changes_ledger(updated.status):
            await write_order_entries(scope, locked.id)
        edited = sorted(str(name) for name in changes if name != "status")
        if changed and edited:
            await audit.record(scope, "order.updated", "order", locked.public_id, {"fields": edited})
        if changed:
            await events.emit_order_updated(
                scope,
                locked.id,
                previous_status=locked.status if transition else None,
            )
    return OrderUpdateResult(
        locked.id,
        locked.public_id,
        locked.status,
        updated.status,
        changed,
        transition is not None and transition.forced,
    )


def _permitted(scope: Scope, changes: InputValues) -> InputValues:
    """Drop fields the caller may not change: the discount is staff's, and a vendor changes lines, status and tracking only."""
    if scope.actor.kind in STAFF:
        return changes
    if scope.actor.kind is ActorKind.VENDOR:
        return {name: change for name, change in changes.items() if name in _VENDOR_FIELDS}
    return {name: change for name, change in changes.items() if name != "discount_cents"}


async def _load_references(scope: Scope, locked: LockedOrder, changes: InputValues) -> OrderReferences:
    """Load the customer when changed, and the methods the order will have."""
    return await load_references(
        scope,
        user=changes.get("user"),
        payment_method=changes.get("payment_method", locked.payment_method_id),
        shipping_method=changes.get("shipping_method", locked.shipping_method_id),
        current_payment_method=locked.payment_method_id,
        current_shipping_method=locked.shipping_method_id,
    )


def _without_equal(locked: LockedOrder, references: OrderReferences, changes: InputValues) -> InputValues:
    """Drop the references and the discount that the order has already, which would price it again or copy the customer's data."""
    present: dict[str, Any] = {
        "user": (references.customer, locked.user_id),
        "payment_method": (references.payment_method, locked.payment_method_id),
        "shipping_method": (references.shipping_method, locked.shipping_method_id),
    }
    equal = {name for name, (record, current) in present.items() if (record.id if record else None) == current}
    # After payment a discount is refused in any case.
    discount = locked.discount_cents - locked.points_cents
    if locked.status in EDITABLE and changes.get("discount_cents") == discount:
        equal.add("discount_cents")
    return {name: change for name, change in changes.items() if name not in equal}


def _reference_columns(references: OrderReferences, changes: InputValues) -> dict[str, Any]:
    """Return the reference columns; a new customer brings its contact fields, unless they are in the input too."""
    targets = {
        "user": ("user_id", references.customer),
        "payment_method": ("payment_method_id", references.payment_method),
        "shipping_method": ("shipping_method_id", references.shipping_method),
    }
    columns = {column: record.id if record else None for name, (column, record) in targets.items() if name in changes}
    customer = references.customer if "user" in changes else None
    contact = {} if customer is None else customer.contact
    return columns | {name: text for name, text in contact.items() if name not in changes}


def _delivery_time(locked: LockedOrder, references: OrderReferences) -> dict[str, Any]:
    """Return the delivery time of another shipping method than the one that was quoted."""
    method = references.shipping_method
    if (method.id if method else None) == locked.shipping_method_id:
        return {}
    return {"delivery_time": method.delivery_time if method else None}


def _hold(scope: Scope, locked: LockedOrder, references: OrderReferences, changes: InputValues) -> dict[str, Any]:
    """Return until when an order that waits for its payment does so with another method: as long as that says, but no shorter than now."""
    method = references.payment_method
    if "payment_method" not in changes or method is None or locked.hold_until is None:
        return {}
    until = scope.now + timedelta(minutes=method.hold_minutes)
    return {"hold_until": max(until, locked.hold_until) if method.hold_minutes else None}


@dataclass(frozen=True, slots=True)
class _RepricingResult:
    """The changed amounts, and the lines before and after; `lines` is None when they stay."""

    columns: Mapping[str, Any]
    current: Sequence[PricedLine]
    lines: Sequence[PricedLine] | None = None


async def _reprice(
    scope: Scope, locked: LockedOrder, references: OrderReferences, changes: InputValues
) -> _RepricingResult | None:
    """Replace the lines if requested and price the order; None once it is paid or processed, or if nothing changes its price.

    Writes rows of the order only: promotions' uses and stock are locked later, in their order.
    """
    changes_price = await _changes_price(scope, locked, changes)
    if not changes_price and "lines" not in changes:
        return None
    if locked.status not in EDITABLE:
        if "lines" in changes or "discount_cents" in changes:
            raise RuleViolation(
                f"the lines of an order in status {locked.status} can't change; expected {' or '.join(EDITABLE)}",
                reason="order_not_editable",
            )
        return None
    current = await repricing.load_lines(scope, locked)
    lines = current
    if "lines" in changes:
        lines = await edited_lines(scope, locked, changes["lines"] or (), current)
    if stored_lines(lines) == stored_lines(current):
        if not changes_price:
            return None
        if not locked.imported:
            _reject_unavailable_change(scope, references, changes, current)
        return _RepricingResult(
            await repricing.recalculate_totals(scope, locked, references, changes, current), current
        )
    if not locked.imported:
        reject_unavailable(scope, references, lines)
    await replace_lines(scope, locked, lines)
    totals = await repricing.recalculate_totals(scope, locked, references, changes, lines)
    return _RepricingResult({**totals, "vendor_id": sole_vendor(lines)}, current, lines)


def _reject_unavailable_change(
    scope: Scope, references: OrderReferences, changes: InputValues, lines: Sequence[PricedLine]
) -> None:
    """Reject methods that the order is to get, and none for shipping, where no order could be placed so."""
    unchanged = {name: None for name in _METHODS if name not in changes}
    needs_method = "shipping_method" in changes
    reject_unavailable(scope, replace(references, **unchanged), lines, needs_method=needs_method)


async def _changes_price(scope: Scope, locked: LockedOrder, changes: InputValues) -> bool:
    """Return whether something else than the lines changes the price."""
    if _PRICING_FIELDS & changes.keys():
        return True
    is_priced = locked.status in EDITABLE and not locked.imported
    return is_priced and await repricing.changes_destination(scope, locked, changes)


async def _move_uses_and_stock(
    scope: Scope, locked: LockedOrder, result: _RepricingResult, changes: InputValues
) -> None:
    """Release replaced promotions, and reserve or restore the difference in stock."""
    previous = [line for line in result.current if line.offer.id]
    following = None if result.lines is None else [line for line in result.lines if line.offer.id]
    if following is not None and changes.get("status") is not None:
        # The status change that follows locks promotions and the stock of every line: lock them now, before the difference.
        if locked.has_promotions:
            await lock_uses(scope, locked.id)
        both = [*previous, *following]
        await stock.lock_stock(scope, *stock_units(both).values())
    await repricing.release_replaced_promotions(scope, locked, changes)
    if following is None:
        return
    before, after = stock_units(previous), stock_units(following)
    for owner in stock.StockOwner:
        await _adjust_stock(scope, locked, before[owner], after[owner], owner)


async def _adjust_stock(
    scope: Scope, locked: LockedOrder, before: Mapping[int, int], after: Mapping[int, int], owner: stock.StockOwner
) -> None:
    per_unit = stock.CHANGE_PER_UNIT[stock.UNRESERVED, STOCK_STATES[locked.status]]
    changed = {number: after.get(number, 0) - before.get(number, 0) for number in before.keys() | after.keys()}
    changes = {number: per_unit.times(units) for number, units in changed.items()}
    await stock.adjust_stock(scope, changes, owner, before, order_id=locked.id)


def _payment_columns(locked: LockedOrder, total_cents: int) -> dict[str, Any]:
    """Return what another total makes of the payments, and that an order which has no more to pay doesn't expire."""
    if total_cents == locked.total_cents:
        return {}
    status = locked.payment_status_of(total_cents)
    waits = status == UNPAID and total_cents > 0
    return {"payment_status": status, **({} if waits else {"hold_until": None})}


def _with_points(locked: LockedOrder, columns: Mapping[str, Any]) -> LockedOrder:
    return replace(locked, **{name: columns[name] for name in _POINT_COLUMNS if name in columns})


async def _write(
    scope: Scope, locked: LockedOrder, columns: Mapping[str, Any], changes: InputValues, *, is_repriced: bool
) -> bool:
    """Write columns, addresses and free fields of the order, and return whether the order has changed."""
    changed = is_repriced
    addresses = parse_addresses(changes.get("addresses") or {})
    if addresses:
        current = await repricing.load_addresses(scope, locked)
        check_addresses({kind: {**current.get(kind, {}), **address} for kind, address in addresses.items()}, current)
    for kind, address in addresses.items():
        changed |= bool(address) and await _write_address(scope, locked, kind, address)
    values = read_fields({"fields": ORDER_FIELDS["fields"]}, changes)
    if values.get("fields"):
        changed |= await _add_fields(scope, locked, values["fields"])
    return await update_row(scope, "orders", locked.id, touch=changed, **columns, updated_at=scope.now)


async def _add_fields(scope: Scope, locked: LockedOrder, fields: Mapping[str, Any]) -> bool:
    """Merge free fields into those of the order, and return whether that changed any; raises ValidationFailed for too many bytes."""
    size = await fetchval(_ADD_FIELDS, scope.store.id, locked.id, json_text(fields))
    if size is not None and size > _MAX_FIELDS_BYTES:
        text = f"fields would have {size} bytes in all; expected at most {_MAX_FIELDS_BYTES}"
        raise ValidationFailed(text, field="fields")
    return size is not None


async def _write_address(scope: Scope, locked: LockedOrder, kind: str, address: Mapping[str, Any]) -> bool:
    address_id = await fetchval(_ADDRESS, scope.store.id, locked.id, kind)
    if address_id is not None:
        return await update_row(scope, "order_addresses", address_id, **address)
    await insert_row(scope, "order_addresses", **address_row(locked.id, kind, address))
    return True
