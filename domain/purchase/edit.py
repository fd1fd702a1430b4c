"""Update an order partially: keys in the input change, the rest stays.

Lines and whatever determines the totals change only before payment (`O` and `B`); after that, a change of methods is stored without
recalculating the amounts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

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
from domain.orders.transitions import EDITABLE, STOCK_STATES
from domain.points.orders import settle_points
from domain.promotions.rewards import lock_uses
from domain.purchase import repricing
from domain.purchase.draft import CONTACT_FIELDS, ORDER_FIELDS, DraftLine, check_addresses, parse_addresses, parse_lines
from domain.purchase.lines import (
    Offer,
    PricedLine,
    load_offers,
    price_lines,
    sell_in_advance,
    sole_vendor,
    stock_units,
    with_default_options,
)
from domain.purchase.option_selection import SelectedFile, file_options, options_key, selection_input, selection_key
from domain.purchase.order_rows import address_row, line_rows
from domain.purchase.references import OrderReferences, load_references, reject_unavailable, reject_unsaleable
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.ids import parse_uuid
from kernel.scope import STAFF, ActorKind, Scope
from kernel.text import repr_value
from models import audit
from models.connection.database import execute, fetch, fetchval, transaction
from models.numbers import take_numbers
from models.references import NOT_FOUND
from models.rows import json_text, update_row
from models.tables.orders import OrderAddress

_LEDGER_COLUMNS = frozenset(
    {"total_cents", "discount_cents", "shipping_cents", "surcharge_cents", "tax_cents", "shipping_method_id"}
)
_POINT_COLUMNS = ("points_earned", "points_spent", "points_cents")
_METHODS = ("payment_method", "shipping_method")
# docs/reference/legacy.md#vendor-app; other fields are ignored.
_VENDOR_FIELDS = ("lines", "status", "tracking_code", "carrier")
_PRICING_FIELDS = frozenset({"discount_cents", *_METHODS})


_DELETE_LINES = """
WITH removed AS (
    DELETE FROM order_lines WHERE tenant_id = $1 AND order_id = $2 RETURNING id, public_id, product_id, position, options::text
)
SELECT id, public_id, product_id, options FROM removed ORDER BY position, id
"""
_REPLACE_LINES = """
INSERT INTO order_lines (tenant_id, id, public_id, order_id, position, product_id, vendor_id, product_name,
    product_code, quantity, price_cents, base_price_cents, weight_grams, tracked, in_advance, combination_id, options, extra,
    commission_cents, commission, commission_type)
SELECT $1, l.id, l.public_id, $2, l.position, l.product_id, l.vendor_id, l.product_name,
    l.product_code, l.quantity, l.price_cents, l.base_price_cents, l.weight_grams, l.tracked, l.in_advance,
    l.combination_id, l.options, l.extra, l.commission_cents, l.commission, l.commission_type
