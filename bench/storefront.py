"""The pages of a storefront: the operations of docs/building-a-storefront.md, with a storefront key, against hand-written handlers.

Vitrine serves each page of the catalogue in three ways, which are contestants of their own: `vitrine` reads every answer from the database
(its catalogue cache is off), `cached` answers from memory, `revalidated` answers 304 to a GET with the tag of the answer. Carts, accounts
and orders are never cached. The data are those of `sql/search.sql` and `sql/storefront.sql`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import asyncpg

from auth.app_scopes import STOREFRONT_SCOPES
from bench import launchers
from bench.bars import Bar, at_least
from bench.database import PASSWORD, SQL, BenchDatabase, Size, StatementLog, create_database
from bench.load import UnexpectedResponse, send_request
from bench.measurement import Measurement, Result, Schedule
from bench.requests import RequestData, Requests, Workload, http, public_id
from bench.servers import Server
from kernel.ids import checksummed_token, uuid7
from kernel.signatures import token_hash
from server.embedded_postgres import EmbeddedServer
from tests.docs.storefront_guide import PAGE, read_guide

CONTESTANTS = ("limit", "vitrine", "cached", "revalidated")
RATIOS: Mapping[str, float] = {"vitrine": 0.5, "cached": 3.0}
"""The required rates relative to the handler's, by contestant."""
_CUSTOMERS = 10
_PAGES = 500
# Ids of rows, which the contestants have each their own of, and what depends on the server's clock or keys.
_OWN_VALUES = {"cursor", "end_cursor", "current", "token"}

Variables = Callable[[RequestData], Sequence[Mapping[str, Any]]]


@cache
def operation(name: str) -> str:
    """Return the text of an operation of the guide; raises ValueError when it has none of this name."""
    for block in _guide():
        if block.language == "graphql" and block.name == name:
            return block.text
    raise ValueError(f"{PAGE.name} has no operation {name}")


_guide = cache(read_guide)


def _catalogue_page(name: str, path: str, variables: Variables) -> dict[str, Requests]:
    """Return the requests of a page that every visitor sees alike."""
    text = operation(name)

    def posts(data: RequestData) -> list[bytes]:
        return [
            http("POST", "/graphql", data.storefront, {"query": text, "variables": values})
            for values in variables(data)
        ]

    def revalidations(data: RequestData) -> list[bytes]:
        paths = [f"/graphql?{urlencode({'query': text, 'variables': json.dumps(each)})}" for each in variables(data)]
        return [http("GET", path, {**data.storefront, "If-None-Match": data.tag_of(path)}) for path in paths[:20]]

    return {
        "limit": lambda data: [
            http("POST", f"/{data.limit_style}{path}", data.limit_storefront, values) for values in variables(data)
        ],
        "vitrine": posts,
        "cached": posts,
        "revalidated": revalidations,
    }


def _own_page(
    name: str, path: str, variables: Callable[[RequestData, int], Sequence[Mapping[str, Any]]]
) -> dict[str, Requests]:
    """Return the requests of signed-in customers; each contestant (0 or 1) has its own records."""
    text = operation(name)
    return {
        "limit": lambda data: [
            http("POST", path.format(style=data.limit_style), headers, values)
            for headers, values in zip(itertools.cycle(data.limit_customers), variables(data, 0), strict=False)
        ],
        "vitrine": lambda data: [
            http("POST", "/graphql", headers, {"query": text, "variables": values})
            for headers, values in zip(itertools.cycle(data.customers), variables(data, 1), strict=False)
        ],
    }


def _carts(data: RequestData, *, with_all_in_stock: bool = False) -> list[str]:
    """Return the ids of carts whose lines need no options."""
    carts = []
    for n in range(1, 2 * data.size.orders - data.size.users):
        products = [(2 * n + line) % data.size.products + 1 for line in (1, 2)]
        if all(number % 10 and (number % 7 or not with_all_in_stock) for number in products):
            carts.append(public_id("cart", data.store, n))
    return carts


