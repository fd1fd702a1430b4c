"""The items of work: what each contestant is asked, and how its answer is brought into the one form that is compared."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bench.database import API_KEY, PASSWORD, Size

# So many different records, so that no answer is the same as the last one's: more than the caches of compiled operations hold.
_DIFFERENT = 5_000
_PLACED = 256
_PEOPLE = 200


@dataclass
class Facts:
    """What the requests name; `token` and `limit_token` (the hand-written handlers' own) are signed in anew when they have grown old."""

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
        """Give different record numbers out of `count`, all over the table and in no order."""
        return [number * 7919 % count + 1 for number in range(min(_DIFFERENT, count))]

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


Requests = Callable[[Facts], Sequence[bytes]]
Reshape = Callable[[Any], Any]


@dataclass(frozen=True)
class Item:
    """An item of work; `asks` holds those contestants that can do it. `compared` is what of the answers must be the same."""

    name: str
    title: str
    asks: Mapping[str, Requests]
    reshape: Reshape = field(default=lambda answer: answer)
    writes: bool = False


def public_id(*words: object) -> str:
    """Give the UUID that `sql/fill.sql` gives a record."""
    return str(UUID(hashlib.md5(" ".join(map(str, words)).encode(), usedforsecurity=False).hexdigest()))


def http(method: str, path: str, headers: Mapping[str, str], body: Any = None) -> bytes:
    """Write a request as a client sends it."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json", "User-Agent: bench"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


# --- GraphQL -----------------------------------------------------------------------------------------------------------------

_PRODUCT = "{ id name price_cents category { id name } images { url alt } }"
_ORDER = "{ id number status total_cents items { name quantity price_cents } }"
_ORDER_WITH_CUSTOMER = (
    "{ id number status total_cents customer { id name email } items { name quantity price_cents } }"
)

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

# By item: the text for Vitrine and the obvious server, and PostGraphile's for the same answer.
_TEXTS: Mapping[str, tuple[str, str]] = {
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
    ours, theirs = _TEXTS[name]
    return {
        "limit": lambda facts: [http("GET", f"/{name.lower()}", facts.limit_bearer)],
        "obvious": lambda facts: [http("POST", "/graphql", {}, {"query": ours})],
        "postgraphile": lambda facts: [http("POST", "/graphql", {}, {"query": theirs})],
        "vitrine": lambda facts: [http("POST", "/graphql", facts.bearer, {"query": ours})],
    }


def _singles(name: str, ids: Callable[[Facts], list[str]]) -> dict[str, Requests]:
    ours, theirs = _TEXTS[name]

    def graphql(text: str, headers: Callable[[Facts], Mapping[str, str]]) -> Requests:
        return lambda facts: [
            http("POST", "/graphql", headers(facts), {"query": text, "variables": {"id": each}})
            for each in ids(facts)
        ]

    return {
        "limit": lambda facts: [
            http("GET", f"/{name.lower()}/{each}", facts.limit_bearer) for each in ids(facts)
        ],
        "obvious": graphql(ours, lambda facts: {}),
        "postgraphile": graphql(theirs, lambda facts: {}),
        "vitrine": graphql(ours, lambda facts: facts.bearer),
    }


def _products(facts: Facts) -> list[str]:
    return [facts.product(number) for number in facts.spread(facts.size.products)]


def _orders(facts: Facts) -> list[str]:
    return [facts.order(number) for number in facts.spread(facts.size.orders)]


# --- REST --------------------------------------------------------------------------------------------------------------------


def _rest(
    limit: str, path: str, headers: str, ids: Callable[[Facts], Sequence[object]] | None = None
) -> dict[str, Requests]:
    """Ask Vitrine at `path` and the limit at its own, both for each of the ids where there are any."""

    def requests(at: str, headers: str) -> Requests:
        def written(facts: Facts) -> list[bytes]:
            given: Mapping[str, str] = getattr(facts, headers)
            if ids is None:
                return [http("GET", at, given)]
            return [http("GET", f"{at}/{each}", given) for each in ids(facts)]

        return written

    return {"limit": requests(limit, "limit_bearer"), "vitrine": requests(path, headers)}


# --- Writing -----------------------------------------------------------------------------------------------------------------


def _drafts(facts: Facts) -> list[dict[str, Any]]:
    """Orders of two lines, each of other products than the next ones: no two that run together wait for one row's lock."""
    size = facts.size
    return [
        {
            "customer_id": public_id("user", facts.store, n % (size.users - 1) + 2),
            "payment_method_id": public_id("payment method", facts.store),
            "shipping_method_id": public_id("shipping method", facts.store),
            "items": [
                {"product_id": facts.product((2 * n) % size.products + 1), "quantity": 1},
                {"product_id": facts.product((2 * n + 1) % size.products + 1), "quantity": 2},
            ],
        }
        for n in range(min(_PLACED, size.products // 2))
    ]


def _place_ours(headers: Callable[[Facts], Mapping[str, str]], text: str) -> Requests:
    return lambda facts: [
        http("POST", "/graphql", headers(facts), {"query": text, "variables": {"input": draft}})
        for draft in _drafts(facts)
    ]


def _place_postgraphile(facts: Facts) -> list[bytes]:
    return [
        http(
            "POST",
            "/graphql",
            {},
            {
                "query": _TEXTS["W1"][1],
                "variables": {
                    "customer": draft["customer_id"],
                    "payment": draft["payment_method_id"],
                    "shipping": draft["shipping_method_id"],
                    "items": draft["items"],
                },
            },
        )
        for draft in _drafts(facts)
    ]


def _total_of_order(answer: Any) -> Any:
    """Ids and numbers of new orders differ; what they cost doesn't."""
    made = answer["data"]["order_create"]
    made = made.get("order", made)
    assert made["id"]
    assert int(made["number"]) > 0
    return int(made["total_cents"])


def _sign_ins(path: str, headers: Callable[[Facts, int], Mapping[str, str]]) -> Requests:
    return lambda facts: [
        http(
            "POST",
            path,
            headers(facts, n),
            {
                "email": f"user{n % min(_PEOPLE, facts.size.users) + 1}@example.com",
                "password": PASSWORD,
            },
        )
        for n in range(20_000)
    ]


def _from_an_address(facts: Facts, number: int) -> dict[str, str]:
    """Sign-in takes five attempts a minute from an address, so each comes from its own."""
    return {
        "X-Tenant-ID": facts.store_id,
        "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
    }


# --- All of it ---------------------------------------------------------------------------------------------------------------

_NUMBERS = {"price_cents", "total_cents", "quantity", "number"}


def _numbers(value: Any) -> Any:
    """Leave out what isn't data, and read PostGraphile's 64-bit integers, which are texts, as numbers."""
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    if isinstance(value, dict):
        return {
            key: int(each) if key in _NUMBERS else _numbers(each)
            for key, each in value.items()
            if key != "extensions"
        }
    return value


ITEMS: tuple[Item, ...] = (
    Item("Q1", "50 products with category and images", _lists("Q1"), _numbers),
    Item("Q2", "10 of them", _lists("Q2"), _numbers),
    Item("Q3", "one product by id, always another", _singles("Q3", _products), _numbers),
    Item(
        "Q3h",
        "the same product again and again",
        _singles("Q3", lambda facts: _products(facts)[:1]),
        _numbers,
    ),
    Item("Q4", "one order with lines and customer, always another", _singles("Q4", _orders), _numbers),
    Item("Q5", "50 orders with lines", _lists("Q5"), _numbers),
    Item("R1", "/api/v1/admin: 50 products", _rest("/r1", "/api/v1/admin/products?per_page=50", "bearer")),
    Item("R3", "/api/v1/admin: one product", _rest("/r3", "/api/v1/admin/products", "bearer", _products)),
    Item("R4", "/api/v1/admin: one order", _rest("/r4", "/api/v1/admin/orders", "bearer", _orders)),
    Item("R5", "/api/v1/admin: 50 orders", _rest("/r5", "/api/v1/admin/orders?per_page=50", "bearer")),
    Item("L1", "legacy: 250 products", _rest("/l1", "/api/products?items_per_page=250", "basic")),
    Item(
        "L2",
        "legacy: one order",
        _rest("/l2", "/api/orders", "basic", lambda facts: facts.spread(facts.size.orders)),
    ),
    Item(
        "W1",
        "an order of two lines placed",
        {
            "limit": lambda facts: [
                http("POST", "/w1", facts.limit_bearer, draft) for draft in _drafts(facts)
            ],
            "obvious": _place_ours(lambda facts: {}, _TEXTS["W1"][0].replace("OrderInput", "JSON")),
            "postgraphile": _place_postgraphile,
            "vitrine": _place_ours(lambda facts: facts.bearer, _TEXTS["W1"][0]),
        },
        _total_of_order,
        writes=True,
    ),
    Item(
        "A1",
        "sign-in (argon2, 19 MiB)",
        {
            "limit": _sign_ins("/a1", lambda facts, n: {}),
            "obvious": _sign_ins("/a1", lambda facts, n: {}),
            "vitrine": _sign_ins("/api/v1/auth/login", _from_an_address),
        },
        sorted,
        writes=True,
    ),
)
