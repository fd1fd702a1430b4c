"""Resolution of a request's store (docs/reference/shared.md#store-resolution)."""

import asyncio

import asyncpg
import pytest

from auth.store_resolution import CHANNEL, CachedStoreResolver, invalidate_store, parse_host
from kernel.errors import TenantClosed, TenantMismatch, TenantNotFound
from kernel.ids import uuid7
from models.connection import database
from models.connection.database import count_statements
from tests.harness.scopes import system_scope

SHARED = ("localhost", "127.0.0.1", "[::1]")


@pytest.fixture
def directory(database) -> CachedStoreResolver:
    return CachedStoreResolver(SHARED)


async def as_owner(database_url, sql, *args):
    """Change a store as another process does, without a notification."""
    connection = await asyncpg.connect(database_url)
    try:
        return await connection.fetchval(sql, *args)
    finally:
        await connection.close()


@pytest.fixture
async def host(store, database_url) -> str:
    name = f"loja-{uuid7().hex}.example"
    await as_owner(database_url, "insert into store_hosts (host, store_id) values ($1, $2)", name, store.id)
    return name


async def resolved(directory, host, header=None, **options):
    return (await directory.resolve(host, header, **({"public": False} | options))).public_id


async def not_found(directory, host, header=None, **options):
    with pytest.raises(TenantNotFound) as refused:
        await resolved(directory, host, header, **options)
    assert (refused.value.status, refused.value.message) == (404, "tenant not found")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8000"]
)
async def test_at_a_shared_host_the_header_selects_the_store(directory, store, host):
    assert await resolved(directory, host, str(store.public_id)) == store.public_id
    assert await resolved(directory, host, str(store.public_id).upper()) == store.public_id
    await not_found(directory, host)


@pytest.mark.parametrize("header", ["", " ", "garbage", "12", "{uuid}", "\x00", "\udce9", str(uuid7())])
@pytest.mark.parametrize("public", [True, False])
async def test_at_a_shared_host_without_a_known_store_none_is_resolved(directory, header, public):
    await not_found(directory, "localhost", header, public=public)


async def test_a_store_number_in_the_header_is_rejected(directory, store):
    await not_found(directory, "localhost", str(store.id))


async def test_the_default_store_applies_without_a_header(database, store, other_store):
    directory = CachedStoreResolver(SHARED, store.public_id)
    assert await resolved(directory, "localhost") == store.public_id
    assert await resolved(directory, "localhost", str(uuid7())) == store.public_id
    assert await resolved(directory, "localhost", str(other_store.public_id)) == other_store.public_id
    await not_found(directory, "unknown.example")


async def test_a_missing_default_store_is_not_resolved(database):
    await not_found(CachedStoreResolver(SHARED, uuid7()), "localhost")


async def test_a_stores_own_host_needs_no_header(directory, store, host):
    for spelling in (host, host.upper(), f"{host}:8443", f"{host}."):
        assert await resolved(directory, spelling) == store.public_id
    assert await resolved(directory, host, str(store.public_id)) == store.public_id


async def test_a_store_can_have_several_hosts(directory, store, host, database_url):
    second = f"www.{host}"
    await as_owner(database_url, "insert into store_hosts (host, store_id) values ($1, $2)", second, store.id)
    assert await resolved(directory, host) == await resolved(directory, second) == store.public_id


async def test_a_header_of_another_store_is_rejected_at_a_stores_own_host(directory, other_store, host):
    for header in (str(other_store.public_id), str(uuid7()), "garbage"):
        with pytest.raises(TenantMismatch) as refused:
            await resolved(directory, host, header)
        assert (refused.value.status, refused.value.message) == (403, "token not valid for this storefront"), header
        await not_found(directory, host, header, public=True)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        ":80",
        "unknown.example",
        "[::2]",
        "a b",
        "a/b",
        "a@b",
        "::1",
        "x" * 300,
        "\udce9",
        "[::1",
        "ção.example",
    ],
)
async def test_an_unknown_or_malformed_host_is_not_resolved_whatever_the_header(directory, store, host):
    await not_found(directory, host, str(store.public_id))


@pytest.mark.parametrize(
    "host, name",
    [
        ("Loja.Example:80", "loja.example"),
        ("[::1]:80", "[::1]"),
        ("[::1]", "[::1]"),
        ("a:b", None),
        (" a ", "a"),
    ],
)
def test_a_host_is_parsed_without_its_port(host, name):
    assert parse_host(host) == name


