"""Cached credentials are invalidated when they change: here at once, in other processes within a second."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from auth import credential_cache
from auth.api_keys import create_api_key, revoke_api_key
from auth.credential_cache import CHANNEL, CredentialCache, VerifiedCredential, invalidate_credentials
from auth.sessions import logout, revoke_all_sessions
from domain.people.accounts import set_privileges, update_user
from domain.people.usergroups import create_usergroup, set_membership, update_usergroup
from kernel.errors import TokenRevoked
from kernel.scope import Actor, ActorKind, active_scope
from models.connection import database
from tests.auth.kit import add_admin, add_user, authenticate_request, run_and_roll_back, sign_in
from tests.harness.http import bearer
from tests.harness.scopes import anonymous_scope, system_scope

NOW = datetime.now(UTC)
ACTOR = Actor(ActorKind.CUSTOMER)


def entry(store_id=1, user_id=1, minutes=15):
    return VerifiedCredential(ACTOR, store_id, user_id, NOW + timedelta(minutes=minutes))


async def eventually(is_true, within=1.0):
    """Wait up to a second for a change to be visible in another process."""
    deadline = asyncio.get_running_loop().time() + within
    while not is_true():
        assert asyncio.get_running_loop().time() < deadline, "not seen within a second"
        await asyncio.sleep(0.005)


@pytest.fixture
async def other_cache(database):
    """Return the cache of another process, which is invalidated by notifications only."""
    other = CredentialCache()
    await credential_cache.listen(other)
    return other


@pytest.fixture(scope="module", autouse=True)
async def listening(database):
    await credential_cache.listen()


def test_an_entry_is_returned_until_it_expires():
    cache = CredentialCache()
    cache.keep(b"a", entry(), cache.generation)
    assert cache.find(b"a", NOW).actor is ACTOR
    assert cache.find(b"b", NOW) is None
    assert cache.find(b"a", NOW + timedelta(minutes=15)) is None
    assert cache.find(b"a", NOW) is None


def test_the_least_recently_used_entry_is_evicted():
    cache = CredentialCache(size=2)
    for name in (b"a", b"b"):
        cache.keep(name, entry(), cache.generation)
    cache.find(b"a", NOW)
    cache.keep(b"c", entry(), cache.generation)
    assert [cache.find(name, NOW) is not None for name in (b"a", b"b", b"c")] == [True, False, True]


def test_invalidation_applies_to_one_store_only():
    cache = CredentialCache()
    for name, store_id, user_id in ((b"a", 1, 1), (b"b", 1, 2), (b"c", 2, 1)):
        cache.keep(name, entry(store_id, user_id), cache.generation)
    cache.invalidate(1, 1)
    assert [cache.find(name, NOW) is not None for name in (b"a", b"b", b"c")] == [False, True, True]
    cache.invalidate(1)
    assert [cache.find(name, NOW) is not None for name in (b"b", b"c")] == [False, True]


def test_a_value_read_before_an_invalidation_is_not_cached():
    cache = CredentialCache()
    generation = cache.generation
    cache.invalidate(1, 1)
    cache.keep(b"a", entry(), generation)
    assert cache.find(b"a", NOW) is None


async def test_a_credential_queries_the_database_once(store):
    token = (await sign_in(store, await add_admin(store))).access_token
    await authenticate_request(store, "admin", bearer(token))
    with database.count_statements() as counted:
        for _ in range(10):
            await authenticate_request(store, "admin", bearer(token))
    assert counted.count == 0


async def test_a_revocation_is_seen_by_another_process(store, other_cache):
    user_id = await add_user(store)
    other_cache.keep(b"token", entry(store.id, user_id), other_cache.generation)
    async with database.transaction(system_scope(store)):
        await revoke_all_sessions(system_scope(store), user_id, "password changed")
        await asyncio.sleep(0.05)
        assert other_cache.find(b"token", NOW) is not None  # not committed yet
    await eventually(lambda: other_cache.find(b"token", NOW) is None)


async def test_a_revocation_by_another_process_is_seen_here(store, database_url):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await authenticate_request(store, "user", bearer(pair.access_token))
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
            await authenticate_request(store, "user", bearer(pair.access_token))
        except TokenRevoked:
            return True
        return False

    async with asyncio.timeout(1):
        while not await is_revoked():
            await asyncio.sleep(0.005)


async def test_a_lost_listening_connection_clears_the_cache(store, other_cache, postgres):
    other_cache.keep(b"token", entry(store.id, 1), other_cache.generation)
    connection = await asyncpg.connect(postgres.superuser_url())
    try:
        await connection.execute(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where application_name like '%(listening)' and datname = $1
            """,
            await database.fetchval("select current_database()"),
        )
    finally:
        await connection.close()
    await eventually(lambda: other_cache.find(b"token", NOW) is None, within=5.0)


