"""Find and lock a cart: every change locks its row first, which serializes concurrent changes.

A cart is reached by its id alone, an unguessable UUIDv4 (docs/reference/current.md#storefront). A customer's own token opens that
customer's carts and unowned ones; a storefront key opens any cart whose id is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from domain import events
from domain.carriers.limits import current_cart
from kernel.errors import Conflict, NotFound, RuleViolation
from kernel.ids import parse_uuid
from kernel.scope import SHOPPERS, STAFF_OR_APP, ActorKind, Scope, active_scope
from models.connection.database import Plans, execute_later, fetch, fetchrow

OPEN, ORDERED, EXPIRED = "open", "ordered", "expired"

# In the order of `LockedCart`, with the account's columns in place of the customer.
_COLUMNS = """c.id, c.public_id, c.user_id, c.status, c.currency, c.customer_email, c.address::text, c.shipping_method_id,
    c.coupon_code, c.points_to_use,
    c.subtotal_cents, c.discount_cents, c.shipping_cents, c.total_cents, c.told_at, c.expires_at, c.updated_at,
    u.public_id AS user_public_id, coalesce(u.email, '') AS user_email,
    btrim(coalesce(u.firstname, '') || ' ' || coalesce(u.lastname, '')) AS user_name"""
_COUNT = 20
_JOINS = "FROM carts c LEFT JOIN users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id"
_WHERE = "WHERE c.tenant_id = $1 AND c.public_id = $2"
_FIND = f"SELECT {_COLUMNS} {_JOINS} {_WHERE}"
_LOCK = f"{_FIND} FOR NO KEY UPDATE OF c"
# Returns no row.
_LOCK_ONLY = """
SELECT WHERE (SELECT count(*) FROM (SELECT FROM carts c WHERE c.tenant_id = $1 AND c.public_id = $2 FOR NO KEY UPDATE) AS locked) < 0
"""


@dataclass(frozen=True, slots=True)
class LockedCart:
    """A cart's row; amounts in cents as of its last change, the customer as in events."""

    id: int
    public_id: UUID
    user_id: int | None
    status: str
    currency: str
    customer_email: str
    address: dict[str, str] | None
    shipping_method_id: int | None
    coupon_code: str
    points_to_use: int
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int
    emitted_at: datetime | None  # column told_at
    expires_at: datetime
    updated_at: datetime
    customer: events.EventCustomer | None

    def status_at(self, now: datetime) -> str:
        """Return the status; an open cart past its expiry is expired even before the job marks it."""
        return EXPIRED if self.status == OPEN and self.expires_at <= now else self.status


async def find_cart(scope: Scope, cart: object) -> LockedCart:
    """Return a cart the caller may access; raises NotFound."""
    with active_scope(scope):
        return await _load(scope, _FIND, cart)


def statement_with_items(columns: str, source: str) -> str:
    """Return the statement of `find_cart_with`: these columns of the items `i` in `source` (trusted SQL), the first one never null."""
    return (
        f"SELECT {_COLUMNS}, {columns} {_JOINS} LEFT JOIN ({source}) ON i.tenant_id = c.tenant_id AND i.cart_id = c.id"
        f" {_WHERE} ORDER BY i.id"
    )


async def find_cart_with(
    scope: Scope, cart: object, statement: str, params: Sequence[object] = ()
) -> tuple[LockedCart, list[tuple[Any, ...]]]:
    """Return a cart as `find_cart` does, and the columns of its items that the statement reads; raises NotFound.

    `params` are the parameters of these columns: the third one and those after it.
    """
    public_id = parse_uuid(cart)
    with active_scope(scope):
        records = (
            await fetch(statement, scope.store.id, public_id, *params, plans=Plans.REUSED)
            if public_id is not None
            else []
        )
    accessible = _accessible(scope, records[0] if records else None)
    # A cart without items is one row without an item.
    items = [tuple(record)[_COUNT:] for record in records]
    return accessible, [item for item in items if item[0] is not None]


async def lock_open_cart_with(scope: Scope, cart: object, statement: str) -> tuple[LockedCart, list[tuple[Any, ...]]]:
    """Lock a cart as `lock_open_cart` does, and return it with its items as `find_cart_with` does, in one round trip.

    The items are those after the lock: a statement that did both would read them as they were before it waited.
    """
    public_id = parse_uuid(cart)
    if public_id is not None:
        await execute_later(_LOCK_ONLY, scope.store.id, public_id)
    locked, items = await find_cart_with(scope, public_id, statement)
    reject_closed(scope, locked)
    return locked, items


async def lock_cart(scope: Scope, cart: object) -> LockedCart:
    """Lock a cart the caller may access until the transaction ends; raises NotFound."""
    return await _load(scope, _LOCK, cart)


async def lock_open_cart(scope: Scope, cart: object) -> LockedCart:
    """Lock a cart that can still be changed; raises NotFound, and what `reject_closed` does."""
    locked = await lock_cart(scope, cart)
    reject_closed(scope, locked)
    return locked


def reject_closed(scope: Scope, cart: LockedCart) -> None:
    """Reject changes of an ordered cart (`cart_already_ordered`, 409) and of an expired one (`cart_expired`, 422)."""
    status = cart.status_at(scope.now)
    if status == ORDERED:
        raise Conflict("cart_already_ordered", reason="cart_already_ordered")
    if status == EXPIRED:
        raise RuleViolation("O carrinho expirou.", reason="cart_expired")


async def _load(scope: Scope, sql: str, cart: object) -> LockedCart:
    public_id = parse_uuid(cart)
    return _accessible(scope, await fetchrow(sql, scope.store.id, public_id) if public_id is not None else None)


def _accessible(scope: Scope, record: Sequence[Any] | None) -> LockedCart:
    """Return the cart of a row with `_COLUMNS`; raises NotFound for none, and one that the caller may not access."""
    if record is None:
        raise NotFound("cart")
    *columns, customer_id, account_email, name = record[:_COUNT]
    id_, public_id, user_id, status, currency, customer_email, address, *rest = columns
    if not _may_open(scope, user_id):
        raise NotFound("cart")
    current_cart.set(public_id)
    email = customer_email or account_email
    customer = events.EventCustomer(customer_id, name, email) if customer_id or email else None
    parsed = orjson.loads(address) if address else None
    return LockedCart(*[id_, public_id, user_id, status, currency, customer_email, parsed, *rest, customer])


def _may_open(scope: Scope, owner: int | None) -> bool:
    actor = scope.actor
    if actor.kind in STAFF_OR_APP:
        return True
    if actor.kind is ActorKind.STOREFRONT and actor.user_id is None:
        return True
    return actor.kind in SHOPPERS and owner in (None, actor.user_id)
