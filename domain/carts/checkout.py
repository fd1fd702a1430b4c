"""Check out a cart: one transaction locks it, places the order at current prices and marks the cart, exactly once.

Business rule errors carry a Portuguese text for the customer and the reason as code. A double submit under another idempotency key is
rejected (docs/reference/current.md#checkout).
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import orjson

from auth.secrets import order_token
from domain import events
from domain.addresses import DELIVERED
from domain.carts.files import order_files
from domain.carts.locked import (
    SAVE_ITEM_PRICES,
    LockedCart,
    PricedCartItem,
    at_prices,
    item_price_columns,
    items_of,
    lock_open_cart_with_items,
    order_lines,
)
from domain.carts.messages import ERROR_TEXTS, portuguese_error
from domain.carts.totals import calculate_cart_totals
from domain.idempotency import current_claim
from domain.purchase.draft import SHIPPING, OrderDraft
from domain.purchase.lines import PricedLine, needs_shipping
from domain.purchase.option_selection import files_of
from domain.purchase.placement import LoadedPurchase, PlacedOrder, draft_purchase, place_order
from domain.purchase.references import CustomerAccount, load_references
from domain.shipping.quotes import load_selected
from kernel.errors import Conflict, Forbidden, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, email_text, read_fields, short_text, text
from kernel.ids import parse_uuid
from kernel.scope import SHOPPERS, Scope
from models.connection.database import Plans, execute, execute_later, fetchval, transaction
from models.references import NOT_FOUND, USER, missing_message

CUSTOMER_REQUIRED = "customer_id or customer_email is required"
FOREIGN_CUSTOMER = (
    "customer_id needs the customer's own token in addition to the key, or a key that is kept on a server"
)
DUPLICATE = "duplicate_order"
DUPLICATE_WINDOW = timedelta(seconds=30)

Result = TypeVar("Result")

_PORTUGUESE: Mapping[str, str] = {"name": "o nome de quem recebe", "city": "a cidade"}

CHECKOUT: Mapping[str, InputField] = {
    "customer_email": InputField("email", email_text, code="email_invalid"),
    "customer_name": InputField("name", short_text, code="name_invalid"),
    "notes": InputField("notes", text(5_000), code="notes_invalid"),
}

_CUSTOMER = """
SELECT id FROM users WHERE tenant_id = $1 AND public_id = $2 AND status = 'A' AND deleted_at IS NULL
"""
# Returns no row.
_LOCK_CONTENT = """
SELECT WHERE pg_advisory_xact_lock(hashtextextended('checkout:' || $1::bigint || encode($2::bytea, 'hex'), 0)) IS NULL
"""
_IS_DUPLICATE = """
SELECT EXISTS (
    SELECT 1 FROM carts c JOIN orders o ON o.tenant_id = c.tenant_id AND o.id = c.order_id
    WHERE c.tenant_id = $1 AND c.content_hash = $2 AND c.ordered_at > $3
        AND o.status NOT IN ('D', 'F', 'I') AND o.deleted_at IS NULL
)
"""
# The amounts are the order's, without the payment surcharge.
_MARK = f"""
WITH items AS ({SAVE_ITEM_PRICES})
UPDATE carts c SET status = 'ordered', ordered_at = $6, updated_at = greatest(c.updated_at, $6), order_id = o.id, content_hash = $8,
    is_untold = false, customer_email = $9, subtotal_cents = o.subtotal_cents, discount_cents = o.discount_cents,
    shipping_cents = o.shipping_cents, total_cents = o.total_cents - o.surcharge_cents, currency = o.currency
