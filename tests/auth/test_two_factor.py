"""Two-factor sign-in: challenges, single use of codes, attempt limits, recovery codes (docs/reference/current.md#two-factor)."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from auth import lockout
from auth.legacy_tokens import issue_legacy_token
from auth.sessions import SessionTokens, login, revoke_all_sessions
from domain.people import accounts, two_factor
from domain.retention import delete_expired
from kernel.errors import (
    AccountLocked,
    Conflict,
    DomainError,
    InsufficientPrivileges,
    SignInDenied,
    ValidationFailed,
)
from kernel.errors import Unauthenticated as Unauthorised
from kernel.ids import uuid7
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import (
    add_admin,
    add_owner,
    add_user,
    authenticate_request,
    email_of,
    from_other_ip,
    later,
    user_scope,
)
from tests.auth.two_factor_users import add_two_factor_user, enrol, unknown_token
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, execute, rows, system_scope, value

EXPIRED = "invalid or expired token"
WRONG = "invalid code"


async def refused(work, kind: type[DomainError] = Unauthorised) -> DomainError:
    with pytest.raises(kind) as error:
        await work
    return error.value


async def wrong_attempts(store, user_id):
    return await value(store, "select count(*) from wrong_attempts where subject = $1", lockout.user_subject(user_id))


# --- Challenge and code ------------------------------------------------------------------------------------------------------


async def test_a_right_password_returns_a_challenge_and_a_code_the_tokens(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    pair = await account.verify(await account.challenge(scope), account.code(scope.now), scope)
    assert isinstance(pair, SessionTokens)
    assert (await authenticate_request(store, "user", bearer(pair.access_token))).user_id == account.user_id


async def test_the_password_alone_does_not_sign_in(store):
    account = await add_two_factor_user(store)
    await account.challenge()
    assert await value(store, "select count(*) from sessions") == 0
    assert await value(store, "select last_login_at from users where id = $1", account.user_id) is None


async def test_the_temporary_token_is_stored_as_a_hash(store):
    token = await (await add_two_factor_user(store)).challenge()
    assert len(token) >= 43
    (stored,) = await rows(store, "select token_hash::text as hash from sign_in_challenges")
    assert token.encode().hex() not in stored["hash"]


async def test_the_secret_is_stored_encrypted(store):
    account = await add_two_factor_user(store)
    encrypted = bytes(await value(store, "select secret from two_factors"))
    assert account.secret.encode() not in encrypted


@pytest.mark.parametrize("step", [-1, 0, 1])
async def test_codes_of_adjacent_steps_are_accepted(store, step):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    assert await account.verify(await account.challenge(scope), account.code(scope.now, step), scope)


@pytest.mark.parametrize("step", [-3, -2, 2, 3])
async def test_codes_of_other_steps_are_rejected(store, step):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    code = account.code(scope.now, step)
    if code in {account.code(scope.now, near) for near in (-1, 0, 1)}:
        pytest.skip("one code in a million is that of two steps")
    assert (await refused(account.verify(await account.challenge(scope), code, scope))).message == WRONG


async def test_a_code_can_contain_spaces(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    code = account.code(scope.now)
    assert await account.verify(await account.challenge(scope), f" {code[:3]} {code[3:]} ", scope)


async def test_the_temporary_token_expires_after_five_minutes(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    after = later(scope, minutes=5)
    assert (await refused(account.verify(token, account.code(after.now), after))).message == EXPIRED
    before = later(scope, minutes=4, seconds=59)
    assert await account.verify(token, account.code(before.now), before)


async def test_the_temporary_token_can_be_used_once(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    await account.verify(token, account.code(scope.now), scope)
    assert (await refused(account.verify(token, account.code(scope.now, 1), scope))).message == EXPIRED


@pytest.mark.parametrize("token", ["x", "x" * 5000, "\x00", "\ud800", "🙈"])
async def test_an_unknown_temporary_token_is_rejected(store, token):
    account = await add_two_factor_user(store)
    assert (await refused(account.verify(token, "123456"))).message == EXPIRED


async def test_the_temporary_token_of_another_store_is_unknown(store, other_store):
    account, other = await add_two_factor_user(store), await add_two_factor_user(other_store)
    token = await other.challenge()
    assert (await refused(account.verify(token, other.code(anonymous_scope(store).now)))).message == EXPIRED


@pytest.mark.parametrize(
    "token, code, message",
    [
        (None, "123456", "temp_token is required"),
        ("", "123456", "temp_token is required"),
        (None, None, "temp_token is required"),
        ("x", None, "code is required"),
        ("x", "", "code is required"),
        ("x", "  ", "code is required"),
    ],
)
async def test_missing_fields_are_named(store, token, code, message):
    error = await refused((await add_two_factor_user(store)).verify(token, code), ValidationFailed)
    assert (error.message, error.fields) == (message, {})


@pytest.mark.parametrize(
    "code",
    ["x", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "\x00\x00\x00\x00\x00\x00", "\ud800", "🙈" * 6, "9" * 5000],
)
async def test_a_malformed_code_is_wrong(store, code):
    account = await add_two_factor_user(store)
    assert (await refused(account.verify(await account.challenge(), code))).message == WRONG
    assert await wrong_attempts(store, account.user_id) == 1


async def test_a_user_without_two_factor_signs_in_directly(store):
    user_id = await add_user(store)
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await two_factor.begin_enrolment(scope)  # begun, not confirmed
    guest = anonymous_scope(store)
    with active_scope(guest):
        assert isinstance(await login(guest, await email_of(store, user_id), PASSWORD), SessionTokens)


# --- Single use -------------------------------------------------------------------------------------------------------------


async def test_a_code_can_be_used_once(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    first, second = await account.challenge(scope), await account.challenge(scope)
    code = account.code(scope.now)
    await account.verify(first, code, scope)
    assert (await refused(account.verify(second, code, scope))).message == WRONG
    assert await account.verify(second, account.code(scope.now, -1), scope)  # another step, not used yet


async def test_a_used_code_is_rejected_while_its_step_is_valid(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    code = account.code(scope.now, 1)
    await account.verify(await account.challenge(scope), code, scope)
    for seconds in (30, 59):
        after = later(scope, seconds=seconds)
        assert (await refused(account.verify(await account.challenge(after), code, after))).message == WRONG, seconds


async def test_the_code_that_confirmed_enrolment_is_used(store):
    scope = anonymous_scope(store)
    account = await enrol(store, await add_user(store), at=scope.now)
    code = account.code(scope.now)
    assert (await refused(account.verify(await account.challenge(scope), code, scope))).message == WRONG


@pytest.mark.parametrize("attempt", range(5))
async def test_of_two_concurrent_uses_of_a_code_one_succeeds(store, attempt):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    tokens = [await account.challenge(scope) for _ in range(2)]
    code = account.code(scope.now)
    results = await asyncio.gather(*(account.verify(token, code, scope) for token in tokens), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["SessionTokens", "WrongCode"]


async def test_of_many_concurrent_verifications_of_a_challenge_one_succeeds(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    codes = [account.code(scope.now, step) for step in (-1, 0, 1)]
    results = await asyncio.gather(*(account.verify(token, code, scope) for code in codes), return_exceptions=True)
    assert [type(result) for result in results].count(SessionTokens) == 1
    assert {str(result) for result in results if isinstance(result, Exception)} == {EXPIRED}
    assert await value(store, "select count(*) from sessions") == 1


async def test_the_database_ensures_that_a_step_is_used_once(store):
    """The attempt lock is per process, so the UPDATE must decide."""
    from auth import two_factor_codes

    account = await add_two_factor_user(store)
    scope = system_scope(store)
    encrypted = bytes(await value(store, "select secret from two_factors"))

    async def use():
        async with database.transaction(scope):
            return await two_factor_codes.consume_totp(scope, account.user_id, encrypted, account.code(scope.now))

    assert sorted(await asyncio.gather(*(use() for _ in range(10)))) == [False] * 9 + [True]


# --- Guesses -----------------------------------------------------------------------------------------------------------------


async def test_the_fifth_wrong_code_invalidates_the_temporary_token(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    for repetition in range(5):
        assert (await refused(account.verify(token, account.wrong_code(scope.now), scope))).message == WRONG, repetition
    for code in (account.code(scope.now), account.wrong_code(scope.now)):
        assert (await refused(account.verify(token, code, scope))).message == EXPIRED
    assert await wrong_attempts(store, account.user_id) == 5
    assert await account.verify(await account.challenge(scope), account.code(scope.now), scope)


async def test_four_wrong_codes_do_not_invalidate_the_temporary_token(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    for _ in range(4):
        await refused(account.verify(token, account.wrong_code(scope.now), scope))
    assert await account.verify(token, account.code(scope.now), scope)


async def test_of_many_concurrent_guesses_five_are_checked(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    guesses = [account.verify(token, account.wrong_code(scope.now), scope) for _ in range(20)]
    results = [str(result) for result in await asyncio.gather(*guesses, return_exceptions=True)]
    assert sorted(results) == [WRONG] * 5 + [EXPIRED] * 15


async def test_wrong_codes_lock_the_account_and_right_passwords_do_not_clear_the_failures(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    for _ in range(2):
        token = await account.challenge(scope)
        for repetition in range(5):
            assert (await refused(account.verify(token, account.wrong_code(scope.now), scope))).message == WRONG, (
                repetition
            )
    locked = await refused(account.challenge(scope), AccountLocked)
    assert (locked.message, locked.retry_after) == ("account_locked", 900)


async def test_wrong_passwords_and_codes_count_together(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    for _ in range(6):
        await refused(account.challenge(scope, "wrong password"))
    token = await account.challenge(scope)
    for _ in range(4):
        await refused(account.verify(token, account.wrong_code(scope.now), scope))
    await refused(account.verify(token, account.code(scope.now), scope), AccountLocked)
    await refused(account.challenge(scope), AccountLocked)


async def test_a_locked_account_is_reported_without_counting_the_attempt(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    for _ in range(10):
        await refused(account.challenge(scope, "wrong password"))
    for _ in range(6):
        await refused(account.verify(token, account.code(scope.now), scope), AccountLocked)
    assert await value(store, "select tries from sign_in_challenges") == 0


async def test_a_completed_sign_in_clears_the_failures(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    for _ in range(9):
        await refused(account.challenge(scope, "wrong password"))
    await account.verify(await account.challenge(scope), account.code(scope.now), scope)
    assert await wrong_attempts(store, account.user_id) == 0


async def test_wrong_codes_count_although_the_callers_transaction_is_rolled_back(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    with pytest.raises(Unauthorised):
        async with database.transaction(scope):
            await account.verify(token, account.wrong_code(scope.now), scope)
    assert await wrong_attempts(store, account.user_id) == 1
    assert await value(store, "select tries from sign_in_challenges") == 1


# --- Recovery codes ----------------------------------------------------------------------------------------------------------


async def test_each_of_ten_recovery_codes_can_be_used_once(store):
    user_id = await add_user(store)
    account = await enrol(store, user_id)
    assert len(set(account.recovery_codes)) == 10
    for code in account.recovery_codes:
        assert await account.verify(await account.challenge(), code)
        assert (await refused(account.verify(await account.challenge(), code))).message == WRONG
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        assert await two_factor.load_status(scope) == two_factor.TwoFactorStatus(enabled=True, recovery_codes_left=0)


async def test_a_recovery_code_is_accepted_in_any_spelling(store):
    account = await add_two_factor_user(store)
    for code, typed in zip(
        account.recovery_codes,
        (str.lower, lambda text: text.replace("-", ""), lambda text: f" {text.replace('-', ' ')} "),
        strict=False,
    ):
        assert await account.verify(await account.challenge(), typed(code))


async def test_of_concurrent_uses_of_a_recovery_code_one_succeeds(store):
    account = await add_two_factor_user(store)
    tokens = [await account.challenge() for _ in range(5)]
    results = await asyncio.gather(
        *(account.verify(token, account.recovery_codes[0]) for token in tokens), return_exceptions=True
    )
    assert [type(result) for result in results].count(SessionTokens) == 1


async def test_another_users_recovery_code_is_wrong(store):
    account, other = await add_two_factor_user(store), await add_two_factor_user(store)
    assert (await refused(account.verify(await account.challenge(), other.recovery_codes[0]))).message == WRONG


# --- Deleting challenges -----------------------------------------------------------------------------------------------------


async def test_a_changed_password_deletes_the_challenge(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    with active_scope(system_scope(store)):
        await accounts.update_user(system_scope(store), account.user_id, {"password": "another long password"})
    assert (await refused(account.verify(token, account.code(scope.now), scope))).message == EXPIRED


async def test_no_challenge_is_created_for_a_password_that_changed_meanwhile(store):
    from auth import challenges
    from auth.password_authentication import authenticate_password

    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    with active_scope(scope):
        user = await authenticate_password(scope, account.email, PASSWORD)
        await execute(store, "update users set password_hash = 'changed' where id = $1", account.user_id)
        assert (await refused(challenges.create_challenge(scope, user))).message == "invalid credentials"


async def test_disabling_the_user_deletes_the_challenge(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    with active_scope(system_scope(store)):
        await revoke_all_sessions(system_scope(store), account.user_id, "account disabled")
    assert (await refused(account.verify(token, account.code(scope.now), scope))).message == EXPIRED


async def test_an_account_disabled_during_the_challenge_reports_the_reason(store):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    await execute(store, "update users set status = 'P' where id = $1", account.user_id)
    error = await refused(account.verify(token, account.code(scope.now), scope), SignInDenied)
    assert error.reason == "account_pending_approval"


async def test_expired_challenges_are_deleted(store):
    account = await add_two_factor_user(store)
    await account.challenge()
    await delete_expired(later(system_scope(store), minutes=4))
    assert await value(store, "select count(*) from sign_in_challenges") == 1
    await delete_expired(later(system_scope(store), minutes=6))
    assert await value(store, "select count(*) from sign_in_challenges") == 0


# --- Legacy tokens -----------------------------------------------------------------------------------------------------------


async def legacy(store, email, code=None, password=PASSWORD):
    scope = anonymous_scope(store)
    with active_scope(scope):
        return await issue_legacy_token(scope, email, None, password, code)


async def test_a_legacy_token_requires_a_code(store):
    account = await add_two_factor_user(store)
    for missing in (None, "", " "):
        assert (await refused(legacy(store, account.email, missing))).message == "two-factor code required"
    assert await wrong_attempts(store, account.user_id) == 0
    now = anonymous_scope(store).now
    assert (await refused(legacy(store, account.email, account.wrong_code(now)))).message == WRONG
    assert await wrong_attempts(store, account.user_id) == 1
    assert (await legacy(store, account.email, account.code(now))).ttl == 86_400
    assert (await refused(legacy(store, account.email, account.code(now)))).message == WRONG
    assert (await legacy(store, account.email, account.recovery_codes[0])).ttl == 86_400


async def test_a_wrong_password_does_not_reveal_two_factor(store):
    account = await add_two_factor_user(store)
    error = await refused(legacy(store, account.email, password="wrong password"))
    assert error.message == "invalid credentials"


async def test_wrong_codes_for_legacy_tokens_lock_the_account(store):
    account = await add_two_factor_user(store)
    for _ in range(10):
        await refused(legacy(store, account.email, account.wrong_code(anonymous_scope(store).now)))
    await refused(legacy(store, account.email, account.code(anonymous_scope(store).now)), AccountLocked)


# --- Enrolling and disabling --------------------------------------------------------------------------------------------------


async def test_enrolment_returns_the_secret_in_three_formats(store):
    user_id = await add_user(store, email="ana@loja.com.br")
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        enrolment = await two_factor.begin_enrolment(scope)
    assert len(enrolment.secret) == 32
    assert enrolment.otpauth_uri.startswith("otpauth://totp/")
    assert f"secret={enrolment.secret}" in enrolment.otpauth_uri
    assert "ana%40loja.com.br" in enrolment.otpauth_uri
    longest = replace(scope, store=replace(scope.store, name="\N{FACE WITH TEARS OF JOY}" * 255))
    await database.execute("update users set email = $2 where id = $1", user_id, f"{'日' * 64}@{'é' * 60}.com")
    with active_scope(longest):
        assert (await two_factor.begin_enrolment(longest)).qr_svg.startswith("<svg")
    assert enrolment.qr_svg.startswith("<svg")
    assert enrolment.qr_svg.rstrip().endswith("</svg>")


async def test_restarting_enrolment_replaces_an_unconfirmed_secret(store):
    scope = await user_scope(store, await add_user(store))
    with active_scope(scope):
        first, second = await two_factor.begin_enrolment(scope), await two_factor.begin_enrolment(scope)
        error = await refused(two_factor.confirm(scope, _code(first, scope)), ValidationFailed)
        assert error.fields == {"code": "code_invalid"}
        assert len(await two_factor.confirm(scope, _code(second, scope))) == 10


async def test_an_enabled_factor_cannot_be_enrolled_again(store):
    account = await add_two_factor_user(store)
    scope = await user_scope(store, account.user_id)
    with active_scope(scope):
        for work in (two_factor.begin_enrolment(scope), two_factor.confirm(scope, account.code(scope.now))):
            assert (await refused(work, Conflict)).reason == "two_factor_on"


async def test_confirming_without_enrolment_is_rejected(store):
    scope = await user_scope(store, await add_user(store))
    with active_scope(scope):
        assert (await refused(two_factor.confirm(scope, "123456"), Conflict)).reason == "two_factor_not_begun"
        await two_factor.begin_enrolment(scope)
    late = later(scope, hours=1)
    with active_scope(late):
        assert (await refused(two_factor.confirm(late, "123456"), Conflict)).reason == "two_factor_not_begun"


@pytest.mark.parametrize("code", ["", " ", "x", "١٢٣٤٥٦", "🙈", "\ud800", "9" * 5000])
async def test_malformed_codes_do_not_confirm(store, code):
    scope = await user_scope(store, await add_user(store))
    with active_scope(scope):
        await two_factor.begin_enrolment(scope)
        error = await refused(two_factor.confirm(scope, code), ValidationFailed)
    assert set(error.fields) == {"code"}


async def test_disabling_two_factor_requires_password_and_code(store):
    account = await add_two_factor_user(store)
    waiting = await account.challenge()
    scope = await user_scope(store, account.user_id)
    with active_scope(scope):
        wrong = await refused(two_factor.disable(scope, "wrong password", account.code(scope.now)), ValidationFailed)
        assert wrong.fields == {"password": "password_wrong"}
        missing = await refused(two_factor.disable(scope, PASSWORD, None), ValidationFailed)
        assert missing.fields == {"code": "required"}
        wrong = await refused(two_factor.disable(scope, PASSWORD, account.wrong_code(scope.now)), ValidationFailed)
        assert wrong.fields == {"code": "code_invalid"}
        assert await wrong_attempts(store, account.user_id) == 2
        await two_factor.disable(scope, PASSWORD, account.code(scope.now))
        assert not (await two_factor.load_status(scope)).enabled
        assert (await refused(two_factor.disable(scope, PASSWORD, None), Conflict)).reason == "two_factor_off"
    assert (await refused(account.verify(waiting, account.recovery_codes[0]))).message == EXPIRED
    guest = from_other_ip(anonymous_scope(store))
    with active_scope(guest):
        assert isinstance(await login(guest, account.email, PASSWORD), SessionTokens)


async def test_guessing_codes_while_disabling_locks_the_account(store):
    account = await add_two_factor_user(store)
    scope = await user_scope(store, account.user_id)
    with active_scope(scope):
        for _ in range(10):
            await refused(two_factor.disable(scope, "wrong password", "123456"), ValidationFailed)
        await refused(two_factor.disable(scope, PASSWORD, account.code(scope.now)), AccountLocked)


async def test_a_user_administrator_can_disable_a_users_two_factor(store):
    account = await add_two_factor_user(store)
    scope = await user_scope(store, await add_admin(store, "manage_users"))
    with active_scope(scope):
        await refused(two_factor.disable(scope, "wrong password", None, account.user_id), ValidationFailed)
        await two_factor.disable(scope, PASSWORD, None, account.user_id)
    assert await value(store, "select count(*) from two_factors") == 0
    assert await value(store, "select count(*) from recovery_codes") == 0
    assert await value(store, "select count(*) from audit_entries where action = 'two_factor.disabled'") == 1


async def test_disabling_for_another_user_requires_the_administrators_own_code(store):
    account = await add_two_factor_user(store)
    helper = await add_two_factor_user(store, await add_admin(store, "manage_users"))
    scope = await user_scope(store, helper.user_id)
    with active_scope(scope):
        await refused(two_factor.disable(scope, PASSWORD, None, account.user_id), ValidationFailed)
        await refused(two_factor.disable(scope, PASSWORD, account.code(scope.now), account.user_id), ValidationFailed)
        await two_factor.disable(scope, PASSWORD, helper.code(scope.now), account.user_id)
    assert await value(store, "select user_id from two_factors") == helper.user_id


async def test_disabling_for_a_user_with_more_privileges_is_rejected(store):
    store, owner = await add_owner(store)
    stronger = await add_admin(store, "manage_users", "manage_orders")
    helper = await user_scope(store, await add_admin(store, "manage_users"))
    customer = await user_scope(store, await add_user(store))
    for target in (owner, stronger):
        await add_two_factor_user(store, target)
        for scope in (helper, customer):
            with active_scope(scope), pytest.raises(DomainError) as error:
                await two_factor.disable(scope, PASSWORD, None, target)
            assert error.value.status == 403, (target, scope)
            assert isinstance(error.value, InsufficientPrivileges) or scope is customer
    assert await value(store, "select count(*) from two_factors") == 2


async def test_an_unknown_user_is_not_found(store):
    scope = await user_scope(store, await add_admin(store, "manage_users"))
    with active_scope(scope):
        for unknown in (uuid7(), "nobody", 2**62):
            with pytest.raises(DomainError) as error:
                await two_factor.disable(scope, PASSWORD, None, unknown)
            assert error.value.status == 404, unknown


async def test_enabling_and_disabling_sends_mail_and_is_audited(store):
    user_id = await add_user(store)
    account = await enrol(store, user_id)
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await two_factor.disable(scope, PASSWORD, account.recovery_codes[0])
    kinds = await rows(store, "select kind from mails order by id")
    assert [record["kind"] for record in kinds] == ["two_factor_on", "two_factor_off"]
    actions = await rows(store, "select action from audit_entries order by id")
    assert [record["action"] for record in actions] == ["two_factor.enabled", "two_factor.disabled"]


async def test_a_changed_secret_key_makes_codes_wrong_without_an_error(store):
    account = await add_two_factor_user(store)
    await execute(store, "update two_factors set secret = $1", b"\x01" + b"x" * 60)
    scope = anonymous_scope(store)
    assert (
        await refused(account.verify(await account.challenge(scope), account.code(scope.now), scope))
    ).message == WRONG


def _code(enrolment, scope):
    import pyotp

    return pyotp.TOTP(enrolment.secret).at(scope.now)


async def test_an_unknown_token_does_not_count_as_a_failure(store):
    account = await add_two_factor_user(store)
    await account.challenge()
    await refused(account.verify(unknown_token(), "123456"))
    assert await wrong_attempts(store, account.user_id) == 0
    assert await value(store, "select tries from sign_in_challenges") == 0


# --- Several processes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def without_attempt_lock(monkeypatch):
    """Disable the per-process attempt lock, as between several processes."""

    @asynccontextmanager
    async def at_once(scope, subject):
        yield

    monkeypatch.setattr(lockout, "attempt_lock", at_once)


@pytest.mark.parametrize("round_", range(10))
async def test_of_verifications_in_several_processes_one_succeeds(store, without_attempt_lock, round_):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    tokens = [await account.challenge(scope) for _ in range(3)]
    code = account.code(scope.now)
    results = await asyncio.gather(
        *(account.verify(token, code, scope) for token in (*tokens, *tokens)), return_exceptions=True
    )
    assert [type(result) for result in results].count(SessionTokens) == 1
    assert {str(result) for result in results if not isinstance(result, SessionTokens)} <= {WRONG, EXPIRED}
    assert await value(store, "select count(*) from sessions") == 1


@pytest.mark.parametrize("round_", range(10))
async def test_a_concurrent_password_change_leaves_no_session(store, without_attempt_lock, round_):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    tokens = [await account.challenge(scope) for _ in range(3)]

    async def change():
        await asyncio.sleep(round_ / 500)
        with active_scope(system_scope(store)):
            await accounts.update_user(system_scope(store), account.user_id, {"password": "another long password"})

    codes = [account.code(scope.now, step) for step in (-1, 0, 1)]
    verifies = [account.verify(token, code, scope) for token, code in zip(tokens, codes, strict=True)]
    results = await asyncio.gather(change(), *verifies, return_exceptions=True)
    assert results[0] is None
    assert {type(result).__name__ for result in results[1:]} <= {"SessionTokens", "Unauthenticated"}
    assert await value(store, "select count(*) from sessions where ended_at is null") == 0
    assert await value(store, "select count(*) from sign_in_challenges") == 0


async def test_guesses_in_several_processes_are_limited_to_five_per_token(store, without_attempt_lock):
    account = await add_two_factor_user(store)
    scope = anonymous_scope(store)
    token = await account.challenge(scope)
    guesses = [account.verify(token, account.wrong_code(scope.now), scope) for _ in range(12)]
    results = [str(result) for result in await asyncio.gather(*guesses, return_exceptions=True)]
    assert sorted(results) == [WRONG] * 5 + [EXPIRED] * 7