# --- Status ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allow_maintenance", [True, False])
async def test_a_suspended_store_is_closed(directory, new_store, allow_maintenance):
    store = await new_store(status="S")
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id), allow_maintenance=allow_maintenance)
    assert (refused.value.status, refused.value.reason) == (503, "tenant_suspended")


async def test_a_store_in_maintenance_is_closed_except_for_the_gateway(directory, new_store):
    store = await new_store(status="M")
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id))
    assert (refused.value.status, refused.value.reason) == (503, "tenant_maintenance")
    assert refused.value.message == "Loja em manutenção. Volte em alguns minutos."
    assert await resolved(directory, "localhost", str(store.public_id), allow_maintenance=True) == store.public_id


async def test_a_store_has_its_own_maintenance_message(directory, new_store, database_url):
    store = await new_store(status="M")
    message = "Voltamos às 18h."
    await as_owner(database_url, "update tenants set maintenance_message = $2 where id = $1", store.id, message)
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id))
    assert refused.value.message == message


async def test_a_resolved_store_has_its_settings(directory, store, database_url):
    await as_owner(
        database_url, """update tenants set settings = '{"legacy_lists": "cscart"}' where id = $1""", store.id
    )
    result = await directory.resolve("localhost", str(store.public_id), public=True)
    assert (result.id, result.name, result.currency, result.settings) == (
        store.id,
        "Test store",
        "BRL",
        {"legacy_lists": "cscart"},
    )


# --- Cache -------------------------------------------------------------------------------------------------------------------


async def test_a_cached_store_queries_the_database_once(directory, store, host):
    await resolved(directory, host)
    with count_statements() as counted:
        for _ in range(5):
            await resolved(directory, host)
    assert counted.count == 0


async def test_an_unknown_host_is_cached_briefly(directory):
    with count_statements() as counted:
        for _ in range(5):
            await not_found(directory, "unknown.example")
    assert counted.count == 1


async def test_forged_hosts_do_not_evict_real_stores(database, store, host):
    directory = CachedStoreResolver(SHARED, size=3)
    await resolved(directory, host)
    for number in range(10):
        await not_found(directory, f"invented-{number}.example")
    with count_statements() as counted:
        await resolved(directory, host)
    assert counted.count == 0


async def test_a_change_applies_at_once_in_this_process(directory, store, host):
    await resolved(directory, host)
    scope = system_scope(store)
    async with database.transaction(scope):
        await database.execute("update tenants set name = 'Nova' where id = $1", store.id)
        await invalidate_store(store.id)
        assert (await directory.resolve(host, None, public=True)).name == "Test store"  # not committed yet
    assert (await directory.resolve(host, None, public=True)).name == "Nova"


async def test_a_change_across_stores_applies_once_invalidated(directory, store, host):
    await resolved(directory, host)
    async with database.cross_store_connection() as platform:
        await platform.execute("update tenants set status = 'S' where id = $1", store.id)
    await invalidate_store(store.id)
    with pytest.raises(TenantClosed):
        await resolved(directory, host)


async def test_a_store_read_before_an_invalidation_is_not_cached(directory, store, host, monkeypatch):
    read = database.fetchrow

    async def overtaken(sql, *args):
        result = await read(sql, *args)
        directory.invalidate(store.id)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(database, "fetchrow", overtaken)
        await resolved(directory, host)
    with count_statements() as counted:
        await resolved(directory, host)
    assert counted.count == 1


async def test_a_change_by_another_process_is_visible_within_a_second(directory, store, host, database_url):
    await directory.listen()
    await resolved(directory, host)
    await resolved(directory, "localhost", str(store.public_id))
    await as_owner(database_url, "update tenants set status = 'S' where id = $1", store.id)
    assert await resolved(directory, host) == store.public_id  # cached: no notification
    await as_owner(database_url, "select pg_notify($1, $2)", CHANNEL, str(store.id))
    for name, header in ((host, None), ("localhost", str(store.public_id))):
        async with asyncio.timeout(1):
            while True:
                try:
                    await resolved(directory, name, header)
                except TenantClosed:
                    break
                await asyncio.sleep(0.005)


async def test_a_new_store_is_resolved_once_invalidated(directory, store, database_url):
    name = f"nova-{uuid7().hex}.example"
    await not_found(directory, name)
    await as_owner(database_url, "insert into store_hosts (host, store_id) values ($1, $2)", name, store.id)
    await not_found(directory, name)  # briefly cached as absent
    async with database.transaction(system_scope(store)):
        await invalidate_store(store.id)
    assert await resolved(directory, name) == store.public_id
