"""The clients of a run: each repeats its actions until stopped, at a human pace."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from tests.system.soak import hostile
from tests.system.soak.calls import Answer, Client, client_address
from tests.system.soak.model import OrderView, Purchase, check_order, check_stock
from tests.system.soak.purchases import check_out, create_by_graphql, create_by_legacy
from tests.system.soak.stores import PASSWORD, Store
from tests.system.soak.views import ORDER_FIELDS, current_view, legacy_view

Action: TypeAlias = Callable[[Client, Store], Awaitable[None]]

_PAUSE = (0.05, 0.3)
_NEXT = {"O": "PPPI", "P": "CCI"}
_ORDER = f"query ($id: ID!) {{ order(id: $id) {{ {ORDER_FIELDS} }} }}"
_PRODUCTS = "{ products(limit: 50) { id name price_cents stock } store { id name } }"
_SET_STATUS = "mutation ($id: ID!, $status: OrderStatus!) { order_set_status(id: $id, status: $status) { id status } }"
_SLOW_READ_SECONDS = 0.05


class Traffic:
    """All clients of all stores."""

    def __init__(self, client: Client, stores: Sequence[Store], *others: Sequence[Action]) -> None:
        """`others` are the actions of further clients of each store."""
        self._others = others
        self._client = client
        self._stores = stores
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the clients."""
        for store in self._stores:
            others = [each for each in self._stores if each is not store]
            self._tasks += [
                asyncio.create_task(self._repeat(actions, store))
                for actions in (
                    [check_out],
                    [check_out, browse],
                    [create_by_graphql, read_by_graphql, change_by_graphql, read_by_graphql],
                    [create_by_legacy, read_by_legacy, change_by_legacy, read_by_legacy],
                    [read_by_admin, change_by_admin, list_by_admin, read_by_admin],
                    [read_by_app, change_by_app, set_stock, read_by_app],
                    [sign_in_and_out],
                    [read_slowly],
                    [Intruder(others).probe],
                    *self._others,
                )
            ]

        # One store's shoppers have them as neighbours, those of the other stores share the processes.
        self._tasks += [asyncio.create_task(self._repeat([action], self._stores[0])) for action in hostile.ACTIONS]

    async def stop(self) -> None:
        """Let every client finish what it has begun, so that the account has no open question."""
        self._stopping.set()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                self._client.world.findings.add("soak", f"a client ended with {result!r}")

    async def _repeat(self, actions: Sequence[Action], store: Store) -> None:
        while not self._stopping.is_set():
            await random.choice(actions)(self._client, store)
            await asyncio.sleep(random.uniform(*_PAUSE))


# --- Reading ---------------------------------------------------------------------------------------------------------------


async def browse(client: Client, store: Store) -> None:
    """Read the storefront's list and one product."""
    listed = await client.settle(
        store.model, "storefront", "GET", "/api/v1/storefront/products?limit=50", headers=store.key
    )
    if listed.status == 200:
        _check_products(client, store, listed.body["products"])
    product = random.choice(store.model.products)
    path = f"/api/v1/storefront/products/{product.id}"
    shown = await client.settle(store.model, "storefront", "GET", path, headers=store.key)
    if shown.status == 200:
        _check_products(client, store, [shown.body])


async def read_by_graphql(client: Client, store: Store) -> None:
    """Read products with the storefront key, and an order as the owner."""
    answer = await client.settle(store.model, "graphql", "POST", "/graphql", {"query": _PRODUCTS}, headers=store.key)
    if answer.status == 200:
        _check_products(client, store, answer.body["data"]["products"])
    body = {"query": _ORDER}
    async with _Taken(store) as purchase:
        if purchase is not None:
            body["variables"] = {"id": purchase.id}  # type: ignore[assignment]
            answer = await client.read(
                store.model, "graphql", "/graphql", body=body, headers=await store.owner(client),
                is_current=lambda each: _is_current(purchase, each.body["data"]["order"], current_view),
            )  # fmt: skip
            if answer.status == 200:
                _check_view(client, purchase, current_view(answer.body["data"]["order"]), "graphql")


async def read_by_admin(client: Client, store: Store) -> None:
    """Read an order in the administration."""
    await _read_order(client, store, "admin", "/api/v1/admin/orders", await store.owner(client), current_view)


async def read_by_app(client: Client, store: Store) -> None:
    """Read an order as the app."""
    await _read_order(client, store, "apps", "/api/admin/orders", store.app, current_view)


async def read_by_legacy(client: Client, store: Store) -> None:
    """Read an order and a list of products by the legacy API."""
    await _read_order(client, store, "legacy", "/api/orders", store.basic, legacy_view)
    await client.settle(store.model, "legacy", "GET", "/api/products?items_per_page=20", headers=store.basic)


