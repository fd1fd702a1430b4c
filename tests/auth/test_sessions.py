"""Refresh, logout and the list of sessions (docs/reference/current.md#sessions)."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
import pytest

from auth.sessions import (
    list_sessions,
    logout,
    logout_all,
    refresh,
    revoke_all_sessions,
    revoke_session,
)
from domain.retention import delete_expired
from kernel.errors import Forbidden, NotFound, TokenRevoked, Unauthenticated, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import add_user, authenticate_request, later, run_and_roll_back, sign_in, user_scope
from tests.harness.http import bearer
from tests.harness.scopes import anonymous_scope, execute, rows, system_scope, value


async def renew(scope, token):
    with active_scope(scope):
        return await refresh(scope, token)


async def refused_renewal(scope, token):
    with pytest.raises(Unauthenticated) as refused:
        await renew(scope, token)
    assert refused.value.message == "invalid refresh token"
    return refused.value.details["detail"]


async def is_alive(store, pair):
    return await value(store, "select ended_at is null from sessions where public_id = $1", pair.session_id)


# --- Refresh -----------------------------------------------------------------------------------------------------------------


async def test_a_refresh_returns_a_new_valid_pair(store):
    user_id = await add_user(store)
    first = await sign_in(store, user_id)
    second = await renew(anonymous_scope(store), first.refresh_token)
    assert second.refresh_token != first.refresh_token
    assert second.session_id == first.session_id
    assert (await authenticate_request(store, "user", bearer(second.access_token))).user_id == user_id
    assert await renew(anonymous_scope(store), second.refresh_token)


@pytest.mark.parametrize("token", [None, ""])
async def test_a_missing_refresh_token_is_named(store, token):
    with pytest.raises(ValidationFailed) as refused:
        await renew(anonymous_scope(store), token)
    assert (refused.value.message, refused.value.fields) == ("refresh_token is required", {})


@pytest.mark.parametrize("token", ["unknown", "\x00", "\ud800", "é" * 3000])
async def test_an_unknown_refresh_token_is_rejected(store, token):
    assert await refused_renewal(anonymous_scope(store), token) == "the token is unknown"


async def test_another_stores_refresh_token_is_unknown(store, other_store):
    pair = await sign_in(other_store, await add_user(other_store))
    assert await refused_renewal(anonymous_scope(store), pair.refresh_token) == "the token is unknown"
    assert await is_alive(other_store, pair)


async def test_an_access_token_cannot_refresh(store):
    pair = await sign_in(store, await add_user(store))
    await refused_renewal(anonymous_scope(store), pair.access_token)


async def test_a_refresh_token_expires_after_30_days(store):
    pair = await sign_in(store, await add_user(store))
    now = anonymous_scope(store)
    pair = await renew(later(now, days=29), pair.refresh_token)
    pair = await renew(later(now, days=58), pair.refresh_token)
    assert await refused_renewal(later(now, days=88, seconds=1), pair.refresh_token) == "the token has expired"


async def test_of_two_concurrent_refreshes_exactly_one_fails(store):
    for repetition in range(5):
        pair = await sign_in(store, await add_user(store))
        results = await asyncio.gather(
            *(renew(anonymous_scope(store), pair.refresh_token) for _ in range(2)), return_exceptions=True
        )
        errors = [result for result in results if isinstance(result, Unauthenticated)]
        assert len(errors) == 1, repetition
        assert await is_alive(store, pair), repetition


async def test_of_many_concurrent_refreshes_one_succeeds(store):
    pair = await sign_in(store, await add_user(store))
    results = await asyncio.gather(
        *(renew(anonymous_scope(store), pair.refresh_token) for _ in range(12)), return_exceptions=True
    )
    assert sum(not isinstance(result, Exception) for result in results) == 1
    assert await value(store, "select count(*) from refresh_tokens where used_at is null") == 1


async def test_the_previous_token_within_10_seconds_is_rejected_without_revoking_the_session(store):
    first = await sign_in(store, await add_user(store))
    now = anonymous_scope(store)
    second = await renew(now, first.refresh_token)
    assert await refused_renewal(later(now, seconds=10), first.refresh_token) == "the token was used before"
    assert await is_alive(store, first)
    assert await renew(later(now, seconds=11), second.refresh_token)


async def test_reusing_the_previous_token_later_revokes_the_session(store):
    first = await sign_in(store, await add_user(store))
    now = anonymous_scope(store)
    second = await renew(now, first.refresh_token)
    detail = await refused_renewal(later(now, seconds=10.1), first.refresh_token)
    assert detail == "the token was used before; its session is ended"
    assert not await is_alive(store, first)
    assert "refresh token reused" in await refused_renewal(later(now, seconds=11), second.refresh_token)
    with pytest.raises(TokenRevoked, match="token revoked: refresh token reused"):
        await authenticate_request(store, "user", bearer(second.access_token))


async def test_reusing_an_older_token_always_revokes_the_session(store):
    first = await sign_in(store, await add_user(store))
    now = anonymous_scope(store)
    second = await renew(now, first.refresh_token)
    await renew(now, second.refresh_token)
    await refused_renewal(now, first.refresh_token)
    assert not await is_alive(store, first)


async def test_a_reuse_is_audited_and_survives_the_callers_rollback(store):
    first = await sign_in(store, await add_user(store))
    now = anonymous_scope(store)
    await renew(now, first.refresh_token)
    with pytest.raises(Unauthenticated):
        async with database.transaction(later(now, minutes=1)):
            await refresh(later(now, minutes=1), first.refresh_token)
    assert not await is_alive(store, first)
    (line,) = await rows(store, "select * from audit_entries where action = 'session.refresh_token_reused'")
    assert (line["subject_type"], line["subject_id"]) == ("session", str(first.session_id))


async def test_a_reuse_does_not_affect_the_users_other_sessions(store):
    user_id = await add_user(store)
    stolen, other = await sign_in(store, user_id), await sign_in(store, user_id)
    now = anonymous_scope(store)
    await renew(now, stolen.refresh_token)
    await refused_renewal(later(now, minutes=1), stolen.refresh_token)
    assert await authenticate_request(store, "user", bearer(other.access_token))
    assert await renew(now, other.refresh_token)


async def test_a_disabled_user_cannot_refresh(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await execute(store, "update users set status = 'D' where id = $1", user_id)
    assert await refused_renewal(anonymous_scope(store), pair.refresh_token) == "the account may not enter"


async def test_a_refresh_during_a_logout_leaves_no_active_session(store):
    for repetition in range(5):
        pair = await sign_in(store, await add_user(store))

        async def leave(token=pair.refresh_token):
            scope = anonymous_scope(store)
            with active_scope(scope):
                await logout(scope, token)

        result, _ = await asyncio.gather(
            renew(anonymous_scope(store), pair.refresh_token), leave(), return_exceptions=True
        )
        assert not await is_alive(store, pair), repetition
        if not isinstance(result, Exception):
            await refused_renewal(anonymous_scope(store), result.refresh_token)


async def test_a_refresh_that_waits_for_a_logout_fails(store, database_url):
    pair = await sign_in(store, await add_user(store))
    other_process = await asyncpg.connect(database_url)
    try:
        async with other_process.transaction():
            await other_process.execute("select set_config('vitrine.tenant', $1, true)", str(store.id))
            await other_process.execute("update sessions set ended_at = now(), end_reason = 'logged out'")
            refreshing = asyncio.create_task(refused_renewal(anonymous_scope(store), pair.refresh_token))
            await asyncio.sleep(0.2)  # it has consumed the token and waits for the session's row
        assert await refreshing == "the session was ended: logged out"
    finally:
        await other_process.close()


# --- Logout ------------------------------------------------------------------------------------------------------------------


async def test_logout_revokes_the_session_at_once(store):
    pair = await sign_in(store, await add_user(store))
    await authenticate_request(store, "user", bearer(pair.access_token))
    scope = anonymous_scope(store)
    with active_scope(scope):
        await logout(scope, pair.refresh_token)
    with pytest.raises(TokenRevoked, match="token revoked: logged out"):
        await authenticate_request(store, "user", bearer(pair.access_token))
    assert await refused_renewal(scope, pair.refresh_token) == "the session was ended: logged out"


async def test_logging_out_twice_or_with_an_unknown_token_is_accepted(store):
    pair = await sign_in(store, await add_user(store))
    scope = anonymous_scope(store)
    with active_scope(scope):
        for token in (pair.refresh_token, pair.refresh_token, "unknown"):
            await logout(scope, token)
        with pytest.raises(ValidationFailed, match="refresh_token is required"):
            await logout(scope, "")


async def test_logout_all_revokes_every_session_of_the_user_only(store):
    user_id, other_id = await add_user(store), await add_user(store)
    mine = [await sign_in(store, user_id) for _ in range(2)]
    other = await sign_in(store, other_id)
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await logout_all(scope)
    for pair in mine:
        with pytest.raises(TokenRevoked, match="token revoked: signed out of all devices"):
            await authenticate_request(store, "user", bearer(pair.access_token))
    assert await authenticate_request(store, "user", bearer(other.access_token))


async def test_only_users_have_sessions(store):
    scope = anonymous_scope(store)
    with active_scope(scope):
        for call in (list_sessions(scope), logout_all(scope), revoke_session(scope, uuid7())):
            with pytest.raises(Forbidden, match="insufficient permissions"):
                await call


# --- Sessions ----------------------------------------------------------------------------------------------------------------


async def test_a_user_lists_its_own_active_sessions_and_the_current_one(store):
    user_id = await add_user(store)
    first, second, gone = [await sign_in(store, user_id) for _ in range(3)]
    await sign_in(store, await add_user(store))
    actor = await authenticate_request(store, "user", bearer(second.access_token))
    scope = replace(anonymous_scope(store), actor=actor)
    with active_scope(scope):
        await logout(scope, gone.refresh_token)
        listed = await list_sessions(scope)
    assert {session.id: session.current for session in listed} == {
        first.session_id: False,
        second.session_id: True,
    }


async def test_a_user_can_revoke_one_of_its_sessions(store):
    user_id = await add_user(store)
    kept, ended = await sign_in(store, user_id), await sign_in(store, user_id)
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await revoke_session(scope, ended.session_id)
        with pytest.raises(NotFound, match="session not found"):
            await revoke_session(scope, ended.session_id)
    with pytest.raises(TokenRevoked, match="token revoked: session ended"):
        await authenticate_request(store, "user", bearer(ended.access_token))
    assert await authenticate_request(store, "user", bearer(kept.access_token))


async def test_another_users_session_is_not_found(store):
    pair = await sign_in(store, await add_user(store))
    scope = await user_scope(store, await add_user(store))
    with active_scope(scope):
        for public_id in (pair.session_id, uuid7(), "no uuid"):
            with pytest.raises(NotFound, match="session not found"):
                await revoke_session(scope, public_id)
    assert await is_alive(store, pair)


async def test_revoking_all_sessions_joins_the_callers_transaction(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await authenticate_request(store, "user", bearer(pair.access_token))
    scope = system_scope(store)
    await run_and_roll_back(store, revoke_all_sessions(scope, user_id, "password changed"))
    assert await authenticate_request(store, "user", bearer(pair.access_token))
    async with database.transaction(scope):
        await revoke_all_sessions(scope, user_id, "password changed")
    with pytest.raises(TokenRevoked, match="token revoked: password changed"):
        await authenticate_request(store, "user", bearer(pair.access_token))


async def test_cleanup_deletes_only_long_expired_rows(store):
    user_id = await add_user(store)
    old, live = await sign_in(store, user_id), await sign_in(store, user_id)
    scope = anonymous_scope(store)
    with active_scope(scope):
        await logout(scope, old.refresh_token)
    await delete_expired(later(scope, days=29))
    assert await value(store, "select count(*) from sessions") == 2
    live = await renew(later(scope, days=29), live.refresh_token)
    await delete_expired(later(scope, days=31))
    assert [row["public_id"] for row in await rows(store, "select public_id from sessions")] == [live.session_id]
    assert await value(store, "select max(expires_at) from sessions") > datetime.now(UTC)