async def test_nothing_is_cached_for_more_than_a_minute(store, monkeypatch):
    # Even if a notification is lost, a revoked credential is not valid for longer.
    now = datetime.now(UTC)
    token = (await sign_in(store, await add_user(store), now=now)).access_token
    await authenticate_request(store, "user", bearer(token), now=now)
    with database.count_statements() as counted:
        await authenticate_request(store, "user", bearer(token), now=now + timedelta(seconds=59))
        assert counted.count == 0
        await authenticate_request(store, "user", bearer(token), now=now + timedelta(seconds=61))
        assert counted.count > 0


async def test_a_rolled_back_change_invalidates_nothing(store):
    user_id = await add_user(store)
    token = (await sign_in(store, user_id)).access_token
    await authenticate_request(store, "user", bearer(token))
    await run_and_roll_back(store, invalidate_credentials(system_scope(store), user_id))
    with database.count_statements() as counted:
        await authenticate_request(store, "user", bearer(token))
    assert counted.count == 0


async def test_new_privileges_apply_at_the_next_request(store):
    user_id = await add_admin(store, "view_orders")
    token = (await sign_in(store, user_id)).access_token
    assert (await authenticate_request(store, "admin", bearer(token))).privileges == {"view_orders"}
    scope = system_scope(store)
    with active_scope(scope):
        await set_privileges(scope, user_id, ["manage_users"])
        assert (await authenticate_request(store, "admin", bearer(token))).privileges == {
            "manage_users",
            "view_users",
        }


async def test_group_privileges_apply_at_the_next_request_of_its_members(store):
    user_id = await add_admin(store)
    token = (await sign_in(store, user_id)).access_token
    await authenticate_request(store, "admin", bearer(token))
    scope = system_scope(store)
    with active_scope(scope):
        group = await create_usergroup(scope, {"name": "Estoque", "type": "A", "privileges": ["manage_products"]})
        await set_membership(scope, user_id, group.id, "A")
        assert "manage_products" in (await authenticate_request(store, "admin", bearer(token))).privileges
        await update_usergroup(scope, group.id, {"status": "D"})
        assert not (await authenticate_request(store, "admin", bearer(token))).privileges


async def test_a_revoked_key_is_rejected_at_the_next_request(store):
    from tests.auth.test_schemes import basic, email_of, error_of

    user_id = await add_admin(store)
    scope = system_scope(store)
    with active_scope(scope):
        key = await create_api_key(scope, user_id)
        headers = basic(await email_of(store, user_id), key.secret)
        assert await authenticate_request(store, "legacy_admin", headers)
        await revoke_api_key(scope, key.info.id)
    assert (await error_of(store, "legacy_admin", headers)).message == "Invalid credentials"


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"password": "a new password"}, "password changed"),
        ({"status": "disabled"}, "account disabled"),
        ({"user_type": "C"}, "user type changed"),
    ],
    ids=["password", "status", "user type"],
)
async def test_account_changes_revoke_its_tokens_at_once(store, changes, reason):
    from tests.auth.test_schemes import error_of, legacy_token_of

    await add_admin(store)
    user_id = await add_admin(store)
    pair, legacy = await sign_in(store, user_id), await legacy_token_of(store, user_id)
    await authenticate_request(store, "admin", bearer(pair.access_token))
    await authenticate_request(store, "legacy_admin", bearer(legacy))
    scope = system_scope(store)
    with active_scope(scope):
        await update_user(scope, user_id, changes)
    with pytest.raises(TokenRevoked, match=f"token revoked: {reason}"):
        await authenticate_request(store, "admin", bearer(pair.access_token))
    assert (await error_of(store, "legacy_admin", bearer(legacy))).message == "Invalid credentials"


async def test_a_logout_in_one_store_does_not_affect_another(store, other_store):
    here, there = (
        await sign_in(store, await add_user(store)),
        await sign_in(other_store, await add_user(other_store)),
    )
    scope = replace(anonymous_scope(store))
    with active_scope(scope):
        await logout(scope, there.refresh_token)
    assert await authenticate_request(other_store, "user", bearer(there.access_token))
    assert await authenticate_request(store, "user", bearer(here.access_token))
