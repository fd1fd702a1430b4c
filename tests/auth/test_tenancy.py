"""Which store a request is for (decisions section 2, Shared address)."""

import asyncio

import asyncpg
import pytest

from auth.tenancy import CHANNEL, StoreDirectory, host_name, store_changed
from kernel.errors import TenantClosed, TenantMismatch, TenantNotFound
from kernel.ids import uuid7
from models import database
from models.database import counting
from tests.auth.kit import system

SHARED = ("localhost", "127.0.0.1", "[::1]")


@pytest.fixture
def directory(database) -> StoreDirectory:
    return StoreDirectory(SHARED)


async def as_owner(database_url, sql, *args):
    """Change a store as another process does, telling nobody."""
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
async def test_at_a_shared_address_the_header_names_the_store(directory, store, host):
    assert await resolved(directory, host, str(store.public_id)) == store.public_id
    assert await resolved(directory, host, str(store.public_id).upper()) == store.public_id
    await not_found(directory, host)


@pytest.mark.parametrize("header", ["", " ", "garbage", "12", "{uuid}", "\x00", "\udce9", str(uuid7())])
@pytest.mark.parametrize("public", [True, False])
async def test_at_a_shared_address_without_a_known_store_there_is_none(directory, header, public):
    await not_found(directory, "localhost", header, public=public)


async def test_the_number_of_a_store_is_no_name(directory, store):
    await not_found(directory, "localhost", str(store.id))


async def test_a_default_store_serves_clients_that_name_none(database, store, other_store):
    directory = StoreDirectory(SHARED, store.public_id)
    assert await resolved(directory, "localhost") == store.public_id
    assert await resolved(directory, "localhost", str(uuid7())) == store.public_id
    assert await resolved(directory, "localhost", str(other_store.public_id)) == other_store.public_id
    await not_found(directory, "unknown.example")


async def test_a_default_store_that_is_gone_serves_nobody(database):
    await not_found(StoreDirectory(SHARED, uuid7()), "localhost")


async def test_a_stores_own_address_needs_no_header(directory, store, host):
    for spelling in (host, host.upper(), f"{host}:8443", f"{host}."):
        assert await resolved(directory, spelling) == store.public_id
    assert await resolved(directory, host, str(store.public_id)) == store.public_id


async def test_a_store_has_several_addresses(directory, store, host, database_url):
    second = f"www.{host}"
    await as_owner(database_url, "insert into store_hosts (host, store_id) values ($1, $2)", second, store.id)
    assert await resolved(directory, host) == await resolved(directory, second) == store.public_id


async def test_a_header_that_names_another_store_is_refused_at_an_own_address(directory, other_store, host):
    for header in (str(other_store.public_id), str(uuid7()), "garbage"):
        with pytest.raises(TenantMismatch) as refused:
            await resolved(directory, host, header)
        assert (refused.value.status, refused.value.message) == (403, "token not valid for this storefront")
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
async def test_an_unknown_or_malformed_host_has_no_store_whatever_the_header(directory, store, host):
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
def test_a_host_is_read_without_its_port(host, name):
    assert host_name(host) == name


# --- States ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allow_maintenance", [True, False])
async def test_a_suspended_store_is_closed(directory, new_store, allow_maintenance):
    store = await new_store(status="S")
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id), allow_maintenance=allow_maintenance)
    assert (refused.value.status, refused.value.reason) == (503, "tenant_suspended")


async def test_a_store_in_maintenance_is_closed_but_for_the_gateway(directory, new_store):
    store = await new_store(status="M")
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id))
    assert (refused.value.status, refused.value.reason) == (503, "tenant_maintenance")
    assert refused.value.message == "Loja em manutenção. Volte em alguns minutos."
    assert (
        await resolved(directory, "localhost", str(store.public_id), allow_maintenance=True)
        == store.public_id
    )


