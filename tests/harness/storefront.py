"""Call the storefront API as a headless storefront does: with a key and optionally a customer's token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from yarl import URL

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from tests.harness.http import Client, Requests, Response, bearer
from tests.harness.records import Record, UserRecord
from tests.harness.sample_store import SampleStore

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
    "id", "status", "currency", "items", "customer_email", "address", "shipping_option", "coupon_code", "points_to_use",
    "points_cents", "points_earned", "subtotal_cents", "discount_cents", "shipping_cents", "total_cents", "updated_at", "expires_at",
}  # fmt: skip
ORDER = {
    "id", "number", "status", "total_cents", "subtotal_cents", "shipping_cents", "discount_cents", "currency", "payment_status",
    "delivery_time", "tracking_code", "customer", "items", "created_at", "updated_at",
}  # fmt: skip


@dataclass(frozen=True)
class StorefrontClient(Requests):
    """A storefront with its own key; requests carry the token of `customer`."""

    sample: SampleStore
    key: str | None
    customer: UserRecord | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def request(
        self, method: str, path: str | URL, json: Any = None, *, at: SampleStore | None = None, **options: Any
    ) -> Response:
        credentials = dict(self.headers)
        if self.key is not None:
            credentials["X-API-Key"] = self.key
        if self.customer is not None:
            credentials |= bearer(await self.sample.token(self.customer))
        client = Client(self.sample.http, (at or self.sample).store, credentials, self.sample.ip)
        return await client.request(method, f"{BASE}/{path}", json, **options)

    def as_customer(self, person: UserRecord | None) -> StorefrontClient:
        return replace(self, customer=person)

    # --- shortcuts ---

    async def cart(self, *items: tuple[Record, int], ready: bool = True, **fields: Any) -> str:
        """Create a cart; a ready one has an address and, if it needs shipping, a shipping method."""
        lines = [{"product_id": product.id, "quantity": quantity} for product, quantity in items]
        made = await self.post("carts", {"items": lines, **fields})
        assert made.status == 201, made
        cart: str = made.body["id"]
        if ready:
            await self.put(f"carts/{cart}/address", ADDRESS)
            await self.put(f"carts/{cart}/shipping-option", {"shipping_id": self.sample.sedex.id})
        return cart

    async def check_out(self, cart: str, *, key: str | None = None, **fields: Any) -> Response:
        """Check out a cart, by default as a guest who pays by Pix."""
        body = {"customer_email": "ana@example.com", "payment_id": self.sample.pix.id, **fields}
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"Idempotency-Key": key} if key else {}
        return await self.post(f"carts/{cart}/checkout", body, headers=headers)

    async def order(self, *items: tuple[Record, int], **fields: Any) -> Response:
        """Create a cart and check it out."""
        return await self.check_out(await self.cart(*items), **fields)


async def open_storefront(sample: SampleStore, **fields: Any) -> StorefrontClient:
    """Return a client with a new storefront key, by default with all scopes."""
    scope = sample.scope
    with active_scope(scope):
        made = await create_storefront_key(scope, fields)
    return StorefrontClient(sample, made.key)
