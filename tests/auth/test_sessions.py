"""Refresh, logout and the list of devices (current-api Sign-in; decisions section 3, Refresh token and More)."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
import pytest

from auth.sessions import (
    end_all_sessions,
    end_session,
    list_sessions,
    logout,
    logout_all,
    refresh,
)
from auth.upkeep import forget_expired
from kernel.errors import Forbidden, NotFound, TokenRevoked, Unauthenticated, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import entered
from models import database
from tests.auth.kit import (
    add_user,
    as_user,
    ask,
    bearer,
    execute,
    later,
    roll_back,
    rows,
    sign_in,
    system,
    value,
    visitor,
)


async def renew(scope, token):
    with entered(scope):
        return await refresh(scope, token)


async def refused_renewal(scope, token):
    with pytest.raises(Unauthenticated) as refused:
        await renew(scope, token)
    assert refused.value.message == "invalid refresh token"
    return refused.value.details["detail"]


async def is_alive(store, pair):
    return await value(store, "select ended_at is null from sessions where public_id = $1", pair.session_id)


# --- Refresh -----------------------------------------------------------------------------------------------------------------


async def test_a_refresh_gives_a_new_pair_that_works(store):
    user_id = await add_user(store)
    first = await sign_in(store, user_id)
    second = await renew(visitor(store), first.refresh_token)
    assert second.refresh_token != first.refresh_token
    assert second.session_id == first.session_id
    assert (await ask(store, "user", bearer(second.access_token))).user_id == user_id
    assert await renew(visitor(store), second.refresh_token)


@pytest.mark.parametrize("token", [None, ""])
async def test_a_missing_refresh_token_is_named(store, token):
    with pytest.raises(ValidationFailed) as refused:
        await renew(visitor(store), token)
    assert (refused.value.message, refused.value.fields) == ("refresh_token is required", {})


@pytest.mark.parametrize("token", ["unknown", "\x00", "\ud800", "é" * 3000])
async def test_an_unknown_refresh_token_is_refused(store, token):
    assert await refused_renewal(visitor(store), token) == "the token is unknown"


async def test_another_stores_refresh_token_is_unknown(store, other_store):
    pair = await sign_in(other_store, await add_user(other_store))
    assert await refused_renewal(visitor(store), pair.refresh_token) == "the token is unknown"
    assert await is_alive(other_store, pair)


async def test_an_access_token_refreshes_nothing(store):
    pair = await sign_in(store, await add_user(store))
    await refused_renewal(visitor(store), pair.access_token)


async def test_a_refresh_token_lives_30_days_from_its_making(store):
    pair = await sign_in(store, await add_user(store))
    now = visitor(store)
    pair = await renew(later(now, days=29), pair.refresh_token)
    pair = await renew(later(now, days=58), pair.refresh_token)
    assert (
        await refused_renewal(later(now, days=88, seconds=1), pair.refresh_token) == "the token has expired"
    )


async def test_two_refreshes_at_once_make_exactly_one_fail(store):
    for _ in range(5):
        pair = await sign_in(store, await add_user(store))
        outcomes = await asyncio.gather(
            *(renew(visitor(store), pair.refresh_token) for _ in range(2)), return_exceptions=True
        )
        refusals = [outcome for outcome in outcomes if isinstance(outcome, Unauthenticated)]
        assert len(refusals) == 1
        assert await is_alive(store, pair)


async def test_of_many_refreshes_at_once_one_succeeds(store):
    pair = await sign_in(store, await add_user(store))
    outcomes = await asyncio.gather(
        *(renew(visitor(store), pair.refresh_token) for _ in range(12)), return_exceptions=True
    )
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1
    assert await value(store, "select count(*) from refresh_tokens where used_at is null") == 1


async def test_the_previous_token_within_10_seconds_is_refused_and_harmless(store):
    first = await sign_in(store, await add_user(store))
    now = visitor(store)
    second = await renew(now, first.refresh_token)
    assert await refused_renewal(later(now, seconds=10), first.refresh_token) == "the token was used before"
    assert await is_alive(store, first)
    assert await renew(later(now, seconds=11), second.refresh_token)


async def test_the_previous_token_later_ends_the_session(store):
    first = await sign_in(store, await add_user(store))
    now = visitor(store)
    second = await renew(now, first.refresh_token)
    detail = await refused_renewal(later(now, seconds=10.1), first.refresh_token)
    assert detail == "the token was used before; its session is ended"
    assert not await is_alive(store, first)
    assert "refresh token reused" in await refused_renewal(later(now, seconds=11), second.refresh_token)
    with pytest.raises(TokenRevoked, match="token revoked: refresh token reused"):
        await ask(store, "user", bearer(second.access_token))


async def test_an_older_token_ends_the_session_however_soon(store):
    first = await sign_in(store, await add_user(store))
    now = visitor(store)
    second = await renew(now, first.refresh_token)
    await renew(now, second.refresh_token)
    await refused_renewal(now, first.refresh_token)
    assert not await is_alive(store, first)


async def test_a_reuse_is_audited_and_survives_the_callers_rollback(store):
    first = await sign_in(store, await add_user(store))
    now = visitor(store)
    await renew(now, first.refresh_token)
    with pytest.raises(Unauthenticated):
        async with database.transaction(later(now, minutes=1)):
            await refresh(later(now, minutes=1), first.refresh_token)
    assert not await is_alive(store, first)
    (line,) = await rows(store, "select * from audit_entries where action = 'session.refresh_token_reused'")
    assert (line["subject_type"], line["subject_id"]) == ("session", str(first.session_id))


async def test_a_reuse_leaves_the_users_other_devices_alone(store):
    user_id = await add_user(store)
    stolen, other = await sign_in(store, user_id), await sign_in(store, user_id)
    now = visitor(store)
    await renew(now, stolen.refresh_token)
    await refused_renewal(later(now, minutes=1), stolen.refresh_token)
    assert await ask(store, "user", bearer(other.access_token))
    assert await renew(now, other.refresh_token)


async def test_a_disabled_user_refreshes_nothing(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await execute(store, "update users set status = 'D' where id = $1", user_id)
    assert await refused_renewal(visitor(store), pair.refresh_token) == "the account may not enter"


async def test_a_refresh_during_a_logout_leaves_nothing_alive(store):
    for _ in range(5):
        pair = await sign_in(store, await add_user(store))

        async def leave(token=pair.refresh_token):
            scope = visitor(store)
            with entered(scope):
                await logout(scope, token)

        outcome, _ = await asyncio.gather(
            renew(visitor(store), pair.refresh_token), leave(), return_exceptions=True
        )
        assert not await is_alive(store, pair)
        if not isinstance(outcome, Exception):
            await refused_renewal(visitor(store), outcome.refresh_token)


async def test_a_refresh_overtaken_by_a_logout_fails(store, database_url):
    pair = await sign_in(store, await add_user(store))
    other_process = await asyncpg.connect(database_url)
    try:
        async with other_process.transaction():
            await other_process.execute("select set_config('vitrine.tenant', $1, true)", str(store.id))
            await other_process.execute("update sessions set ended_at = now(), end_reason = 'logged out'")
            refreshing = asyncio.create_task(refused_renewal(visitor(store), pair.refresh_token))
            await asyncio.sleep(0.2)  # it has used the token up and waits for the session's row
        assert await refreshing == "the session was ended: logged out"
    finally:
        await other_process.close()


# --- Logout ------------------------------------------------------------------------------------------------------------------


async def test_logout_ends_the_device_at_once(store):
    pair = await sign_in(store, await add_user(store))
    await ask(store, "user", bearer(pair.access_token))
    scope = visitor(store)
    with entered(scope):
        await logout(scope, pair.refresh_token)
    with pytest.raises(TokenRevoked, match="token revoked: logged out"):
        await ask(store, "user", bearer(pair.access_token))
    assert await refused_renewal(scope, pair.refresh_token) == "the session was ended: logged out"


async def test_logging_out_twice_or_with_an_unknown_token_is_fine(store):
    pair = await sign_in(store, await add_user(store))
    scope = visitor(store)
    with entered(scope):
        for token in (pair.refresh_token, pair.refresh_token, "unknown"):
            await logout(scope, token)
        with pytest.raises(ValidationFailed, match="refresh_token is required"):
            await logout(scope, "")


async def test_logout_all_ends_every_device_of_the_user_and_nobody_elses(store):
    user_id, other_id = await add_user(store), await add_user(store)
    mine = [await sign_in(store, user_id) for _ in range(2)]
    other = await sign_in(store, other_id)
    scope = await as_user(store, user_id)
    with entered(scope):
        await logout_all(scope)
    for pair in mine:
        with pytest.raises(TokenRevoked, match="token revoked: signed out of all devices"):
            await ask(store, "user", bearer(pair.access_token))
    assert await ask(store, "user", bearer(other.access_token))


async def test_nobody_but_a_user_has_sessions(store):
    scope = visitor(store)
    with entered(scope):
        for call in (list_sessions(scope), logout_all(scope), end_session(scope, uuid7())):
            with pytest.raises(Forbidden, match="insufficient permissions"):
                await call


# --- Devices -----------------------------------------------------------------------------------------------------------------


async def test_a_user_sees_its_own_live_sessions_and_which_one_asks(store):
    user_id = await add_user(store)
    first, second, gone = [await sign_in(store, user_id) for _ in range(3)]
    await sign_in(store, await add_user(store))
    actor = await ask(store, "user", bearer(second.access_token))
    scope = replace(visitor(store), actor=actor)
    with entered(scope):
        await logout(scope, gone.refresh_token)
        listed = await list_sessions(scope)
    assert {session.id: session.current for session in listed} == {
        first.session_id: False,
        second.session_id: True,
    }


async def test_a_user_ends_one_of_its_sessions(store):
    user_id = await add_user(store)
    kept, ended = await sign_in(store, user_id), await sign_in(store, user_id)
    scope = await as_user(store, user_id)
    with entered(scope):
        await end_session(scope, ended.session_id)
        with pytest.raises(NotFound, match="session not found"):
            await end_session(scope, ended.session_id)
    with pytest.raises(TokenRevoked, match="token revoked: session ended"):
        await ask(store, "user", bearer(ended.access_token))
    assert await ask(store, "user", bearer(kept.access_token))


async def test_anothers_session_is_not_found(store):
    pair = await sign_in(store, await add_user(store))
    scope = await as_user(store, await add_user(store))
    with entered(scope):
        for public_id in (pair.session_id, uuid7(), "no uuid"):
            with pytest.raises(NotFound, match="session not found"):
                await end_session(scope, public_id)
    assert await is_alive(store, pair)


async def test_ending_all_sessions_joins_the_callers_transaction(store):
    user_id = await add_user(store)
    pair = await sign_in(store, user_id)
    await ask(store, "user", bearer(pair.access_token))
    scope = system(store)
    await roll_back(store, end_all_sessions(scope, user_id, "password changed"))
    assert await ask(store, "user", bearer(pair.access_token))
    async with database.transaction(scope):
        await end_all_sessions(scope, user_id, "password changed")
    with pytest.raises(TokenRevoked, match="token revoked: password changed"):
        await ask(store, "user", bearer(pair.access_token))


async def test_what_is_long_over_is_deleted_and_the_rest_kept(store):
    user_id = await add_user(store)
    old, live = await sign_in(store, user_id), await sign_in(store, user_id)
    scope = visitor(store)
    with entered(scope):
        await logout(scope, old.refresh_token)
    await forget_expired(later(scope, days=29))
    assert await value(store, "select count(*) from sessions") == 2
    live = await renew(later(scope, days=29), live.refresh_token)
    await forget_expired(later(scope, days=31))
    assert [row["public_id"] for row in await rows(store, "select public_id from sessions")] == [
        live.session_id
    ]
    assert await value(store, "select max(expires_at) from sessions") > datetime.now(UTC)
