"""Workloads: the requests for each contestant, and the normalization of responses for comparison."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bench.database import API_KEY, PASSWORD, Size

# The number of different records requested: more than the caches of compiled operations store.
_RECORDS = 5_000
_ORDER_INPUTS = 256
_USERS = 200


@dataclass
class RequestData:
    """Ids and access tokens for the requests; `limit_token` is for the hand-written handlers."""

    size: Size
    store: int = 1
    token: str = ""
    limit_token: str = ""

    @property
    def store_id(self) -> str:
        return public_id("store", self.store)

    def product(self, number: int) -> str:
        return public_id("product", self.store, number)

    def order(self, number: int) -> str:
        return public_id("order", self.store, number)

    def spread(self, count: int) -> list[int]:
        """Return different record numbers up to `count`, spread over the table."""
        return [number * 7919 % count + 1 for number in range(min(_RECORDS, count))]

    @property
    def bearer(self) -> dict[str, str]:
        return {"X-Tenant-ID": self.store_id, "Authorization": f"Bearer {self.token}"}

    @property
    def limit_bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.limit_token}"}

    @property
    def basic(self) -> dict[str, str]:
        pair = base64.b64encode(f"user1@example.com:{API_KEY}".encode()).decode()
        return {"X-Tenant-ID": self.store_id, "Authorization": f"Basic {pair}"}


Requests = Callable[[RequestData], Sequence[bytes]]
Normalize = Callable[[Any], Any]


@dataclass(frozen=True)
class Workload:
    """A workload, with requests for the contestants that support it; `normalize` returns what must be equal in all responses."""

    name: str
    title: str
    requests_by_contestant: Mapping[str, Requests]
    normalize: Normalize = field(default=lambda response: response)
    writes: bool = False


def public_id(*words: object) -> str:
    """Return the UUID of a record created by `sql/fill.sql`."""
    return str(UUID(hashlib.md5(" ".join(map(str, words)).encode(), usedforsecurity=False).hexdigest()))


def http(method: str, path: str, headers: Mapping[str, str], body: Any = None) -> bytes:
    """Return the bytes of an HTTP request."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json", "User-Agent: bench"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


# --- GraphQL -----------------------------------------------------------------------------------------------------------------

_PRODUCT = "{ id name price_cents category { id name } images { url alt } }"
_ORDER = "{ id number status total_cents items { name quantity price_cents } }"
_ORDER_WITH_CUSTOMER = "{ id number status total_cents customer { id name email } items { name quantity price_cents } }"

_PGL_PRODUCT = (
    "{ id: publicId name price_cents: priceCents category: categoryByTenantIdAndCategoryId { id: publicId name }"
    " images: productImagesByTenantIdAndProductIdList(orderBy: [POSITION_ASC, ROW_ID_ASC]) { url alt } }"
)
_PGL_LINES = (
    "items: orderLinesByTenantIdAndOrderIdList(orderBy: [POSITION_ASC])"
    " { name: productName quantity price_cents: priceCents }"
)
_PGL_ORDER = f"id: publicId number: rowId status total_cents: totalCents {_PGL_LINES}"
_PGL_CUSTOMER = "customer: userByTenantIdAndUserId { id: publicId name email }"
_PGL_LIST = 'condition: { tenantId: "1", deletedAt: null }, orderBy: [CREATED_AT_DESC, ROW_ID_DESC]'

# By workload: the document for Vitrine and the obvious server, and the equivalent one for PostGraphile.
_DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "Q1": (
        f"{{ products(limit: 50) {_PRODUCT} }}",
        f"{{ products: allProductsList(first: 50, {_PGL_LIST}) {_PGL_PRODUCT} }}",
    ),
    "Q2": (
        f"{{ products(limit: 10) {_PRODUCT} }}",
        f"{{ products: allProductsList(first: 10, {_PGL_LIST}) {_PGL_PRODUCT} }}",
    ),
    "Q3": (
        f"query Product($id: ID!) {{ product(id: $id) {_PRODUCT} }}",
        'query Product($id: UUID!) { product: productByTenantIdAndPublicId(tenantId: "1", publicId: $id)'
        f" {_PGL_PRODUCT} }}",
    ),
    "Q4": (
        f"query Order($id: ID!) {{ order(id: $id) {_ORDER_WITH_CUSTOMER} }}",
        'query Order($id: UUID!) { order: orderByTenantIdAndPublicId(tenantId: "1", publicId: $id)'
        f" {{ {_PGL_ORDER} {_PGL_CUSTOMER} }} }}",
    ),
    "Q5": (
        f"{{ orders(limit: 50) {_ORDER} }}",
        f"{{ orders: allOrdersList(first: 50, {_PGL_LIST}) {{ {_PGL_ORDER} }} }}",
    ),
    "W1": (
        "mutation Place($input: OrderInput!) { order_create(input: $input) { id number total_cents } }",
        "mutation Place($customer: UUID!, $payment: UUID!, $shipping: UUID!, $items: JSON!)"
        " { order_create: placeOrder(input: { customer: $customer, payment: $payment, shipping: $shipping, items: $items })"
        " { order: result { id: publicId number: rowId total_cents: totalCents } } }",
    ),
}


