"""What the tests of the current API share beside `tests.shop`: callers of empty stores over HTTP, and rows put straight into them."""

import itertools
import json as json_module
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp.test_utils import TestClient
from yarl import URL

from auth.sessions import SignedIn, login
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, SYSTEM, Scope, Store, entered
from models import database
from tests import documented
from tests.shop import Answer, Made, Person, add_person, some_address

_HOLDS = {"O": "R", "B": "R", "P": "D", "C": "D"}
_counter = itertools.count(1)


@dataclass(frozen=True)
class Caller:
    """Somebody who calls a store: with a token or without, from an address that nobody else calls from."""

    client: TestClient
    store: Store
    token: str | None = None
    address: str = "192.0.2.1"
    user: Any = None
    refresh_token: str = ""

    async def ask(
        self, method: str, path: str | URL, body: Any = None, *, data: Any = None, headers=None, **query
    ) -> Answer:
        """Send a request; whatever is answered must have the form of the family and be no accident."""
        sent = {"X-Tenant-ID": str(self.store.public_id), "X-Forwarded-For": self.address}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            data = json_module.dumps(body).encode("utf-8", "surrogatepass")
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        kept = {name: value for name, value in sent.items() if value is not None}
        response = await self.client.request(method, path, data=data, headers=kept, params=query or None)
        answer = Answer(response.status, response.headers, await response.read())
        assert answer.headers.get("X-Request-Id"), (method, path)
        assert answer.status != 500, (method, path, body, data, answer)
        if answer.raw:
            assert answer.headers["Content-Type"].startswith("application/json")
            assert ("error" in answer.body) == (answer.status >= 400), answer
        documented.check(method, str(path), answer.status, answer.raw)
        return answer

    async def get(self, path: str | URL, **query) -> Answer:
        return await self.ask("GET", path, **query)

    async def post(self, path: str, body: Any = None, **more) -> Answer:
        return await self.ask("POST", path, body, **more)

    async def put(self, path: str, body: Any = None, **more) -> Answer:
        return await self.ask("PUT", path, body, **more)

    async def patch(self, path: str, body: Any = None, **more) -> Answer:
        return await self.ask("PATCH", path, body, **more)

    async def delete(self, path: str, **more) -> Answer:
        return await self.ask("DELETE", path, **more)

    def with_token(self, token: str | None) -> "Caller":
        return replace(self, token=token)

    def from_elsewhere(self) -> "Caller":
        return replace(self, address=some_address())

    def at(self, store: Store) -> "Caller":
        return replace(self, store=store)


def system(store: Store) -> Scope:
    return Scope(store=store, actor=SYSTEM, request_id=str(uuid7()), now=datetime.now(UTC))


async def value(store: Store, sql: str, *args: Any) -> Any:
    with entered(system(store)):
        return await database.value(sql, *args)


async def rows(store: Store, sql: str, *args: Any) -> list[Any]:
    with entered(system(store)):
        return await database.rows(sql, *args)


async def execute(store: Store, sql: str, *args: Any) -> int:
    with entered(system(store)):
        return await database.execute(sql, *args)


async def put(store: Store, table: str, **columns: Any) -> Made:
    """Put a row into a table of the store and name it."""
    columns = {"tenant_id": store.id, "public_id": uuid7()} | columns
    places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    number = await value(
        store, f"insert into {table} ({', '.join(columns)}) values ({places}) returning id", *columns.values()
    )
    return Made(number, str(columns["public_id"]))


async def add_user(store: Store, *privileges: str, **columns: Any) -> Person:
    """Put somebody into the store: an administrator where privileges are named."""
    with entered(system(store)):
        return await add_person(*privileges, key=False, **columns)


async def add_vendor(store: Store, **columns: Any) -> Made:
    return await put(store, "vendors", **{"name": "Loja do João"} | columns)


async def add_product(store: Store, **columns: Any) -> Made:
    number = next(_counter)
    product = {
        "name": f"Camiseta {number}",
        "slug": f"camiseta-{number}",
        "price_cents": 1_990,
        "on_hand": 100,
    }
    return await put(store, "products", **product | columns)


async def add_category(store: Store, **columns: Any) -> Made:
    made = await put(store, "categories", **{"name": f"Categoria {next(_counter)}"} | columns)
    parent = columns.get("parent_id")
    above = await value(store, "select id_path from categories where id = $1", parent) if parent else ""
    path = f"{above}/{made.number}".lstrip("/")
    await execute(store, "update categories set id_path = $2 where id = $1", made.number, path)
    return made


async def add_order(
    store: Store, user: Made | None = None, product: Made | None = None, **columns: Any
) -> Made:
    """Put an order of two units of the product into the store, their stock held as a placed order's is."""
    product = product or await add_product(store)
    holds = _HOLDS.get(columns.get("status", "O"), "N")
    order: dict[str, Any] = {
        "email": "ana@example.com",
        "firstname": "Ana",
        "lastname": "Souza",
        "stock_state": holds,
        "subtotal_cents": 3_980,
        "total_cents": 3_980,
    }
    if user is not None:
        order["user_id"] = user.number
    made = await put(store, "orders", **order | columns)
    await put(
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
    if holds == "R":
        await execute(store, "update products set reserved = reserved + 2 where id = $1", product.number)
    return made


async def signed_in(store: Store, user: Person) -> SignedIn:
    scope = replace(system(store), actor=ANONYMOUS, family="current", client_ip=some_address())
    with entered(scope):
        pair = await login(scope, user.email, user.password)
    assert isinstance(pair, SignedIn)
    return pair


def is_token_pair(body: dict) -> bool:
    assert set(body) == {"access_token", "refresh_token", "expires_at"}
    expires_at = datetime.strptime(body["expires_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    left = expires_at - datetime.now(UTC)
    return timedelta(minutes=14) < left <= timedelta(minutes=15) and len(body["refresh_token"]) >= 43
