"""Create the stores of a run with the command line and the APIs, and keep their credentials."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import orjson

from tests.system.soak.calls import Answer, Client
from tests.system.soak.model import PRODUCT_EVENTS, Product, StoreModel
from tests.system.soak.processes import run_command
from tests.system.soak.receiver import Receiver, Subscriber

EVENTS = ("order.created", "order.updated", "order.cancelled", *PRODUCT_EVENTS, "checkout.completed", "user.registered")
PASSWORD = "correct horse battery"
SHIPPING_CENTS = 1_590
_SCOPES = ("write_products", "write_orders", "read_users")
_REDIRECT = "https://app.example/callback"
_PRODUCTS = 8
_PLENTY, _SCARCE = 1_000_000, 12
# Access tokens live 15 minutes.
_TOKEN_SECONDS = 600.0

_PAYMENT = "mutation ($input: PaymentMethodInput!) { payment_method_create(input: $input) { id } }"
_SHIPPING = "mutation ($input: ShippingMethodInput!) { shipping_method_create(input: $input) { id } }"
_USER = "mutation ($input: UserInput!) { user_create(input: $input) { id } }"
_REGISTER = "mutation ($input: AppInput!) { app_register(input: $input) { client_id client_secret } }"
_INSTALL = "mutation ($id: String!, $scopes: [String!]!) { app_install(client_id: $id, scopes: $scopes) { code } }"
_INSTALLED = "{ installed_apps { id } }"
_RATE = "mutation ($id: ID!) { installed_app_update(id: $id, input: {rate_limit: 100000}) { id } }"


@dataclass(eq=False)
class Store:
    """A store, its account and its credentials."""

    model: StoreModel
    owner_email: str
    owner_password: str
    api_key: str
    storefront_key: str
    payment_id: str = ""
    shipping_id: str = ""
    app_token: str = ""
    customer_email: str = ""
    probe: Product | None = None
    """A product that only the probe of recovery changes."""
    unsold: list[Product] = field(default_factory=list)
    """Products without buyers, whose price and stock one client sets."""
    _token: str = ""
    _token_at: float = -_TOKEN_SECONDS
    _signing_in: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def basic(self) -> Mapping[str, str]:
        """Return the owner's credential for the legacy API."""
        pair = f"{self.owner_email}:{self.api_key}".encode()
        return {"Authorization": "Basic " + base64.b64encode(pair).decode()}

    @property
    def key(self) -> Mapping[str, str]:
        """Return the storefront key's credential."""
        return {"X-API-Key": self.storefront_key}

    @property
    def app(self) -> Mapping[str, str]:
        """Return the app token's credential."""
        return {"Authorization": f"Bearer {self.app_token}"}

    async def owner(self, client: Client) -> Mapping[str, str]:
        """Return the owner's access token, renewed every ten minutes."""
        async with self._signing_in:
            if monotonic() - self._token_at >= _TOKEN_SECONDS:
                body = {"email": self.owner_email, "password": self.owner_password}
                answer = await client.settle(self.model, "auth", "POST", "/api/v1/auth/login", body, headers={})
                if answer.status == 200:
                    self._token, self._token_at = answer.body["access_token"], monotonic()
        return {"Authorization": f"Bearer {self._token}"}


async def create_store(number: int, environment: Mapping[str, str], client: Client, receiver: Receiver) -> Store:
    """Create a store with products, methods, an installed app and its webhook endpoints."""
    store = await asyncio.to_thread(_create, number, environment)
    client.world.add(store.model)
    owner = await store.owner(client)
    store.payment_id = await _graphql(client, store, owner, _PAYMENT, {"name": f"{store.model.marker} Pix"})
    shipping = {"name": f"{store.model.marker} Sedex", "base_cents": SHIPPING_CENTS}
    store.shipping_id = await _graphql(client, store, owner, _SHIPPING, shipping)
    store.model.shipping_cents = SHIPPING_CENTS
    store.customer_email = f"{store.model.marker}-customer@example.com"
    user = {"email": store.customer_email, "password": PASSWORD, "firstname": store.model.marker}
    await _graphql(client, store, owner, _USER, user)
    await _install_app(client, store, owner, receiver)
    for each in range(_PRODUCTS):
        store.model.products.append(await _create_product(client, store, each, _SCARCE if each == 0 else _PLENTY))
    store.unsold = [await _create_product(client, store, each, 10) for each in range(100, 103)]
    store.probe = await _create_product(client, store, 200, 10)
    return store