def _lists(name: str) -> dict[str, Requests]:
    vitrine, postgraphile = _DOCUMENTS[name]
    return {
        "limit": lambda data: [http("GET", f"/{name.lower()}", data.limit_bearer)],
        "obvious": lambda data: [http("POST", "/graphql", {}, {"query": vitrine})],
        "postgraphile": lambda data: [http("POST", "/graphql", {}, {"query": postgraphile})],
        "vitrine": lambda data: [http("POST", "/graphql", data.bearer, {"query": vitrine})],
    }


def _single_records(name: str, ids: Callable[[RequestData], list[str]]) -> dict[str, Requests]:
    vitrine, postgraphile = _DOCUMENTS[name]

    def graphql(text: str, headers: Callable[[RequestData], Mapping[str, str]]) -> Requests:
        return lambda data: [
            http("POST", "/graphql", headers(data), {"query": text, "variables": {"id": id_}}) for id_ in ids(data)
        ]

    return {
        "limit": lambda data: [http("GET", f"/{name.lower()}/{id_}", data.limit_bearer) for id_ in ids(data)],
        "obvious": graphql(vitrine, lambda data: {}),
        "postgraphile": graphql(postgraphile, lambda data: {}),
        "vitrine": graphql(vitrine, lambda data: data.bearer),
    }


def _products(data: RequestData) -> list[str]:
    return [data.product(number) for number in data.spread(data.size.products)]


def _orders(data: RequestData) -> list[str]:
    return [data.order(number) for number in data.spread(data.size.orders)]


# --- REST --------------------------------------------------------------------------------------------------------------------


def _rest(
    limit: str, path: str, headers: str, ids: Callable[[RequestData], Sequence[object]] | None = None
) -> dict[str, Requests]:
    """Return GET requests for Vitrine (`path`) and the limit, one for each id."""

    def requests(path: str, headers: str) -> Requests:
        def build(data: RequestData) -> list[bytes]:
            values: Mapping[str, str] = getattr(data, headers)
            if ids is None:
                return [http("GET", path, values)]
            return [http("GET", f"{path}/{id_}", values) for id_ in ids(data)]

        return build

    return {"limit": requests(limit, "limit_bearer"), "vitrine": requests(path, headers)}


# --- Writes -----------------------------------------------------------------------------------------------------------------