FROM jsonb_populate_recordset(NULL::order_lines, $3::text::jsonb) AS l
"""

_ADD_FIELDS = """
UPDATE orders SET fields_data = fields_data || $3::text::jsonb
WHERE tenant_id = $1 AND id = $2 AND fields_data || $3::text::jsonb <> fields_data
"""
_ADDRESS = "SELECT id FROM order_addresses WHERE tenant_id = $1 AND order_id = $2 AND kind = $3"


async def update_order(
    scope: Scope,
    order: object,
    changes: InputValues,
    *,
    force: bool = False,
    reason: str = "",
    restock: bool = False,
    emit_events: bool = True,
) -> OrderUpdateResult:
    """Update an order: the fields of `OrderDraft`, `status` (as in `lifecycle.change_status`), `tracking_code` and `carrier`.

    `lines` replace the lines; products already in the order keep their price unless staff sets another. The order's promotions are
    evaluated again, no others apply (`repricing`). `fields` are merged. Only staff changes `discount_cents`. From a vendor only lines
    (without prices), `status`, `tracking_code` and `carrier` are used. What is as it was changes nothing: equal lines, methods or discount
    don't price the order again.

    Raises NotFound, Forbidden (a vendor, for a multi-vendor order), ValidationFailed, and RuleViolation: `order_not_editable` for lines
    of a paid or processed order, and what placing and status changes raise.
    """
    changes = _permitted(scope, changes)
    columns = read_fields(CONTACT_FIELDS, changes)
    async with transaction(scope):
        locked = await lock_order(scope, order)
        reject_shared(scope, locked)
        references = await _load_references(scope, locked, changes)
        changes = _without_equal(locked, references, changes)
        columns |= _reference_columns(references, changes) | _delivery_time(locked, references)
        repricing_result = await _reprice(scope, locked, references, changes)
        if repricing_result is not None:
            columns |= repricing_result.columns
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
                notify=emit_events,
                tracking=tracking,
                writes_ledger=False,
            )
        updated = after_transition(locked, transition, tracking)
        shipping_method_id = columns.get("shipping_method_id", locked.shipping_method_id)
        changed |= await update_tracking(
            scope, replace(updated, shipping_method_id=shipping_method_id), tracking, emit_events=emit_events
        )
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
                emit_events=emit_events,
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


def _stored_lines(lines: Sequence[PricedLine]) -> list[tuple[Any, ...]]:
    """Return what an order stores of its lines, to compare."""
    return [
        (line.offer.id, line.quantity, line.price_cents, line.combination_id, selection_key(line.selection), line.extra)
        for line in lines
    ]


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
        lines = await _new_lines(scope, locked, parse_lines(changes["lines"] or (), may_stay=True), current)
    if _stored_lines(lines) == _stored_lines(current):
        if not changes_price:
            return None
        return _RepricingResult(
            await repricing.recalculate_totals(scope, locked, references, changes, current), current
        )
    if not locked.imported:
        reject_unavailable(scope, references, lines)
    await _replace_lines(scope, locked, lines)
    totals = await repricing.recalculate_totals(scope, locked, references, changes, lines)
    return _RepricingResult({**totals, "vendor_id": sole_vendor(lines)}, current, lines)


async def _changes_price(scope: Scope, locked: LockedOrder, changes: InputValues) -> bool:
    """Return whether something else than the lines changes the price."""
    if _PRICING_FIELDS & changes.keys():
        return True
    is_priced = locked.status in EDITABLE and not locked.imported
    return is_priced and await repricing.changes_destination(scope, locked, changes)


async def _new_lines(
    scope: Scope, locked: LockedOrder, drafts: Sequence[DraftLine], current: Sequence[PricedLine]
) -> list[PricedLine]:
    if not drafts:
        raise ValidationFailed("items is required", field="lines", code="required")
    stay = _staying(drafts, current)
    others = [draft for draft in drafts if draft.stays is None]
    priced = iter(await _priced_lines(scope, locked, others, current, list(stay.values())))
    lines = [next(priced) if draft.stays is None else stay[draft.stays] for draft in drafts]
    if scope.actor.kind is ActorKind.VENDOR and sole_vendor(lines) != scope.actor.vendor_id:
        raise ValidationFailed("product not found", field="product", code=NOT_FOUND)
    # Of a product in several lines the limits count that were read now.
    ordered = sorted(lines, key=lambda line: line not in current)
    reject_unsaleable(ordered, existing=[line.offer.id for line in current if line.offer.id])
    return lines


def _staying(drafts: Sequence[DraftLine], current: Sequence[PricedLine]) -> dict[object, PricedLine]:
    """Return the lines that stay as they are, by what names them; the offer of a line in the order has the line's id."""
    lines = {line.offer.public_id: line for line in current}
    stay: dict[object, PricedLine] = {}
    for draft in drafts:
        if draft.stays is None:
            continue
        public_id = parse_uuid(draft.stays)
        line = lines.pop(public_id, None) if public_id is not None else None
        if line is None:
            raise ValidationFailed(f"order line {repr_value(draft.stays)} not found", field="id", code=NOT_FOUND)
        if draft.quantity != line.quantity or draft.price_cents not in (None, line.price_cents):
            raise ValidationFailed("a line named by id stays as it is; name its product_id", field="id", code="invalid")
        stay[draft.stays] = line
    return stay


