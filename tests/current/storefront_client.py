"""Call the storefront API as a headless storefront does: with a key and optionally a customer's token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
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
class StorefrontClient:
    """A storefront with its own key; requests carry the token of `customer`."""

    shop: Shop
    key: str | None
    customer: Person | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = dict(self.headers)
        if self.key is not None:
            headers["X-API-Key"] = self.key
        if self.customer is not None:
            headers["Authorization"] = f"Bearer {await self.shop.token(self.customer)}"
        headers |= options.pop("headers", {})
        return await self.shop.call(method, f"{BASE}/{path}", body, auth=None, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self.call("POST", path, body, **options)

    async def put(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self.call("PUT", path, body, **options)

    def as_customer(self, person: Person | None) -> StorefrontClient:
        return replace(self, customer=person)

    # --- shortcuts ---

    async def cart(self, *items: tuple[Made, int], ready: bool = True, **fields: Any) -> str:
        """Create a cart; a ready one has an address and, if it needs shipping, a shipping method."""
        lines = [{"product_id": product.id, "quantity": quantity} for product, quantity in items]
        made = await self.post("carts", {"items": lines, **fields})
        assert made.status == 201, made
        cart: str = made.body["id"]
        if ready:
            await self.put(f"carts/{cart}/address", ADDRESS)
            await self.put(f"carts/{cart}/shipping-option", {"shipping_id": self.shop.sedex.id})
        return cart

    async def check_out(self, cart: str, *, key: str | None = None, **fields: Any) -> Answer:
        """Check out a cart, by default as a guest who pays by Pix."""
        body = {"customer_email": "ana@example.com", "payment_id": self.shop.pix.id, **fields}
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": key} if key else {}
        return await self.post(f"carts/{cart}/checkout", body, headers=headers)

    async def order(self, *items: tuple[Made, int], **fields: Any) -> Answer:
        """Create a cart and check it out."""
        return await self.check_out(await self.cart(*items), **fields)


async def open_storefront(shop: Shop, **fields: Any) -> StorefrontClient:
    """Return a client with a new storefront key, by default with all scopes."""
    scope = shop.scope()
    with active_scope(scope):
        made = await create_storefront_key(scope, fields)
    return StorefrontClient(shop, made.key)
