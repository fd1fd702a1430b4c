"""Migrations apply once, whoever calls and however many at a time, and Tortoise's picture equals the models."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from kernel.errors import Unavailable
from models import roles
from models.database import DatabaseSettings
from models.migrate import CannotMigrate, known, migrate, pending, revert, unwritten_changes
from models.pool import close_pool, open_pool

OBJECTS = """
    select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S', 'i')
      and relname not like 'tortoise_migrations%'"""
FUNCTIONS = "select count(*) from pg_proc where pronamespace = 'public'::regnamespace"


async def ask(url: str, sql: str, *args):
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql, *args)
    finally:
        await connection.close()


async def test_makemigrations_finds_no_changes():
    assert await unwritten_changes() == []


async def test_migrating_an_empty_database_and_again(empty_database_url):
    names = [migration.name for migration in await known()]
    assert await pending(empty_database_url) == names
    assert await migrate(empty_database_url) == names
    assert await pending(empty_database_url) == []
    assert await migrate(empty_database_url) == []


async def test_several_processes_migrate_at_once(empty_database_url):
    applied = await asyncio.gather(*(migrate(empty_database_url) for _ in range(5)))
    assert sorted(applied, key=len) == [[], [], [], [], [migration.name for migration in await known()]]


async def test_a_failing_migration_leaves_nothing_behind(empty_database_url, monkeypatch):
    (first, *_) = await known()
    monkeypatch.setattr(first.operations[0], "sql", [*first.operations[0].sql, "select 1 / 0"])
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_database_url)
    assert await ask(empty_database_url, OBJECTS) == 0
    monkeypatch.undo()
    assert await migrate(empty_database_url) != []


async def test_the_last_migration_can_be_undone_and_applied_again(empty_database_url):
    await migrate(empty_database_url)
    names = [migration.name for migration in await known()]
    tables = await ask(empty_database_url, OBJECTS)
    with pytest.raises(CannotMigrate):
        await revert(empty_database_url, "0000_never_was")
    for name in reversed(names):
        await revert(empty_database_url, name)
    assert await ask(empty_database_url, OBJECTS) == 0
    assert await ask(empty_database_url, FUNCTIONS) == 0
    assert await migrate(empty_database_url) == names
    assert await ask(empty_database_url, OBJECTS) == tables


async def test_a_database_that_is_away_is_unavailable():
    with pytest.raises(Unavailable):
        await pending("postgresql://nobody@/x?host=/nowhere")


async def test_rights_are_set_again_only_when_they_differ(empty_database_url, monkeypatch):
    await migrate(empty_database_url)
    calls = []

    async def counted(*args, **kwargs):
        calls.append(args)

    monkeypatch.setattr("models.migrate.set_rights", counted)
    await migrate(empty_database_url)
    assert calls == []
    monkeypatch.setattr(roles, "_APPEND_ONLY", {"audit_entries", "payments"})
    await migrate(empty_database_url)
    assert len(calls) == 1


async def test_setting_the_rights_again_takes_away_what_is_no_more(empty_database_url, monkeypatch):
    await migrate(empty_database_url)
    may_update = "select has_table_privilege('vitrine_app', 'payments', 'UPDATE')"
    assert await ask(empty_database_url, may_update)
    monkeypatch.setattr(roles, "_APPEND_ONLY", {"audit_entries", "payments"})
    await migrate(empty_database_url)
    assert not await ask(empty_database_url, may_update)


class TestWithoutRoles:
    """A log-in that may not make roles serves itself; FORCE binds it."""

    @pytest.fixture
    async def url(self, empty_database_url, monkeypatch):
        async def no_roles(_connection):
            return False

        monkeypatch.setattr("models.migrate.ensure_roles", no_roles)
        await migrate(empty_database_url)
        return empty_database_url

    @pytest.fixture
    async def pools(self, url):
        settings = DatabaseSettings(url)
        pool = await open_pool(settings, None, min_size=1, max_size=2)
        across = await open_pool(settings, None, min_size=1, max_size=2, across=True)
        yield pool, across
        await close_pool(pool)
        await close_pool(across)

    async def test_stores_are_kept_apart_and_the_worker_sees_its_tables(self, pools):
        pool, across = pools
        connection = await across.lend(0)
        ids = [
            await connection.fetchval(
                "insert into tenants (public_id, name) values (gen_random_uuid(), 'x') returning id"
            )
            for _ in range(2)
        ]
        for store in ids:
            lent = await pool.lend(store)
            await lent.execute("insert into orders (public_id) values (gen_random_uuid())")
            await lent.execute(
                "insert into products (public_id, name, slug, price_cents)"
                " values (gen_random_uuid(), 'Calçado', 'c', 1)"
            )
            assert await lent.fetchval("select count(*) from orders") == 1
            assert len(await lent.fetch("select search_products('calcado'::tsquery)")) == 1
            await pool.give_back(lent)
        assert await connection.fetchval("select count(*) from orders") == 2
        assert await connection.fetchval("select count(*) from products") == 0
        await across.give_back(connection)

    async def test_roles_that_come_later_are_used(self, url, monkeypatch):
        monkeypatch.undo()
        await migrate(url)
        assert (
            await ask(url, "select proowner::regrole::text from pg_proc where proname = 'search_users'")
            == roles.SEARCH
        )
        assert await ask(url, "select count(*) from pg_policies where 'vitrine_worker' = any(roles)") > 0
