"""Queue the mails to customers about their orders in the transaction of the change, and write them (docs/reference/shared.md#order-mails).

Each change queues one mail at most, none for an imported order, one without an e-mail, and where the store turned the mail off. What is
queued is a row of `order_mails` with the kind of the mail and what it says of its moment; a job writes it and moves it to
`mails` in one transaction, so that it is written once. The mail about a shipment is written at once: it says what has been shipped so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from auth.secrets import order_token
from domain.mails import outbox
from domain.mails.blocks import (
    MailedLine,
    block,
    write_delivery,
    write_lines,
    write_payment,
    write_totals,
    write_tracking,
)
from domain.mails.texts import MailType
from domain.store_settings import sends_order_mail, setting
from kernel.money import format_price
from kernel.scope import Scope, Store
from models.connection.database import execute_later, fetch, fetchrow, fetchval, transaction
from models.rows import json_text

# Statuses without a mail of their own get MailType.ORDER_STATUS.
STATUS_MAILS: Mapping[str, MailType] = {
    "P": MailType.ORDER_PAID,
    "C": MailType.ORDER_COMPLETE,
    "I": MailType.ORDER_CANCELLED,
    "D": MailType.ORDER_PAYMENT_FAILED,
    "F": MailType.ORDER_PAYMENT_FAILED,
}
# Shipment statuses of what left the vendor: picked up and shipped, not packed.
SHIPPED_STATUSES = ("P", "S")
_PAGE_OF_EXAMPLE = "/pedido"
# A mail that a later version queued waits for its workers.
_KINDS = [mail_type.value for mail_type in MailType]

_QUEUE = """
INSERT INTO order_mails (tenant_id, order_id, kind, details, created_at) VALUES ($1, $2, $3, $4::text::jsonb, $5)
"""
_TAKE = """
WITH taken AS (
    DELETE FROM order_mails WHERE tenant_id = $1 AND id IN (
        SELECT id FROM order_mails WHERE tenant_id = $1 AND kind = ANY($3::text[]) ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    RETURNING id, order_id, kind, details, created_at
)
SELECT o.id, o.public_id, o.user_id, o.email, o.firstname, o.currency, o.subtotal_cents, o.discount_cents, o.shipping_cents,
    o.surcharge_cents, o.tax_cents, o.total_cents, o.paid_cents, o.delivery_time, p.name AS payment_name, p.instructions,
    s.name AS shipping_name, t.kind, t.details::text AS details, t.created_at AS queued_at,
    (SELECT json_agg(json_build_object('name', l.product_name, 'quantity', l.quantity, 'options', l.options,
        'total_cents', l.quantity * l.price_cents) ORDER BY l.position, l.id)
        FROM order_lines l WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id AND t.kind = 'order_placed')::text AS lines,
    (SELECT row_to_json(a) FROM order_addresses a
        WHERE a.tenant_id = o.tenant_id AND a.order_id = o.id AND a.kind = 'S' AND t.kind = 'order_placed')::text AS address
FROM taken t JOIN orders o ON o.tenant_id = $1 AND o.id = t.order_id
LEFT JOIN payment_methods p ON p.tenant_id = $1 AND p.id = o.payment_method_id
LEFT JOIN shipping_methods s ON s.tenant_id = $1 AND s.id = o.shipping_method_id
ORDER BY t.id
"""
_HOST = (
    "SELECT host FROM store_hosts WHERE store_id = $1 ORDER BY is_primary DESC, host LIKE '%.localhost', host LIMIT 1"
)
_SHIPMENT = """
SELECT o.id, o.public_id, o.user_id, o.email, o.firstname, o.currency, s.status, s.carrier, s.tracking_number, s.shipping_name,
    (SELECT json_agg(json_build_object('name', l.product_name, 'quantity', sl.quantity, 'options', l.options) ORDER BY l.position, l.id)
        FROM shipment_lines sl JOIN order_lines l ON l.tenant_id = sl.tenant_id AND l.id = sl.order_line_id
        WHERE sl.tenant_id = s.tenant_id AND sl.shipment_id = s.id)::text AS lines,
    EXISTS (SELECT 1 FROM order_lines l WHERE l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.quantity > (
        SELECT coalesce(sum(sl.quantity), 0) FROM shipment_lines sl
        WHERE sl.tenant_id = l.tenant_id AND sl.order_line_id = l.id)) AS has_remaining,
    EXISTS (SELECT 1 FROM shipments x WHERE x.tenant_id = s.tenant_id AND x.order_id = s.order_id AND x.id < s.id) AS has_earlier
FROM shipments s JOIN orders o ON o.tenant_id = s.tenant_id AND o.id = s.order_id
WHERE s.tenant_id = $1 AND s.id = $2
"""


def _shows_no_example(_: Store) -> bool:
    return False


_shows_example: Callable[[Store], bool] = _shows_no_example
_base_url = "http://localhost"


def configure(shows_example: Callable[[Store], bool], base_url: str) -> None:
    """Set which stores show the example storefront, whose order page is the default, and the address whose scheme and port apply."""
    global _shows_example, _base_url
    _shows_example, _base_url = shows_example, base_url


async def order_page(scope: Scope) -> str:
    """Return the address of the page that shows orders, empty for none: the store's setting, else that of the example storefront."""
    page: str = setting(scope, "order_url")
    if page or not _shows_example(scope.store):
        return page
    host = await fetchval(_HOST, scope.store.id)
    if host is None:
        return ""
    base = urlsplit(_base_url)
    port = f":{base.port}" if base.port else ""
    return f"{base.scheme}://{host}{port}{_PAGE_OF_EXAMPLE}"


async def queue(scope: Scope, mail_type: MailType, order: Mapping[str, Any], **details: Any) -> None:
    """Queue a mail about an order to be written, if its store sends it; `details` are what it says of this moment."""
    if order["email"] and sends_order_mail(scope, mail_type.value):
        await execute_later(_QUEUE, scope.store.id, order["id"], mail_type.value, json_text(details), scope.now)


async def write_queued(scope: Scope, *, limit: int) -> int:
    """Write queued mails, oldest first, and return how many were queued; one whose order has no e-mail any more is dropped."""
    async with transaction(scope):
        rows = await fetch(_TAKE, scope.store.id, limit, _KINDS)
        page = await order_page(scope) if rows else ""
        for row in rows:
            if row["email"]:
                await _write(replace(scope, now=row["queued_at"]), row, page)
    return len(rows)


async def _write(scope: Scope, row: Mapping[str, Any], page: str) -> None:
    mail_type = MailType(row["kind"])
    said = _placed_order(row) if mail_type is MailType.ORDER_PLACED else _moment(row)
    await outbox.queue_mail(scope, mail_type, _recipient(row), details=_details(scope, row, page) | said)


def _placed_order(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the mail about a new order says."""
    address = orjson.loads(row["address"]) if row["address"] else None
    is_due = row["total_cents"] > row["paid_cents"]
    has_shipping, has_payment = row["shipping_name"] is not None, row["payment_name"] is not None
    return {
        "lines": write_lines([MailedLine(**line) for line in orjson.loads(row["lines"] or "[]")], row["currency"]),
        "totals": write_totals(row),
        "delivery": write_delivery(address, row["shipping_name"], row["delivery_time"] or "") if has_shipping else "",
        "payment": write_payment(row["payment_name"], row["instructions"], is_due=is_due) if has_payment else "",
    }


def _moment(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the other mails say, of the moment when they were queued."""
    details, currency = orjson.loads(row["details"]), row["currency"]
    price = {name: format_price(details.get(f"{name}_cents", 0), currency) for name in ("total", "paid", "amount")}
    has_paid = details.get("paid_cents", 0) > 0
    return {
        "total": price["total"],
        "amount": price["amount"],
        "paid": f"Você já tinha pago {price['paid']}: a loja fará a devolução do valor." if has_paid else "",
        "status": details.get("status", ""),
        "how": details.get("how", ""),
        "code": block(details.get("code", "")),
    }


async def queue_shipment_mail(scope: Scope, shipment_id: int) -> bool:
    """Queue the mail about a shipment that left the vendor; return whether one was queued."""
    if not sends_order_mail(scope, MailType.ORDER_SHIPPED.value):
        return False
    row = await fetchrow(_SHIPMENT, scope.store.id, shipment_id)
    if row is None or not row["email"] or row["status"] not in SHIPPED_STATUSES:
        return False
    lines = [MailedLine(**line) for line in orjson.loads(row["lines"] or "[]")]
    what = "O seu pedido"
    if row["has_remaining"]:
        what = "Parte do seu pedido"
    elif row["has_earlier"]:
        what = "O restante do seu pedido"
    details = {
        "what": what,
        "lines": write_lines(lines, row["currency"]),
        "tracking": write_tracking(
            row["carrier"] or row["shipping_name"], row["tracking_number"], setting(scope, "tracking_url")
        ),
        "remaining": "O restante do pedido segue em outro envio." if row["has_remaining"] else "",
    }
    details |= _details(scope, row, await order_page(scope))
    await outbox.queue_mail(scope, MailType.ORDER_SHIPPED, _recipient(row), details=details)
    return True


def _recipient(order: Mapping[str, Any]) -> outbox.Recipient:
    return outbox.recipient_of({**order, "id": order["user_id"]})


def _details(scope: Scope, order: Mapping[str, Any], page: str) -> dict[str, str]:
    """Return what every mail about an order says: its number, the link to it, and how to reach the store."""
    return {"number": str(order["id"]), "link": _link(scope, order["public_id"], page), "contact": _contact(scope)}


def _link(scope: Scope, order: UUID, page: str) -> str:
    """Return the link that opens an order, by its token after `#`, so that no server logs it."""
    if not page:
        return ""
    return f"Acompanhe o pedido aqui:\n\n    {page}#id={order}&token={order_token(scope, order)}"


def _contact(scope: Scope) -> str:
    ways = ", ".join(setting(scope, name) for name in ("support_email", "support_phone") if setting(scope, name))
    return f"Dúvidas? Fale com a loja: {ways}" if ways else ""
