"""Write notifications into inboxes, in the transaction of what they tell of, and mark them as read.

Who is told: of an order its buyer, the sellers of its lines and the administrators who may see orders; of stock that runs low the
product's seller and the administrators who may see products; of apps the administrators who may see apps. Each call is one statement,
however many are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.store_settings import setting
from kernel.errors import NotFound
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope
from models.database import execute, transaction, value

ORDER, STOCK, APP = "order", "stock", "app"

# Notifications are read by people who shop and work in the store (decisions section 1, Language).
_STATUS_NAMES: Mapping[str, str] = {
    "O": "aberto",
    "P": "pago",
    "C": "concluído",
    "D": "recusado",
    "F": "não concluído",
    "I": "cancelado",
    "B": "aguardando estoque",
}

# A UUID of version 7 for each inbox: `$2` holds the moment, PostgreSQL adds the chance.
_PUBLIC_ID = (
    "overlay(overlay(gen_random_uuid()::text PLACING $2 FROM 1 FOR 13) PLACING '7' FROM 15 FOR 1)::uuid"
)
_STAFF = """
    SELECT u.id FROM users u WHERE u.tenant_id = $1 AND u.user_type = 'A' AND u.deleted_at IS NULL AND (
        u.privileges && $3::text[] OR u.id = (SELECT s.owner_id FROM tenants s WHERE s.id = $1)
        OR EXISTS (
            SELECT 1 FROM usergroup_memberships m
            JOIN usergroups g ON g.tenant_id = m.tenant_id AND g.id = m.usergroup_id
            WHERE m.tenant_id = u.tenant_id AND m.user_id = u.id AND m.status = 'A'
                AND g.type = 'A' AND g.status = 'A' AND g.deleted_at IS NULL AND g.privileges && $3::text[]
        )
    )
"""

_ABOUT_ORDER = f"""
WITH told AS (
    SELECT o.user_id AS id FROM orders o WHERE o.tenant_id = $1 AND o.id = $8
    UNION
    SELECT u.id FROM order_lines l JOIN users u ON u.tenant_id = l.tenant_id AND u.vendor_id = l.vendor_id
    WHERE l.tenant_id = $1 AND l.order_id = $8 AND u.user_type = 'V'
    UNION {_STAFF}
)
INSERT INTO notifications (tenant_id, public_id, user_id, type, title, message, created_at)
SELECT $1, {_PUBLIC_ID}, u.id, $4, $5, $6, $7
FROM told JOIN users u ON u.tenant_id = $1 AND u.id = told.id
WHERE u.status = 'A' AND u.deleted_at IS NULL
"""  # constants of this module

_ABOUT_PRODUCTS = f"""
WITH about AS (
    SELECT * FROM unnest($5::text[], $6::text[], $8::bigint[]) AS a (title, message, vendor_id)
), staff AS ({_STAFF}), told AS (
    SELECT a.title, a.message, s.id FROM about a CROSS JOIN staff s
    UNION
    SELECT a.title, a.message, u.id FROM about a JOIN users u ON u.tenant_id = $1 AND u.vendor_id = a.vendor_id
    WHERE u.user_type = 'V'
)
INSERT INTO notifications (tenant_id, public_id, user_id, type, title, message, created_at)
SELECT $1, {_PUBLIC_ID}, u.id, $4, told.title, told.message, $7
FROM told JOIN users u ON u.tenant_id = $1 AND u.id = told.id
WHERE u.status = 'A' AND u.deleted_at IS NULL
"""  # constants of this module

_READ = """
UPDATE notifications SET read_at = coalesce(read_at, $4)
WHERE tenant_id = $1 AND user_id = $2 AND (id = $3 OR public_id = $5) RETURNING id
"""
_READ_ALL = """
UPDATE notifications SET read_at = $3
WHERE tenant_id = $1 AND user_id = $2 AND read_at IS NULL AND ($4::timestamptz IS NULL OR created_at < $4)
"""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Tell how the stock of a product changed: units that can be sold, before and after."""

    name: str
    vendor_id: int | None
    before: int
    after: int


async def order_placed(scope: Scope, order_id: int) -> None:
    """Tell that an order was placed."""
    await _about_order(scope, order_id, f"Novo pedido nº {order_id}", f"O pedido nº {order_id} foi recebido.")


async def order_moved(scope: Scope, order_id: int, from_status: str, to_status: str) -> None:
    """Tell that an order went from one status letter to another."""
    before, after = (_STATUS_NAMES.get(letter, letter) for letter in (from_status, to_status))
    await _about_order(
        scope,
        order_id,
        f"Pedido nº {order_id}: {after}",
        f"O pedido nº {order_id} passou de “{before}” para “{after}”.",
    )


async def stock_changed(scope: Scope, shelves: Iterable[Shelf]) -> None:
    """Tell of the products that have just come down to what the store calls low (setting `low_stock_at`)."""
    low = setting(scope, "low_stock_at")
    found = [shelf for shelf in shelves if shelf.before > low >= shelf.after]
    if found:
        await _about_products(scope, found)


async def app_installed(scope: Scope, name: str) -> None:
    """Tell the administrators of apps that one was installed."""
    given = (f"Aplicativo instalado: {name}", f"O aplicativo “{name}” foi instalado na loja.")
    await execute(_ABOUT_PRODUCTS, *_head(scope, APP, "apps"), [given[0]], [given[1]], scope.now, [None])


async def mark_read(scope: Scope, notification: object) -> int:
    """Mark one of the caller's own notifications as read and give its internal id; raises NotFound."""
    reference = parse_reference(notification)
    number, public_id = (reference, None) if isinstance(reference, int) else (None, reference)
    async with transaction(scope):
        found = await value(_READ, scope.store.id, scope.actor.user_id, number, scope.now, public_id)
    if found is None:
        raise NotFound("notification")
    return int(found)


async def mark_all_read(scope: Scope, before: datetime | None = None) -> int:
    """Mark all of the caller's own notifications, or those written before a moment, as read and give how many they were."""
    async with transaction(scope):
        return await execute(_READ_ALL, scope.store.id, scope.actor.user_id, scope.now, before)


async def _about_order(scope: Scope, order_id: int, title: str, message: str) -> None:
    await execute(_ABOUT_ORDER, *_head(scope, ORDER, "orders"), title, message, scope.now, order_id)


async def _about_products(scope: Scope, shelves: Sequence[Shelf]) -> None:
    await execute(
        _ABOUT_PRODUCTS,
        *_head(scope, STOCK, "products"),
        [f"Estoque baixo: {shelf.name}" for shelf in shelves],
        [_left(shelf) for shelf in shelves],
        scope.now,
        [shelf.vendor_id for shelf in shelves],
    )


def _head(scope: Scope, type_: str, area: str) -> tuple[Any, ...]:
    moment = str(uuid7())[:13]
    return scope.store.id, moment, [f"view_{area}", f"manage_{area}"], type_


def _left(shelf: Shelf) -> str:
    units = "1 unidade" if shelf.after == 1 else f"{shelf.after} unidades"
    return f"“{shelf.name}” está com {units} para venda."
