"""What one process changes another shows within seconds even when notifications are lost: the test writes, a server reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from auth.sessions import revoke_all_sessions
from domain.people.accounts import set_privileges
from domain.stores import change_status
from kernel.scope import active_scope
from models.connection import database, notices
from models.connection.notices import Listener
from models.connection.pool import DatabaseSettings
from server.embedded_postgres import EmbeddedServer
from server.embedded_postgres.data_folder import OWNER
from tests.harness.http import bearer
from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront
from tests.server.command_line import Vitrine
from tests.server.test_cli_serve import client_of
from tests.system.soak.proxy import DatabaseProxy

# Caches forget by themselves after 5 minutes and more, except for the catalogue's.
SECONDS = 30


@asynccontextmanager
async def proxy_of(postgres: EmbeddedServer, database_name: str) -> AsyncIterator[tuple[DatabaseProxy, str]]:
    """Yield a proxy in front of the tests' PostgreSQL, and the URL of the database through it."""
    proxy = DatabaseProxy(lambda: postgres.socket_dir / f".s.PGSQL.{postgres.port}")
    await proxy.start()
    try:
        yield proxy, f"postgresql://{OWNER}@127.0.0.1:{proxy.port}/{database_name}?sslmode=disable"
    finally:
        await proxy.stop()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await condition():
            await asyncio.sleep(0.02)


@dataclass(frozen=True)
class OtherProcess:
    """A `vitrine serve` that shares the database with the test's process."""

    client: aiohttp.ClientSession
    sample: SampleStore

    async def get(self, path: str, headers: dict[str, str]) -> tuple[int, Any]:
        tenant = {"X-Tenant-ID": str(self.sample.store.public_id), "Host": "localhost"}
        async with self.client.get(path, headers=tenant | headers) as response:
            return response.status, await response.json()

    async def status(self, path: str, headers: dict[str, str]) -> int:
        return (await self.get(path, headers))[0]


@pytest.mark.slow(seconds=10)
async def test_revocations_privileges_settings_and_prices_reach_a_process_that_hears_nothing(
    tmp_path: Path, postgres: EmbeddedServer, database_name: str, sample: SampleStore
):
    clerk = await sample.add_user("view_orders", user_type="A")
    leaver = await sample.add_user("view_orders", user_type="A")
    shop = await open_storefront(sample)
    assert shop.key is not None
    key = {"X-API-Key": shop.key}
    product = f"/api/v1/storefront/products/{sample.mug.id}"
    orders = "/api/v1/admin/orders"
    async with proxy_of(postgres, database_name) as (proxy, url):
        vitrine = Vitrine(tmp_path, PORT="0", DATABASE_URL=url)
        async with vitrine.running("serve") as server, client_of(server) as client:
            other = OtherProcess(client, sample)
            tokens = {user.number: bearer(await sample.token(user)) for user in (clerk, leaver)}
            for headers in tokens.values():
                assert await other.status(orders, headers) == 200
            status, before = await other.get(product, key)
            assert (status, before["name"]) != (200, "Xícara")

            proxy.silence_notifications()
            await _take_privilege(sample, clerk)
            await _end_sessions(sample, leaver)
            changed = await sample.put(f"/api/v1/admin/products/{sample.mug.id}", {"name": "Xícara"}, auth="bearer")
            assert changed.status == 200

            async def is_forbidden() -> bool:
                return await other.status(orders, tokens[clerk.number]) == 403

            async def is_signed_out() -> bool:
                return await other.status(orders, tokens[leaver.number]) == 401

            async def is_renamed() -> bool:
                return (await other.get(product, key))[1]["name"] == "Xícara"

            for condition in (is_forbidden, is_signed_out, is_renamed):
                await until(condition)

            await change_status(str(sample.store.public_id), "M")

            async def is_closed() -> bool:
                return await other.status(product, key) == 503

            await until(is_closed)
            proxy.restore()
            await change_status(str(sample.store.public_id), "A")

            async def is_open() -> bool:
                return await other.status(product, key) == 200

            await until(is_open)


async def _take_privilege(sample: SampleStore, user: UserRecord) -> None:
    with active_scope(sample.scope):
        await set_privileges(sample.scope, user.id, [])


async def _end_sessions(sample: SampleStore, user: UserRecord) -> None:
    with active_scope(sample.scope):
        await revoke_all_sessions(sample.scope, user.number, "left")


# --- the listening connection ----------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "CHECK_INTERVAL_SECONDS", 0.2)
    monkeypatch.setattr(notices, "CHECK_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(notices, "CONNECT_TIMEOUT_SECONDS", 0.3)


@asynccontextmanager
async def listening(url: str) -> AsyncIterator[tuple[Listener, list[str], list[int]]]:
    """Yield a listener on a channel `c`, the payloads it received and the times it may have missed some."""
    subject, payloads, missed = Listener(DatabaseSettings(url), None), list[str](), list[int]()
    await subject.listen("c", payloads.append, lambda: missed.append(1))
    try:
        yield subject, payloads, missed
    finally:
        await subject.close()


def test_a_lost_connection_is_noticed_and_reported_within_the_promised_time():
    assert notices.CHECK_INTERVAL_SECONDS + notices.CHECK_TIMEOUT_SECONDS < notices.STALE_SECONDS
    assert notices.MAX_BACKOFF_SECONDS + notices.CONNECT_TIMEOUT_SECONDS < notices.STALE_SECONDS


@pytest.mark.usefixtures("impatient")
async def test_a_silent_connection_is_reported_while_it_is_away_and_replaced(postgres, database_url, database_name):
    async with proxy_of(postgres, database_name) as (proxy, url), listening(url) as (_, payloads, missed):

        async def notify(payload: str) -> bool:
            await database.notify("c", payload)
            return payload in payloads

        await until(lambda: notify("before"))
        assert missed == []
        proxy.silence()

        async def is_reported_again() -> bool:
            return len(missed) >= 3

        await until(is_reported_again)
        assert "during" not in payloads
        count = len(missed)
        proxy.restore()
        await until(lambda: notify("after"))
        assert len(missed) > count  # once more when it listens again: what was read meanwhile may be stale


@pytest.mark.usefixtures("impatient", "database")
async def test_a_session_that_does_not_listen_any_longer_is_replaced(postgres, database_url, monkeypatch):
    connections: list[asyncpg.Connection] = []
    connect = asyncpg.connect

    async def remember(*args: Any, **options: Any) -> asyncpg.Connection:
        connections.append(await connect(*args, **options))
        return connections[-1]

    monkeypatch.setattr(asyncpg, "connect", remember)
    async with listening(database_url) as (_, payloads, missed):
        await connections[-1].execute("unlisten *")  # as a pooler does between two clients

        async def notify() -> bool:
            await database.notify("c", "again")
            return bool(payloads)

        await until(notify)
        assert missed
        assert len(connections) == 2
