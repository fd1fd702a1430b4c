"""Place orders through every family, lose some of the answers on purpose, and find each order exactly once."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from tests.system.soak.calls import Answer, Client, client_address
from tests.system.soak.model import Line, Purchase, check_order, check_refusal
from tests.system.soak.stores import Store
from tests.system.soak.views import ORDER_FIELDS, current_view, legacy_view

_ADDRESS = {
    "name": "Ana Souza",
    "street": "Rua das Flores",
    "number": "10",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001-000",
}
_CREATE = f"mutation ($input: OrderInput!) {{ order_create(input: $input) {{ {ORDER_FIELDS} }} }}"
# How often a client hangs up before the answer, and how often it repeats an answered request.
_VANISHES, _REPEATS = 0.15, 0.15
_ORDERED = (201, 422)


def begin(store: Store) -> Purchase:
    """Choose what to buy; one in four buys what is scarce."""
    products = store.model.products
    chosen = random.sample(products[1:], random.randint(1, 3))
    if random.random() < 1 / 4:
        chosen.append(products[0])
    return store.model.begin_purchase([Line(product, random.randint(1, 3)) for product in chosen])


async def check_out(client: Client, store: Store) -> None:
    """Buy as a guest of the storefront: cart, address, shipping, checkout, and the order by its token."""
    purchase = begin(store)
    base = "/api/v1/storefront/carts"
    items = [{"product_id": line.product.id, "quantity": line.quantity} for line in purchase.lines]
    cart = await _keyed(client, store, "storefront", base, {"items": items}, store.key, expected=(201,))
    if cart.status != 201:
        return
    path = f"{base}/{cart.body['id']}"
    arguments = (store.model, "storefront", "PUT")
    await client.settle(*arguments, f"{path}/address", _ADDRESS, headers=store.key)
    shipping = {"shipping_id": store.shipping_id}
    shown = await client.settle(*arguments, f"{path}/shipping-option", shipping, headers=store.key)
    if shown.status == 200 and shown.body["total_cents"] != purchase.total_cents:
        text = f"the cart of {purchase.email} totals {shown.body['total_cents']}, expected {purchase.total_cents}"
        client.world.findings.add("order", text)
    body = {"customer_email": purchase.email, "payment_id": store.payment_id}
    answer = await _keyed(client, store, "storefront", f"{path}/checkout", body, store.key, expected=_ORDERED)
    if _is_placed(client, store, purchase, answer):
        _place(client, store, purchase, current_view({"status": "O", **answer.body}))
        store.model.expected_events.add(("checkout.completed", purchase.id))
        token = answer.body["token"]
        path = f"/api/v1/storefront/orders/{purchase.id}?token={token}"
        seen = await client.read(store.model, "storefront", path, headers=store.key, is_current=lambda _: True)
        if seen.status == 200 and seen.body["total_cents"] != purchase.total_cents:
            client.world.findings.add("order", f"{purchase.email} totals {seen.body['total_cents']} to its buyer")


async def create_by_graphql(client: Client, store: Store) -> None:
    """Place an order as the owner by GraphQL."""
    purchase = begin(store)
    body = {"query": _CREATE, "variables": {"input": {
        "email": purchase.email, "firstname": "Ana",
        "items": [{"product_id": line.product.id, "quantity": line.quantity} for line in purchase.lines],
        "payment_method_id": store.payment_id, "shipping_method_id": store.shipping_id,
    }}}  # fmt: skip
    headers = await store.owner(client)
    answer = await _keyed(client, store, "graphql", "/graphql", body, headers, expected=(200, 422))
    if _is_placed(client, store, purchase, answer):
        _place(client, store, purchase, current_view(answer.body["data"]["order_create"]))


async def create_by_legacy(client: Client, store: Store) -> None:
    """Place an order by the legacy API, whose answer is only its number."""
    purchase = begin(store)
    body = {
        "user_id": "0", "user_data": {"email": purchase.email, "firstname": "Ana"},
        "products": [{"product_id": line.product.id, "amount": line.quantity} for line in purchase.lines],
        "payment_id": store.payment_id, "shipping_id": store.shipping_id,
    }  # fmt: skip
    answer = await _keyed(client, store, "legacy", "/api/orders", body, store.basic, expected=_ORDERED)
    if not _is_placed(client, store, purchase, answer):
        return
    number = answer.body["order_id"]
    path = f"/api/orders/{number}"
    shown = await client.read(store.model, "legacy", path, headers=store.basic, is_current=lambda _: True)
    record = await find_by_email(client, store, purchase)
    if shown.status == 200 and record is not None:
        _place(client, store, purchase, current_view(record))
        check_order(client.world.findings, purchase, legacy_view(shown.body), "legacy")


async def find_by_email(client: Client, store: Store, purchase: Purchase) -> Mapping[str, Any] | None:
    """Find the only order of an e-mail address; report none or several."""
    path = f"/api/v1/admin/orders?search={purchase.email}"
    headers = await store.owner(client)
    answer = await client.read(
        store.model, "admin", path, headers=headers, is_current=lambda each: each.body["total"] == 1
    )
    if answer.status != 200:
        return None
    if answer.body["total"] != 1:
        client.world.findings.add("order", f"{purchase.email} has {answer.body['total']} orders, expected one")
        return None
    record: Mapping[str, Any] = answer.body["orders"][0]
    return record


async def _keyed(
    client: Client,
    store: Store,
    family: str,
    path: str,
    body: Any,
    headers: Mapping[str, str],
    *,
    expected: tuple[int, ...],
) -> Answer:
    """POST with an idempotency key: sometimes hang up first, sometimes repeat afterwards; the outcome must be one and the same."""
    sent = {**headers, "Idempotency-Key": secrets.token_hex(12)}
    vanished = random.random() < _VANISHES
    if vanished:
        await hang_up(client, store, path, body, sent)
    arguments = (store.model, family, "POST", path, body)
    answer = await client.settle(*arguments, headers=sent, expected=expected, is_repeated=vanished)
    if answer.status in expected and random.random() < _REPEATS:
        again = await client.settle(*arguments, headers=sent, expected=expected)
        if again.status in expected and (again.status, again.body) != (answer.status, answer.body):
            text = f"{family} {path}: {again.status} {again.text[:150]}, first {answer.status} {answer.text[:150]}"
            client.world.findings.add("replay", text)
        elif again.status in expected and not again.is_replayed:
            client.world.findings.add("replay", f"{family} {path}: the second answer is not marked as replayed")
    return answer


async def hang_up(client: Client, store: Store, path: str, body: Any, headers: Mapping[str, str]) -> None:
    """Send a request and close the connection without reading the answer."""
    data = orjson.dumps(body)
    address = urlsplit(client.base_url)
    lines = {
        "Host": address.netloc, "X-Tenant-ID": store.model.tenant_id, "Content-Type": "application/json",
        "X-Forwarded-For": client_address(), "Content-Length": str(len(data)), **headers,
    }  # fmt: skip
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    try:
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data)
        await writer.drain()
        await asyncio.sleep(random.choice((0.0, 0.005, 0.02, 0.1)))
        writer.transport.abort()
    except (OSError, RuntimeError):
        pass  # a fault: the request that follows finds out; uvloop raises RuntimeError for a closed transport
    client.tally.count("vanishing", Answer(0, failure="hung up"))


def _is_placed(client: Client, store: Store, purchase: Purchase, answer: Answer) -> bool:
    if answer.status in (200, 201):
        return True
    if answer.status == 422:
        if "stock" not in answer.text:
            client.world.findings.add("order", f"{purchase.email} was refused: {answer.text[:200]}")
        check_refusal(client.world.findings, purchase)
        store.model.refuse(purchase)
    return False


def _place(client: Client, store: Store, purchase: Purchase, view: Any) -> None:
    purchase.id, purchase.number = view.id, view.number
    client.world.own(store.model, view.id)
    store.model.place(purchase)
    check_order(client.world.findings, purchase, view, "new")
