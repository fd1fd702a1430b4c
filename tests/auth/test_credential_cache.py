"""What is remembered is forgotten the moment it changes: here at once, in other processes within a second."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from auth import credential_cache
from auth.api_keys import create_api_key, revoke_api_key
from auth.credential_cache import CHANNEL, CredentialMemory, Remembered, changed
from auth.sessions import end_all_sessions, logout
from domain.people.accounts import set_privileges, update_user
from domain.people.usergroups import create_usergroup, set_membership, update_usergroup
from kernel.errors import TokenRevoked
from kernel.scope import Actor, ActorKind, entered
from models import database
from tests.auth.kit import add_admin, add_user, ask, bearer, roll_back, sign_in, system, visitor

NOW = datetime.now(UTC)
ACTOR = Actor(ActorKind.CUSTOMER)


def entry(store_id=1, user_id=1, minutes=15):
    return Remembered(ACTOR, store_id, user_id, NOW + timedelta(minutes=minutes))


async def eventually(is_true, within=1.0):
    """Wait for what another process sees; a second is what it may take."""
    deadline = asyncio.get_running_loop().time() + within
    while not is_true():
        assert asyncio.get_running_loop().time() < deadline, "not seen within a second"
        await asyncio.sleep(0.005)


@pytest.fixture
async def elsewhere(database):
    """The memory of another process: it hears notices and nothing else."""
    other = CredentialMemory()
    await credential_cache.listen(other)
    return other


@pytest.fixture(scope="module", autouse=True)
async def listening(database):
    await credential_cache.listen()


def test_what_was_put_is_given_until_it_expires():
    remembered = CredentialMemory()
    remembered.put(b"a", entry(), remembered.generation)
    assert remembered.get(b"a", NOW).actor is ACTOR
    assert remembered.get(b"b", NOW) is None
    assert remembered.get(b"a", NOW + timedelta(minutes=15)) is None
    assert remembered.get(b"a", NOW) is None


def test_the_longest_unused_is_forgotten_when_it_is_full():
    remembered = CredentialMemory(size=2)
    for name in (b"a", b"b"):
        remembered.put(name, entry(), remembered.generation)
    remembered.get(b"a", NOW)
    remembered.put(b"c", entry(), remembered.generation)
    assert [remembered.get(name, NOW) is not None for name in (b"a", b"b", b"c")] == [True, False, True]


def test_a_user_is_forgotten_in_one_store_only():
    remembered = CredentialMemory()
    for name, store_id, user_id in ((b"a", 1, 1), (b"b", 1, 2), (b"c", 2, 1)):
        remembered.put(name, entry(store_id, user_id), remembered.generation)
    remembered.forget(1, 1)
    assert [remembered.get(name, NOW) is not None for name in (b"a", b"b", b"c")] == [False, True, True]
    remembered.forget(1)
    assert [remembered.get(name, NOW) is not None for name in (b"b", b"c")] == [False, True]


def test_what_was_read_before_a_change_is_not_put_after_it():
    remembered = CredentialMemory()
    generation = remembered.generation
    remembered.forget(1, 1)
    remembered.put(b"a", entry(), generation)
    assert remembered.get(b"a", NOW) is None


async def test_a_credential_asks_the_database_once(store):
    token = (await sign_in(store, await add_admin(store))).access_token
    await ask(store, "admin", bearer(token))
    with database.counting() as counted:
        for _ in range(10):
            await ask(store, "admin", bearer(token))
    assert counted.count == 0


async def test_a_revocation_is_seen_by_another_process(store, elsewhere):
    user_id = await add_user(store)
    elsewhere.put(b"token", entry(store.id, user_id), elsewhere.generation)
    async with database.transaction(system(store)):
        await end_all_sessions(system(store), user_id, "password changed")
        await asyncio.sleep(0.05)
        assert elsewhere.get(b"token", NOW) is not None  # not committed yet
    await eventually(lambda: elsewhere.get(b"token", NOW) is None)


async def test_a_revocation_by_another_process_is_seen_here(store, database_url):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await ask(store, "user", bearer(pair.access_token))
    other_process = await asyncpg.connect(database_url)
    try:
        async with other_process.transaction():
            await other_process.execute("select set_config('vitrine.tenant', $1, true)", str(store.id))
            await other_process.execute(
                "update sessions set ended_at = now(), end_reason = 'logged out' where user_id = $1", user_id
            )
            await other_process.execute("select pg_notify($1, $2)", CHANNEL, f"{store.id}:{user_id}")
    finally:
        await other_process.close()

    async def is_revoked():
        try:
            await ask(store, "user", bearer(pair.access_token))
        except TokenRevoked:
            return True
        return False

    async with asyncio.timeout(1):
        while not await is_revoked():
            await asyncio.sleep(0.005)


async def test_a_lost_listening_connection_makes_a_memory_forget(store, elsewhere, postgres):
    elsewhere.put(b"token", entry(store.id, 1), elsewhere.generation)
    connection = await asyncpg.connect(postgres.superuser_url())
    try:
        await connection.execute(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where application_name like '%(listening)' and datname = $1
            """,
            await database.value("select current_database()"),
        )
    finally:
        await connection.close()
    await eventually(lambda: elsewhere.get(b"token", NOW) is None, within=5.0)