def _checkouts(data: RequestData, contestant: int) -> list[dict[str, Any]]:
    """Return the checkouts of every second cart."""
    payment = public_id("payment method", data.store)
    return [{"cart": cart, "payment": payment} for cart in _carts(data, with_all_in_stock=True)[contestant::2]]


def _category(number: int) -> dict[str, Any]:
    id_ = public_id("category", 1, number)
    return {
        "id": id_,
        "filter": {"below_category_id": [id_], "price_from": 5_000, "is_available": True},
        "sort": "PRICE_ASC",
    }


def _comparable(value: Any) -> Any:
    """Drop what differs between servers and answers."""
    if isinstance(value, list):
        return [_comparable(element) for element in value]
    if isinstance(value, dict):
        return {key: _comparable(element) for key, element in value.items() if key not in (*_OWN_VALUES, "extensions")}
    return value


def _placed(response: Any) -> Any:
    """Return the status of a placed order: the carts differ between contestants."""
    result = response["data"]["cart_checkout"]
    assert result["token"]
    assert result["order"]["total_cents"] > 0
    return result["order"]["status"], result["order"]["customer"]


def workloads() -> tuple[Workload, ...]:
    """Return the pages, in the order of the guide."""
    return (
        Workload(
            "S1",
            "product list: 24 products with price, picture and availability",
            _catalogue_page(
                "ProductList",
                "/s1",
                lambda _: [{"first": 24, "sort": sort} for sort in ("CREATED_AT_DESC", "PRICE_ASC")],
            ),
            _comparable,
        ),
        Workload(
            "S2",
            "product page by slug, one of 500",
            _catalogue_page(
                "ProductPage",
                "/s2",
                lambda data: [{"slug": f"produto-{n}"} for n in data.spread(data.size.products)[:_PAGES]],
            ),
            _comparable,
        ),
        Workload(
            "S3",
            "category with its tree, 24 products and facets, one of 20",
            _catalogue_page("CategoryPage", "/s3", lambda _: [_category(n) for n in range(1, 21)]),
            _comparable,
        ),
        Workload(
            "S4",
            "search for a word that 1 to 1,429 products have",
            _catalogue_page(
                "Search",
                "/s4",
                lambda _: [
                    {"query": word, "first": 24}
                    for word in ("caneca", "jarras", "sku-77", "vaso", "sku-1234", "toalha")
                ],
            ),
            _comparable,
        ),
        Workload(
            "S5",
            "cart of a guest, two lines, address and shipping option",
            {
                name: requests
                for name, requests in _catalogue_page(
                    "CartPage", "/s5", lambda data: [{"cart": cart} for cart in _carts(data)[:_PAGES]]
                ).items()
                if name in ("limit", "vitrine")
            },
            _comparable,
        ),
        Workload(
            "S6",
            "account with orders, addresses, cart and sessions",
            _own_page("Account", "/{style}/s6", lambda *_: [{}] * _CUSTOMERS),
            _comparable,
        ),
        Workload(
            "S7",
            "content page with the 30 pages of the menu",
            _catalogue_page("ContentPage", "/s7", lambda _: [{"slug": f"pagina-{n}"} for n in range(1, 31)]),
            _comparable,
        ),
        Workload(
            "S8",
            "checkout of a cart by a signed-in customer",
            _own_page("CustomerCheckout", "/s8", _checkouts),
            _placed,
            writes=True,
        ),
    )


def measure(
    postgres: EmbeddedServer, log: Path, schedule: Schedule, items: Sequence[Workload]
) -> tuple[list[Result], list[Bar]]:
    """Measure the pages on a database of their own; return the results and bars."""
    database = asyncio.run(create_database(postgres, log, "bench_storefront", Size()))
    key = asyncio.run(fill(database))
    results = compare_pages(database, key, schedule, items)
    return results, bars(results)