def _create(number: int, environment: Mapping[str, str]) -> Store:
    """Create the store, its owner's API key and its storefront key with the command line."""

    def command(*arguments: str) -> Any:
        return orjson.loads(run_command(*arguments, "--json", environment=environment))

    marker = f"soak-{secrets.token_hex(4)}"
    email = f"{marker}-owner@example.com"
    made = command(
        "tenant", "create", f"{marker} {number}", "--host", f"{marker}.test", "--owner-email", email, "--owner-name", "Ana Souza",
    )  # fmt: skip
    tenant = made["tenant_id"]
    key = command("user", "api-key", "--tenant", tenant, "--email", email)
    storefront = command("storefront-key", "create", "--tenant", tenant, "--per-address", "0", "--rate-limit", "100000")
    return Store(
        StoreModel(marker, tenant), email, made["owner"]["password"], key["api_key"], storefront["storefront_key"]
    )


async def _install_app(client: Client, store: Store, owner: Mapping[str, str], receiver: Receiver) -> None:
    scopes = list(_SCOPES)
    app = await _result(
        client, store, owner, _REGISTER, {"input": {"name": "Soak", "redirect_uris": [_REDIRECT], "scopes": scopes}}
    )
    approval = await _result(client, store, owner, _INSTALL, {"id": app["client_id"], "scopes": scopes})
    grant = {"grant_type": "authorization_code", "code": approval["code"], **app}
    tokens = await _create_record(client, store, {}, "/api/v1/oauth/token", grant, status=200)
    store.app_token = tokens["access_token"]
    installed = await _result(client, store, owner, _INSTALLED, {})
    await _result(client, store, owner, _RATE, {"id": installed[0]["id"]})
    receiver.subscribe(Subscriber(store.model, app["client_id"], app["client_secret"].encode()))
    address = f"{receiver.base_url}/{store.model.marker}"
    for url, events in ((address, list(EVENTS)), (f"{address}/never", ["order.created"])):
        await _create_record(client, store, store.app, "/api/admin/webhooks", {"url": url, "events": events})


async def _create_product(client: Client, store: Store, number: int, stock: int) -> Product:
    name, price = f"{store.model.marker} product {number}", 1_000 + 117 * number
    made = await _create_record(
        client, store, store.app, "/api/admin/products", {"name": name, "price_cents": price, "stock": stock}
    )
    client.world.own(store.model, made["id"])
    store.model.expected_events.add(("product.created", made["id"]))
    return Product(made["id"], name, price, stock)


async def _create_record(
    client: Client, store: Store, headers: Mapping[str, str], path: str, body: Any, *, status: int = 201
) -> Any:
    answer = await client.send(store.model, "set-up", "POST", path, body, headers=headers, expected=(status,))
    return _require(answer, status, path).body


async def _graphql(client: Client, store: Store, owner: Mapping[str, str], document: str, fields: Any) -> str:
    return str((await _result(client, store, owner, document, {"input": fields}))["id"])


async def _result(client: Client, store: Store, owner: Mapping[str, str], document: str, variables: Any) -> Any:
    body = {"query": document, "variables": variables}
    answer = await client.send(store.model, "set-up", "POST", "/graphql", body, headers=owner)
    return next(iter(_require(answer, 200, document).body["data"].values()))


def _require(answer: Answer, status: int, what: str) -> Answer:
    if answer.status != status:
        raise SystemExit(f"soak: set-up failed: {what[:80]}: {answer.status} {answer.text[:300]} {answer.failure}")
    return answer
