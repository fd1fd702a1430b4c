"""Shared by tests of the current API: HTTP callers of empty stores, and rows inserted directly."""

import itertools
import json as json_module
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp.test_utils import TestClient
from yarl import URL

from auth.sessions import SessionTokens, login
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, SYSTEM, Scope, Store, active_scope
from models import database
from tests import openapi_responses
from tests.shop import Answer, Made, Person, add_person, some_address

_STOCK_STATES = {"O": "R", "B": "R", "P": "D", "C": "D"}
_counter = itertools.count(1)


@dataclass(frozen=True)
class Caller:
    """A caller of a store, with or without a token, from its own client address."""

    client: TestClient
    store: Store
    token: str | None = None
    address: str = "192.0.2.1"
    user: Any = None
    refresh_token: str = ""

    async def request(
        self, method: str, path: str | URL, body: Any = None, *, data: Any = None, headers=None, **query
    ) -> Answer:
        """Send a request and check that the response has the format of the family and is not a 500."""
        all_headers = {"X-Tenant-ID": str(self.store.public_id), "X-Forwarded-For": self.address}
        if self.token is not None:
            all_headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            data = json_module.dumps(body).encode("utf-8", "surrogatepass")
            all_headers["Content-Type"] = "application/json"
        all_headers.update(headers or {})
        present_headers = {name: value for name, value in all_headers.items() if value is not None}
        response = await self.client.request(
            method, path, data=data, headers=present_headers, params=query or None
        )
        answer = Answer(response.status, response.headers, await response.read())
        assert answer.headers.get("X-Request-Id"), (method, path)
        assert answer.status != 500, (method, path, body, data, answer)
        if answer.raw:
            assert answer.headers["Content-Type"].startswith("application/json")
            assert ("error" in answer.body) == (answer.status >= 400), answer
        openapi_responses.check_response(method, str(path), answer.status, answer.raw)
        return answer

    async def get(self, path: str | URL, **query) -> Answer:
        return await self.request("GET", path, **query)

    async def post(self, path: str, body: Any = None, **more) -> Answer:
        return await self.request("POST", path, body, **more)

    async def put(self, path: str, body: Any = None, **more) -> Answer:
        return await self.request("PUT", path, body, **more)

    async def patch(self, path: str, body: Any = None, **more) -> Answer:
        return await self.request("PATCH", path, body, **more)

    async def delete(self, path: str, **more) -> Answer:
        return await self.request("DELETE", path, **more)

    def with_token(self, token: str | None) -> "Caller":
        return replace(self, token=token)

    def from_new_address(self) -> "Caller":
        return replace(self, address=some_address())

    def at(self, store: Store) -> "Caller":
        return replace(self, store=store)


def system_scope(store: Store) -> Scope:
    return Scope(store=store, actor=SYSTEM, request_id=str(uuid7()), now=datetime.now(UTC))


async def value(store: Store, sql: str, *args: Any) -> Any:
    with active_scope(system_scope(store)):
        return await database.fetchval(sql, *args)


async def rows(store: Store, sql: str, *args: Any) -> list[Any]:
    with active_scope(system_scope(store)):
        return await database.fetch(sql, *args)


async def execute(store: Store, sql: str, *args: Any) -> int:
    with active_scope(system_scope(store)):
        return await database.execute(sql, *args)


async def insert(store: Store, table: str, **columns: Any) -> Made:
    """Insert a row into a table of the store and return its ids."""
    columns = {"tenant_id": store.id, "public_id": uuid7()} | columns
    placeholders = ", ".join(f"${position}" for position in range(1, len(columns) + 1))
    number = await value(
        store,
        f"insert into {table} ({', '.join(columns)}) values ({placeholders}) returning id",
        *columns.values(),
    )
    return Made(number, str(columns["public_id"]))


async def add_user(store: Store, *privileges: str, **columns: Any) -> Person:
    """Add a user to the store: an administrator if privileges are passed."""
    with active_scope(system_scope(store)):
        return await add_person(*privileges, key=False, **columns)


async def add_vendor(store: Store, **columns: Any) -> Made:
    return await insert(store, "vendors", **{"name": "Loja do João"} | columns)


async def add_product(store: Store, **columns: Any) -> Made:
    number = next(_counter)
    product = {
        "name": f"Camiseta {number}",
        "slug": f"camiseta-{number}",
        "price_cents": 1_990,
        "on_hand": 100,
    }
    return await insert(store, "products", **product | columns)


async def add_category(store: Store, **columns: Any) -> Made:
    made = await insert(store, "categories", **{"name": f"Categoria {next(_counter)}"} | columns)
    parent = columns.get("parent_id")
    above = await value(store, "select id_path from categories where id = $1", parent) if parent else ""
    path = f"{above}/{made.number}".lstrip("/")
    await execute(store, "update categories set id_path = $2 where id = $1", made.number, path)
    return made


async def add_order(
    store: Store, user: Made | None = None, product: Made | None = None, **columns: Any
) -> Made:
    """Insert an order of two units of the product with their stock reserved, as placing it would."""
    product = product or await add_product(store)
    stock_state = _STOCK_STATES.get(columns.get("status", "O"), "N")
    order: dict[str, Any] = {
        "email": "ana@example.com",
        "firstname": "Ana",
        "lastname": "Souza",
        "stock_state": stock_state,
        "subtotal_cents": 3_980,
        "total_cents": 3_980,
    }
    if user is not None:
        order["user_id"] = user.number
    made = await insert(store, "orders", **order | columns)
    await insert(
        store,
        "order_lines",
        order_id=made.number,
        position=1,
        product_id=product.number,
        product_name="Camiseta",
        quantity=2,
        price_cents=1_990,
        base_price_cents=1_990,
    )
    if stock_state == "R":
        await execute(store, "update products set reserved = reserved + 2 where id = $1", product.number)
    return made


async def sign_in(store: Store, user: Person) -> SessionTokens:
    scope = replace(system_scope(store), actor=ANONYMOUS, family="current", client_ip=some_address())
    with active_scope(scope):
        pair = await login(scope, user.email, user.password)
    assert isinstance(pair, SessionTokens)
    return pair


def is_token_pair(body: dict) -> bool:
    assert set(body) == {"access_token", "refresh_token", "expires_at"}
    expires_at = datetime.strptime(body["expires_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    left = expires_at - datetime.now(UTC)
    return timedelta(minutes=14) < left <= timedelta(minutes=15) and len(body["refresh_token"]) >= 43
