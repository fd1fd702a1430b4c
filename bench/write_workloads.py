"""Workloads that write: orders, checkouts, status and stock changes, bulk writes, buyers of one product, sign-ins.

Contestants share a database. Where a request can be sent only once (a cart is ordered once, a status follows from the one before),
each contestant has its own records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.database import PASSWORD
from bench.requests import RequestData, Requests, Workload, http, public_id

BUYERS = 50
BULK_ROWS = 500
_ORDER_INPUTS = 256
_USERS = 200
_STOCK = 500_000_000
# What the hand-written handlers and Vitrine use of what can be used once.
_LIMIT, _VITRINE = 0, 1

_PLACE = "mutation Place($input: OrderInput!) { order_create(input: $input) { id number total_cents } }"
_PGL_PLACE = (
    "mutation Place($customer: UUID!, $payment: UUID!, $shipping: UUID!, $items: JSON!)"
    " { order_create: placeOrder(input: { customer: $customer, payment: $payment, shipping: $shipping, items: $items })"
    " { order: result { id: publicId number: rowId total_cents: totalCents } } }"
)
_CHECK_OUT = (
    "mutation CheckOut($id: ID!, $input: CartCheckoutInput!)"
    " { cart_checkout(id: $id, input: $input) { order { id number shipping_cents total_cents } } }"
)
_SET_STATUS = (
    "mutation SetStatus($id: ID!, $status: OrderStatus!)"
    " { order_set_status(id: $id, status: $status) { id number status total_cents } }"
)
_PAY = "mutation Pay($id: ID!) { payment_create(order_id: $id, kind: PIX) { id status amount_cents } }"
_SET_STOCK = (
    "mutation SetStock($id: ID!, $stock: BigInt!) { product_update(id: $id, input: { stock: $stock }) { id stock } }"
)
_UPSERT = "mutation Upsert($rows: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $rows) { index id created } }"

Variables = Callable[[RequestData, int], list[dict[str, Any]]]


def _mutations(path: str, document: str, variables: Variables) -> dict[str, Requests]:
    """Return the requests of Vitrine and of the hand-written handler, which takes the variables as its body."""
    return {
        "limit": lambda data: [http("POST", path, data.limit_bearer, values) for values in variables(data, _LIMIT)],
        "vitrine": lambda data: [
            http("POST", "/graphql", data.bearer, {"query": document, "variables": values})
            for values in variables(data, _VITRINE)
        ],
    }


# --- Orders ------------------------------------------------------------------------------------------------------------------


def _order_input(data: RequestData, customer: int, quantities: Mapping[int, int]) -> dict[str, Any]:
    return {
        "customer_id": public_id("user", data.store, customer % (data.size.users - 1) + 2),
        "payment_method_id": public_id("payment method", data.store),
        "shipping_method_id": public_id("shipping method", data.store),
        "items": [
            {"product_id": data.product(number % data.size.products + 1), "quantity": quantity}
            for number, quantity in quantities.items()
        ],
    }


def _order_inputs(data: RequestData) -> list[dict[str, Any]]:
    """Return orders with two lines of different products, so that concurrent orders don't wait for the same row locks."""
    count = min(_ORDER_INPUTS, data.size.products // 2)
    return [_order_input(data, n, {2 * n: 1, 2 * n + 1: 2}) for n in range(count)]


def _orders_of(products: int) -> Requests:
    """Return the requests of buyers of this many products, one unit each."""
    return lambda data: [
        http(
            "POST",
            "/graphql",
            data.bearer,
            {"query": _PLACE, "variables": {"input": _order_input(data, n, {n % products: 1})}},
        )
        for n in range(BUYERS * 4)
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
                "query": _PGL_PLACE,
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


def _check_outs(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    """Return a checkout of every second cart."""
    return [
        {
            "id": public_id("cart", data.store, n),
            "input": {
                "customer_id": public_id("user", data.store, n % (data.size.users - 1) + 2),
                "payment_id": public_id("payment method", data.store),
            },
        }
        for n in range(1 + contestant, 2 * data.size.orders, 2)
    ]


def _has_ordered(response: Any) -> Any:
    """Return the number of cents of shipping, the same for all: the carts differ between contestants."""
    order = response["data"]["cart_checkout"]["order"]
    assert order["id"]
    assert order["number"] > 0
    return order["shipping_cents"]


def _status_changes(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    """Return changes of every second paid order to `B` (an item is missing), then of all of them back to `P`."""
    paid = [data.order(n) for n in range(1 + 3 * contestant, data.size.orders + 1, 6)]
    return [{"id": order, "status": status} for status in "BP" for order in paid]


def _has_changed(response: Any) -> Any:
    """Return the new status: the orders differ between contestants."""
    order = response["data"]["order_set_status"]
    assert order["id"]
    assert order["number"] > 0
    return order["status"]


def _payments(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    """Return payments of every second open order."""
    return [{"id": data.order(n)} for n in range(3 + 3 * contestant, data.size.orders + 1, 6)]


def _has_payment(response: Any) -> Any:
    """Return the status of the payment: the orders differ between contestants."""
    payment = response["data"]["payment_create"]
    assert payment["id"]
    assert payment["amount_cents"] > 0
    return payment["status"]


# --- Products ----------------------------------------------------------------------------------------------------------------


def _stock_changes(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    return [
        {"id": data.product(number), "stock": _STOCK + index + contestant}
        for index, number in enumerate(data.spread(data.size.products))
    ]


def _upserts(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    """Return changes of name, price and stock of 500 products each."""
    count = data.size.products // BULK_ROWS or 1
    rows = min(BULK_ROWS, data.size.products)
    return [
        {
            "rows": [
                {
                    "id": data.product(batch % count * rows + row + 1),
                    "name": f"Peça {batch} {row}",
                    "price_cents": 1_000 + batch + contestant,
                    "stock": _STOCK + batch,
                }
                for row in range(rows)
            ]
        }
        for batch in range(2 * count)
    ]


def _ids_of_rows(response: Any) -> Any:
    return [(row["index"], row["id"], row["created"]) for row in response["data"]["product_bulk_upsert"]]


def _id_of_product(response: Any) -> Any:
    """Return the product's id; the stock it was set to differs between contestants."""
    product = response["data"]["product_update"]
    assert product["stock"] >= _STOCK
    return product["id"]


# --- Sign-ins ----------------------------------------------------------------------------------------------------------------


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


def _no_headers(*_: object) -> Mapping[str, str]:
    return {}


def _bearer(data: RequestData) -> Mapping[str, str]:
    return data.bearer


def _limit_orders(data: RequestData) -> Sequence[bytes]:
    return [http("POST", "/w1", data.limit_bearer, order) for order in _order_inputs(data)]


WRITES: tuple[Workload, ...] = (
    Workload(
        "W1",
        "create an order with two lines",
        {
            "limit": _limit_orders,
            "obvious": _create_orders(_no_headers, _PLACE.replace("OrderInput", "JSON")),
            "postgraphile": _create_orders_postgraphile,
            "vitrine": _create_orders(_bearer, _PLACE),
        },
        _total_of_order,
        writes=True,
    ),
    Workload(
        "W2",
        "check out a cart of two lines",
        _mutations("/w2", _CHECK_OUT, _check_outs),
        _has_ordered,
        writes=True,
    ),
    Workload(
        "W3",
        "change the status of an order",
        _mutations("/w3", _SET_STATUS, _status_changes),
        _has_changed,
        writes=True,
    ),
    Workload(
        "W4", "set the stock of a product", _mutations("/w4", _SET_STOCK, _stock_changes), _id_of_product, writes=True
    ),
    Workload("W5", "bulk upsert of 500 products", _mutations("/w5", _UPSERT, _upserts), _ids_of_rows, writes=True),
    Workload(
        "W6",
        "50 concurrent buyers of one product",
        {"vitrine": _orders_of(1)},
        _total_of_order,
        writes=True,
        connections=BUYERS,
    ),
    Workload(
        "W7",
        "50 concurrent buyers of 50 products",
        {"vitrine": _orders_of(BUYERS)},
        _total_of_order,
        writes=True,
        connections=BUYERS,
    ),
    Workload(
        "W8",
        "pay an order by Pix, what the gateway sandbox writes included",
        _mutations("/w8", _PAY, _payments),
        _has_payment,
        writes=True,
    ),
    Workload(
        "A1",
        "sign-in (argon2, 19 MiB)",
        {
            "limit": _sign_ins("/a1", _no_headers),
            "obvious": _sign_ins("/a1", _no_headers),
            "vitrine": _sign_ins("/api/v1/auth/login", _with_client_address),
        },
        sorted,
        writes=True,
    ),
)
