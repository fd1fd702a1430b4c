"""Place an order: load its references, validate, calculate prices, insert it, reserve stock, emit the event.

Whatever the number of lines, this takes four statements: references, products, prices, and the order with all its rows, its event, its
notifications and its stock (`domain.purchase.order_rows`). The last needs no transaction around it, unless limits, promotions, combinations
or a custom status are to be locked first, or the stock is short or low. Lock order (`domain.orders.locked`): limits, promotions, stock;
stock comes last, so that rows of popular products stay locked briefly. The conditional stock update prevents an oversell under
concurrency.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from domain import events
from domain.catalog import stock
from domain.ledger.entries import SOLD, write_order_entries
from domain.mails.texts import MailType
from domain.orders import limits
from domain.orders.lifecycle import lock_custom_status
from domain.orders.transitions import (
    COMPLETE,
    OPEN,
    PROCESSED,
    UNSUCCESSFUL,
    check_status,
    payment_status,
    stock_state_of,
)
from domain.points.ledger import lock_account
from domain.points.orders import settle_points
from domain.promotions.issued_coupons import issue_coupons, settle_coupons
from domain.promotions.rewards import Reward, redeem, release_uses
from domain.purchase.chosen_methods import with_carrier_price
from domain.purchase.draft import SHIPPING, OrderDraft, parse_draft
from domain.purchase.lines import (
    PricedLine,
    load_offers,
    price_lines,
    sell_in_advance,
    short_stock,
    sole_vendor,
    stock_units,
    with_default_options,
)
from domain.purchase.order_rows import (
    InitialPayment,
    NewOrder,
    StockNeedsAttention,
    insert_order,
    insert_order_alone,
)
from domain.purchase.pricing import PricingResult, price_purchase
from domain.purchase.references import (
    ChosenPaymentMethod,
    CustomerAccount,
    OrderReferences,
    load_references,
    reject_unavailable,
    reject_unsaleable,
)
from domain.purchase.saved_addresses import with_default_addresses
from domain.purchase.terms import Purchase, Terms, fill_missing_address, requested_points
from domain.store_limits import check_limit
from domain.store_settings import sends_order_mail
from kernel.errors import Forbidden, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import STAFF, STAFF_OR_APP, ActorKind, Scope, active_scope
from models.connection.database import Plans, in_transaction, transaction
from models.references import VENDOR, find

_DEFAULT_HOLD_MINUTES = 4_320

_ORIGINS: Mapping[ActorKind, str] = {
    ActorKind.APP: "app",
    ActorKind.STOREFRONT: "storefront",
    ActorKind.CUSTOMER: "storefront",
    ActorKind.ANONYMOUS: "storefront",
}


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """The ids, initial status and total (cents) of a placed order, its prices, and what events say of it."""

    id: int
    public_id: UUID
    status: str
    total_cents: int
    currency: str
    created_at: datetime
    pricing: PricingResult
    event_data: events.OrderEventData


@dataclass(frozen=True, slots=True)
class LoadedPurchase:
    """What has been loaded for a draft: its `draft_purchase` with lines at current prices, and what applies to it if that is known."""

    purchase: Purchase
    terms: Terms | None


async def place_order(
    scope: Scope,
    draft: OrderDraft | Mapping[str, Any],
    *,
    loaded: LoadedPurchase | None = None,
) -> PlacedOrder:
    """Place an order and return its ids and its prices.

    With what is `loaded` already it is placed in the caller's transaction, which must end with an error of this.

    Line prices and the discount are honoured for administrators, the system and domain code that calculated them; anybody else pays current
    prices less promotions. Taxes and the destination's shipping rate always apply. A status is honoured for administrators, apps and the
    system.

    Raises ValidationFailed for invalid input and missing references, and RuleViolation with the reasons
    `product_unavailable`, `required_products`, `option_exception`, `combination_unavailable`, `quantity_too_small`,
    `quantity_too_large`, `quantity_not_in_steps`, `out_of_stock`, `payment_unavailable`, `shipping_unavailable`, `coupon_unavailable`,
    `points_unavailable`, `order_limit_exceeded`, `shipping_required` (legacy:
    ValidationFailed with the text of docs/reference/legacy.md#errors).
    """
    draft = draft if isinstance(draft, OrderDraft) else parse_draft(draft)
    check_draft(scope, draft, has_lines=bool(loaded or draft.lines))
    with active_scope(scope):
        purchase = loaded.purchase if loaded is not None else await load_purchase(scope, draft)
        references, lines = purchase.references, purchase.lines
        _check_customer(scope, references)
        await reject_other_vendors(scope, draft, lines)
        reject_unsaleable(lines)
        reject_unavailable(scope, references, lines)
        priced = await price_purchase(scope, purchase, loaded.terms if loaded is not None else None)
        columns, initial_payment = _order_columns(scope, draft, references, priced)
        await _reject_oversell(scope, columns["stock_state"], priced.lines)
        event_data = _event_data(columns, references, priced.lines)
        event, is_mailed = events.order_created(event_data), _is_mailed(scope, columns)
        order = NewOrder(columns, priced.lines, purchase.addresses, initial_payment, priced.taxes, event, is_mailed)
        order_id = await _insert(scope, order, references, priced.reward, is_nested=loaded is not None)
    return PlacedOrder(
        order_id,
        columns["public_id"],
        columns["status"],
        columns["total_cents"],
        columns["currency"],
        columns["created_at"],
        priced,
        event_data,
    )


async def _insert(
    scope: Scope, order: NewOrder, references: OrderReferences, reward: Reward, *, is_nested: bool
) -> int:
    """Insert the order, in a transaction of its own statement where no other is needed, and return its id.

    One that `is_nested` needs no savepoint: the caller's transaction ends with an error of it.
    """
    units, combinations = _stock_changes(order.columns["stock_state"], order.lines)
    is_limited = references.customer is not None and references.customer.is_limited
    has_points = bool(order.columns["points_spent"] or order.columns["points_earned"])
    is_custom = order.columns["status"] in scope.store.order_statuses
    is_sold = order.columns["status"] in SOLD
    is_counted = "orders_per_month" in scope.store.limits
    needs_locks = bool(
        is_limited or has_points or reward.promotions or combinations or is_custom or is_sold or is_counted
    )
    if not needs_locks and not in_transaction():
        try:
            return await insert_order_alone(scope, order, units)
        except StockNeedsAttention:
            pass  # with the explanation or the notifications below
    async with nullcontext() if is_nested else transaction(scope, Plans.REUSED):
        if is_counted:
            await check_limit(scope, "orders_per_month")
        if is_custom:
            await lock_custom_status(scope, order.columns["status"])
        if has_points and references.customer is not None:
            await lock_account(scope, references.customer.id)
        await _check_limits(scope, order.columns, references, order.lines)
        # Promotions are locked before products, and counted for an order that exists, as points are.
        stock_last = bool(reward.promotions or has_points)
        order_id = await insert_order(scope, order, {} if stock_last else units)
        if has_points:
            await settle_points(scope, order_id, is_new=True)
        if reward.promotions:
            await redeem(scope, reward, order_id)
            if order.columns["stock_state"] == stock.UNRESERVED:
                await release_uses(scope, order_id)
        if reward.coupons:
            await issue_coupons(scope, order_id, reward.coupons)
            await settle_coupons(scope, order_id)
        if stock_last:
            await stock.adjust_stock(scope, units, order_id=order_id)
        await stock.adjust_stock(scope, combinations, stock.StockOwner.COMBINATION, order_id=order_id)
        if is_sold:
            await write_order_entries(scope, order_id)
    return order_id


def _is_mailed(scope: Scope, order: Mapping[str, Any]) -> bool:
    """Return whether the customer gets a mail about the order, unless its status says otherwise."""
    is_closed = order["status"] in UNSUCCESSFUL
    return not is_closed and bool(order["email"]) and sends_order_mail(scope, MailType.ORDER_PLACED.value)


def check_draft(scope: Scope, draft: OrderDraft, *, has_lines: bool, needs_customer: bool = True) -> None:
    """Refuse a draft that no order can be, before anything is loaded. Raises Forbidden and ValidationFailed."""
    if scope.actor.kind is ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
    if needs_customer and draft.user is None and not draft.email:
        raise ValidationFailed("customer_id or customer_email is required", field="user", code="required")
    if not has_lines:
        raise ValidationFailed("items is required", field="lines", code="required")
    if draft.status is not None and scope.actor.kind in STAFF_OR_APP:
        check_status(draft.status, scope.store.order_statuses)


def _check_customer(scope: Scope, references: OrderReferences) -> None:
    customer_id = references.customer.id if references.customer is not None else None
    if scope.actor.kind is ActorKind.CUSTOMER and customer_id != scope.actor.user_id:
        raise Forbidden("insufficient permissions")


async def reject_other_vendors(scope: Scope, draft: OrderDraft, lines: Sequence[PricedLine]) -> None:
    """Refuse lines of other vendors in an order that belongs to one; raises NotFound for a vendor that doesn't exist."""
    if draft.vendor is None:
        return
    vendor_id = await find(scope, VENDOR, draft.vendor)
    for line in lines:
        if line.offer.vendor_id != vendor_id:
            raise ValidationFailed(f"product '{line.offer.id}' is not of the vendor", field="product", code="not_found")


async def load_purchase(scope: Scope, draft: OrderDraft) -> Purchase:
    """Load what a draft refers to, with its lines at current prices."""
    draft = await with_default_addresses(scope, draft)
    references = await load_references(
        scope, user=draft.user, payment_method=draft.payment_method, shipping_method=draft.shipping_method
    )
    offers = await load_offers(scope, [line.product for line in draft.lines])
    drafts = with_default_options(draft.lines, offers) if scope.family == "legacy" else draft.lines
    lines = sell_in_advance(price_lines(drafts, offers, trusted=_prices_are_trusted(scope, draft)))
    references = await with_carrier_price(scope, references, lines, draft.addresses.get(SHIPPING))
    return draft_purchase(scope, draft, references, lines)


def _prices_are_trusted(scope: Scope, draft: OrderDraft) -> bool:
    return draft.priced or scope.actor.kind in STAFF


async def _reject_oversell(scope: Scope, stock_state: str, lines: Sequence[PricedLine]) -> None:
    """Raise RuleViolation for stock that was insufficient when read, before anything is written or locked."""
    if stock_state == stock.UNRESERVED:
        return
    for owner, short in short_stock(lines).items():
        if short:
            raise await stock.out_of_stock_error(scope, short, owner)


async def _check_limits(
    scope: Scope, order: Mapping[str, Any], references: OrderReferences, lines: Sequence[PricedLine]
) -> None:
    """Reject an order beyond the customer's limits; one created in a closed status doesn't count."""
    customer = references.customer
    if customer is None or not customer.is_limited or order["status"] in UNSUCCESSFUL:
        return
    shares = ((line.offer.vendor_id, line.quantity * line.price_cents) for line in lines)
    amounts = limits.amounts_by_vendor(order["vendor_id"], order["total_cents"], shares)
    await limits.reject_over_limit(scope, customer.id, amounts)


def draft_purchase(
    scope: Scope, draft: OrderDraft, references: OrderReferences, lines: Sequence[PricedLine]
) -> Purchase:
    """Return the purchase as which a draft is priced."""
    explicit_discount = draft.discount_cents if _prices_are_trusted(scope, draft) else None
    customer = references.customer
    return Purchase(
        lines=lines,
        references=references,
        addresses=fill_missing_address(draft.addresses),
        user_id=customer.id if customer else None,
        email=_contact(draft, customer)["email"],
        coupon_code=draft.coupon_code.strip(),
        discount_cents=(explicit_discount or 0) if draft.priced else explicit_discount,
        points=requested_points(scope, draft.points_to_use, up_to=draft.points_up_to),
    )


def _order_columns(
    scope: Scope, draft: OrderDraft, references: OrderReferences, priced: PricingResult
) -> tuple[dict[str, Any], InitialPayment | None]:
    totals, lines = priced.totals, priced.lines
    status = _initial_status(scope, draft, references.payment_method)
    initial_payment = _initial_payment(references.payment_method, status, totals.total_cents)
    paid = initial_payment.amount_cents if initial_payment else 0
    customer = references.customer
    created_at = (draft.created_at if scope.actor.kind is ActorKind.SYSTEM else None) or scope.now
    origin = draft.origin or _origin(scope)
    columns = {
        "public_id": uuid7(),
        "user_id": customer.id if customer else None,
        "vendor_id": sole_vendor(lines),
        "status": status,
        "stock_state": stock_state_of(status, scope.store.order_statuses),
        "origin": origin,
        "currency": scope.store.currency,
        **asdict(totals),
        **priced.point_columns,
        "coupon_code": draft.coupon_code.strip(),
        "paid_cents": paid,
        "payment_status": payment_status(totals.total_cents, paid),
        "payment_method_id": references.payment_method.id if references.payment_method else None,
        "shipping_method_id": references.shipping_method.id if references.shipping_method else None,
        "delivery_time": references.shipping_method.delivery_time if references.shipping_method else None,
        "shipping_quote": references.shipping_method.carrier_record if references.shipping_method else None,
        "tracking_code": draft.tracking_code or None,
        **_contact(draft, customer),
        "company_name": draft.company_name,
        "fax": draft.fax,
        "notes": draft.notes,
        "details": draft.details,
        "ip_address": draft.ip_address or scope.client_ip,
        "fields_data": dict(draft.fields),
        "hold_until": _hold_until(scope, origin, status, references.payment_method) if totals.total_cents else None,
        "created_at": created_at,
        "updated_at": created_at,
    }
    return columns, initial_payment


def _contact(draft: OrderDraft, customer: CustomerAccount | None) -> dict[str, str]:
    """Return the contact fields: the draft's, else the account's; of a guest also the name and phone of an address."""
    if customer is not None:
        return {name: getattr(draft, name) or text for name, text in customer.contact.items()}
    contact = {"email": draft.email}
    for names in (("firstname", "lastname"), ("phone",)):
        texts = [{name: getattr(draft, name) for name in names}]
        texts += [{name: address.get(name, "") for name in names} for _, address in sorted(draft.addresses.items())]
        contact |= next((each for each in texts if any(each.values())), texts[0])
    return contact


def _initial_status(scope: Scope, draft: OrderDraft, payment: ChosenPaymentMethod | None) -> str:
    if draft.status is not None and scope.actor.kind in STAFF_OR_APP:
        return draft.status
    return PROCESSED if payment is not None and payment.settles_at_once else OPEN


def _initial_payment(payment: ChosenPaymentMethod | None, status: str, total_cents: int) -> InitialPayment | None:
    """Return a payment of the whole total when the method settles at once and the order starts as paid."""
    if payment is None or not payment.settles_at_once or status not in (PROCESSED, COMPLETE) or not total_cents:
        return None
    return InitialPayment(total_cents, payment.processor)


def _origin(scope: Scope) -> str:
    if scope.family == "legacy":
        return "legacy"
    return _ORIGINS.get(scope.actor.kind, "admin")


def _hold_until(scope: Scope, origin: str, status: str, payment: ChosenPaymentMethod | None) -> datetime | None:
    """Return when an unpaid checkout expires; orders of staff, apps and imports never do."""
    if origin != "storefront" or status != OPEN:
        return None
    minutes = payment.hold_minutes if payment is not None else _DEFAULT_HOLD_MINUTES
    return scope.now + timedelta(minutes=minutes) if minutes else None


def _stock_changes(
    stock_state: str, lines: Sequence[PricedLine]
) -> tuple[dict[int, stock.StockChange], dict[int, stock.StockChange]]:
    """Return the changes of products' stock and of combinations'."""
    per_unit = stock.CHANGE_PER_UNIT.get((stock.UNRESERVED, stock_state))
    if per_unit is None:
        return {}, {}
    products, combinations = (
        {number: per_unit.times(count) for number, count in units.items()} for units in stock_units(lines).values()
    )
    return products, combinations


def _event_data(
    order: Mapping[str, Any], references: OrderReferences, lines: Sequence[PricedLine]
) -> events.OrderEventData:
    """Return what events say of a new order, from data at hand, without a read."""
    customer = references.customer
    name = f"{order['firstname']} {order['lastname']}".strip()
    return events.OrderEventData(
        id=order["public_id"],
        status=order["status"],
        total_cents=order["total_cents"],
        currency=order["currency"],
        customer=events.EventCustomer(customer.public_id if customer else None, name, order["email"]),
        items=[
            events.EventItem(line.offer.public_id, line.offer.name, line.quantity, line.price_cents) for line in lines
        ],
        created_at=order["created_at"],
        tracking_code=order["tracking_code"],
        fields=order["fields_data"],
    )