FROM orders o
WHERE c.tenant_id = $1 AND c.id = $2 AND c.status = 'open' AND o.tenant_id = $1 AND o.id = $7
"""


@dataclass(frozen=True, slots=True)
class CheckoutResult:
    """The order placed from a cart, and the token that authorizes its customer to see it."""

    id: int
    public_id: UUID
    token: str


@dataclass(frozen=True, slots=True)
class _CheckoutCustomer:
    user_id: int | None
    email: str

    @property
    def key(self) -> str:
        return f"user:{self.user_id}" if self.user_id is not None else f"email:{self.email}"


async def check_out(scope: Scope, cart: object, values: InputValues) -> CheckoutResult:
    """Place an order from a cart: `customer_id` or `customer_email`, `customer_name`, `payment_id`, `notes`.

    The e-mail may already be in the cart. Raises ValidationFailed for invalid input, Forbidden for another's `customer_id`, Conflict
    `cart_already_ordered` and `duplicate_order`, and RuleViolation for violated business rules.
    """
    fields = read_fields(CHECKOUT, values)
    payment = _payment_id(values.get("payment_id"))
    async with transaction(scope, Plans.REUSED):
        locked, rows = await lock_open_cart_with_items(scope, cart)
        customer = await _resolve_customer(scope, locked, values.get("customer_id"), fields.get("email", ""))
        items = await items_of(scope, rows)
        lines = order_lines(items)
        content_hash = _content_hash(items, customer)
        await _reject_duplicate(scope, content_hash)
        # A total of zero needs no payment method.
        if payment is None and (await calculate_cart_totals(scope, locked, items)).total_cents:
            raise ValidationFailed("payment_id is required", field="payment_id", code="required")
        _reject_incomplete(locked, items)
        placed = await _place(scope, locked, _draft(locked, customer, payment, fields), lines)
        if files := files_of(line.selection.options for line in lines if line.selection is not None):
            await order_files(scope, locked.id, placed.id, files)
        priced = at_prices(items, placed.pricing.lines)
        await _mark(scope, locked, priced, placed.id, content_hash, customer.email or locked.customer_email)
        await events.emit_checkout_completed(scope, locked.public_id, placed.event_data)
    return CheckoutResult(placed.id, placed.public_id, order_token(scope, placed.public_id))


async def _resolve_customer(scope: Scope, cart: LockedCart, customer: object, email: str) -> _CheckoutCustomer:
    """Return the customer: the one named, the one whose token was sent, or a guest by e-mail."""
    guest_email = email or cart.customer_email
    if customer is not None:
        return _CheckoutCustomer(await _account_id(scope, customer), email)
    if scope.actor.kind in SHOPPERS and scope.actor.user_id is not None:
        return _CheckoutCustomer(scope.actor.user_id, email)
    if not guest_email:
        raise ValidationFailed(CUSTOMER_REQUIRED, field="customer_email", code="required")
    return _CheckoutCustomer(None, guest_email)


async def _account_id(scope: Scope, customer: object) -> int:
    """Return the named account, for its own customer, server-side keys, and staff."""
    actor = scope.actor
    public_id = parse_uuid(customer)
    if actor.kind in SHOPPERS and not actor.server_side:
        if actor.user_id is None or public_id != actor.user_public_id:
            raise Forbidden("insufficient permissions", details={"detail": FOREIGN_CUSTOMER})
        return actor.user_id
    user_id = await fetchval(_CUSTOMER, scope.store.id, public_id) if public_id is not None else None
    if user_id is None:
        raise ValidationFailed(missing_message(USER, [customer]), field="customer_id", code=NOT_FOUND)
    return int(user_id)


def _content_hash(items: Sequence[PricedCartItem], customer: _CheckoutCustomer) -> bytes:
    """Hash the customer and the ordered items, independent of the cart."""
    contents = sorted(
        [str(item.product_public_id), item.quantity, orjson.dumps(item.options).decode()] for item in items
    )
    return hashlib.sha256(orjson.dumps([customer.key, contents])).digest()


async def _reject_duplicate(scope: Scope, content_hash: bytes) -> None:
    """Reject what the same customer ordered seconds ago under another Idempotency-Key: a double submit.

    Requests without a key are not checked: two orders may be intended.
    """
    if current_claim() is None:
        return
    await execute_later(_LOCK_CONTENT, scope.store.id, content_hash)
    if await fetchval(_IS_DUPLICATE, scope.store.id, content_hash, scope.now - DUPLICATE_WINDOW):
        raise Conflict(DUPLICATE, reason=DUPLICATE)


async def _place(scope: Scope, cart: LockedCart, draft: OrderDraft, lines: Sequence[PricedLine]) -> PlacedOrder:
    """Place the order of a cart, shipped by its method if that is still available."""
    loaded = await _in_portuguese(scope, _load(scope, cart, draft, lines))
    if needs_shipping(lines):
        _reject_undeliverable(loaded.purchase.addresses[SHIPPING])
    return await _in_portuguese(scope, place_order(scope, draft, loaded=loaded))


async def _load(scope: Scope, cart: LockedCart, draft: OrderDraft, lines: Sequence[PricedLine]) -> LoadedPurchase:
    """Load the purchase of a cart, by its shipping method if that is still available, and what applies to it."""
    try:
        references = await load_references(scope, user=draft.user, payment_method=draft.payment_method)
    except ValidationFailed as error:
        # A missing method looks like an unavailable one.
        if "payment_method" in error.fields:
            raise _rule_error("payment_unavailable") from error
        raise
    draft = _with_recipient(draft, references.customer)
    purchase, terms, quote = draft_purchase(scope, draft, references, lines), None, None
    if cart.shipping_method_id is not None:
        terms, quote = await load_selected(scope, purchase, cart.shipping_method_id, cart.user_id)
    if quote is not None:
        purchase = replace(purchase, references=replace(references, shipping_method=quote.method))
    elif needs_shipping(lines):
        raise _rule_error("shipping_unavailable")
    return LoadedPurchase(purchase, terms)


async def _in_portuguese(scope: Scope, step: Awaitable[Result]) -> Result:
    """Await a step, and raise its RuleViolations with their Portuguese text."""
    try:
        return await step
    except RuleViolation as error:
        if error.reason not in ERROR_TEXTS:
            raise
        raise portuguese_error(scope, error) from error


def _with_recipient(draft: OrderDraft, customer: CustomerAccount | None) -> OrderDraft:
    """Return the draft with the customer as the recipient, where its address names none."""
    address = draft.addresses.get(SHIPPING)
    if address is None or address["firstname"]:
        return draft
    firstname, lastname = draft.firstname, draft.lastname
    if not firstname and customer is not None:
        firstname, lastname = customer.firstname, customer.lastname
    return replace(draft, addresses={SHIPPING: {**address, "firstname": firstname, "lastname": lastname}})


def _reject_undeliverable(address: Mapping[str, str]) -> None:
    """Refuse an address that sufficed for a quote only."""
    present = {"name": address.get("firstname", ""), "city": address.get("city", "")}
    missing = [name for name in DELIVERED if not present[name].strip()]
    if missing:
        names = " e ".join(_PORTUGUESE[name] for name in missing)
        raise RuleViolation(
            f"Complete o endereço de entrega: informe {names}.",
            reason="shipping_required",
            details={"fields": dict.fromkeys(missing, "required")},
        )


def _reject_incomplete(cart: LockedCart, items: Sequence[PricedCartItem]) -> None:
    if not items:
        raise RuleViolation("O carrinho está vazio.", reason="cart_empty")
    unavailable = [item for item in items if item.line is None]
    if unavailable:
        raise _rule_error(
            "product_unavailable",
            [{"product_id": str(item.product_public_id), "name": item.name} for item in unavailable],
        )
    if not any(item.totals_line.is_shipped for item in items):
        return
    if cart.address is None:
        raise RuleViolation("Informe o endereço de entrega.", reason="shipping_required")
    if cart.shipping_method_id is None:
        raise _rule_error("shipping_required")


def _payment_id(payment: object) -> UUID | None:
    public_id = parse_uuid(payment)
    if public_id is None and payment is not None:
        raise ValidationFailed("payment_id is no id of a payment method", field="payment_id", code="invalid")
    return public_id


def _rule_error(reason: str, products: Sequence[Mapping[str, Any]] = ()) -> RuleViolation:
    names = ", ".join(str(product["name"]) for product in products)
    details = {"products": list(products)} if products else {}
    return RuleViolation(ERROR_TEXTS[reason].format(names=names), reason=reason, details=details)


def _draft(
    cart: LockedCart, customer: _CheckoutCustomer, payment: UUID | None, fields: Mapping[str, Any]
) -> OrderDraft:
    """Return the order of a cart, whose lines are priced already."""
    firstname, lastname = _names(fields.get("name") or "")
    return OrderDraft(
        user=customer.user_id,
        email=customer.email,
        firstname=firstname,
        lastname=lastname,
        addresses=_addresses(cart.address),
        payment_method=payment,
        coupon_code=cart.coupon_code,
        points_to_use=cart.points_to_use,
        points_up_to=True,
        notes=fields.get("notes", ""),
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


async def _mark(
    scope: Scope,
    cart: LockedCart,
    items: Sequence[PricedCartItem],
    order_id: int,
    content_hash: bytes,
    email: str,
) -> None:
    columns = item_price_columns(items)
    marked = await execute(_MARK, scope.store.id, cart.id, *columns, scope.now, order_id, content_hash, email)
    if not marked:  # impossible under the lock; guards against ordering a cart twice
        raise Conflict("cart_already_ordered", reason="cart_already_ordered")
