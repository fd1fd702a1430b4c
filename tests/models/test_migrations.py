"""Migrations are applied once, also by concurrent processes, and match the models."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import asyncpg
import pytest

from kernel.errors import Unavailable
from models import role_privileges
from models.connection.database import DatabaseSettings
from models.connection.pool import close_pool, open_pool
from models.connection.roles import SEARCH_ROLE, RoleSet
from models.migrate import (
    ADVISORY_LOCK_KEY,
    MigrationError,
    disk_migrations,
    migrate,
    pending_migrations,
)
from server.embedded_postgres import EmbeddedServer
from tests.harness.reverting import reverse_sql, revert

OBJECTS = """
    select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S', 'i')
      and relname not like 'tortoise_migrations%'"""
FUNCTIONS = "select count(*) from pg_proc where pronamespace = 'public'::regnamespace"


async def fetchval(url: str, sql: str, *args, timeout: float | None = None):
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql, *args, timeout=timeout)
    finally:
        await connection.close()


def test_every_migration_is_numbered_and_has_statements_and_a_reverse():
    migrations = disk_migrations()
    assert [int(migration.name[:4]) for migration in migrations] == list(range(1, len(migrations) + 1))
    assert all(migration.statements and reverse_sql(migration.name).strip() for migration in migrations)


async def test_migrate_is_idempotent(empty_database_url):
    names = [migration.name for migration in disk_migrations()]
    assert await pending_migrations(empty_database_url) == names
    assert await migrate(empty_database_url) == names
    assert await pending_migrations(empty_database_url) == []
    assert await migrate(empty_database_url) == []


async def test_concurrent_processes_migrate_once(empty_database_url):
    applied = await asyncio.gather(*(migrate(empty_database_url) for _ in range(5)))
    assert sorted(applied, key=len) == [
        [],
        [],
        [],
        [],
        [migration.name for migration in disk_migrations()],
    ]


async def test_a_failing_migration_is_rolled_back(empty_database_url, monkeypatch):
    (first, *others) = disk_migrations()
    broken = replace(first, statements=(*first.statements, "select 1 / 0"))
    monkeypatch.setattr("models.migrate.disk_migrations", lambda: (broken, *others))
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_database_url)
    assert await fetchval(empty_database_url, OBJECTS) == 0
    monkeypatch.undo()
    assert await migrate(empty_database_url) != []


async def test_an_index_is_built_while_others_write_and_again_where_an_interruption_left_it_invalid(
    empty_database_url, postgres
):
    *before, last = [migration for migration in disk_migrations() if migration.name <= "0078_list_orders"]
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("models.migrate.disk_migrations", lambda: tuple(before))
        await migrate(empty_database_url)
    superuser = await asyncpg.connect(empty_database_url.replace("vitrine_owner@", "postgres@"))
    try:
        await superuser.execute(last.indexes[0].replace("CONCURRENTLY ", ""))
        await superuser.execute(
            "update pg_index set indisvalid = false where indexrelid = 'orders_currency_idx'::regclass"
        )
        async with superuser.transaction():
            await superuser.execute("lock table orders in row exclusive mode; delete from orders")
            migrating = asyncio.create_task(migrate(empty_database_url))
            # The migration waits for this transaction; others write to the table meanwhile, and a second migration waits for the first.
            await _wait_for_builder(superuser)
            second = asyncio.create_task(migrate(empty_database_url))
            await fetchval(
                empty_database_url, "with t as (delete from orders returning 1) select count(*) from t", timeout=5
            )
            await asyncio.sleep(0.3)
        assert last.name in [*await migrating, *await second]
        invalid = "select count(*) from pg_index where not indisvalid"
        assert await superuser.fetchval(invalid) == 0
    finally:
        await superuser.close()


async def test_a_program_that_waits_for_the_migrations_in_one_statement_goes_first(empty_database_url):
    *before, last = [migration for migration in disk_migrations() if migration.name <= "0078_list_orders"]
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("models.migrate.disk_migrations", lambda: tuple(before))
        await migrate(empty_database_url)
    superuser, older = [
        await asyncpg.connect(empty_database_url.replace("vitrine_owner@", "postgres@")) for _ in range(2)
    ]
    usable = "select obj_description('tortoise_migrations'::regclass)"

    async def start() -> str:
        await older.execute("select pg_advisory_lock($1)", ADVISORY_LOCK_KEY)
        return await older.fetchval(f"{usable} from pg_advisory_unlock($1)", ADVISORY_LOCK_KEY)

    try:
        async with superuser.transaction():
            await superuser.execute("lock table orders in row exclusive mode")
            migrating = asyncio.create_task(migrate(empty_database_url))
            await _wait_for_builder(superuser)
            starting = asyncio.create_task(start())
            # Longer than `deadlock_timeout`: the other one has looked for a deadlock before there is one, and the index's is ended.
            await asyncio.sleep(1.5)
        assert last.name in await migrating
        assert disk_migrations()[-1].name in await starting
        assert await superuser.fetchval("select count(*) from pg_index where not indisvalid") == 0
    finally:
        await superuser.close()
        await older.close()


async def _wait_for_builder(connection: asyncpg.Connection) -> None:
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        while not await connection.fetchval(waiting):
            await connection.execute("select pg_stat_clear_snapshot()")
            await asyncio.sleep(0.02)


async def test_migrations_can_be_reverted_and_applied_again(empty_database_url):
    await migrate(empty_database_url)
    names = [migration.name for migration in disk_migrations()]
    tables = await fetchval(empty_database_url, OBJECTS)
    with pytest.raises(MigrationError):
        await revert(empty_database_url, "0000_missing")
    for name in reversed(names):
        await revert(empty_database_url, name)
    assert await fetchval(empty_database_url, OBJECTS) == 0
    assert await fetchval(empty_database_url, FUNCTIONS) == 0
    assert await migrate(empty_database_url) == names
    assert await fetchval(empty_database_url, OBJECTS) == tables


async def test_the_size_of_an_average_store_applies_to_tables_that_are_analysed_already(
    migrated_database_url: str, postgres: EmbeddedServer
):
    names = [migration.name for migration in disk_migrations()]
    for name in reversed(names[names.index("0034_average_store") :]):
        await revert(migrated_database_url, name)
    superuser_url = postgres.superuser_url(urlsplit(migrated_database_url).path.removeprefix("/"))
    connection = await asyncpg.connect(superuser_url)
    await connection.execute(
        "with stores as (insert into tenants (public_id, name) select gen_random_uuid(), 'Loja' from generate_series(1, 20) returning id)"
        " insert into vendors (tenant_id, public_id, name, email) select id, gen_random_uuid(), 'Loja', 'loja@exemplo.com.br' from stores"
    )
    await connection.execute("analyze vendors")
    await connection.close()
    statistics = "select n_distinct from pg_stats where tablename = 'vendors' and attname = 'tenant_id'"
    assert await fetchval(superuser_url, statistics) == -1
    await migrate(migrated_database_url)
    assert await fetchval(superuser_url, statistics) == pytest.approx(-0.0002)


async def test_an_unreachable_database_raises_unavailable():
    with pytest.raises(Unavailable):
        await pending_migrations("postgresql://nobody@/x?host=/nowhere")


async def test_migrating_again_changes_no_grant_policy_or_function(migrated_database_url):
    written = """
        select (select array_agg(xmin::text order by oid) from pg_class where relnamespace = 'public'::regnamespace),
            (select array_agg(xmin::text order by oid) from pg_policy), (select array_agg(xmin::text order by oid) from pg_proc)
    """
    connection = await asyncpg.connect(migrated_database_url)
    try:
        before = await connection.fetchrow(written)
        assert await migrate(migrated_database_url) == []
        assert await connection.fetchrow(written) == before
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "damage, is_whole",
    [
        ("grant truncate on payments to vitrine_app", "not has_table_privilege('vitrine_app', 'payments', 'TRUNCATE')"),
        ("revoke insert on orders from vitrine_app", "has_table_privilege('vitrine_app', 'orders', 'INSERT')"),
        (
            "grant select on users to vitrine_search",
            "has_column_privilege('vitrine_search', 'users', 'id', 'SELECT')"
            " and not has_table_privilege('vitrine_search', 'users', 'SELECT')",
        ),
        (
            "revoke update (dispatched_at) on outbox_events from vitrine_worker",
            "has_column_privilege('vitrine_worker', 'outbox_events', 'dispatched_at', 'UPDATE')",
        ),
        (
            "drop policy across_stores on orders; create policy across_stores on orders to vitrine_worker using (false)",
            "(select qual not like '%false%' from pg_policies where tablename = 'orders' and policyname = 'across_stores')",
        ),
        (
            "drop function search_users",
            "coalesce(has_function_privilege('vitrine_app', to_regprocedure('search_users(tsquery)'), 'EXECUTE'), false)",
        ),
    ],
)
async def test_migrating_again_repairs_what_was_changed_by_hand(migrated_database_url, postgres, damage, is_whole):
    name = urlsplit(migrated_database_url).path.removeprefix("/")
    connection = await asyncpg.connect(postgres.superuser_url(name))
    try:
        await connection.execute(damage)
        assert not await connection.fetchval(f"select {is_whole}")
        await migrate(migrated_database_url)
        assert await connection.fetchval(f"select {is_whole}")
    finally:
        await connection.close()


async def test_granting_again_revokes_removed_privileges(migrated_database_url, monkeypatch):
    may_update = "select has_table_privilege('vitrine_app', 'payments', 'UPDATE')"
    assert await fetchval(migrated_database_url, may_update)
    monkeypatch.setattr(role_privileges, "_APPEND_ONLY", {"audit_entries", "payments"})
    await migrate(migrated_database_url)
    assert not await fetchval(migrated_database_url, may_update)


class TestWithoutRoles:
    """A login role that may not create roles serves itself, with forced row-level security."""

    @pytest.fixture
    async def url(self, empty_database_url, monkeypatch):
        async def no_roles(connection, *_):
            return RoleSet(await connection.fetchval("select current_user::text"), False, False, False)

        monkeypatch.setattr("models.migrate.ensure_roles", no_roles)
        monkeypatch.setattr("models.migrate.find_roles", no_roles)
        await migrate(empty_database_url)
        return empty_database_url

    @pytest.fixture
    async def pools(self, url):
        settings = DatabaseSettings(url)
        pool = await open_pool(settings, None, min_size=1, max_size=2)
        worker_pool = await open_pool(settings, None, min_size=1, max_size=2, all_stores=True)
        yield pool, worker_pool
        await close_pool(pool)
        await close_pool(worker_pool)

    async def test_stores_are_isolated_and_the_worker_sees_its_tables(self, pools):
        pool, worker_pool = pools
        connection = await worker_pool.acquire_for_store(0)
        ids = [
            await connection.fetchval(
                "insert into tenants (public_id, name) values (gen_random_uuid(), 'x') returning id"
            )
            for _ in range(2)
        ]
        for store in ids:
            serving = await pool.acquire_for_store(store)
            await serving.execute("insert into orders (public_id) values (gen_random_uuid())")
            await serving.execute(
                "insert into products (public_id, name, slug, price_cents)"
                " values (gen_random_uuid(), 'Calçado', 'c', 1)"
            )
            assert await serving.fetchval("select count(*) from orders") == 1, store
            assert len(await serving.fetch("select search_products('calcado'::tsquery)")) == 1, store
            await pool.release_connection(serving)
        assert await connection.fetchval("select count(*) from orders") == 2
        assert await connection.fetchval("select count(*) from products") == 0
        await worker_pool.release_connection(connection)

    async def test_roles_created_later_are_used(self, url, monkeypatch):
        monkeypatch.undo()
        await migrate(url)
        assert (
            await fetchval(url, "select proowner::regrole::text from pg_proc where proname = 'search_users'")
            == SEARCH_ROLE
        )
        assert await fetchval(url, "select count(*) from pg_policies where 'vitrine_worker' = any(roles)") > 0


async def test_existing_records_get_slugs_and_those_of_the_previous_version(empty_database_url):
    await migrate(empty_database_url)
    for migration in reversed(disk_migrations()):
        await revert(empty_database_url, migration.name)
        if migration.name.startswith("0023"):
            break
    connection = await asyncpg.connect(empty_database_url)
    insert = "insert into vendors (public_id, name, deleted_at) values (gen_random_uuid(), $1, $2)"
    add_store = "insert into tenants (public_id, name) values (gen_random_uuid(), 'x') returning id"
    slugs = {}
    try:
        stores = [str(await connection.fetchval(add_store)) for _ in range(2)]
        for store in stores:
            await connection.execute("select set_config('vitrine.tenant', $1, false)", store)
            await connection.execute(insert, "Ateliê", datetime.now(UTC))
            for name in ("Ateliê", "Ateliê", "Ateliê 2", "?"):
                await connection.execute(insert, name, None)
        await migrate(empty_database_url)
        for store in stores:
            await connection.execute("select set_config('vitrine.tenant', $1, false)", store)
            await connection.execute(insert, "Ateliê", None)
            slugs[store] = [row["slug"] for row in await connection.fetch("select slug from vendors order by id")]
    finally:
        await connection.close()
    assert list(slugs.values()) == [["atelie", "atelie", "atelie-2", "atelie-2-2", "vendor", "atelie-3"]] * 2


async def test_hidden_pages_are_not_published_by_the_version_before(empty_database_url):
    await migrate(empty_database_url)
    connection = await asyncpg.connect(empty_database_url)
    insert = "insert into pages (public_id, name, slug, lang_code, hidden) values (gen_random_uuid(), $1, $1, 'pt', $1 = 'hidden')"
    try:
        for store in ("1", "2"):
            await connection.execute("insert into tenants (public_id, name) values (gen_random_uuid(), 'Loja')")
            await connection.execute("select set_config('vitrine.tenant', $1, false)", store)
            for name in ("hidden", "shown"):
                await connection.execute(insert, name)
        for migration in reversed(disk_migrations()):
            await revert(empty_database_url, migration.name)
            if migration.name == "0075_hidden_pages":
                break
        for store in ("1", "2"):
            await connection.execute("select set_config('vitrine.tenant', $1, false)", store)
            pages = await connection.fetch("select name, status from pages order by name")
            assert [tuple(page) for page in pages] == [("hidden", "D"), ("shown", "A")], store
    finally:
        await connection.close()


async def test_products_that_exist_can_be_searched_after_the_migration(empty_database_url):
    await migrate(empty_database_url)
    names = [migration.name for migration in disk_migrations()]
    for name in reversed(names[names.index("0025_product_search") :]):
        await revert(empty_database_url, name)
    connection = await asyncpg.connect(empty_database_url)
    try:
        for store in (1, 2):
            await connection.execute("insert into tenants (public_id, name) values (gen_random_uuid(), 'Loja')")
            await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store))
            for slug in ("ativo", "apagado"):
                await connection.execute(
                    "insert into products (public_id, name, slug, price_cents, deleted_at)"
                    " values (gen_random_uuid(), 'Botões ' || $1, $1, 7, case when $1 = 'apagado' then now() end)",
                    slug,
                )
        await migrate(empty_database_url)
        for store in (1, 2):
            await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store))
            entries = await connection.fetch("select product_id, price_cents from search_entries")
            assert [tuple(entry) for entry in entries] == [(1, 7)], store
            words = await connection.fetch("select word from search_words order by 1")
            assert [record["word"] for record in words] == ["ativo", "botoes"], store
            assert await connection.fetchval("select search @@ '~bota'::tsquery from products where id = 1"), store
    finally:
        await connection.close()