def compare_pages(database: BenchDatabase, key: str, schedule: Schedule, items: Sequence[Workload]) -> list[Result]:
    """Measure the pages on a filled database with the storefront key."""
    data = RequestData(database.size, storefront_key=key)
    results: list[Result] = []
    with ExitStack() as stack:
        handler, cached, uncached = (
            stack.enter_context(start)
            for start in (
                launchers.limit(database),
                launchers.vitrine(database),
                launchers.vitrine(database, settings={"VITRINE_CATALOGUE_CACHE_BYTES": "0"}),
            )
        )
        servers = dict(zip(CONTESTANTS, (handler, uncached, cached, cached), strict=True))
        data.tag_of = lambda path: _tag(cached, data, path)
        measurement = Measurement(servers, data, StatementLog(database), schedule)
        for item in items:
            if item.name in ("S6", "S8"):
                _sign_in(handler, data)
                sign_in(uncached, data)
            measured = measurement.measure(item)
            results += measured
            print(f"  {item.name}: {', '.join(map(_summary, measured))}", flush=True)
    return results


def bars(results: Sequence[Result]) -> list[Bar]:
    """Compare the CPU time and rates of the contestants with the handler's."""
    handlers = {result.item: result for result in results if result.contestant == "limit"}
    return [
        at_least(
            f"{result.item} {result.contestant}, of the handler",
            result,
            handlers[result.item],
            RATIOS[result.contestant],
        )
        for result in results
        if result.contestant in RATIOS and result.item in handlers
    ]


def _summary(result: Result) -> str:
    return f"{result.contestant} {result.median('rate'):,.0f}/s, {result.total_cpu_us:,.0f} µs"


async def fill(database: BenchDatabase) -> str:
    """Add the data of a storefront; return its key."""
    connection = await asyncpg.connect(database.superuser_url)
    try:
        for name in ("search.sql", "storefront.sql"):
            await connection.execute((SQL / name).read_text(encoding="utf-8"))
        key = checksummed_token("sfk_")
        await connection.execute(
            "INSERT INTO storefront_keys (tenant_id, public_id, key_hash, scopes, rate_limit, per_address) VALUES (1, $1, $2, $3, $4, 0)",
            uuid7(),
            token_hash(key),
            list(STOREFRONT_SCOPES),
            2_000_000_000,
        )
        await connection.execute("vacuum analyze")
        await connection.execute("checkpoint")
    finally:
        await connection.close()
    return key


def _tag(server: Server, data: RequestData, path: str) -> str:
    tag = send_request(server.address, http("GET", path, data.storefront)).header("etag")
    if tag is None:
        raise UnexpectedResponse(f"no ETag in the answer to {path[:200]}")
    return tag


def sign_in(server: Server, data: RequestData) -> None:
    """Sign some customers in at Vitrine, whose tokens are valid for 15 minutes."""
    data.customers = []
    for n, credentials in _credentials():
        headers = {**data.storefront, "X-Forwarded-For": f"10.253.{next(_ADDRESSES) % 250}.{n}"}
        response = send_request(server.address, http("POST", "/api/v1/auth/login", headers, credentials))
        data.customers.append({**data.storefront, **_bearer(response.body)})


def _sign_in(handler: Server, data: RequestData) -> None:
    """Sign the same customers in at the hand-written handler."""
    data.limit_customers = []
    for _, credentials in _credentials():
        response = send_request(handler.address, http("POST", "/a1", {}, credentials))
        data.limit_customers.append({**data.limit_storefront, **_bearer(response.body)})


def _credentials() -> list[tuple[int, dict[str, str]]]:
    return [(n, {"email": f"user{n}@example.com", "password": PASSWORD}) for n in range(2, 2 + _CUSTOMERS)]


_ADDRESSES = itertools.count()


def _bearer(body: bytes) -> dict[str, str]:
    try:
        return {"Authorization": f"Bearer {json.loads(body)['access_token']}"}
    except KeyError as error:
        raise UnexpectedResponse(f"sign-in returned {body[:300]!r}") from error
