"""Create notifications in the transaction of the event they are about, and mark them as read.

Recipients: of an order its customer, the vendors of its lines and the administrators with access to orders; of low stock the product's
vendor and the administrators with access to products; of a payment that an order doesn't need those with access to payments; of apps the
administrators with access to apps. Each call is one statement for all recipients (docs/reference/legacy.md#notifications).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kernel.errors import NotFound
from kernel.ids import split_reference, uuid7
from kernel.scope import Scope
from models.connection.database import execute, execute_later, fetch, fetchval, transaction

ORDER, STOCK, APP, SHIPPING = "order", "stock", "app", "shipping"

# Notifications are in Portuguese, like all texts for customers and staff (docs/reference/shared.md#text).
_STATUS_NAMES: Mapping[str, str] = {
    "O": "aberto",
    "P": "pago",
    "C": "concluído",
    "D": "recusado",
    "F": "não concluído",
    "I": "cancelado",
    "B": "aguardando estoque",
}

_DESCRIPTIONS = """
SELECT letter AS code, description FROM statuses
WHERE tenant_id = $1 AND type = 'O' AND letter = ANY($2::text[]) AND deleted_at IS NULL
"""


def _public_id(timestamp: str) -> str:
    """Return the SQL of a version 7 UUID per recipient: its timestamp is trusted SQL, PostgreSQL adds the randomness."""
    return (
        f"overlay(overlay(gen_random_uuid()::text PLACING {timestamp} FROM 1 FOR 13) PLACING '7' FROM 15 FOR 1)::uuid"
    )


def _staff(privileges: str) -> str:
    """Return the SQL of the administrators with one of the privileges."""
    return f"""
    SELECT u.id FROM users u WHERE u.tenant_id = $1 AND u.user_type = 'A' AND u.deleted_at IS NULL AND (
        u.privileges && {privileges}::text[] OR u.id = (SELECT s.owner_id FROM tenants s WHERE s.id = $1)
        OR EXISTS (
            SELECT 1 FROM usergroup_memberships m
            JOIN usergroups g ON g.tenant_id = m.tenant_id AND g.id = m.usergroup_id
            WHERE m.tenant_id = u.tenant_id AND m.user_id = u.id AND m.status = 'A'
                AND g.type = 'A' AND g.status = 'A' AND g.deleted_at IS NULL AND g.privileges && {privileges}::text[]
        )
    )
"""


_INSERT = f"""
INSERT INTO notifications (tenant_id, public_id, user_id, type, title, message, created_at)
SELECT $1, {_public_id("$2")}, u.id, $4, recipients.title, recipients.message, $7
FROM recipients JOIN users u ON u.tenant_id = $1 AND u.id = recipients.id
WHERE u.status = 'A' AND u.deleted_at IS NULL
"""
_ABOUT_ORDER = f"""
WITH recipients AS (SELECT r.id, $5::text AS title, $6::text AS message FROM (
    SELECT o.user_id AS id FROM orders o WHERE o.tenant_id = $1 AND o.id = $8
    UNION
    SELECT u.id FROM order_lines l JOIN users u ON u.tenant_id = l.tenant_id AND u.vendor_id = l.vendor_id
    WHERE l.tenant_id = $1 AND l.order_id = $8 AND u.user_type = 'V'
    UNION {_staff("$3")}
) r)
{_INSERT}"""  # constants of this module
_ABOUT_SUBJECTS = f"""
WITH about AS (
    SELECT * FROM unnest($5::text[], $6::text[], $8::bigint[]) AS a (title, message, vendor_id)
), staff AS ({_staff("$3")}), recipients AS (
    SELECT a.title, a.message, s.id FROM about a CROSS JOIN staff s
    UNION
    SELECT a.title, a.message, u.id FROM about a JOIN users u ON u.tenant_id = $1 AND u.vendor_id = a.vendor_id
    WHERE u.user_type = 'V'
)
{_INSERT}"""  # constants of this module

_MARK_READ = """
WITH matching AS (SELECT id FROM notifications WHERE tenant_id = $1 AND user_id = $2 AND (id = $3 OR public_id = $5)),
marked AS (UPDATE notifications n SET read_at = $4 FROM matching WHERE n.tenant_id = $1 AND n.id = matching.id AND n.read_at IS NULL)
SELECT id FROM matching
"""
_MARK_ALL_READ = """
UPDATE notifications SET read_at = $3
WHERE tenant_id = $1 AND user_id = $2 AND read_at IS NULL AND ($4::timestamptz IS NULL OR created_at < $4)
"""


@dataclass(frozen=True, slots=True)
class LowStock:
    """The available stock of a product that has become low."""

    name: str
    vendor_id: int | None
    units: int


def placed_order_sql(uuid: str, at: str, vendors: str) -> str:
    """Return the INSERT of the notifications of a new order, for the statement that inserts it as `inserted (id, user_id)`.

    The arguments are trusted SQL: a version 7 UUID, whose timestamp is taken; the time; and a query of the vendors of the order's lines.
    """
    return f"""
    INSERT INTO notifications (tenant_id, public_id, user_id, type, title, message, created_at)
    SELECT $1, {_public_id(f"left({uuid}::text, 13)")}, u.id, '{ORDER}', 'Novo pedido nº ' || (SELECT id FROM inserted),
        'O pedido nº ' || (SELECT id FROM inserted) || ' foi recebido.', {at}
    FROM (
        SELECT (SELECT user_id FROM inserted) AS id
        UNION SELECT v.id FROM users v WHERE v.tenant_id = $1 AND v.vendor_id = ANY(ARRAY({vendors})) AND v.user_type = 'V'
        UNION {_staff("'{view_orders,manage_orders}'")}
    ) AS recipients JOIN users u ON u.tenant_id = $1 AND u.id = recipients.id
    WHERE u.status = 'A' AND u.deleted_at IS NULL
