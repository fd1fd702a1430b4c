"""Imports into a database that was never analysed: what they read grows with what they write, not with its square."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import Context
from pathlib import Path

import pytest

from domain.imports.marketplace import import_customers
from domain.imports.orders import import_orders
from kernel.scope import Scope, active_scope
from models.connection import database
from models.connection.database import DatabaseSettings
from server.embedded_postgres import EmbeddedServer
from server.importers import record_files
from server.importers.order_files import ORDERS
from tests.harness.database import NewStore, connected_to_new_database
from tests.harness.scopes import system_scope

_FIRST_STORE = 2_000_000
SOURCE = "test"
BATCH, BATCHES = 250, 12


@pytest.fixture
async def scope(postgres: EmbeddedServer, database: DatabaseSettings, new_store: NewStore) -> AsyncIterator[Scope]:
    async with connected_to_new_database(postgres, database, first_store=_FIRST_STORE):
        scope = system_scope(await new_store())
        with active_scope(scope):
            yield scope


async def _orders(scope: Scope, numbers: Sequence[int], _: Path) -> None:
    now = scope.now
    customer = {
        "external_id": "c",
        "email": "c@example.com",
        "firstname": "Caio",
        "lastname": "Reis",
        "created_at": now,
    }
    await import_customers(scope, SOURCE, [customer])
    history = [("", "O"), ("O", "P"), ("P", "C")]
    records = [
        {
            "external_id": str(number), "customer": "c", "status": "C", "created_at": now, "lines": [],
            "address": {"city": "Recife", "state": "PE", "zipcode": "50000"},
            "history": [{"at": now, "from_status": before, "to_status": after} for before, after in history],
            "payments": [{"sequence": 1, "kind": "boleto", "installments": 1, "amount_cents": 1_000}],
        }
        for number in numbers
    ]  # fmt: skip
    assert await import_orders(scope, SOURCE, records) == len(records)


async def _order_files(scope: Scope, numbers: Sequence[int], folder: Path) -> None:
    line = {"name": "Caneca", "quantity": 1, "price_cents": 1_000}
    order = {"status": "C", "created_at": "2024-05-06T07:08:09Z", "total_cents": 2_000, "lines": [line, line]}
    path = folder / "orders.jsonl"
    path.write_text("\n".join(json.dumps(order | {"number": str(number)}) for number in numbers), encoding="utf-8")
    report = await record_files.run(ORDERS, path, "jsonl", scope.store.public_id, progress=False)
    assert (report.counts["created"], report.errors) == (len(numbers), [])


@pytest.mark.parametrize("write", [_orders, _order_files])
async def test_a_reference_to_an_order_finds_it_by_its_id(
    scope: Scope, write: Callable[[Scope, Sequence[int], Path], Awaitable[None]], tmp_path: Path
) -> None:
    """Few orders are read as a whole, by whichever index."""
    read = []
    for batch in range(BATCHES):
        await write(scope, range(batch * BATCH, (batch + 1) * BATCH), tmp_path)
        read.append(await _read_orders((batch + 1) * BATCH))
    assert read[-1] - read[BATCHES // 2] < 20 * BATCH * BATCHES / 2


async def _read_orders(expected: int) -> int:
    """Return how many entries were read of the indexes of orders."""
    # By every connection of the pool, of which a store has only half: each knows only what it has read itself.
    flush = "select pg_stat_force_next_flush() from pg_sleep(0.02)"
    await asyncio.gather(*(asyncio.create_task(database.fetchval(flush), context=Context()) for _ in range(10)))
    row = await database.fetchrow(
        "select n_tup_ins, (select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid)"
        " from pg_stat_user_tables t where relname = 'orders'"
    )
    assert row is not None
    inserted, read = row
    assert inserted == expected
    return int(read)