async def list_by_admin(client: Client, store: Store) -> None:
    """Read the newest orders and the audit log."""
    headers = await store.owner(client)
    path = "/api/v1/admin/orders?per_page=50"
    answer = await client.settle(store.model, "admin", "GET", path, headers=headers)
    numbers = [order["number"] for order in answer.body["orders"]] if answer.status == 200 else []
    if len(set(numbers)) != len(numbers):
        client.world.findings.add("order number", f"{store.model.marker}: a list holds a number twice: {numbers}")
    await client.settle(store.model, "admin", "GET", "/api/v1/admin/audit-log?per_page=20", headers=headers)


async def _read_order(
    client: Client, store: Store, family: str, path: str, headers: Any, view: Callable[[Any], Any]
) -> None:
    async with _Taken(store) as purchase:
        if purchase is None:
            return
        answer = await client.read(
            store.model, family, f"{path}/{purchase.id}", headers=headers,
            is_current=lambda each: _is_current(purchase, each.body, view),
        )  # fmt: skip
        if answer.status == 200:
            _check_view(client, purchase, view(answer.body), family)


def _is_current(purchase: Purchase, record: Any, view: Callable[[Any], OrderView]) -> bool:
    return record is not None and view(record).status == purchase.status


def _check_view(client: Client, purchase: Purchase, view: Any, about: str) -> None:
    check_order(client.world.findings, purchase, view, about)
    if view.number != purchase.number:
        client.world.findings.add("order number", f"{about} {purchase.email}: {view.number}, was {purchase.number}")


def _check_products(client: Client, store: Store, records: Sequence[Any]) -> None:
    by_id = {record["id"]: record for record in records}
    for product in store.model.products:
        record = by_id.get(product.id)
        if record and (record["name"], record["price_cents"]) != (product.name, product.price_cents):
            client.world.findings.add("product", f"{product.name}: {record['name']!r} at {record['price_cents']}")
    check_stock(
        client.world.findings, store.model, {each: record["stock"] for each, record in by_id.items()}, is_quiet=False
    )


# --- Changing --------------------------------------------------------------------------------------------------------------


async def change_by_admin(client: Client, store: Store) -> None:
    """Change an order's status in the administration."""
    headers = await store.owner(client)

    async def change(purchase: Purchase, status: str) -> Answer:
        path = f"/api/v1/admin/orders/{purchase.id}/status"
        return await client.settle(store.model, "admin", "PUT", path, {"status": status}, headers=headers)

    await _change_status(store, change)


async def change_by_app(client: Client, store: Store) -> None:
    """Change an order's status as the app."""

    async def change(purchase: Purchase, status: str) -> Answer:
        path = f"/api/admin/orders/{purchase.id}/status"
        return await client.settle(store.model, "apps", "PUT", path, {"status": status}, headers=store.app)

    await _change_status(store, change)


async def change_by_graphql(client: Client, store: Store) -> None:
    """Change an order's status by GraphQL."""
    headers = await store.owner(client)

    async def change(purchase: Purchase, status: str) -> Answer:
        body = {"query": _SET_STATUS, "variables": {"id": purchase.id, "status": status}}
        return await client.settle(store.model, "graphql", "POST", "/graphql", body, headers=headers)

    await _change_status(store, change)


async def change_by_legacy(client: Client, store: Store) -> None:
    """Change an order's status by the legacy API."""

    async def change(purchase: Purchase, status: str) -> Answer:
        path = f"/api/orders/{purchase.number}"
        return await client.settle(store.model, "legacy", "PUT", path, {"status": status}, headers=store.basic)

    await _change_status(store, change)


async def _change_status(store: Store, change: Callable[[Purchase, str], Awaitable[Answer]]) -> None:
    """Change one order; a repeated change to the same status is a success that changes nothing."""
    async with _Taken(store) as purchase:
        if purchase is None or (purchase.status or "") not in _NEXT:
            return
        status = random.choice(_NEXT[purchase.status or ""])
        if (await change(purchase, status)).status == 200:
            store.model.change_status(purchase, status)


async def set_stock(client: Client, store: Store) -> None:
    """Set price and stock of a product that only this client changes, and read both."""
    product = random.choice(store.unsold)
    price, stock = random.randint(1, 99_999), random.randint(0, 500)
    body = {"price_cents": price, "stock": stock}
    path = f"/api/admin/products/{product.id}"
    if (await client.settle(store.model, "apps", "PUT", path, body, headers=store.app)).status != 200:
        return
    store.model.expected_events.add(("product.updated", product.id))
    path = f"/api/storefront/products/{product.id}"
    shown = await client.read(
        store.model, "apps", path, headers=store.app,
        is_current=lambda each: (each.body["price_cents"], each.body["stock"]) == (price, stock),
    )  # fmt: skip
    if shown.status == 200 and (shown.body["price_cents"], shown.body["stock"]) != (price, stock):
        text = f"{product.name}: {shown.body['price_cents']} and {shown.body['stock']} in stock, was set to {body}"
        client.world.findings.add("stock", text)


