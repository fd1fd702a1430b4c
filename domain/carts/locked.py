"""Find a cart and take hold of it: whoever changes a cart locks its row first, so that changes follow each other.

A cart is reached by its id alone, an unguessable UUIDv4 (decisions section 6, storefront). A customer's own token opens that customer's
carts and those of nobody yet; a storefront key opens any whose id it was told, for behind it stands a shopper without an account.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from domain import events
from kernel.errors import Conflict, NotFound, RuleViolation
from kernel.ids import parse_uuid
from kernel.scope import ActorKind, Scope, entered
from models.database import row

OPEN, ORDERED, EXPIRED = "open", "ordered", "expired"
_SEES_EVERY_CART = (ActorKind.ADMIN, ActorKind.APP, ActorKind.SYSTEM)
_SHOPS = (ActorKind.CUSTOMER, ActorKind.STOREFRONT)

_FIND = """
SELECT c.id, c.public_id, c.user_id, c.status, c.currency, c.customer_email, c.address::text AS address, c.shipping_method_id,
    c.coupon_code, c.subtotal_cents, c.discount_cents, c.shipping_cents, c.total_cents, c.told_at, c.expires_at, c.updated_at,
    u.public_id AS user_public_id, coalesce(u.email, '') AS user_email,
    btrim(coalesce(u.firstname, '') || ' ' || coalesce(u.lastname, '')) AS user_name
FROM carts c LEFT JOIN users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
WHERE c.tenant_id = $1 AND c.public_id = $2
"""
_LOCK = f"{_FIND} FOR NO KEY UPDATE OF c"


@dataclass(frozen=True, slots=True)
class LockedCart:
    """Hold a cart's row; amounts in cents as of its last change, the customer as events tell of it."""

    id: int
    public_id: UUID
    user_id: int | None
    status: str
    currency: str
    customer_email: str
    address: dict[str, str] | None
    shipping_method_id: int | None
    coupon_code: str
    subtotal_cents: int
    discount_cents: int
    shipping_cents: int
    total_cents: int
    told_at: datetime | None
    expires_at: datetime
    updated_at: datetime
    customer: events.EventCustomer | None

    def status_at(self, now: datetime) -> str:
        """Give the status; a cart whose time has passed is expired before the job has said so."""
        return EXPIRED if self.status == OPEN and self.expires_at <= now else self.status


async def find_cart(scope: Scope, cart: object) -> LockedCart:
    """Give a cart that the caller may open; raises NotFound."""
    with entered(scope):
        return await _found(scope, _FIND, cart)


async def lock_cart(scope: Scope, cart: object) -> LockedCart:
    """Give a cart that the caller may open and nobody else changes until the transaction ends; raises NotFound."""
    return await _found(scope, _LOCK, cart)


async def lock_open_cart(scope: Scope, cart: object) -> LockedCart:
    """Lock a cart that can still be changed; raises NotFound, and what `refuse_closed` does."""
    held = await lock_cart(scope, cart)
    refuse_closed(scope, held)
    return held


def refuse_closed(scope: Scope, cart: LockedCart) -> None:
    """Refuse what would change a cart that became an order (`cart_already_ordered`, 409) or has expired (`cart_expired`, 422)."""
    status = cart.status_at(scope.now)
    if status == ORDERED:
        raise Conflict("cart_already_ordered", reason="cart_already_ordered")
    if status == EXPIRED:
        raise RuleViolation("O carrinho expirou.", reason="cart_expired")


async def _found(scope: Scope, sql: str, cart: object) -> LockedCart:
    public_id = parse_uuid(cart)
    found = await row(sql, scope.store.id, public_id) if public_id is not None else None
    if found is None or not _may_open(scope, found["user_id"]):
        raise NotFound("cart")
    return _cart(dict(found))


def _may_open(scope: Scope, owner: int | None) -> bool:
    actor = scope.actor
    if actor.kind in _SEES_EVERY_CART:
        return True
    if actor.kind is ActorKind.STOREFRONT and actor.user_id is None:
        return True
    return actor.kind in _SHOPS and owner in (None, actor.user_id)


def _cart(found: dict[str, Any]) -> LockedCart:
    customer_id, account_email = found.pop("user_public_id"), found.pop("user_email")
    name = found.pop("user_name")
    email = found["customer_email"] or account_email
    customer = events.EventCustomer(customer_id, name, email) if customer_id or email else None
    address = found.pop("address")
    return LockedCart(**found, address=orjson.loads(address) if address else None, customer=customer)