def _order_inputs(data: RequestData) -> list[dict[str, Any]]:
    """Return orders with two lines of different products, so that concurrent orders don't wait for the same row locks."""
    size = data.size
    return [
        {
            "customer_id": public_id("user", data.store, n % (size.users - 1) + 2),
            "payment_method_id": public_id("payment method", data.store),
            "shipping_method_id": public_id("shipping method", data.store),
            "items": [
                {"product_id": data.product((2 * n) % size.products + 1), "quantity": 1},
                {"product_id": data.product((2 * n + 1) % size.products + 1), "quantity": 2},
            ],
        }
        for n in range(min(_ORDER_INPUTS, size.products // 2))
    ]


def _create_orders(headers: Callable[[RequestData], Mapping[str, str]], text: str) -> Requests:
    return lambda data: [
        http("POST", "/graphql", headers(data), {"query": text, "variables": {"input": order}})
        for order in _order_inputs(data)
    ]


def _create_orders_postgraphile(data: RequestData) -> list[bytes]:
    return [
        http(
            "POST",
            "/graphql",
            {},
            {
                "query": _DOCUMENTS["W1"][1],
                "variables": {
                    "customer": order["customer_id"],
                    "payment": order["payment_method_id"],
                    "shipping": order["shipping_method_id"],
                    "items": order["items"],
                },
            },
        )
        for order in _order_inputs(data)
    ]


def _total_of_order(response: Any) -> Any:
    """Return the total of a new order: ids and numbers differ between contestants."""
    order = response["data"]["order_create"]
    order = order.get("order", order)
    assert order["id"]
    assert int(order["number"]) > 0
    return int(order["total_cents"])


def _sign_ins(path: str, headers: Callable[[RequestData, int], Mapping[str, str]]) -> Requests:
    return lambda data: [
        http(
            "POST",
            path,
            headers(data, n),
            {
                "email": f"user{n % min(_USERS, data.size.users) + 1}@example.com",
                "password": PASSWORD,
            },
        )
        for n in range(20_000)
    ]


def _with_client_address(data: RequestData, number: int) -> dict[str, str]:
    """Return headers with a different client address for each request: the sign-in rate limit is five per minute and address."""
    return {
        "X-Tenant-ID": data.store_id,
        "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
    }


# --- All workloads ---------------------------------------------------------------------------------------------------------------

_NUMBER_KEYS = {"price_cents", "total_cents", "quantity", "number"}


def _normalize_numbers(value: Any) -> Any:
    """Drop `extensions`, and convert PostGraphile's 64-bit integers, which are strings, to numbers."""
    if isinstance(value, list):
        return [_normalize_numbers(element) for element in value]
    if isinstance(value, dict):
        return {
            key: int(element) if key in _NUMBER_KEYS else _normalize_numbers(element)
            for key, element in value.items()
            if key != "extensions"
        }
    return value


WORKLOADS: tuple[Workload, ...] = (
    Workload("Q1", "50 products with category and images", _lists("Q1"), _normalize_numbers),
    Workload("Q2", "10 products with category and images", _lists("Q2"), _normalize_numbers),
    Workload(
        "Q3",
        "one product by id, a different one each time",
        _single_records("Q3", _products),
        _normalize_numbers,
    ),
    Workload(
        "Q3h",
        "the same product each time",
        _single_records("Q3", lambda data: _products(data)[:1]),
        _normalize_numbers,
    ),
    Workload(
        "Q4",
        "one order with lines and customer, a different one each time",
        _single_records("Q4", _orders),
        _normalize_numbers,
    ),
    Workload("Q5", "50 orders with lines", _lists("Q5"), _normalize_numbers),
    Workload("R1", "/api/v1/admin: 50 products", _rest("/r1", "/api/v1/admin/products?per_page=50", "bearer")),
    Workload("R3", "/api/v1/admin: one product", _rest("/r3", "/api/v1/admin/products", "bearer", _products)),
    Workload("R4", "/api/v1/admin: one order", _rest("/r4", "/api/v1/admin/orders", "bearer", _orders)),
    Workload("R5", "/api/v1/admin: 50 orders", _rest("/r5", "/api/v1/admin/orders?per_page=50", "bearer")),
    Workload("L1", "legacy: 250 products", _rest("/l1", "/api/products?items_per_page=250", "basic")),
    Workload(
        "L2",
        "legacy: one order",
        _rest("/l2", "/api/orders", "basic", lambda data: data.spread(data.size.orders)),
    ),
    Workload(
        "W1",
        "create an order with two lines",
        {
            "limit": lambda data: [http("POST", "/w1", data.limit_bearer, order) for order in _order_inputs(data)],
            "obvious": _create_orders(lambda data: {}, _DOCUMENTS["W1"][0].replace("OrderInput", "JSON")),
            "postgraphile": _create_orders_postgraphile,
            "vitrine": _create_orders(lambda data: data.bearer, _DOCUMENTS["W1"][0]),
        },
        _total_of_order,
        writes=True,
    ),
    Workload(
        "A1",
        "sign-in (argon2, 19 MiB)",
        {
            "limit": _sign_ins("/a1", lambda data, n: {}),
            "obvious": _sign_ins("/a1", lambda data, n: {}),
            "vitrine": _sign_ins("/api/v1/auth/login", _with_client_address),
        },
        sorted,
        writes=True,
    ),
)
