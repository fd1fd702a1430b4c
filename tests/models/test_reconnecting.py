"""A pool waits for a server or pooler that is just restarting, and for no longer than that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from models.connection.binding import NO_STORE
from models.connection.pool import DatabaseSettings, StorePool, close_pool, open_pool
from server.embedded_postgres import EmbeddedServer
from server.embedded_postgres.data_folder import OWNER
from tests.system.soak.proxy import DatabaseProxy

ABSENT = (ConnectionError, asyncpg.ConnectionDoesNotExistError)


class Server:
    """A PostgreSQL behind an address at which it can be absent; `attempts` counts the connections meanwhile."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self.is_away = False
        self.attempts = 0
        self.proxy = DatabaseProxy(self._target)

    def _target(self) -> Path | None:
        self.attempts += self.is_away
        return None if self.is_away else self._socket

    def leave(self) -> None:
        """End the connections and accept no other."""
        self.is_away = True
        self.proxy.cut()
        self.proxy.restore()


@asynccontextmanager
async def connected(
    postgres: EmbeddedServer, database_name: str, seconds: float
) -> AsyncIterator[tuple[StorePool, Server]]:
    """Yield a pool of a server for which it waits so many seconds."""
    server = Server(postgres.socket_dir / f".s.PGSQL.{postgres.port}")
    await server.proxy.start()
    url = f"postgresql://{OWNER}@127.0.0.1:{server.proxy.port}/{database_name}?sslmode=disable"
    pool = await open_pool(replace(DatabaseSettings(url), restart_seconds=seconds), None, min_size=1, max_size=2)
    try:
        assert await select_one(pool) == 1
        yield pool, server
    finally:
        await close_pool(pool)
        await server.proxy.stop()


async def select_one(pool: StorePool) -> int:
    connection = await pool.acquire_for_store(NO_STORE)
    try:
        value: int = await connection.fetchval("select 1")
        return value
    finally:
        await pool.release_connection(connection)


async def until_closed(pool: StorePool) -> None:
    async with asyncio.timeout(20):
        while pool.get_size():
            await asyncio.sleep(0.01)


async def test_a_statement_waits_for_a_server_that_restarts(postgres, database_url, database_name):
    async with connected(postgres, database_name, seconds=60) as (pool, server):
        server.leave()
        await until_closed(pool)
        waiting = [asyncio.create_task(select_one(pool)) for _ in range(5)]
        async with asyncio.timeout(20):
            while server.attempts < 5:
                await asyncio.sleep(0.01)
        server.is_away = False
        assert await asyncio.gather(*waiting) == [1] * 5


async def test_a_server_that_stays_away_is_not_waited_for_again(postgres, database_url, database_name):
    async with connected(postgres, database_name, seconds=0.3) as (pool, server):
        server.leave()
        await until_closed(pool)
        with pytest.raises(ABSENT):
            await select_one(pool)
        assert server.attempts > 1
        server.attempts = 0
        with pytest.raises(ABSENT):
            await select_one(pool)
        assert server.attempts == 1

        server.is_away = False
        assert await select_one(pool) == 1
        server.leave()  # the next restart is waited for
        await until_closed(pool)
        server.attempts = 0
        with pytest.raises(ABSENT):
            await select_one(pool)
        assert server.attempts > 1
