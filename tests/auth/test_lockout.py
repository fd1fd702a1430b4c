"""Five attempts a minute per address, ten failures in 15 minutes per account (docs/reference/shared.md#lockout)."""

import asyncio
from dataclasses import replace

import pytest

from auth.legacy_tokens import issue_legacy_token
from auth.lockout import count_attempt
from auth.sessions import login
from kernel.errors import (
    AccountLocked,
    Conflict,
    RateLimited,
    SignInDenied,
    Unauthenticated,
    ValidationFailed,
)
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import add_user, email_of, later
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, rows, unused_ip, value

WRONG = "wrong password"


async def attempt(scope, identifier, password=WRONG):
    with active_scope(scope):
        return await login(scope, identifier, password)


async def fail(scope, identifier, times=1):
    """Sign in with a wrong password so many times, each from another address."""
    for _ in range(times):
        with pytest.raises(Unauthenticated, match="invalid credentials"):
            await attempt(replace(scope, client_ip=unused_ip()), identifier)


# --- Addresses ---------------------------------------------------------------------------------------------------------------


async def test_the_sixth_attempt_of_an_address_in_a_minute_is_rejected_even_with_the_right_password(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    for repetition in range(5):
        assert await attempt(scope, email, PASSWORD), repetition
    with pytest.raises(RateLimited) as refused:
        await attempt(scope, email, PASSWORD)
    assert (refused.value.message, refused.value.retry_after) == ("rate limit exceeded", 60)
    assert refused.value.details["detail"]


async def test_attempts_count_whatever_their_result_and_store(store, other_store):
    email = await email_of(store, await add_user(store, status="D"))
    scope = anonymous_scope(store)
    with pytest.raises(Unauthenticated):
        await attempt(scope, "nobody@example.com")
    with pytest.raises(SignInDenied):
        await attempt(scope, email, PASSWORD)
    with pytest.raises(ValidationFailed):
        await attempt(scope, "", PASSWORD)
    with pytest.raises(ValidationFailed):
        await attempt(scope, email, "")
    with pytest.raises(Unauthenticated):
        await attempt(replace(scope, store=other_store), email, PASSWORD)
    with pytest.raises(RateLimited):
        await attempt(scope, "", "")


async def test_after_a_minute_the_address_is_allowed_again(store):
    scope = anonymous_scope(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    with pytest.raises(RateLimited):
        await count_attempt(later(scope, seconds=59), "login")
    await count_attempt(later(scope, seconds=60), "login")


async def test_the_rate_limit_window_slides(store):
    scope = anonymous_scope(store)
    for second in (0, 0, 50, 50, 50):
        await count_attempt(later(scope, seconds=second), "login")
    for second in (61, 61):
        await count_attempt(later(scope, seconds=second), "login")
    with pytest.raises(RateLimited):
        await count_attempt(later(scope, seconds=62), "login")


async def test_attempts_counted_while_the_clock_was_ahead_do_not_count_when_it_is_set_back(store):
    scope = anonymous_scope(store)
    for _ in range(5):
        await count_attempt(later(scope, days=1), "login")
    for _ in range(5):
        await count_attempt(scope, "login")
    with pytest.raises(RateLimited):
        await count_attempt(scope, "login")


async def test_a_rejected_attempt_does_not_extend_the_window(store):
    scope = anonymous_scope(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    for second in range(0, 60, 5):
        with pytest.raises(RateLimited):
            await count_attempt(later(scope, seconds=second), "login")
    await count_attempt(later(scope, seconds=61), "login")


async def test_addresses_and_purposes_are_counted_separately(store):
    scope = anonymous_scope(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    await count_attempt(replace(scope, client_ip=unused_ip()), "login")
    await count_attempt(scope, "auth_tokens")


async def test_an_ipv6_64_network_counts_as_one_address(store):
    scope = anonymous_scope(store, ip=f"2001:db8:{unused_ip().split('.')[1]}::1")
    for last in range(5):
        await count_attempt(replace(scope, client_ip=scope.client_ip[:-1] + f"{last}"), "login")
    with pytest.raises(RateLimited):
        await count_attempt(scope, "login")


async def test_of_many_concurrent_attempts_five_are_allowed(store):
    scope = anonymous_scope(store)
    results = await asyncio.gather(*(count_attempt(scope, "login") for _ in range(20)), return_exceptions=True)
    assert sum(result is None for result in results) == 5
    assert sum(isinstance(result, RateLimited) for result in results) == 15


# --- Accounts ----------------------------------------------------------------------------------------------------------------


async def test_ten_wrong_passwords_lock_the_account_even_for_the_right_one(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(scope, email, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(later(replace(scope, client_ip=unused_ip()), seconds=100), email, PASSWORD)
    assert refused.value.message == "account_locked"
    assert refused.value.retry_after == 800
    assert "800 seconds" in refused.value.details["detail"]


async def test_nine_wrong_passwords_do_not_lock_the_account(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(scope, email, 9)
    assert await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


async def test_the_lockout_expires_after_15_minutes(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(scope, email, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(later(replace(scope, client_ip=unused_ip()), minutes=14, seconds=59.5), email, PASSWORD)
    assert refused.value.retry_after == 1
    assert await attempt(later(scope, minutes=15), email, PASSWORD)


async def test_a_lockout_of_a_clock_that_was_ahead_ends_when_it_is_set_back(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(later(scope, days=1), email, 10)
    await fail(scope, email, 9)
    assert await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


async def test_wrong_passwords_older_than_15_minutes_do_not_count(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(scope, email, 5)
    await fail(later(scope, minutes=16), email, 5)
    assert await attempt(later(scope, minutes=16), email, PASSWORD)


async def test_a_completed_sign_in_clears_the_failures(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    await fail(scope, email, 9)
    await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)
    await fail(scope, email, 9)
    assert await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


async def test_a_right_password_without_sign_in_does_not_clear_the_failures(store):
    email = await email_of(store, await add_user(store, status="P"))
    scope = anonymous_scope(store)
    await fail(scope, email, 9)
    with pytest.raises(SignInDenied):
        await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)
    await fail(scope, email, 1)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


async def test_every_identifier_of_an_account_counts_toward_the_same_lockout(store):
    email = await email_of(store, await add_user(store, cpf="11144477735", phone="11912345678"))
    scope = anonymous_scope(store)
    await fail(scope, email, 4)
    await fail(scope, "111.444.777-35", 3)
    await fail(scope, "(11) 91234-5678", 3)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


@pytest.mark.parametrize("identifier", ["nobody@example.com", "52998224725", "no identifier at all"])
async def test_an_unknown_identifier_is_locked_like_any_other(store, identifier):
    scope = anonymous_scope(store)
    await fail(scope, identifier, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(replace(scope, client_ip=unused_ip()), identifier.upper())
    assert refused.value.retry_after == 900
    assert identifier not in str(await rows(store, "select subject from lockouts"))


async def test_a_shared_document_has_its_own_lockout(store):
    emails = [await email_of(store, await add_user(store, cpf="11144477735")) for _ in range(2)]
    scope = anonymous_scope(store)
    await fail(scope, "11144477735", 10)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=unused_ip()), "11144477735", PASSWORD)
    for email in emails:
        assert await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)


async def test_a_conflict_does_not_count_as_a_failure(store):
    for _ in range(2):
        await add_user(store, cpf="11144477735")
    for _ in range(11):
        with pytest.raises(Conflict):
            await attempt(anonymous_scope(store), "11144477735", PASSWORD)


async def test_a_lockout_applies_to_its_store_only(store, other_store):
    await add_user(store, email="ana@loja.com.br")
    await add_user(other_store, email="ana@loja.com.br")
    await fail(anonymous_scope(store), "ana@loja.com.br", 10)
    assert await attempt(anonymous_scope(other_store), "ana@loja.com.br", PASSWORD)


async def test_failures_are_counted_although_the_callers_transaction_is_rolled_back(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    for _ in range(10):
        with pytest.raises(Unauthenticated):
            async with database.transaction(scope):
                await login(replace(scope, client_ip=unused_ip()), email, WRONG)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=unused_ip()), email, PASSWORD)
    assert await value(store, "select count(*) from audit_entries where action = 'account.locked'") == 1


async def test_concurrent_guesses_are_not_verified_past_the_tenth(store):
    email = await email_of(store, await add_user(store))
    guesses = [attempt(anonymous_scope(store), email) for _ in range(30)]
    results = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(result) for result in results].count(Unauthenticated) == 10
    assert [type(result) for result in results].count(AccountLocked) == 20


async def test_concurrent_valid_sign_ins_all_succeed(store):
    email = await email_of(store, await add_user(store))
    results = await asyncio.gather(*(attempt(anonymous_scope(store), email, PASSWORD) for _ in range(15)))
    assert len({result.refresh_token for result in results}) == 15


async def test_both_sign_in_routes_count_toward_one_lockout(store):
    email = await email_of(store, await add_user(store))
    await fail(anonymous_scope(store), email, 5)
    for _ in range(5):
        scope = anonymous_scope(store)
        with active_scope(scope), pytest.raises(Unauthenticated):
            await issue_legacy_token(scope, email, None, WRONG)
    scope = anonymous_scope(store)
    with active_scope(scope), pytest.raises(AccountLocked):
        await issue_legacy_token(scope, email, None, PASSWORD)
    with pytest.raises(AccountLocked):
        await attempt(anonymous_scope(store), email, PASSWORD)
