"""The server acts as the serving role or refuses to serve (docs/deploy.md#postgresql)."""

from __future__ import annotations

import asyncio

import asyncpg
import orjson
import pytest

from kernel import logging
from kernel.settings import Settings
from models.connection import database as db
from models.migrate import migrate
from server.database import DatabaseLocation, connection_pools, readiness_checks
from server.embedded_postgres import EmbeddedPostgres
from tests.server.embedded import FAST

pytestmark = pytest.mark.slow


@pytest.fixture
def own_process(monkeypatch):
    """Hide the test session's connection, as if this were another process."""
    monkeypatch.setattr(db, "_database", None)


@pytest.fixture
async def started_before_migration(tmp_path, own_process):
    """Return the URL of a database in a cluster without our roles, to which this process is connected."""
    postgres = EmbeddedPostgres(tmp_path / "postgres", options=FAST)
    url = (await asyncio.to_thread(postgres.start)).url()
    try:
        async with connection_pools(Settings(), DatabaseLocation(url, url, is_embedded=False)):
            assert await db.fetchval("select current_user") == "vitrine_owner"
            async with db.cross_store_connection():
                pass  # opens the worker's pool as the owner
            yield url
    finally:
        await asyncio.to_thread(postgres.stop)


class TestStartBeforeTheFirstMigration:
    @pytest.fixture
    def adopts_no_role(self, monkeypatch):
        monkeypatch.setattr("server.database._adopt_roles", lambda location: asyncio.sleep(3600))

    @pytest.fixture
    def rechecks_often(self, monkeypatch):
        monkeypatch.setattr("server.database._ROLES_RECHECK_SECONDS", 0.05)

    @pytest.mark.usefixtures("adopts_no_role")
    async def test_the_server_is_not_ready_while_it_acts_as_the_owner(self, started_before_migration):
        url = started_before_migration
        check = readiness_checks(DatabaseLocation(url, url, is_embedded=False))
        assert await check() == {"database": True, "role": True, "migrations": False}
        await migrate(url)
        assert await check() == {"database": True, "role": False, "migrations": False}
        assert await db.adopt_roles()
        assert await check() == {"database": True, "role": True, "migrations": True}

    @pytest.mark.usefixtures("rechecks_often")
    async def test_the_server_adopts_the_roles_that_the_migration_creates(self, started_before_migration):
        await migrate(started_before_migration)
        async with asyncio.timeout(10):
            while await db.fetchval("select current_user") != "vitrine_app":
                await asyncio.sleep(0.05)
        async with db.cross_store_connection() as connection:
            assert await connection.fetchval("select current_user") == "vitrine_worker"


async def test_a_server_whose_login_is_not_granted_the_roles_says_so_while_it_waits(tmp_path, own_process, monkeypatch):
    monkeypatch.setattr("server.database._ROLES_RECHECK_SECONDS", 0.05)
    lines: list[dict[str, object]] = []
    postgres = EmbeddedPostgres(tmp_path / "postgres", options=FAST)
    server = await asyncio.to_thread(postgres.start)
    before = logging.set_sink(lambda line: lines.append(orjson.loads(line)))
    try:
        owner = await asyncpg.connect(server.url())
        await owner.execute("create role serving login")
        location = DatabaseLocation(
            server.url(), server.url().replace("vitrine_owner", "serving", 1), is_embedded=False
        )
        async with connection_pools(Settings(), location), asyncio.timeout(20):
            await migrate(location.owner_url)
            while not (waiting := [line for line in lines if line["event"] == "waiting for the database roles"]):
                await asyncio.sleep(0.05)
            assert "vitrine_app" in str(waiting[0]["reason"])
            await owner.execute("grant vitrine_app, vitrine_worker to serving")
            while await db.fetchval("select current_user") != "vitrine_app":
                await asyncio.sleep(0.05)
        assert "unavailable" not in str(waiting)
        await owner.close()
    finally:
        logging.set_sink(before)
        await asyncio.to_thread(postgres.stop)


@pytest.mark.usefixtures("own_process")
async def test_a_session_that_ignores_the_startup_parameter_role_is_refused(database_url, monkeypatch):
    """A connection pooler that ignores startup parameters leaves the session to the login role."""
    connect = asyncpg.connection.connect

    async def connect_through_pooler(*args, server_settings=None, **kwargs):
        settings = {name: value for name, value in (server_settings or {}).items() if name != "role"}
        return await connect(*args, server_settings=settings, **kwargs)

    monkeypatch.setattr("asyncpg.connection.connect", connect_through_pooler)
    monkeypatch.setattr("asyncpg.connect", connect_through_pooler)
    location = DatabaseLocation(database_url, database_url, is_embedded=False)
    with pytest.raises(db.UnsafeRole, match="acts as vitrine_owner, expected vitrine_app"):
        async with connection_pools(Settings(), location):
            pass
