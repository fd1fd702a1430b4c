"""Limit the rate requests to carriers that shoppers cause: another CEP or content needs a new one (docs/shipping.md#quotes)."""

from __future__ import annotations

from contextvars import ContextVar
from uuid import UUID

from auth.lockout import count_recent
from kernel.errors import RateLimited
from kernel.scope import ActorKind, Scope

PER_CART, PER_KEY = 20, 600
"""Rate requests a minute; those for all methods of a cart count as one."""
SHOPPERS = (ActorKind.STOREFRONT, ActorKind.CUSTOMER, ActorKind.ANONYMOUS)

current_cart: ContextVar[UUID | None] = ContextVar("current_cart", default=None)
"""The cart that this request is about (`domain.carts.locked`)."""


async def count_rate_requests(scope: Scope) -> None:
    """Count that the carriers of a cart are asked; raise RateLimited for a cart, or a storefront key, that asks too often."""
    if scope.actor.kind not in SHOPPERS:
        return
    store, cart = scope.store.id, current_cart.get()
    if cart is not None and not await count_recent(f"carriers:{store}:cart:{cart}", scope.now, PER_CART):
        raise RateLimited(f"carriers were asked about this cart {PER_CART} times in a minute")
    if not await _count_of_key(scope, "carriers"):
        raise RateLimited(f"carriers were asked {PER_KEY} times in a minute with this key")


async def is_lookup_allowed(scope: Scope) -> bool:
    """Count that the service for postal codes is asked; False for a key that asks too often."""
    return await _count_of_key(scope, "zipcodes")


async def _count_of_key(scope: Scope, purpose: str) -> bool:
    # The customers of a storefront share its key.
    key = scope.actor.credential.partition("/")[0]
    return await count_recent(f"{purpose}:{scope.store.id}:{key}"[:200], scope.now, PER_KEY)
