"""Queue the mails to customers about their orders, in the transaction of the change (docs/reference/shared.md#order-mails).

Each change queues one mail at most, none for an imported order, one without an e-mail, and where the store turned the mail off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from domain.mails import outbox
from domain.mails.blocks import MailedLine, write_lines, write_totals, write_tracking
from domain.mails.texts import MailType
from domain.order_access import order_token
from domain.store_settings import setting
from kernel.money import format_price
from kernel.scope import Scope, Store
from models.connection.database import fetchrow, fetchval

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

_HOST = "SELECT host FROM store_hosts WHERE store_id = $1 ORDER BY host LIKE '%.localhost', host LIMIT 1"
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


def is_wanted(scope: Scope, mail_type: MailType) -> bool:
    """Return whether the store sends its customers this type of mail."""
    return bool(setting(scope, "order_mails") and setting(scope, f"mail_{mail_type.value}"))


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


def placed_order_mail(
    scope: Scope, order: Mapping[str, Any], lines: list[MailedLine], delivery: str, payment: str, page: str
) -> dict[str, Any]:
    """Return the columns of the mail about a new order (its columns with the `id`); `page` is that of `order_page`."""
    details = {
        "lines": write_lines(lines, order["currency"]),
        "totals": write_totals(order),
        "delivery": delivery,
        "payment": payment,
    }
    return outbox.mail_columns(
        scope, MailType.ORDER_PLACED, _recipient(order), details=_details(scope, order, page) | details
    )


async def queue_status_mail(
    scope: Scope, order: Mapping[str, Any], status: str, description: str, *, was_paid: bool
) -> None:
    """Queue the mail about an order's new status; none about a payment that was recorded earlier."""
    mail_type = STATUS_MAILS.get(status, MailType.ORDER_STATUS)
    if mail_type is MailType.ORDER_PAID and was_paid:
        return
    paid_cents = order["paid_cents"] - order["refunded_cents"]
    paid = f"Você já tinha pago {format_price(paid_cents, order['currency'])}: a loja fará a devolução do valor."
    await _queue(
        scope,
        mail_type,
        order,
        total=format_price(order["total_cents"], order["currency"]),
        paid=paid if paid_cents > 0 else "",
        status=description,
    )


async def queue_paid_mail(scope: Scope, order: Mapping[str, Any]) -> None:
    """Queue the mail about a payment that covers an order."""
    await _queue(scope, MailType.ORDER_PAID, order, total=format_price(order["total_cents"], order["currency"]))


async def queue_refund_mail(scope: Scope, order: Mapping[str, Any], amount_cents: int) -> None:
    """Queue the mail about a refund."""
    await _queue(scope, MailType.ORDER_REFUNDED, order, amount=format_price(amount_cents, order["currency"]))


async def queue_shipment_mail(scope: Scope, shipment_id: int) -> bool:
    """Queue the mail about a shipment that left the vendor; return whether one was queued."""
    if not is_wanted(scope, MailType.ORDER_SHIPPED):
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
    await _queue(
        scope,
        MailType.ORDER_SHIPPED,
        row,
        what=what,
        lines=write_lines(lines, row["currency"]),
        tracking=write_tracking(
            row["carrier"] or row["shipping_name"], row["tracking_number"], setting(scope, "tracking_url")
        ),
        remaining="O restante do pedido segue em outro envio." if row["has_remaining"] else "",
    )
    return True


async def _queue(scope: Scope, mail_type: MailType, order: Mapping[str, Any], **details: str) -> None:
    if not order["email"] or not is_wanted(scope, mail_type):
        return
    page = await order_page(scope)
    await outbox.queue_mail(scope, mail_type, _recipient(order), details=_details(scope, order, page) | details)


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
