"""The workloads: the requests for each contestant, and the normalization of responses for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.requests import RequestData, Requests, Workload, http
from bench.write_workloads import WRITES

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
}


def _lists(name: str) -> dict[str, Requests]:
    vitrine, postgraphile = _DOCUMENTS[name]
    return {
        "limit": lambda data: [http("GET", f"/{data.limit_style}/{name.lower()}", data.limit_bearer)],
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
        "limit": lambda data: [
            http("GET", f"/{data.limit_style}/{name.lower()}/{id_}", data.limit_bearer) for id_ in ids(data)
        ],
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

    return {
        "limit": lambda data: requests(f"/{data.limit_style}{limit}", "limit_bearer")(data),
        "vitrine": requests(path, headers),
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
    *WRITES,
)
