"""`vitrine cells sync`: what belongs to no store is the same in all cells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from auth.secrets import encrypt
from auth.signing_keys import ALGORITHM, PURPOSE
from kernel.ids import uuid7
from models.table_contents import read_tables
from server.embedded_postgres import EmbeddedServer
from server.operations.cell_sync import COMMON, OWN
from tests.harness.database import TEMPLATE, new_database
from tests.server.command_line import SECRET, Vitrine

pytestmark = pytest.mark.usefixtures("database")

_ADD_KEY = "insert into signing_keys (kid, algorithm, private_key, public_key) values ($1, $2, $3, $4)"
_ADD_USER = "insert into platform_users (public_id, email, name, password_hash) values ($1, $2, $3, 'x')"
_ADD_HASH_KEY = "insert into hash_keys (purpose, key_id, sealed_key) values ('carts', $1, $2)"
_ADD_APP = """
insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in)
values (gen_random_uuid(), $1, $1, 'live', '{https://a.example}', '{read_orders}', $2, $2, $3)
"""
_ADD_STORE = "insert into tenants (public_id, name) values ($1, 'Loja') returning id"
_APPS = "select client_id, name, registered_in is not null as is_here from apps order by client_id"


@dataclass(frozen=True)
class TwoCells:
    """Two databases as their owner, and the command."""

    one: asyncpg.Connection
    two: asyncpg.Connection
    vitrine: Vitrine

    def sync(self) -> dict[str, dict[str, int]]:
        """Return how many rows were written, by cell and table, without those of which none was."""
        changes = self.vitrine("cells", "sync", "--json").json
        return {each["cell"]: {name: count for name, count in each["tables"].items() if count} for each in changes}

    async def add_app(self, cell: asyncpg.Connection, name: str, store: int | None = None) -> None:
        await cell.execute(_ADD_APP, name, bytes(32), store)


@pytest.fixture
async def cells(tmp_path: Path, postgres: EmbeddedServer, database_url: str) -> AsyncIterator[TwoCells]:
    async with AsyncExitStack() as stack:
        urls = [postgres.url(await stack.enter_async_context(new_database(postgres, TEMPLATE))) for _ in range(2)]
        one, two = [await asyncpg.connect(url) for url in urls]
        for connection in (one, two):
            stack.push_async_callback(connection.close)
        file = tmp_path / "cells.conf"
        file.write_text(f"one {urls[0]}\ntwo {urls[1]}\n", encoding="utf-8")
        vitrine = Vitrine(tmp_path, VITRINE_CELLS_FILE=str(file), VITRINE_SECRET_KEY=SECRET)
        yield TwoCells(one, two, vitrine)


async def add_key(connection: asyncpg.Connection, kid: str) -> None:
    private = Ed25519PrivateKey.generate()
    sealed = encrypt(PURPOSE, private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    await connection.execute(_ADD_KEY, kid, ALGORITHM, sealed, public)


async def values(connection: asyncpg.Connection, sql: str) -> list[Any]:
    return [tuple(row) for row in await connection.fetch(sql)]


async def test_each_table_without_a_store_is_common_or_of_its_cell(database_url: str):
    connection = await asyncpg.connect(database_url)
    try:
        tables = {table.name for table in await read_tables(connection) if not table.is_of_store}
    finally:
        await connection.close()
    assert tables == OWN | COMMON
    assert not OWN & COMMON


async def test_all_cells_sign_with_the_first_one_s_key_and_verify_their_own(cells: TwoCells):
    served = "select kid, retired_at is null from signing_keys order by kid"
    await add_key(cells.one, "a")
    await add_key(cells.two, "b")
    assert cells.sync() == {"one": {}, "two": {"signing_keys": 2}}
    assert await values(cells.one, served) == [("a", True)]
    assert await values(cells.two, served) == [("a", True), ("b", False)]
    await cells.one.execute("update signing_keys set retired_at = now()")
    await add_key(cells.one, "c")
    assert cells.sync() == {"one": {}, "two": {"signing_keys": 2}}
    assert await values(cells.two, served) == [("a", False), ("b", False), ("c", True)]
    assert cells.sync() == {"one": {}, "two": {}}


async def test_platform_users_are_the_first_cell_s_and_hash_keys_are_added(cells: TwoCells):
    same = uuid7()
    for cell, name in ((cells.one, "Ana"), (cells.two, "Old")):
        await cell.execute(_ADD_USER, same, "ana@example.com", name)
        await cell.execute(_ADD_HASH_KEY, name.encode().ljust(4), b"x")
    await cells.one.execute(_ADD_USER, uuid7(), "bia@example.com", "Bia")
    # The same address as another user's: it is gone before the first cell's arrives.
    await cells.two.execute(_ADD_USER, uuid7(), "bia@example.com", "Other")
    assert cells.sync()["two"] == {"platform_users": 3, "hash_keys": 1}
    users = "select public_id, email, name from platform_users order by email"
    assert await values(cells.two, users) == await values(cells.one, users)
    assert [len(await values(cell, "select from hash_keys")) for cell in (cells.one, cells.two)] == [1, 2]
    assert cells.sync()["two"] == {}


async def test_an_app_is_that_of_the_cell_whose_store_registered_it_else_the_first_one_s(cells: TwoCells):
    stores = [await cell.fetchval(_ADD_STORE, uuid7()) for cell in (cells.one, cells.two)]
    await cells.add_app(cells.one, "platform")
    await cells.add_app(cells.one, "first", stores[0])
    await cells.add_app(cells.two, "second", stores[1])
    await cells.add_app(cells.two, "unknown")
    assert cells.sync() == {"one": {"apps": 1}, "two": {"apps": 2}}
    for cell in (cells.one, cells.two):
        await cell.execute("update apps set name = client_id || $1", "-one" if cell is cells.one else "-two")
    assert cells.sync() == {"one": {"apps": 1}, "two": {"apps": 2}}
    expected = {"platform": "one", "first": "one", "second": "two", "unknown": "two"}
    for name, cell in (("one", cells.one), ("two", cells.two)):
        apps = {client_id: text for client_id, text, _ in await values(cell, _APPS)}
        assert apps == {each: f"{each}-{right}" for each, right in expected.items() if each in apps}, name
    registered = [
        await values(cell, f"select client_id from ({_APPS}) x where is_here") for cell in (cells.one, cells.two)
    ]
    assert registered == [[("first",)], [("second",)]]
    assert cells.sync() == {"one": {}, "two": {}}


async def test_a_cell_with_another_secret_key_is_refused(cells: TwoCells):
    await add_key(cells.one, "a")
    await cells.two.execute(_ADD_KEY, "b", ALGORITHM, b"another secret key's", bytes(32))
    assert "cell two: VITRINE_SECRET_KEY is not the key" in cells.vitrine("cells", "sync").error_line
    assert await values(cells.two, "select kid from signing_keys") == [("b",)]