async def test_nothing_is_remembered_for_more_than_a_minute(store, monkeypatch):
    # Even were a notice lost, a revoked credential would not be good for longer.
    now = datetime.now(UTC)
    token = (await sign_in(store, await add_user(store), now=now)).access_token
    await ask(store, "user", bearer(token), now=now)
    with database.counting() as counted:
        await ask(store, "user", bearer(token), now=now + timedelta(seconds=59))
        assert counted.count == 0
        await ask(store, "user", bearer(token), now=now + timedelta(seconds=61))
        assert counted.count > 0


async def test_a_rolled_back_change_forgets_nothing(store):
    user_id = await add_user(store)
    token = (await sign_in(store, user_id)).access_token
    await ask(store, "user", bearer(token))
    await roll_back(store, changed(system(store), user_id))
    with database.counting() as counted:
        await ask(store, "user", bearer(token))
    assert counted.count == 0


async def test_new_privileges_hold_at_the_next_request(store):
    user_id = await add_admin(store, "view_orders")
    token = (await sign_in(store, user_id)).access_token
    assert (await ask(store, "admin", bearer(token))).privileges == {"view_orders"}
    scope = system(store)
    with entered(scope):
        await set_privileges(scope, user_id, ["manage_users"])
        assert (await ask(store, "admin", bearer(token))).privileges == {"manage_users", "view_users"}


async def test_a_groups_privileges_hold_at_the_next_request_of_its_members(store):
    user_id = await add_admin(store)
    token = (await sign_in(store, user_id)).access_token
    await ask(store, "admin", bearer(token))
    scope = system(store)
    with entered(scope):
        group = await create_usergroup(
            scope, {"name": "Estoque", "type": "A", "privileges": ["manage_products"]}
        )
        await set_membership(scope, user_id, group.id, "A")
        assert "manage_products" in (await ask(store, "admin", bearer(token))).privileges
        await update_usergroup(scope, group.id, {"status": "D"})
        assert not (await ask(store, "admin", bearer(token))).privileges


async def test_a_revoked_key_is_refused_at_the_next_request(store):
    from tests.auth.test_schemes import basic, email_of, error_of

    user_id = await add_admin(store)
    scope = system(store)
    with entered(scope):
        key = await create_api_key(scope, user_id)
        headers = basic(await email_of(store, user_id), key.secret)
        assert await ask(store, "legacy_admin", headers)
        await revoke_api_key(scope, key.info.id)
    assert (await error_of(store, "legacy_admin", headers)).message == "Invalid credentials"


@pytest.mark.parametrize(
    "given, reason",
    [
        ({"password": "a new password"}, "password changed"),
        ({"status": "disabled"}, "account disabled"),
        ({"user_type": "C"}, "user type changed"),
    ],
    ids=["password", "status", "user type"],
)
async def test_what_changes_an_account_ends_its_tokens_at_once(store, given, reason):
    from tests.auth.test_schemes import error_of, legacy_token_of

    await add_admin(store)
    user_id = await add_admin(store)
    pair, legacy = await sign_in(store, user_id), await legacy_token_of(store, user_id)
    await ask(store, "admin", bearer(pair.access_token))
    await ask(store, "legacy_admin", bearer(legacy))
    scope = system(store)
    with entered(scope):
        await update_user(scope, user_id, given)
    with pytest.raises(TokenRevoked, match=f"token revoked: {reason}"):
        await ask(store, "admin", bearer(pair.access_token))
    assert (await error_of(store, "legacy_admin", bearer(legacy))).message == "Invalid credentials"


async def test_logout_of_one_store_leaves_the_other_alone(store, other_store):
    here, there = (
        await sign_in(store, await add_user(store)),
        await sign_in(other_store, await add_user(other_store)),
    )
    scope = replace(visitor(store))
    with entered(scope):
        await logout(scope, there.refresh_token)
    assert await ask(other_store, "user", bearer(there.access_token))
    assert await ask(store, "user", bearer(here.access_token))
