"""Make an order of a cart, once: one transaction locks the cart, adds it up anew, places the order and marks the cart.

What a rule of the shop refuses is told to the shopper in Portuguese; its reason is the code for programs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson

from domain import events
from domain.carts.change import keep
from domain.carts.items import PricedCartItem
from domain.carts.locked import LockedCart, lock_open_cart
from domain.carts.placed import order_token
from domain.carts.texts import TEXTS, in_portuguese
from domain.carts.totals import Reckoned, reckon
from domain.fields import Given, InputField, read_fields, short_text, text
from domain.idempotency import current_claim
from domain.orders.choosing import as_asked
from domain.orders.draft import SHIPPING, Draft, DraftLine, email_text
from domain.orders.place import place_order
from domain.references import NOT_FOUND, USER, missing_text
from kernel.errors import Conflict, Forbidden, RuleViolation, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import ActorKind, Scope
from models.database import execute, row, transaction, value

WHO = "customer_id or customer_email is required"
NOT_YOURS = "customer_id needs the customer's own token beside the key, or a key that is kept on a server"
DUPLICATE = "duplicate_order"
SAME_WITHIN = timedelta(seconds=30)
_DESCRIBES_ITSELF = (ActorKind.CUSTOMER, ActorKind.STOREFRONT)

CHECKOUT: Mapping[str, InputField] = {
    "customer_email": InputField("email", email_text, code="email_invalid"),
    "customer_name": InputField("name", short_text, code="name_invalid"),
    "notes": InputField("notes", text(5_000), code="notes_invalid"),
}

_CUSTOMER = """
SELECT id FROM users WHERE tenant_id = $1 AND public_id = $2 AND status = 'A' AND deleted_at IS NULL
"""
_HOLD_CONTENT = (
    "SELECT pg_advisory_xact_lock(hashtextextended('checkout:' || $1::bigint || encode($2, 'hex'), 0))"
)
_ORDERED_JUST_NOW = """
SELECT EXISTS (
    SELECT 1 FROM carts c JOIN orders o ON o.tenant_id = c.tenant_id AND o.id = c.order_id
    WHERE c.tenant_id = $1 AND c.content_hash = $2 AND c.ordered_at > $3
        AND o.status NOT IN ('D', 'F', 'I') AND o.deleted_at IS NULL
)
"""
# Its amounts are the order's, save what the way to pay adds.
_MARK = """
UPDATE carts c SET status = 'ordered', ordered_at = $3, updated_at = greatest(c.updated_at, $3), order_id = o.id, content_hash = $5,
    is_untold = false, customer_email = $6, subtotal_cents = o.subtotal_cents, discount_cents = o.discount_cents,
    shipping_cents = o.shipping_cents, total_cents = o.total_cents - o.surcharge_cents, currency = o.currency
FROM orders o
WHERE c.tenant_id = $1 AND c.id = $2 AND c.status = 'open' AND o.tenant_id = $1 AND o.id = $4
"""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Tell which order a cart became, and the token that shows it to whoever placed it."""

    id: int
    public_id: UUID
    token: str


@dataclass(frozen=True, slots=True)
class _Buyer:
    user_id: int | None
    email: str

    @property
    def key(self) -> str:
        return f"user:{self.user_id}" if self.user_id is not None else f"email:{self.email}"


async def check_out(scope: Scope, cart: object, given: Given) -> Ordered:
    """Make an order of a cart: `customer` (an id) or `customer_email`, `customer_name`, `payment`, `notes`.

    The e-mail may have been given to the cart before. Raises ValidationFailed for what is wrong in the request, Forbidden for another's
    `customer`, Conflict `cart_already_ordered` and `duplicate_order`, and RuleViolation for what a rule of the shop refuses.
    """
    asked = read_fields(CHECKOUT, given)
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        buyer = await _buyer(scope, held, given.get("customer"), asked.get("email", ""))
        reckoned = await reckon(scope, held)
        content = _content(reckoned.items, buyer)
        await _refuse_duplicate(scope, content)
        _refuse_unready(held, reckoned)
        payment = _payment(given.get("payment"), reckoned)
        draft = _draft(held, reckoned, buyer, payment, asked)
        try:
            with in_portuguese():
                placed = await place_order(scope, draft)
        except ValidationFailed as refusal:
            # One there is not looks like one that shoppers may not use.
            if "payment_method" in refusal.fields:
                raise _refusal("payment_unavailable") from refusal
            raise
        await keep(scope, held, reckoned)
        await _mark(scope, held, placed.id, content, buyer.email or held.customer_email)
        await events.checkout_completed(scope, held.public_id, placed.id)
    return Ordered(placed.id, placed.public_id, order_token(scope, placed.public_id))


# --- Who buys --------------------------------------------------------------------------------------------------------------


async def _buyer(scope: Scope, cart: LockedCart, customer: object, email: str) -> _Buyer:
    """Say who buys: the customer named, the one whose own token came along, or a guest by e-mail."""
    given = email or cart.customer_email
    if customer is not None:
        return _Buyer(await _customer(scope, customer), email)
    if scope.actor.kind in _DESCRIBES_ITSELF and scope.actor.user_id is not None:
        return _Buyer(scope.actor.user_id, email)
    if not given:
        raise ValidationFailed(WHO)
    return _Buyer(None, given)


