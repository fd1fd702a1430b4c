"""Add records to a store in any state, directly and without the domain's rules."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from auth.passwords import hash_password
from auth.sessions import SessionTokens, login
from kernel.ids import uuid7
from kernel.scope import Store, active_scope
from kernel.signatures import token_hash
from models.tables.credentials import ApiKey
from models.tables.users import User
from tests.harness.http import basic
from tests.harness.scopes import anonymous_scope, execute, system_scope, value

PASSWORD = "correct horse battery"
UNKNOWN_ID = "018f0000-0000-7000-8000-000000000000"
UNKNOWN_NUMBER = 9_000_000_000_000
_STOCK_STATES = {"O": "R", "B": "R", "P": "D", "C": "D"}
_counter = itertools.count(1)
_hashes: dict[str, str] = {}


@dataclass(frozen=True)
class Record:
    """A record of a store: its legacy number (also what `f"{…}"` writes) and its UUID."""

    number: int
    id: str

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class NamedRecord(Record):
    """A record that legacy addresses identify by a name: a language's code or a combination's hash."""

    name: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class UserRecord(Record):
    """A user with credentials."""

    email: str = ""
    password: str = PASSWORD
    api_key: str = ""

    @property
    def basic(self) -> str:
        return basic(self.email, self.api_key)["Authorization"]


def record_of(row: Any) -> Record:
    return Record(row.id, str(row.public_id))


def is_uuid(text: str) -> bool:
    return str(UUID(text)) == text


async def insert(store: Store, table: str, **columns: Any) -> Record:
    """Insert a row into a table of the store and return its ids."""
    columns = {"tenant_id": store.id, "public_id": uuid7()} | columns
    placeholders = ", ".join(f"${position}" for position in range(1, len(columns) + 1))
    number = await value(
        store,
        f"insert into {table} ({', '.join(columns)}) values ({placeholders}) returning id",
        *columns.values(),
    )
    return Record(number, str(columns["public_id"]))


async def create_user(
    *privileges: str,
    user_type: str | None = None,
    key: bool = True,
    password: str | None = PASSWORD,
    **columns: Any,
) -> UserRecord:
    """Insert a user into the store in scope: an administrator if privileges are passed, by default a customer.

    Administrators and vendors get an API key unless `key` is False.
    """
    if password is not None and password not in _hashes:
        _hashes[password] = await hash_password(password)
    values: dict[str, Any] = {
        "email": f"{uuid7().hex}@example.com",
        "password_hash": _hashes[password] if password is not None else None,
        "user_type": user_type or ("A" if privileges else "C"),
        "firstname": "Ana",
        "lastname": "Souza",
        "email_verified_at": datetime.now(UTC),
        "privileges": list(privileges),
    }
    user = await User.create(**values | columns)
    secret = ""
    if key and user.user_type != "C":
        secret = uuid7().hex
        await ApiKey.create(user_id=user.id, key_hash=token_hash(secret), hint=secret[-4:], name="test")
    return UserRecord(user.id, str(user.public_id), user.email or "", password or "", secret)


async def add_user(store: Store, *privileges: str, key: bool = False, **columns: Any) -> UserRecord:
    """Add a user to the store: an administrator if privileges are passed."""
    with active_scope(system_scope(store)):
        return await create_user(*privileges, key=key, **columns)


async def add_vendor(store: Store, **columns: Any) -> Record:
    return await insert(store, "vendors", **{"name": "Loja do João"} | columns)


async def add_product(store: Store, **columns: Any) -> Record:
    number = next(_counter)
    product = {
        "name": f"Camiseta {number}",
        "slug": f"camiseta-{number}",
        "price_cents": 1_990,
        "on_hand": 100,
    }
    return await insert(store, "products", **product | columns)


async def add_category(store: Store, **columns: Any) -> Record:
    record = await insert(store, "categories", **{"name": f"Categoria {next(_counter)}"} | columns)
    parent = columns.get("parent_id")
    parent_path = await value(store, "select id_path from categories where id = $1", parent) if parent else ""
    path = f"{parent_path}/{record.number}".lstrip("/")
    await execute(store, "update categories set id_path = $2 where id = $1", record.number, path)
    return record


async def add_order(store: Store, user: Record | None = None, product: Record | None = None, **columns: Any) -> Record:
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
    record = await insert(store, "orders", **order | columns)
    await insert(
        store,
        "order_lines",
        order_id=record.number,
        position=1,
        product_id=product.number,
        product_name="Camiseta",
        quantity=2,
        price_cents=1_990,
        base_price_cents=1_990,
    )
    if stock_state == "R":
        await execute(store, "update products set reserved = reserved + 2 where id = $1", product.number)
    return record


async def sign_in(store: Store, user: UserRecord, *, now: datetime | None = None) -> SessionTokens:
    """Sign a user without two-factor authentication in, from an address of its own."""
    scope = anonymous_scope(store, now=now)
    with active_scope(scope):
        tokens = await login(scope, user.email, user.password)
    assert isinstance(tokens, SessionTokens)
    return tokens