async def test_a_store_tells_its_own_maintenance_message(directory, new_store, database_url):
    store = await new_store(status="M")
    message = "Voltamos às 18h."
    await as_owner(
        database_url, "update tenants set maintenance_message = $2 where id = $1", store.id, message
    )
    with pytest.raises(TenantClosed) as refused:
        await resolved(directory, "localhost", str(store.public_id))
    assert refused.value.message == message


async def test_a_store_brings_its_settings(directory, store, database_url):
    await as_owner(
        database_url, """update tenants set settings = '{"legacy_lists": "cscart"}' where id = $1""", store.id
    )
    found = await directory.resolve("localhost", str(store.public_id), public=True)
    assert (found.id, found.name, found.currency, found.settings) == (
        store.id,
        "Test store",
        "BRL",
        {"legacy_lists": "cscart"},
    )


# --- Memory ------------------------------------------------------------------------------------------------------------------


async def test_a_known_store_asks_the_database_once(directory, store, host):
    await resolved(directory, host)
    with counting() as counted:
        for _ in range(5):
            await resolved(directory, host)
    assert counted.count == 0


async def test_an_unknown_host_asks_the_database_once_in_a_while(directory):
    with counting() as counted:
        for _ in range(5):
            await not_found(directory, "unknown.example")
    assert counted.count == 1


async def test_invented_hosts_push_no_real_store_out(database, store, host):
    directory = StoreDirectory(SHARED, size=3)
    await resolved(directory, host)
    for number in range(10):
        await not_found(directory, f"invented-{number}.example")
    with counting() as counted:
        await resolved(directory, host)
    assert counted.count == 0


async def test_a_change_holds_at_once_in_this_process(directory, store, host):
    await resolved(directory, host)
    scope = system(store)
    async with database.transaction(scope):
        await database.execute("update tenants set name = 'Nova' where id = $1", store.id)
        await store_changed(store.id)
        assert (await directory.resolve(host, None, public=True)).name == "Test store"  # not committed yet
    assert (await directory.resolve(host, None, public=True)).name == "Nova"


async def test_a_change_across_stores_holds_once_it_is_told(directory, store, host):
    await resolved(directory, host)
    async with database.across_stores() as platform:
        await platform.execute("update tenants set status = 'S' where id = $1", store.id)
    await store_changed(store.id)
    with pytest.raises(TenantClosed):
        await resolved(directory, host)


async def test_what_was_read_before_a_change_is_not_remembered_after_it(directory, store, host, monkeypatch):
    read = database.row

    async def overtaken(sql, *args):
        found = await read(sql, *args)
        directory.forget(store.id)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(database, "row", overtaken)
        await resolved(directory, host)
    with counting() as counted:
        await resolved(directory, host)
    assert counted.count == 1


async def test_a_change_by_another_process_is_seen_within_a_second(directory, store, host, database_url):
    await directory.listen()
    await resolved(directory, host)
    await resolved(directory, "localhost", str(store.public_id))
    await as_owner(database_url, "update tenants set status = 'S' where id = $1", store.id)
    assert await resolved(directory, host) == store.public_id  # remembered: nobody told
    await as_owner(database_url, "select pg_notify($1, $2)", CHANNEL, str(store.id))
    for name, header in ((host, None), ("localhost", str(store.public_id))):
        async with asyncio.timeout(1):
            while True:
                try:
                    await resolved(directory, name, header)
                except TenantClosed:
                    break
                await asyncio.sleep(0.005)


async def test_a_new_store_is_found_as_soon_as_it_is_told_of(directory, store, database_url):
    name = f"nova-{uuid7().hex}.example"
    await not_found(directory, name)
    await as_owner(database_url, "insert into store_hosts (host, store_id) values ($1, $2)", name, store.id)
    await not_found(directory, name)  # remembered as absent for a moment
    async with database.transaction(system(store)):
        await store_changed(store.id)
    assert await resolved(directory, name) == store.public_id
