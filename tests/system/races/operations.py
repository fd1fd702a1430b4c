"""The writing operations that race: one line each.

The tests compare the table with the schema, so that a new mutation of these records is added here or to `NOT_RACED` with a reason.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import orjson

from tests.system.races.arena import ADDRESS, GATEWAY_SECRET, HOLD_MINUTES, POINTS, SHOPPER, STAFF, STOCK, Arena

ON_HAND, LIMIT = "on hand", "limit"
"""Invariants that an operation may void: it sets the stock itself, or isn't subject to the customer's limit."""


_BONUSES = {"order_discount": "1%"}


@dataclass(frozen=True)
class Operation:
    """An operation: how its n-th try is sent, the mutation it sends, if any, and the invariants that it voids."""

    send: Callable[[Arena, int], Awaitable[object]]
    mutation: str = ""
    voids: frozenset[str] = frozenset()


def _mutation(caller: str, name: str, arguments: Callable[[Arena, int], dict[str, Any]], *voids: str) -> Operation:
    return Operation(
        lambda arena, number: arena.mutate(caller, name, **arguments(arena, number)), name, frozenset(voids)
    )


def _staff(name: str, arguments: Callable[[Arena, int], dict[str, Any]], *voids: str) -> Operation:
    return _mutation(STAFF, name, arguments, *voids)


def _shopper(name: str, arguments: Callable[[Arena, int], dict[str, Any]]) -> Operation:
    return _mutation(SHOPPER, name, arguments)


def _status(*statuses: str) -> Operation:
    """Set an order to each of the statuses in turn."""
    return _staff(
        "order_set_status", lambda a, n: {"id": a.order(n).id, "status": statuses[n // a.size % len(statuses)]}
    )


def _item(arena: Arena, number: int) -> dict[str, Any]:
    return {"product_id": arena.products[number % 2], "quantity": 1}


def _unwanted(arena: Arena, number: int) -> list[str]:
    """Return products to delete, in opposite order for every other number; every fourth time one that orders contain."""
    return [*arena.spare, *arena.products[2 : 2 + (number % 4 == 3)]][:: -1 if number % 2 else 1]


def _cart_item(arena: Arena, number: int, index: int) -> dict[str, Any]:
    cart = arena.cart(number)
    return {"id": cart.id, "item_id": cart.items[index]}


def _quantities(arena: Arena, number: int) -> list[dict[str, Any]]:
    """Return the quantities of two lines, in opposite order for every other number."""
    return [{"id": item, "quantity": 1 + number % 3} for item in arena.cart(number).items[:: -1 if number % 2 else 1]]


def _notify(event: str, **values: Any) -> Callable[[Arena, int], Awaitable[None]]:
    """Notify the store of an event about a charge of the order."""

    async def notify(arena: Arena, number: int) -> None:
        charge = {
            "id": f"ch_{uuid4().hex}",
            "currency": "BRL",
            "metadata": {"order_id": str(arena.order(number).number)},
            **values,
        }
        body = orjson.dumps({"id": f"hook_{uuid4().hex}", "type": event, "data": charge})
        signature = hmac.new(GATEWAY_SECRET.encode(), body, hashlib.sha256).hexdigest()
        await arena.client.notify(body, f"sha256={signature}")

    return notify


async def _pay_out_and_cancel(arena: Arena, number: int) -> None:
    [payout] = await arena.mutate(STAFF, "payout_create", vendor_id=arena.vendor, amount_cents=100 + number)
    await arena.mutate(STAFF, "payout_cancel", id=payout["id"])


async def _pay_and_refund(arena: Arena, number: int) -> None:
    payment = await arena.mutate(
        STAFF, "payment_create", order_id=arena.order(number).id, kind="CARD", card_token="tok_approved"
    )
    await arena.mutate(STAFF, "payment_refund", payment_id=payment["id"], amount_cents=100 + number)


async def _pay_and_cancel(arena: Arena, number: int) -> None:
    payment = await arena.mutate(STAFF, "payment_create", order_id=arena.order(number).id, kind="PIX")
    await arena.mutate(STAFF, "payment_cancel", payment_id=payment["id"])


OPERATIONS: Mapping[str, Operation] = {
    # Orders
    "place": _staff("order_create", lambda a, n: {"input": a.draft(n)}),
    "place with a coupon": _staff("order_create", lambda a, n: {"input": a.draft(n, coupon_code=a.coupon)}),
    "place with points": _staff("order_create", lambda a, n: {"input": a.draft(n, points_to_use=60)}),
    "edit lines": _staff("order_update", lambda a, n: {"id": a.order(n).id, "input": {"items": a.lines(n, 1 + n % 3)}}),
    "edit and cancel": _staff(
        "order_update", lambda a, n: {"id": a.order(n).id, "input": {"items": a.lines(n, 2)[:2], "status": "I"}}
    ),
    "cancel": _status("I"),
    "fail and reopen": _status("F", "O"),
    "pay and backorder": _status("P", "B"),
    "record a payment": _staff("payment_record", lambda a, n: {"order_id": a.order(n).id, "amount_cents": 100}),
    "set fiscal data": _staff("order_set_fiscal_data", lambda a, n: {"id": a.order(n).id, "input": {"codigo_pedido_erp": str(n)}}),
    "ship": _staff("shipment_create", lambda a, n: {"input": {"order_id": a.order(n).id, "tracking_number": f"BR{n}"}}),
    "delete": _staff("order_delete", lambda a, n: {"id": a.order(n).id}),
    # A payment that covers the order; a late one is never rejected.
    "notify of a payment": Operation(_notify("charge.paid", amount=1_000_000, status="paid"), voids=frozenset({LIMIT})),
    "notify of a refund": Operation(_notify("charge.partial_canceled", amount=5_000, paid_amount=5_000, canceled_amount=700)),
    "notify of a chargeback": Operation(_notify("charge.chargedback", amount=5_000)),
    "expire": Operation(lambda arena, number: arena.client.expire(HOLD_MINUTES + 1 + number)),
    # Payments through a gateway; each cancels the one that the order waits for.
    "pay by Pix": _staff("payment_create", lambda a, n: {"order_id": a.order(n).id, "kind": "PIX"}),
    "pay and refund": Operation(_pay_and_refund, "payment_refund"),
    "pay and cancel": Operation(_pay_and_cancel, "payment_cancel"),
    # Carts
    "create a cart": _shopper("cart_create", lambda a, n: {"input": {"items": [_item(a, n)]}}),
    "add to the cart": _shopper("cart_item_add", lambda a, n: {"id": a.cart(n).id, "input": _item(a, n)}),
    "add two to the cart": _shopper("cart_items_add", lambda a, n: {"id": a.cart(n).id, "items": [_item(a, n), _item(a, n + 1)]}),
    "set two quantities": _shopper("cart_items_update", lambda a, n: {"id": a.cart(n).id, "items": _quantities(a, n)}),
    "remove one of the cart": _shopper(
        "cart_items_remove", lambda a, n: {"id": a.cart(n).id, "item_ids": [a.cart(n).items[n % 2]]}
    ),
    "set a quantity": _shopper("cart_item_update", lambda a, n: {**_cart_item(a, n, 0), "quantity": 1 + n % 3}),
    "remove from the cart": _shopper("cart_item_remove", lambda a, n: _cart_item(a, n, 1)),
    "set the address": _shopper("cart_set_address", lambda a, n: {"id": a.cart(n).id, "input": {**ADDRESS, "number": str(n)}}),
    "spend points in the cart": _shopper("cart_set_points", lambda a, n: {"id": a.cart(n).id, "points": n % 2}),
    "set the e-mail": _shopper("cart_set_customer_email", lambda a, n: {"id": a.cart(n).id, "email": f"{n}@example.com"}),
    "choose shipping": _shopper("cart_set_shipping_option", lambda a, n: {"id": a.cart(n).id, "shipping_id": a.shipping}),
    "apply the coupon": _shopper("cart_apply_coupon", lambda a, n: {"id": a.cart(n).id, "code": a.coupon}),
    "merge carts": _shopper("cart_merge", lambda a, n: {"guest_cart": a.cart(n).id, "id": a.cart(n + 1).id}),
    "order again": _staff("order_reorder", lambda a, n: {"id": a.order(n).id, "cart_id": a.cart(n).id}),
    "check out": _shopper("cart_checkout", lambda a, n: {"id": a.cart(n).id, "input": {"payment_id": a.payment}}),
    # Stock
    "create a product": _staff("product_create", lambda a, n: {"input": {"name": f"Prato {n}", "price_cents": 500, "stock": 1}}),
    "set stock": _staff("product_update", lambda a, n: {"id": a.products[n % 3], "input": {"stock": STOCK}}, ON_HAND),
    "import": _staff("product_bulk_upsert", lambda a, n: {"rows": a.stocked_rows(n), "error_policy": "REJECT_ALL"}, ON_HAND),
    "set a combination's stock": _staff("combination_update", lambda a, n: {"id": a.combination, "input": {"stock": STOCK}}),
    "set stock by warehouse": _staff(
        "product_warehouse_stock_set", lambda a, n: {"id": a.products[0], "stock": a.divided(n % 7)}, ON_HAND
    ),
    "switch a warehouse off and on": _staff(
        "warehouse_update", lambda a, n: {"id": a.warehouses[0], "input": {"status": "DA"[n % 2]}}, ON_HAND
    ),
    "delete a product": _staff("product_delete", lambda a, n: {"id": [*a.spare, a.products[1]][n % (a.size + 1)]}),
    "delete products": _staff("product_bulk_delete", lambda a, n: {"ids": _unwanted(a, n)}),
    # Promotions
    "create a promotion": _staff("promotion_create", lambda a, n: {"input": {"name": "Nova", "status": "D", "bonuses": _BONUSES}}),
    "change a promotion": _staff("promotion_update", lambda a, n: {"id": a.promotions[n % 2], "input": {"name": f"Oferta {n}"}}),
    "delete a promotion": _staff("promotion_delete", lambda a, n: {"id": a.promotions[2]}),
    # Points
    "give points": _staff("points_adjust", lambda a, n: a.points_input),
    "take points": _staff("points_adjust", lambda a, n: {**a.points_input, "points": -POINTS // 4}),
    "set the points": _staff("user_update", lambda a, n: {"id": a.customer, "input": {"points": POINTS}}),
    # The ledger
    "pay out": _staff("payout_create", lambda a, n: {"vendor_id": a.vendor, "amount_cents": 100 + n}),
    "pay out and cancel": Operation(_pay_out_and_cancel, "payout_cancel"),
    "adjust an account": _staff("ledger_adjust", lambda a, n: {"vendor_id": a.vendor, "amount_cents": -n - 1, "reason": "Tarifa"}),
    # Limits
    "set the limit": _staff("order_limit_set", lambda a, n: {"input": a.limit_input}),
    "delete the limit": _staff("order_limit_delete", lambda a, n: {"id": a.limit}, LIMIT),
}  # fmt: skip

RACED_MUTATIONS = re.compile(
    r"(order|cart|shipment|combination|promotion|points|vendor_order)_|product_(create|update|delete|bulk|warehouse)|warehouse_update|payment_(record|create|cancel|refund|report)|user_update|payout_|ledger_"
)
NOT_RACED: Mapping[str, str] = {
    "cart_file_upload": "takes a file of a multipart request; limits under the cart's lock (tests/media/test_option_files.py)",
    "cart_file_upload_create": "limits under the cart's lock, as cart_file_upload (tests/media/test_option_file_uploads.py)",
    "cart_file_upload_complete": "changes the file alone, under the cart's lock",
    "cart_file_delete": "changes the file alone, under the cart's lock",
    "vendor_order_update": "order_set_status of a vendor",
    "shipment_update": "changes the shipment alone; its order_status is order_set_status",
    "shipment_delete": "changes the shipment alone",
    "shipment_add_tracking_events": "changes the shipment alone",
    "combination_create": "adds stock that no order refers to",
    "combination_batch_create": "adds stock that no order refers to",
    "payout_mark_paid": "changes the payout alone",
    "payment_report": "settles a payment as a notification does, of an app's gateway",
    "combination_delete": "as product_delete: orders keep their lines",
}