async def _priced_lines(
    scope: Scope,
    locked: LockedOrder,
    drafts: Sequence[DraftLine],
    current: Sequence[PricedLine],
    staying: Sequence[PricedLine],
) -> list[PricedLine]:
    # For a product that is both bought and a gift, the first line's price counts: gifts come last.
    agreed = {
        (line.offer.id, selection_key(line.selection)): line.price_cents for line in reversed(current) if line.offer.id
    }
    offers = await load_offers(scope, [draft.product for draft in drafts])
    # So does the rate at which the order was placed, for all lines of a vendor.
    rates = {line.offer.vendor_id: line.offer.rate for line in current if line.offer.vendor_id is not None}
    offers = {
        product: replace(offer, **rates[offer.vendor_id]._asdict()) if offer.vendor_id in rates else offer
        for product, offer in offers.items()
    }
    replaced = [line for line in current if line not in staying]
    drafts = _with_files(drafts, offers, replaced)
    if scope.family == "legacy" and not locked.imported:
        drafts = _with_present_options(drafts, offers, current)
    lines = price_lines(
        drafts, offers, trusted=scope.actor.kind in STAFF, imported=locked.imported, agreed_prices=agreed
    )
    return sell_in_advance(lines, reserved=[line for line in replaced if line.offer.id])


def _with_files(
    drafts: Sequence[DraftLine], offers: Mapping[object, Offer], current: Sequence[PricedLine]
) -> list[DraftLine]:
    """Return the lines with the order's files in place of their ids and names, by which lines are sent back."""
    present = [
        (line.offer.id, option)
        for line in current
        for option in (line.selection.options if line.selection is not None else ())
        if option.get("file")
    ]
    completed = []
    for draft in drafts:
        offer, options = offers[draft.product], dict(draft.options)
        for name, option in file_options(offer, draft.options) if present else ():
            same = [
                (product, each)
                for product, each in present
                if (product, each["option_id"]) == (offer.id, str(option.public_id))
                and options[name] in (each["file"]["id"], each["value"])
            ]
            if same:
                options[name] = SelectedFile(same[0][1]["value"], same[0][1]["file"])
            if len(same) > 1:  # files with one name, each in its turn
                present.remove(same[0])
        completed.append(replace(draft, options=options))
    return completed


def _with_present_options(
    drafts: Sequence[DraftLine], offers: Mapping[object, Offer], current: Sequence[PricedLine]
) -> list[DraftLine]:
    """Complete lines without options by those of the product's line in the order, new ones by the first combination."""
    present = {line.offer.id: line.selection.options if line.selection else () for line in reversed(current)}
    completed = []
    for draft in drafts:
        offer = offers[draft.product]
        if draft.options or offer.id not in present:
            completed += with_default_options([draft], offers)
        else:
            completed.append(replace(draft, options=selection_input(present[offer.id])))
    return completed


async def _replace_lines(scope: Scope, locked: LockedOrder, lines: Sequence[PricedLine]) -> None:
    shipped = await fetchval(
        "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND order_id = $2)", scope.store.id, locked.id
    )
    if shipped:
        raise RuleViolation("the lines of an order with a shipment can't change", reason="order_not_editable")
    # A line that stays keeps its ids, which shipments and other programs refer to; the offer of one named by its id has it.
    rows_by_id = {row["public_id"]: row for row in await fetch(_DELETE_LINES, scope.store.id, locked.id)}
    named = [rows_by_id.pop(line.offer.public_id, None) for line in lines]
    removed: defaultdict[tuple[int | None, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows_by_id.values():
        removed[row["product_id"], options_key(orjson.loads(row["options"]))].append(row)
    same = [removed[line.offer.id, selection_key(line.selection)] for line in lines]
    kept = [row or (rows.pop(0) if rows else None) for row, rows in zip(named, same, strict=True)]
    numbers = iter((await take_numbers(scope, {"order_lines": kept.count(None)}))["order_lines"])
    rows = line_rows(lines, [next(numbers) if row is None else row["id"] for row in kept])
    for written, row in zip(rows, kept, strict=True):
        if row is not None:
            written["public_id"] = str(row["public_id"])
    await execute(_REPLACE_LINES, scope.store.id, locked.id, json_text(rows))


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
        changed |= bool(await execute(_ADD_FIELDS, scope.store.id, locked.id, json_text(values["fields"])))
    return await update_row(scope, "orders", locked.id, touch=changed, **columns, updated_at=scope.now)


async def _write_address(scope: Scope, locked: LockedOrder, kind: str, address: Mapping[str, Any]) -> bool:
    address_id = await fetchval(_ADDRESS, scope.store.id, locked.id, kind)
    if address_id is not None:
        return await update_row(scope, "order_addresses", address_id, **address)
    await OrderAddress(order_id=locked.id, **address_row(kind, address)).save()
    return True
