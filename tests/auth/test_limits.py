"""Five attempts a minute for an address, ten wrong passwords in 15 minutes for an account (decisions section 2)."""

import asyncio
from dataclasses import replace

import pytest

from auth.legacy_tokens import issue_legacy_token
from auth.lockout import count_attempt
from auth.sessions import login
from kernel.errors import (
    AccountBarred,
    AccountLocked,
    Conflict,
    RateLimited,
    Unauthenticated,
    ValidationFailed,
)
from kernel.scope import entered
from models import database
from tests.auth.kit import PASSWORD, add_user, email_of, later, rows, some_ip, value, visitor

WRONG = "wrong password"


async def attempt(scope, identifier, password=WRONG):
    with entered(scope):
        return await login(scope, identifier, password)


async def fail(scope, identifier, times=1):
    """Give a wrong password so many times, each time from another address."""
    for _ in range(times):
        with pytest.raises(Unauthenticated, match="invalid credentials"):
            await attempt(replace(scope, client_ip=some_ip()), identifier)


# --- Addresses ---------------------------------------------------------------------------------------------------------------


async def test_the_sixth_attempt_of_an_address_in_a_minute_is_refused_with_the_right_password_too(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    for _ in range(5):
        assert await attempt(scope, email, PASSWORD)
    with pytest.raises(RateLimited) as refused:
        await attempt(scope, email, PASSWORD)
    assert (refused.value.message, refused.value.retry_after) == ("rate limit exceeded", 60)
    assert refused.value.details["detail"]


async def test_attempts_count_whatever_their_outcome_and_store(store, other_store):
    email = await email_of(store, await add_user(store, status="D"))
    scope = visitor(store)
    with pytest.raises(Unauthenticated):
        await attempt(scope, "nobody@example.com")
    with pytest.raises(AccountBarred):
        await attempt(scope, email, PASSWORD)
    with pytest.raises(ValidationFailed):
        await attempt(scope, "", PASSWORD)
    with pytest.raises(ValidationFailed):
        await attempt(scope, email, "")
    with pytest.raises(Unauthenticated):
        await attempt(replace(scope, store=other_store), email, PASSWORD)
    with pytest.raises(RateLimited):
        await attempt(scope, "", "")


async def test_after_a_minute_the_address_may_try_again(store):
    scope = visitor(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    with pytest.raises(RateLimited):
        await count_attempt(later(scope, seconds=59), "login")
    await count_attempt(later(scope, seconds=60), "login")


async def test_the_minute_slides(store):
    scope = visitor(store)
    for second in (0, 0, 50, 50, 50):
        await count_attempt(later(scope, seconds=second), "login")
    for second in (61, 61):
        await count_attempt(later(scope, seconds=second), "login")
    with pytest.raises(RateLimited):
        await count_attempt(later(scope, seconds=62), "login")


async def test_a_refused_attempt_does_not_prolong_the_wait(store):
    scope = visitor(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    for second in range(0, 60, 5):
        with pytest.raises(RateLimited):
            await count_attempt(later(scope, seconds=second), "login")
    await count_attempt(later(scope, seconds=61), "login")


async def test_another_address_and_another_purpose_are_counted_apart(store):
    scope = visitor(store)
    for _ in range(5):
        await count_attempt(scope, "login")
    await count_attempt(replace(scope, client_ip=some_ip()), "login")
    await count_attempt(scope, "auth_tokens")


async def test_an_ipv6_network_is_one_address(store):
    scope = visitor(store, ip=f"2001:db8:{some_ip().split('.')[1]}::1")
    for last in range(5):
        await count_attempt(replace(scope, client_ip=scope.client_ip[:-1] + f"{last}"), "login")
    with pytest.raises(RateLimited):
        await count_attempt(scope, "login")


async def test_of_many_attempts_at_once_five_are_let_through(store):
    scope = visitor(store)
    outcomes = await asyncio.gather(
        *(count_attempt(scope, "login") for _ in range(20)), return_exceptions=True
    )
    assert sum(outcome is None for outcome in outcomes) == 5
    assert sum(isinstance(outcome, RateLimited) for outcome in outcomes) == 15


# --- Accounts ----------------------------------------------------------------------------------------------------------------


async def test_ten_wrong_passwords_lock_the_account_for_the_right_one_too(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    await fail(scope, email, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(later(replace(scope, client_ip=some_ip()), seconds=100), email, PASSWORD)
    assert refused.value.message == "account_locked"
    assert refused.value.retry_after == 800
    assert "800 seconds" in refused.value.details["detail"]


async def test_nine_wrong_passwords_do_not(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    await fail(scope, email, 9)
    assert await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)


async def test_the_lock_ends_after_15_minutes(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    await fail(scope, email, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(later(replace(scope, client_ip=some_ip()), minutes=14, seconds=59.5), email, PASSWORD)
    assert refused.value.retry_after == 1
    assert await attempt(later(scope, minutes=15), email, PASSWORD)


async def test_wrong_passwords_older_than_15_minutes_do_not_count(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    await fail(scope, email, 5)
    await fail(later(scope, minutes=16), email, 5)
    assert await attempt(later(scope, minutes=16), email, PASSWORD)


async def test_a_completed_sign_in_clears_the_count(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    await fail(scope, email, 9)
    await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)
    await fail(scope, email, 9)
    assert await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)


async def test_a_right_password_that_does_not_sign_in_clears_nothing(store):
    email = await email_of(store, await add_user(store, status="P"))
    scope = visitor(store)
    await fail(scope, email, 9)
    with pytest.raises(AccountBarred):
        await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)
    await fail(scope, email, 1)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)


async def test_every_identifier_of_an_account_counts_toward_the_same_lock(store):
    email = await email_of(store, await add_user(store, cpf="11144477735", phone="11912345678"))
    scope = visitor(store)
    await fail(scope, email, 4)
    await fail(scope, "111.444.777-35", 3)
    await fail(scope, "(11) 91234-5678", 3)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)


@pytest.mark.parametrize("identifier", ["nobody@example.com", "52998224725", "no identifier at all"])
async def test_an_identifier_nobody_has_locks_like_any_other(store, identifier):
    scope = visitor(store)
    await fail(scope, identifier, 10)
    with pytest.raises(AccountLocked) as refused:
        await attempt(replace(scope, client_ip=some_ip()), identifier.upper())
    assert refused.value.retry_after == 900
    assert identifier not in str(await rows(store, "select subject from lockouts"))


async def test_a_shared_document_locks_by_itself(store):
    emails = [await email_of(store, await add_user(store, cpf="11144477735")) for _ in range(2)]
    scope = visitor(store)
    await fail(scope, "11144477735", 10)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=some_ip()), "11144477735", PASSWORD)
    for email in emails:
        assert await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)


async def test_a_conflict_is_no_wrong_attempt(store):
    for _ in range(2):
        await add_user(store, cpf="11144477735")
    for _ in range(11):
        with pytest.raises(Conflict):
            await attempt(visitor(store), "11144477735", PASSWORD)


async def test_a_lock_holds_in_its_store_only(store, other_store):
    await add_user(store, email="ana@loja.com.br")
    await add_user(other_store, email="ana@loja.com.br")
    await fail(visitor(store), "ana@loja.com.br", 10)
    assert await attempt(visitor(other_store), "ana@loja.com.br", PASSWORD)


async def test_wrong_attempts_are_counted_although_the_callers_transaction_is_rolled_back(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    for _ in range(10):
        with pytest.raises(Unauthenticated):
            async with database.transaction(scope):
                await login(replace(scope, client_ip=some_ip()), email, WRONG)
    with pytest.raises(AccountLocked):
        await attempt(replace(scope, client_ip=some_ip()), email, PASSWORD)
    assert await value(store, "select count(*) from audit_entries where action = 'account.locked'") == 1


async def test_many_guesses_at_once_are_not_verified_past_the_tenth(store):
    email = await email_of(store, await add_user(store))
    guesses = [attempt(visitor(store), email) for _ in range(30)]
    outcomes = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(Unauthenticated) == 10
    assert [type(outcome) for outcome in outcomes].count(AccountLocked) == 20


async def test_many_right_sign_ins_at_once_all_succeed(store):
    email = await email_of(store, await add_user(store))
    outcomes = await asyncio.gather(*(attempt(visitor(store), email, PASSWORD) for _ in range(15)))
    assert len({outcome.refresh_token for outcome in outcomes}) == 15


async def test_both_doors_count_toward_one_lock(store):
    email = await email_of(store, await add_user(store))
    await fail(visitor(store), email, 5)
    for _ in range(5):
        scope = visitor(store)
        with entered(scope), pytest.raises(Unauthenticated):
            await issue_legacy_token(scope, email, None, WRONG)
    scope = visitor(store)
    with entered(scope), pytest.raises(AccountLocked):
        await issue_legacy_token(scope, email, None, PASSWORD)
    with pytest.raises(AccountLocked):
        await attempt(visitor(store), email, PASSWORD)