async def sign_in_and_out(client: Client, store: Store) -> None:
    """Sign a customer in, read the account, renew the token and sign out."""
    base, model = "/api/v1/auth", store.model
    body = {"email": store.customer_email, "password": PASSWORD}
    signed_in = await client.settle(model, "auth", "POST", f"{base}/login", body, headers={})
    if signed_in.status == 200:
        headers = {"Authorization": f"Bearer {signed_in.body['access_token']}"}
        me = await client.settle(model, "auth", "GET", f"{base}/me", headers=headers)
        if me.status == 200 and me.body["email"] != store.customer_email:
            client.world.findings.add("account", f"{store.customer_email} is shown {me.body['email']}")
        token = {"refresh_token": signed_in.body["refresh_token"]}
        # A refresh token is spent by a request whose answer is lost: not repeated.
        renewed = await client.send(model, "auth", "POST", f"{base}/refresh", token, headers={})
        if renewed.status == 200:
            token = {"refresh_token": renewed.body["refresh_token"]}
        await client.settle(model, "auth", "POST", f"{base}/logout", token, headers={})
    await asyncio.sleep(random.uniform(0.5, 2))


class _Taken:
    """Take an idle order for as long as the block runs."""

    def __init__(self, store: Store) -> None:
        self._idle = store.model.idle
        self._purchase: Purchase | None = None

    async def __aenter__(self) -> Purchase | None:
        if self._idle:
            # Usually a new one; the older ones come round too.
            self._purchase = self._idle.pop() if random.random() < 0.8 else self._idle.popleft()
        return self._purchase

    async def __aexit__(self, *_: object) -> None:
        if self._purchase is not None:
            self._idle.appendleft(self._purchase) if random.random() < 0.3 else self._idle.append(self._purchase)


# --- Hostile and slow ------------------------------------------------------------------------------------------------------


class Intruder:
    """Asks its own store for records of the others, with valid credentials."""

    def __init__(self, others: Sequence[Store]) -> None:
        self._others = others

    async def probe(self, client: Client, store: Store) -> None:
        """Ask every family for an order or product of another store; all must say that there is none."""
        other = random.choice(self._others)
        product = random.choice(other.model.products).id
        order = other.model.idle[-1].id if other.model.idle else product
        owner = await store.owner(client)
        arguments: tuple[str, str, Any] = random.choice(
            [
                ("storefront", f"/api/v1/storefront/products/{product}", store.key),
                ("admin", f"/api/v1/admin/orders/{order}", owner),
                ("apps", f"/api/admin/orders/{order}", store.app),
                ("apps", f"/api/storefront/products/{product}", store.app),
                ("legacy", f"/api/orders/{order}", store.basic),
                ("legacy", f"/api/products/{product}", store.basic),
            ]
        )
        family, path, headers = arguments
        await client.settle(store.model, family, "GET", path, headers=headers, expected=(404,))
        body = {"query": _ORDER, "variables": {"id": order}}
        answer = await client.settle(store.model, "graphql", "POST", "/graphql", body, headers=owner)
        if answer.status == 200 and answer.body["data"]["order"] is not None:
            client.world.findings.add("isolation", f"{store.model.marker} reads the order {order} by GraphQL")
        # Its token at another store's address is refused.
        elsewhere = {**owner, "X-Tenant-ID": other.model.tenant_id}
        await client.settle(
            store.model, "admin", "GET", "/api/v1/admin/products", headers=elsewhere, expected=(401, 403)
        )


async def read_slowly(client: Client, store: Store) -> None:
    """Send a request in pieces and read the answer in small ones; half of the time vanish in the middle."""
    address = urlsplit(client.base_url)
    head = (
        f"GET /api/v1/storefront/products?limit=50 HTTP/1.1\r\nHost: {address.netloc}\r\nX-Tenant-ID: {store.model.tenant_id}\r\n"
        f"X-API-Key: {store.storefront_key}\r\nX-Forwarded-For: {client_address()}\r\nConnection: close\r\n\r\n"
    ).encode()
    vanishes = random.random() < 0.5
    started_at, received = monotonic(), b""
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            for start in range(0, len(head), 64):
                writer.write(head[start : start + 64])
                await asyncio.sleep(_SLOW_READ_SECONDS)
            while piece := await asyncio.wait_for(reader.read(1_024), 40):
                received += piece
                if vanishes:
                    break
                await asyncio.sleep(_SLOW_READ_SECONDS)
        finally:
            writer.transport.abort()
    except (OSError, TimeoutError, RuntimeError):
        pass  # judged below; uvloop raises RuntimeError for a transport that was closed meanwhile
    status = int(received[9:12]) if received.startswith(b"HTTP/1.1 ") else 0
    client.tally.count("slow", Answer(status, failure="cut off"), is_failure=status != 200)
    if status != 200 and not client.timeline.covers(started_at, monotonic(), status):
        when = client.timeline.description
        client.world.findings.add("status", f"a slow client got {status or 'no answer'} ({when})")