"""


async def notify_order_status_changed(scope: Scope, order_id: int, from_status: str, to_status: str) -> None:
    """Notify of an order's change of status; a status that the store added has the name of its description."""
    names = dict(_STATUS_NAMES)
    if added := [status for status in (from_status, to_status) if status not in names]:
        names |= {row["code"]: row["description"] for row in await fetch(_DESCRIPTIONS, scope.store.id, added)}
    before, after = (names.get(status, status) for status in (from_status, to_status))
    title = f"Pedido nº {order_id}: {after}"
    message = f"O pedido nº {order_id} passou de “{before}” para “{after}”."
    await execute_later(_ABOUT_ORDER, *_common_args(scope, ORDER, "orders"), title, message, scope.now, order_id)


async def notify_low_stock(scope: Scope, low: Sequence[LowStock]) -> None:
    """Notify of products whose stock has just become low (`domain.catalog.stock.becomes_low`)."""
    about = [(f"Estoque baixo: {product.name}", _low_stock_message(product), product.vendor_id) for product in low]
    await _notify_staff(scope, STOCK, "products", about)


async def notify_app_installed(scope: Scope, name: str) -> None:
    """Notify the administrators of apps that one was installed."""
    title, message = f"Aplicativo instalado: {name}", f"O aplicativo “{name}” foi instalado na loja."
    await _notify_staff(scope, APP, "apps", [(title, message, None)])


async def notify_carrier_failed(scope: Scope, method: str, failure: str) -> None:
    """Notify the administrators of shipping that the source of a shipping method's prices fails, and why."""
    title = f"Frete sem resposta: {method}"
    message = f"“{method}” está sem cotação da transportadora: {failure}. O preço da tabela a substitui, se houver."
    await _notify_staff(scope, SHIPPING, "shipping", [(title, message, None)])


async def mark_read(scope: Scope, notification: object) -> int:
    """Mark one of the caller's own notifications as read and return its internal id; raises NotFound."""
    number, public_id = split_reference(notification)
    async with transaction(scope):
        notification_id = await fetchval(_MARK_READ, scope.store.id, scope.actor.user_id, number, scope.now, public_id)
    if notification_id is None:
        raise NotFound("notification")
    return int(notification_id)


async def mark_all_read(scope: Scope, before: datetime | None = None) -> int:
    """Mark the caller's own notifications, or those created before a time, as read and return how many."""
    async with transaction(scope):
        return await execute(_MARK_ALL_READ, scope.store.id, scope.actor.user_id, scope.now, before)


async def notify_surplus(scope: Scope, order_id: int, payment: str, amount: str) -> None:
    """Notify the administrators of payments that a payment arrived which its order doesn't need any more."""
    message = (
        f"O pagamento {payment} foi recebido depois de o pedido ser pago, cancelado ou removido: {amount} não pertencem ao pedido. "
        "Devolva o valor ou combine com o cliente."
    )
    await _notify_staff(scope, ORDER, "payments", [(f"Pedido nº {order_id}: {amount} a devolver", message, None)])


async def _notify_staff(scope: Scope, type_: str, area: str, about: Sequence[tuple[str, str, int | None]]) -> None:
    """Notify the administrators of an area, and the vendor if one is named, of each title, message and vendor."""
    titles, messages, vendors = zip(*about, strict=True)
    await execute_later(_ABOUT_SUBJECTS, *_common_args(scope, type_, area), titles, messages, scope.now, vendors)


def _common_args(scope: Scope, type_: str, area: str) -> tuple[Any, ...]:
    timestamp = str(uuid7())[:13]
    return scope.store.id, timestamp, [f"view_{area}", f"manage_{area}"], type_


def _low_stock_message(product: LowStock) -> str:
    units = "1 unidade" if product.units == 1 else f"{product.units} unidades"
    return f"“{product.name}” está com {units} para venda."
