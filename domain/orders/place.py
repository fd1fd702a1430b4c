"""Place an order: read what it refers to, refuse what can't be, add up, write it all, take the stock, tell the apps.

However many lines there are, it takes seven statements between BEGIN and COMMIT: the parties, the products, what decides the price, the
order with everything that hangs on it, the stock, the event, the inboxes; where a promotion gives something, three or four more. The
stock comes late, so that the rows of sought-after products stay locked for as short as possible, and behind the promotions' uses: rows
are locked in this order wherever orders change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from domain import events
from domain.catalog import stock
from domain.notifications import write as notifications
from domain.orders import limits
from domain.orders.draft import Draft, draft_from, with_both
from domain.orders.lifecycle import hold_letter
from domain.orders.lines import (
    PricedLine,
    combined_units,
    is_short,
    offers_for,
    price_lines,
    refuse_unsaleable,
    shared_vendor,
    short_combinations,
    tracked_units,
)
from domain.orders.parties import CustomerAccount, Parties, WayToPay, find_parties, refuse_unavailable
from domain.orders.payments import payment_status
from domain.orders.pricing import Price, Purchase, price
from domain.orders.transitions import (
    CANCELLED,
    COMPLETE,
    DECLINED,
    FAILED,
    OPEN,
    PROCESSED,
    check_status,
    holds,
)
from domain.orders.writing import InitialPayment, insert
from domain.promotions.applying import redeem
from kernel.errors import Forbidden, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models.database import transaction

_DEFAULT_HOLD_MINUTES = 4_320
_STAFF = (ActorKind.ADMIN, ActorKind.SYSTEM)
_CHOOSES_STATUS = (*_STAFF, ActorKind.APP)

_ORIGINS: Mapping[ActorKind, str] = {
    ActorKind.APP: "app",
    ActorKind.STOREFRONT: "storefront",
    ActorKind.CUSTOMER: "storefront",
    ActorKind.ANONYMOUS: "storefront",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """Tell which order was made, where it starts and what it costs in cents."""

    id: int
    public_id: UUID
    status: str
    total_cents: int
    currency: str
    created_at: datetime


async def place_order(scope: Scope, draft: Draft | Mapping[str, Any], *, told: bool = True) -> Placed:
    """Place an order and give its ids.

    Prices of lines and the discount are honoured from administrators, the system and domain code that computed them; everybody
    else pays today's prices, less what promotions give. Taxes and the destination's shipping rate are everybody's. A status
    is taken from administrators, apps and the system. `told=False` sends no event (the demo).

    Raises ValidationFailed for what is wrong in the draft or refers to nothing, and RuleViolation with the reasons
    `product_unavailable`, `required_products`, `option_exception`, `combination_unavailable`, `quantity_too_small`,
    `quantity_too_large`, `out_of_stock`, `payment_unavailable`, `shipping_unavailable`, `coupon_unavailable`,
    `order_limit_exceeded`, `shipping_required` (legacy: ValidationFailed with the contract's text).
    """
    draft = draft if isinstance(draft, Draft) else draft_from(draft)
    _check(scope, draft)
    async with transaction(scope):
        parties = await find_parties(
            scope,
            user=draft.user,
            payment_method=draft.payment_method,
            shipping_method=draft.shipping_method,
        )
        _check_buyer(scope, parties)
        lines = await _lines(scope, draft)
        refuse_unsaleable(lines)
        refuse_unavailable(scope, parties, lines)
        priced = await _price(scope, draft, parties, lines)
        lines = priced.lines
        order, received = _compose(scope, draft, parties, priced)
        await hold_letter(scope, order["status"])
        await _refuse_short(scope, order["stock_state"], lines)
        await _refuse_beyond_limits(scope, order, parties, lines)
        order_id = await insert(scope, order, lines, with_both(draft.addresses), received, priced.taxes)
        await redeem(scope, priced.reward, order_id)
        await _take_stock(scope, order["stock_state"], lines)
        if told:
            await _tell(scope, order, parties, lines)
            await notifications.order_placed(scope, order_id)
    return Placed(
        order_id,
        order["public_id"],
        order["status"],
        order["total_cents"],
        order["currency"],
        order["created_at"],
    )


def _check(scope: Scope, draft: Draft) -> None:
    if scope.actor.kind is ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
    if draft.user is None and not draft.email:
        raise ValidationFailed("customer_id or customer_email is required", field="user", code="required")
    if not draft.lines:
        raise ValidationFailed("products is required", field="lines", code="required")
    if draft.status is not None and scope.actor.kind in _CHOOSES_STATUS:
        check_status(draft.status, scope.store.order_statuses)


def _check_buyer(scope: Scope, parties: Parties) -> None:
    """Refuse a customer who orders in another's name."""
    buyer_id = parties.buyer.id if parties.buyer is not None else None
    if scope.actor.kind is ActorKind.CUSTOMER and buyer_id != scope.actor.user_id:
        raise Forbidden("insufficient permissions")


async def _lines(scope: Scope, draft: Draft) -> list[PricedLine]:
    offers = await offers_for(scope, [line.product for line in draft.lines])
    return price_lines(draft.lines, offers, trusted=_prices_are_trusted(scope, draft))


def _prices_are_trusted(scope: Scope, draft: Draft) -> bool:
    return draft.priced or scope.actor.kind in _STAFF


async def _refuse_short(scope: Scope, stock_state: str, lines: Sequence[PricedLine]) -> None:
    """Refuse early, before anything is written or locked, what was out of stock already."""
    short = is_short(lines) if stock_state != stock.NOTHING else []
    if short:
        raise await stock.out_of_stock(scope, short)
    short = short_combinations(lines) if stock_state != stock.NOTHING else []
    if short:
        raise await stock.out_of_stock(scope, short, stock.Stocked.COMBINATION)


async def _refuse_beyond_limits(
    scope: Scope, order: Mapping[str, Any], parties: Parties, lines: Sequence[PricedLine]
) -> None:
    """Refuse what a buyer with order limits may not owe; an order that starts as come to nothing owes nothing."""
    buyer = parties.buyer
    if buyer is None or not buyer.is_limited or order["status"] in (DECLINED, FAILED, CANCELLED):
        return
    shares = ((line.offer.vendor_id, line.quantity * line.price_cents) for line in lines)
    added = limits.by_vendor(order["vendor_id"], order["total_cents"], shares)
    await limits.refuse_beyond(scope, buyer.id, added)


# --- What is written -------------------------------------------------------------------------------------------------------


async def _price(scope: Scope, draft: Draft, parties: Parties, lines: Sequence[PricedLine]) -> Price:
    by_hand = draft.discount_cents if _prices_are_trusted(scope, draft) else None
    buyer = parties.buyer
    return await price(
        scope,
        Purchase(
            lines=lines,
            parties=parties,
            addresses=draft.addresses,
            user_id=buyer.id if buyer else None,
            email=_contact(draft, buyer)["email"],
            coupon_code=draft.coupon_code.strip(),
            discount_cents=(by_hand or 0) if draft.priced else by_hand,
        ),
    )


def _compose(
    scope: Scope, draft: Draft, parties: Parties, priced: Price
) -> tuple[dict[str, Any], InitialPayment | None]:
    """Give every column of the order, and what was received for it."""
    totals, lines = priced.totals, priced.lines
    status = _start(scope, draft, parties.payment)
    received = _received(parties.payment, status, totals.total_cents)
    paid = received.amount_cents if received else 0
    buyer = parties.buyer
    created_at = (draft.created_at if scope.actor.kind is ActorKind.SYSTEM else None) or scope.now
    origin = draft.origin or _origin(scope)
    columns = {
        "public_id": uuid7(),
        "user_id": buyer.id if buyer else None,
        "vendor_id": shared_vendor(lines),
        "status": status,
        "stock_state": holds(status, scope.store.order_statuses),
        "origin": origin,
        "currency": scope.store.currency,
        "subtotal_cents": totals.subtotal_cents,
        "discount_cents": totals.discount_cents,
        "shipping_cents": totals.shipping_cents,
        "surcharge_cents": totals.surcharge_cents,
        "tax_cents": totals.tax_cents,
        "coupon_code": draft.coupon_code.strip(),
        "total_cents": totals.total_cents,
        "paid_cents": paid,
        "payment_status": payment_status(totals.total_cents, paid),
        "payment_method_id": parties.payment.id if parties.payment else None,
        "shipping_method_id": parties.shipping.id if parties.shipping else None,
        "tracking_code": draft.tracking_code or None,
        **_contact(draft, buyer),
        "notes": draft.notes,
        "details": draft.details,
        "ip_address": draft.ip_address or scope.client_ip,
        "fields_data": dict(draft.fields),
        "hold_until": _hold_until(scope, origin, status, parties.payment) if totals.total_cents else None,
        "created_at": created_at,
        "updated_at": created_at,
    }
    return columns, received


def _contact(draft: Draft, buyer: CustomerAccount | None) -> dict[str, str]:
    """Give the buyer's name and addresses: as the draft says, else as the account does."""
    given = {name: getattr(draft, name) for name in ("email", "firstname", "lastname", "phone")}
    known = buyer.contact if buyer is not None else {}
    return {name: told or known.get(name, "") for name, told in given.items()}


def _start(scope: Scope, draft: Draft, payment: WayToPay | None) -> str:
    if draft.status is not None and scope.actor.kind in _CHOOSES_STATUS:
        return draft.status
    return PROCESSED if payment is not None and payment.settles_at_once else OPEN


def _received(payment: WayToPay | None, status: str, total_cents: int) -> InitialPayment | None:
    """Give the whole total where the method settles at once and the order starts as paid."""
    if (
        payment is None
        or not payment.settles_at_once
        or status not in (PROCESSED, COMPLETE)
        or not total_cents
    ):
        return None
    return InitialPayment(total_cents, payment.processor)


def _origin(scope: Scope) -> str:
    if scope.family == "legacy":
        return "legacy"
    return _ORIGINS.get(scope.actor.kind, "admin")


def _hold_until(scope: Scope, origin: str, status: str, payment: WayToPay | None) -> datetime | None:
    """Say until when an unpaid checkout holds its stock; whatever staff, apps and imports make never expires."""
    if origin != "storefront" or status != OPEN:
        return None
    minutes = payment.hold_minutes if payment is not None else _DEFAULT_HOLD_MINUTES
    return scope.now + timedelta(minutes=minutes) if minutes else None


async def _take_stock(scope: Scope, stock_state: str, lines: Sequence[PricedLine]) -> None:
    per_unit = stock.PER_UNIT.get((stock.NOTHING, stock_state))
    if per_unit is not None:
        units, combined = tracked_units(lines), combined_units(lines)
        await stock.change(scope, {product: per_unit.times(count) for product, count in units.items()})
        await stock.change(
            scope,
            {each: per_unit.times(count) for each, count in combined.items()},
            stock.Stocked.COMBINATION,
        )


async def _tell(
    scope: Scope, order: Mapping[str, Any], parties: Parties, lines: Sequence[PricedLine]
) -> None:
    """Write `order.created` from what is at hand: nothing has to be read back."""
    buyer = parties.buyer
    name = f"{order['firstname']} {order['lastname']}".strip()
    facts = events.OrderFacts(
        id=order["public_id"],
        status=order["status"],
        total_cents=order["total_cents"],
        currency=order["currency"],
        customer=events.EventCustomer(buyer.public_id if buyer else None, name, order["email"]),
        items=[
            events.EventItem(line.offer.public_id, line.offer.name, line.quantity, line.price_cents)
            for line in lines
        ],
        created_at=order["created_at"],
        tracking_code=order["tracking_code"],
    )
    await events.record(scope, events.ORDER_CREATED, events.ORDER, facts.id, events.order(facts))