async def _customer(scope: Scope, customer: object) -> int:
    """Give the account named, for its holder, for keys that are kept on a server, and for staff."""
    actor = scope.actor
    public_id = parse_uuid(customer)
    if actor.kind in _DESCRIBES_ITSELF and not actor.server_side:
        if actor.user_id is None or public_id != actor.user_public_id:
            raise Forbidden("insufficient permissions", details={"detail": NOT_YOURS})
        return actor.user_id
    user_id = await value(_CUSTOMER, scope.store.id, public_id) if public_id is not None else None
    if user_id is None:
        raise ValidationFailed(missing_text(USER, [customer]), field="customer", code=NOT_FOUND)
    return int(user_id)


# --- Whether it may be -----------------------------------------------------------------------------------------------------


def _content(items: Sequence[PricedCartItem], buyer: _Buyer) -> bytes:
    """Name what is bought and by whom, whichever cart it lies in."""
    bought = sorted(
        [str(item.product_public_id), item.quantity, orjson.dumps(item.options).decode()] for item in items
    )
    return hashlib.sha256(orjson.dumps([buyer.key, bought])).digest()


async def _refuse_duplicate(scope: Scope, content: bytes) -> None:
    """Refuse what the same customer ordered a moment ago under another Idempotency-Key: somebody pressed the button twice.

    Requests without a key are left alone: who sends none may well mean two orders.
    """
    if current_claim() is None:
        return
    await row(_HOLD_CONTENT, scope.store.id, content)
    if await value(_ORDERED_JUST_NOW, scope.store.id, content, scope.now - SAME_WITHIN):
        raise Conflict(DUPLICATE, reason=DUPLICATE)


def _refuse_unready(cart: LockedCart, reckoned: Reckoned) -> None:
    if not reckoned.items:
        raise RuleViolation("O carrinho está vazio.", reason="cart_empty")
    gone = [item for item in reckoned.items if item.line is None]
    if gone:
        raise _refusal(
            "product_unavailable",
            [{"product_id": str(item.product_public_id), "name": item.name} for item in gone],
        )
    if reckoned.needs_shipping and reckoned.way is None:
        chosen = cart.shipping_method_id is not None
        raise _refusal("shipping_unavailable" if chosen else "shipping_required")


def _payment(payment: object, reckoned: Reckoned) -> UUID | None:
    """Read how it is paid; what costs nothing needs no way to pay. One there is not, is not available."""
    if payment is None:
        if reckoned.total_cents:
            raise ValidationFailed("payment_id is required", field="payment", code="required")
        return None
    public_id = parse_uuid(payment)
    if public_id is None:
        raise ValidationFailed("payment_id is no id of a payment method", field="payment", code="invalid")
    return public_id


def _refusal(reason: str, products: Sequence[Mapping[str, Any]] = ()) -> RuleViolation:
    names = ", ".join(str(product["name"]) for product in products)
    details = {"products": list(products)} if products else {}
    return RuleViolation(TEXTS[reason].format(names=names), reason=reason, details=details)


# --- The order -------------------------------------------------------------------------------------------------------------


def _draft(
    cart: LockedCart, reckoned: Reckoned, buyer: _Buyer, payment: UUID | None, asked: Mapping[str, Any]
) -> Draft:
    address = cart.address or {}
    # An account has a name and a telephone of its own.
    guest = address if buyer.user_id is None else {}
    firstname, lastname = _names(asked.get("name") or guest.get("name", ""))
    return Draft(
        lines=[
            DraftLine(item.line.offer.id, item.quantity, options=as_asked(item.options))
            for item in reckoned.items
            if item.line is not None
        ],
        user=buyer.user_id,
        email=buyer.email,
        firstname=firstname,
        lastname=lastname,
        phone=guest.get("phone", ""),
        addresses=_addresses(cart.address),
        payment_method=payment,
        shipping_method=reckoned.way.shipping_method_id if reckoned.way is not None else None,
        coupon_code=cart.coupon_code,
        notes=asked.get("notes", ""),
        origin="storefront",
    )


def _addresses(address: Mapping[str, str] | None) -> dict[str, dict[str, str]]:
    if address is None:
        return {}
    firstname, lastname = _names(address.get("name", ""))
    fields = {name: text for name, text in address.items() if name != "name"}
    return {SHIPPING: {**fields, "firstname": firstname, "lastname": lastname}}


def _names(name: str) -> tuple[str, str]:
    first, _, last = name.strip().partition(" ")
    return first, last.strip()


async def _mark(scope: Scope, cart: LockedCart, order_id: int, content: bytes, email: str) -> None:
    marked = await execute(_MARK, scope.store.id, cart.id, scope.now, order_id, content, email)
    if not marked:  # impossible under the lock; were it ever not, no cart becomes two orders
        raise Conflict("cart_already_ordered", reason="cart_already_ordered")
