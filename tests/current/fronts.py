"""Call the storefront API as a headless storefront does: with a key, maybe with a shopper's own token beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from auth.storefront_keys import create_storefront_key
from kernel.scope import entered
from tests.shop import Answer, Made, Person, Shop

BASE = "/api/v1/storefront"
ADDRESS = {
    "name": "Ana Souza",
    "street": "Rua das Flores",
    "number": "10",
    "complement": "ap. 2",
    "district": "Centro",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001-000",
    "country": "BR",
    "phone": "11 99999-0000",
}
CART = {
    "id", "status", "currency", "items", "customer_email", "address", "shipping_option", "coupon_code", "subtotal_cents",
    "discount_cents", "shipping_cents", "total_cents", "updated_at", "expires_at",
}  # fmt: skip
ORDER = {
    "id", "number", "status", "total_cents", "subtotal_cents", "shipping_cents", "discount_cents", "currency", "payment_status",
    "tracking_code", "customer", "items", "created_at", "updated_at",
}  # fmt: skip


@dataclass(frozen=True)
class Front:
    """A storefront with a key of its own; `shopper` sends that person's token along."""

    shop: Shop
    key: str | None
    shopper: Person | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, **how: Any) -> Answer:
        headers = dict(self.headers)
        if self.key is not None:
            headers["X-API-Key"] = self.key
        if self.shopper is not None:
            headers["Authorization"] = f"Bearer {await self.shop.token(self.shopper)}"
        headers |= how.pop("headers", {})
        return await self.shop.call(method, f"{BASE}/{path}", body, auth=None, headers=headers, **how)

    async def get(self, path: str, **how: Any) -> Answer:
        return await self.call("GET", path, **how)

    async def post(self, path: str, body: Any = None, **how: Any) -> Answer:
        return await self.call("POST", path, body, **how)

    async def put(self, path: str, body: Any = None, **how: Any) -> Answer:
        return await self.call("PUT", path, body, **how)

    def signed_in(self, person: Person | None) -> Front:
        return replace(self, shopper=person)

    # --- short words ---

    async def cart(self, *items: tuple[Made, int], ready: bool = True, **given: Any) -> str:
        """Make a cart; one that is ready has an address and, where it has something to send, a way to send it."""
        wanted = [{"product_id": product.id, "quantity": quantity} for product, quantity in items]
        made = await self.post("carts", {"items": wanted, **given})
        assert made.status == 201, made
        cart: str = made.body["id"]
        if ready:
            await self.put(f"carts/{cart}/address", ADDRESS)
            await self.put(f"carts/{cart}/shipping-option", {"shipping_id": self.shop.sedex.id})
        return cart

    async def check_out(self, cart: str, *, key: str | None = None, **given: Any) -> Answer:
        """Order a cart, as a guest who pays by Pix unless said otherwise."""
        body = {"customer_email": "ana@example.com", "payment_id": self.shop.pix.id, **given}
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": key} if key else {}
        return await self.post(f"carts/{cart}/checkout", body, headers=headers)

    async def order(self, *items: tuple[Made, int], **given: Any) -> Answer:
        """Put a cart together and order it."""
        return await self.check_out(await self.cart(*items), **given)


async def open_front(shop: Shop, **given: Any) -> Front:
    """Give a storefront with a new key, of all scopes unless said."""
    scope = shop.scope()
    with entered(scope):
        made = await create_storefront_key(scope, given)
    return Front(shop, made.key)
