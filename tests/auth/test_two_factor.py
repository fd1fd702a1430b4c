"""The second factor at sign-in: challenge, codes used once, guesses that end, recovery codes (decisions section 3)."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from auth import lockout
from auth.legacy_tokens import issue_legacy_token
from auth.sessions import SignedIn, end_all_sessions, login
from auth.upkeep import forget_expired
from domain.people import accounts, two_factor
from kernel.errors import (
    AccountBarred,
    AccountLocked,
    Conflict,
    DomainError,
    InsufficientPrivileges,
    ValidationFailed,
)
from kernel.errors import Unauthenticated as Unauthorised
from kernel.ids import uuid7
from kernel.scope import entered
from models import database
from tests.auth.kit import (
    PASSWORD,
    add_admin,
    add_user,
    as_user,
    ask,
    bearer,
    elsewhere,
    email_of,
    execute,
    later,
    owner_of,
    rows,
    system,
    value,
    visitor,
)
from tests.auth.second_factors import add_holder, enrolled, some_token

EXPIRED = "invalid or expired token"
WRONG = "invalid code"


async def refused(work, kind: type[DomainError] = Unauthorised) -> DomainError:
    with pytest.raises(kind) as refusal:
        await work
    return refusal.value


async def wrong_attempts(store, user_id):
    return await value(
        store, "select count(*) from wrong_attempts where subject = $1", lockout.subject_of_user(user_id)
    )


# --- Challenge and code ------------------------------------------------------------------------------------------------------


async def test_a_right_password_leads_to_a_challenge_and_a_code_to_tokens(store):
    holder = await add_holder(store)
    scope = visitor(store)
    pair = await holder.verify(await holder.challenge(scope), holder.code(scope.now), scope)
    assert isinstance(pair, SignedIn)
    assert (await ask(store, "user", bearer(pair.access_token))).user_id == holder.user_id


async def test_nothing_is_opened_by_the_password_alone(store):
    holder = await add_holder(store)
    await holder.challenge()
    assert await value(store, "select count(*) from sessions") == 0
    assert await value(store, "select last_login_at from users where id = $1", holder.user_id) is None


async def test_the_temporary_token_is_kept_as_a_hash_only(store):
    token = await (await add_holder(store)).challenge()
    assert len(token) >= 43
    (stored,) = await rows(store, "select token_hash::text as hash from sign_in_challenges")
    assert token.encode().hex() not in stored["hash"]


async def test_the_secret_is_kept_encrypted_only(store):
    holder = await add_holder(store)
    sealed = bytes(await value(store, "select secret from two_factors"))
    assert holder.secret.encode() not in sealed


@pytest.mark.parametrize("step", [-1, 0, 1])
async def test_the_neighbours_of_the_present_step_are_good(store, step):
    holder = await add_holder(store)
    scope = visitor(store)
    assert await holder.verify(await holder.challenge(scope), holder.code(scope.now, step), scope)


@pytest.mark.parametrize("step", [-3, -2, 2, 3])
async def test_further_steps_are_not(store, step):
    holder = await add_holder(store)
    scope = visitor(store)
    code = holder.code(scope.now, step)
    if code in {holder.code(scope.now, near) for near in (-1, 0, 1)}:
        pytest.skip("one code in a million is that of two steps")
    assert (await refused(holder.verify(await holder.challenge(scope), code, scope))).message == WRONG


async def test_a_code_may_be_typed_with_a_space(store):
    holder = await add_holder(store)
    scope = visitor(store)
    code = holder.code(scope.now)
    assert await holder.verify(await holder.challenge(scope), f" {code[:3]} {code[3:]} ", scope)


async def test_the_temporary_token_lives_five_minutes(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    after = later(scope, minutes=5)
    assert (await refused(holder.verify(token, holder.code(after.now), after))).message == EXPIRED
    before = later(scope, minutes=4, seconds=59)
    assert await holder.verify(token, holder.code(before.now), before)


async def test_the_temporary_token_gives_one_success(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    await holder.verify(token, holder.code(scope.now), scope)
    assert (await refused(holder.verify(token, holder.code(scope.now, 1), scope))).message == EXPIRED


@pytest.mark.parametrize("token", ["x", "x" * 5000, "\x00", "\ud800", "🙈"])
async def test_an_unknown_temporary_token_is_refused(store, token):
    holder = await add_holder(store)
    assert (await refused(holder.verify(token, "123456"))).message == EXPIRED


async def test_the_temporary_token_of_another_store_is_unknown(store, other_store):
    holder, other = await add_holder(store), await add_holder(other_store)
    token = await other.challenge()
    assert (await refused(holder.verify(token, other.code(visitor(store).now)))).message == EXPIRED


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
async def test_what_is_missing_is_named(store, token, code, message):
    refusal = await refused((await add_holder(store)).verify(token, code), ValidationFailed)
    assert (refusal.message, refusal.fields) == (message, {})


@pytest.mark.parametrize(
    "code",
    ["x", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "\x00\x00\x00\x00\x00\x00", "\ud800", "🙈" * 6, "9" * 5000],
)
async def test_what_is_no_code_is_a_wrong_one(store, code):
    holder = await add_holder(store)
    assert (await refused(holder.verify(await holder.challenge(), code))).message == WRONG
    assert await wrong_attempts(store, holder.user_id) == 1


async def test_a_user_without_a_second_factor_signs_in_as_before(store):
    user_id = await add_user(store)
    scope = await as_user(store, user_id)
    with entered(scope):
        await two_factor.begin(scope)  # shown, not confirmed
    guest = visitor(store)
    with entered(guest):
        assert isinstance(await login(guest, await email_of(store, user_id), PASSWORD), SignedIn)


# --- Each step once ----------------------------------------------------------------------------------------------------------


async def test_a_code_is_good_for_one_sign_in(store):
    holder = await add_holder(store)
    scope = visitor(store)
    first, second = await holder.challenge(scope), await holder.challenge(scope)
    code = holder.code(scope.now)
    await holder.verify(first, code, scope)
    assert (await refused(holder.verify(second, code, scope))).message == WRONG
    assert await holder.verify(
        second, holder.code(scope.now, -1), scope
    )  # a step of its own, and not used yet


async def test_a_used_code_is_refused_as_long_as_it_would_be_looked_at(store):
    holder = await add_holder(store)
    scope = visitor(store)
    code = holder.code(scope.now, 1)
    await holder.verify(await holder.challenge(scope), code, scope)
    for seconds in (30, 59):
        after = later(scope, seconds=seconds)
        assert (await refused(holder.verify(await holder.challenge(after), code, after))).message == WRONG


async def test_the_code_that_confirmed_the_app_is_used(store):
    user_id = await add_user(store)
    holder = await enrolled(store, user_id)
    scope = visitor(store)
    assert (
        await refused(holder.verify(await holder.challenge(scope), holder.code(scope.now), scope))
    ).message == WRONG


@pytest.mark.parametrize("attempt", range(5))
async def test_of_two_verifies_with_one_code_one_succeeds(store, attempt):
    holder = await add_holder(store)
    scope = visitor(store)
    tokens = [await holder.challenge(scope) for _ in range(2)]
    code = holder.code(scope.now)
    outcomes = await asyncio.gather(
        *(holder.verify(token, code, scope) for token in tokens), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["SignedIn", "WrongCode"]


async def test_of_many_verifies_of_one_challenge_one_succeeds(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    codes = [holder.code(scope.now, step) for step in (-1, 0, 1)]
    outcomes = await asyncio.gather(
        *(holder.verify(token, code, scope) for code in codes), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(SignedIn) == 1
    assert {str(outcome) for outcome in outcomes if isinstance(outcome, Exception)} == {EXPIRED}
    assert await value(store, "select count(*) from sessions") == 1


async def test_the_database_alone_lets_a_step_be_used_once(store):
    """Several processes don't wait for each other in turn: the UPDATE decides."""
    from auth import second_factor

    holder = await add_holder(store)
    scope = system(store)
    sealed = bytes(await value(store, "select secret from two_factors"))

    async def use():
        async with database.transaction(scope):
            return await second_factor.use_step(scope, holder.user_id, sealed, holder.code(scope.now))

    assert sorted(await asyncio.gather(*(use() for _ in range(10)))) == [False] * 9 + [True]


# --- Guesses -----------------------------------------------------------------------------------------------------------------


async def test_the_fifth_wrong_code_ends_the_temporary_token(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    for _ in range(5):
        assert (await refused(holder.verify(token, holder.wrong_code(scope.now), scope))).message == WRONG
    for code in (holder.code(scope.now), holder.wrong_code(scope.now)):
        assert (await refused(holder.verify(token, code, scope))).message == EXPIRED
    assert await wrong_attempts(store, holder.user_id) == 5
    assert await holder.verify(await holder.challenge(scope), holder.code(scope.now), scope)


async def test_four_wrong_codes_do_not(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    for _ in range(4):
        await refused(holder.verify(token, holder.wrong_code(scope.now), scope))
    assert await holder.verify(token, holder.code(scope.now), scope)


async def test_of_many_guesses_at_once_five_are_looked_at(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    guesses = [holder.verify(token, holder.wrong_code(scope.now), scope) for _ in range(20)]
    outcomes = [str(outcome) for outcome in await asyncio.gather(*guesses, return_exceptions=True)]
    assert sorted(outcomes) == [WRONG] * 5 + [EXPIRED] * 15


async def test_wrong_codes_lock_the_account_and_right_passwords_do_not_clear_the_count(store):
    holder = await add_holder(store)
    scope = visitor(store)
    for _ in range(2):
        token = await holder.challenge(scope)
        for _ in range(5):
            assert (await refused(holder.verify(token, holder.wrong_code(scope.now), scope))).message == WRONG
    locked = await refused(holder.challenge(scope), AccountLocked)
    assert (locked.message, locked.retry_after) == ("account_locked", 900)


async def test_wrong_passwords_and_codes_count_together(store):
    holder = await add_holder(store)
    scope = visitor(store)
    for _ in range(6):
        await refused(holder.challenge(scope, "wrong password"))
    token = await holder.challenge(scope)
    for _ in range(4):
        await refused(holder.verify(token, holder.wrong_code(scope.now), scope))
    await refused(holder.verify(token, holder.code(scope.now), scope), AccountLocked)
    await refused(holder.challenge(scope), AccountLocked)


async def test_a_locked_account_is_told_so_and_its_tries_are_kept(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    for _ in range(10):
        await refused(holder.challenge(scope, "wrong password"))
    for _ in range(6):
        await refused(holder.verify(token, holder.code(scope.now), scope), AccountLocked)
    assert await value(store, "select tries from sign_in_challenges") == 0


async def test_a_completed_sign_in_clears_the_count(store):
    holder = await add_holder(store)
    scope = visitor(store)
    for _ in range(9):
        await refused(holder.challenge(scope, "wrong password"))
    await holder.verify(await holder.challenge(scope), holder.code(scope.now), scope)
    assert await wrong_attempts(store, holder.user_id) == 0


async def test_wrong_codes_are_counted_although_the_callers_transaction_is_rolled_back(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    with pytest.raises(Unauthorised):
        async with database.transaction(scope):
            await holder.verify(token, holder.wrong_code(scope.now), scope)
    assert await wrong_attempts(store, holder.user_id) == 1
    assert await value(store, "select tries from sign_in_challenges") == 1


# --- Recovery codes ----------------------------------------------------------------------------------------------------------


async def test_ten_recovery_codes_each_open_once(store):
    user_id = await add_user(store)
    holder = await enrolled(store, user_id)
    assert len(set(holder.recovery_codes)) == 10
    for code in holder.recovery_codes:
        assert await holder.verify(await holder.challenge(), code)
        assert (await refused(holder.verify(await holder.challenge(), code))).message == WRONG
    scope = await as_user(store, user_id)
    with entered(scope):
        assert await two_factor.state(scope) == two_factor.State(enabled=True, recovery_codes_left=0)


async def test_a_recovery_code_may_be_typed_in_any_way(store):
    holder = await add_holder(store)
    for code, typed in zip(
        holder.recovery_codes,
        (str.lower, lambda text: text.replace("-", ""), lambda text: f" {text.replace('-', ' ')} "),
        strict=False,
    ):
        assert await holder.verify(await holder.challenge(), typed(code))


async def test_of_two_who_use_one_recovery_code_at_once_one_succeeds(store):
    holder = await add_holder(store)
    tokens = [await holder.challenge() for _ in range(5)]
    outcomes = await asyncio.gather(
        *(holder.verify(token, holder.recovery_codes[0]) for token in tokens), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(SignedIn) == 1


async def test_recovery_codes_are_another_users_to_nobody(store):
    holder, other = await add_holder(store), await add_holder(store)
    assert (await refused(holder.verify(await holder.challenge(), other.recovery_codes[0]))).message == WRONG


# --- What ends a challenge ---------------------------------------------------------------------------------------------------


async def test_a_changed_password_ends_the_challenge(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    with entered(system(store)):
        await accounts.update_user(system(store), holder.user_id, {"password": "another long password"})
    assert (await refused(holder.verify(token, holder.code(scope.now), scope))).message == EXPIRED


async def test_a_challenge_is_not_given_for_a_password_that_was_changed_meanwhile(store):
    from auth import challenges
    from auth.identify import prove

    holder = await add_holder(store)
    scope = visitor(store)
    with entered(scope):
        user = await prove(scope, holder.email, PASSWORD)
        await execute(store, "update users set password_hash = 'changed' where id = $1", holder.user_id)
        assert (await refused(challenges.give(scope, user))).message == "invalid credentials"


async def test_disabling_the_user_ends_the_challenge(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    with entered(system(store)):
        await end_all_sessions(system(store), holder.user_id, "account disabled")
    assert (await refused(holder.verify(token, holder.code(scope.now), scope))).message == EXPIRED


async def test_an_account_that_may_not_enter_any_more_is_told_why(store):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    await execute(store, "update users set status = 'P' where id = $1", holder.user_id)
    refusal = await refused(holder.verify(token, holder.code(scope.now), scope), AccountBarred)
    assert refusal.reason == "account_pending_approval"


async def test_old_challenges_are_deleted(store):
    holder = await add_holder(store)
    await holder.challenge()
    await forget_expired(later(system(store), minutes=4))
    assert await value(store, "select count(*) from sign_in_challenges") == 1
    await forget_expired(later(system(store), minutes=6))
    assert await value(store, "select count(*) from sign_in_challenges") == 0


# --- Legacy tokens -----------------------------------------------------------------------------------------------------------


async def legacy(store, email, code=None, password=PASSWORD):
    scope = visitor(store)
    with entered(scope):
        return await issue_legacy_token(scope, email, None, password, code)


async def test_a_legacy_token_takes_a_code_too(store):
    holder = await add_holder(store)
    for missing in (None, "", " "):
        assert (await refused(legacy(store, holder.email, missing))).message == "two-factor code required"
    assert await wrong_attempts(store, holder.user_id) == 0
    now = visitor(store).now
    assert (await refused(legacy(store, holder.email, holder.wrong_code(now)))).message == WRONG
    assert await wrong_attempts(store, holder.user_id) == 1
    assert (await legacy(store, holder.email, holder.code(now))).ttl == 86_400
    assert (await refused(legacy(store, holder.email, holder.code(now)))).message == WRONG
    assert (await legacy(store, holder.email, holder.recovery_codes[0])).ttl == 86_400


async def test_a_wrong_password_says_nothing_of_the_second_factor(store):
    holder = await add_holder(store)
    refusal = await refused(legacy(store, holder.email, password="wrong password"))
    assert refusal.message == "invalid credentials"


async def test_wrong_codes_for_legacy_tokens_lock_the_account(store):
    holder = await add_holder(store)
    for _ in range(10):
        await refused(legacy(store, holder.email, holder.wrong_code(visitor(store).now)))
    await refused(legacy(store, holder.email, holder.code(visitor(store).now)), AccountLocked)


# --- Enrolment and its end ---------------------------------------------------------------------------------------------------


async def test_enrolment_shows_the_secret_in_three_forms(store):
    user_id = await add_user(store, email="ana@loja.com.br")
    scope = await as_user(store, user_id)
    with entered(scope):
        begun = await two_factor.begin(scope)
    assert len(begun.secret) == 32
    assert begun.otpauth_uri.startswith("otpauth://totp/")
    assert f"secret={begun.secret}" in begun.otpauth_uri
    assert "ana%40loja.com.br" in begun.otpauth_uri
    assert begun.qr_svg.startswith("<svg")
    assert begun.qr_svg.rstrip().endswith("</svg>")


async def test_beginning_again_replaces_what_was_not_confirmed(store):
    scope = await as_user(store, await add_user(store))
    with entered(scope):
        first, second = await two_factor.begin(scope), await two_factor.begin(scope)
        refusal = await refused(two_factor.confirm(scope, _code(first, scope)), ValidationFailed)
        assert refusal.fields == {"code": "code_invalid"}
        assert len(await two_factor.confirm(scope, _code(second, scope))) == 10


async def test_what_is_on_is_not_begun_or_confirmed_again(store):
    holder = await add_holder(store)
    scope = await as_user(store, holder.user_id)
    with entered(scope):
        for work in (two_factor.begin(scope), two_factor.confirm(scope, holder.code(scope.now))):
            assert (await refused(work, Conflict)).reason == "two_factor_on"


async def test_what_was_not_begun_is_not_confirmed(store):
    scope = await as_user(store, await add_user(store))
    with entered(scope):
        assert (await refused(two_factor.confirm(scope, "123456"), Conflict)).reason == "two_factor_not_begun"
        await two_factor.begin(scope)
    late = later(scope, hours=1)
    with entered(late):
        assert (await refused(two_factor.confirm(late, "123456"), Conflict)).reason == "two_factor_not_begun"


@pytest.mark.parametrize("code", ["", " ", "x", "١٢٣٤٥٦", "🙈", "\ud800", "9" * 5000])
async def test_odd_codes_do_not_confirm(store, code):
    scope = await as_user(store, await add_user(store))
    with entered(scope):
        await two_factor.begin(scope)
        refusal = await refused(two_factor.confirm(scope, code), ValidationFailed)
    assert set(refusal.fields) == {"code"}


async def test_the_second_factor_is_given_up_with_password_and_code(store):
    holder = await add_holder(store)
    waiting = await holder.challenge()
    scope = await as_user(store, holder.user_id)
    with entered(scope):
        wrong = await refused(
            two_factor.disable(scope, "wrong password", holder.code(scope.now)), ValidationFailed
        )
        assert wrong.fields == {"password": "password_wrong"}
        missing = await refused(two_factor.disable(scope, PASSWORD, None), ValidationFailed)
        assert missing.fields == {"code": "required"}
        wrong = await refused(
            two_factor.disable(scope, PASSWORD, holder.wrong_code(scope.now)), ValidationFailed
        )
        assert wrong.fields == {"code": "code_invalid"}
        assert await wrong_attempts(store, holder.user_id) == 2
        await two_factor.disable(scope, PASSWORD, holder.code(scope.now))
        assert not (await two_factor.state(scope)).enabled
        assert (await refused(two_factor.disable(scope, PASSWORD, None), Conflict)).reason == "two_factor_off"
    assert (await refused(holder.verify(waiting, holder.recovery_codes[0]))).message == EXPIRED
    guest = elsewhere(visitor(store))
    with entered(guest):
        assert isinstance(await login(guest, holder.email, PASSWORD), SignedIn)


async def test_guessing_at_giving_it_up_locks_the_account(store):
    holder = await add_holder(store)
    scope = await as_user(store, holder.user_id)
    with entered(scope):
        for _ in range(10):
            await refused(two_factor.disable(scope, "wrong password", "123456"), ValidationFailed)
        await refused(two_factor.disable(scope, PASSWORD, holder.code(scope.now)), AccountLocked)


async def test_an_administrator_of_users_helps_who_lost_it(store):
    holder = await add_holder(store)
    scope = await as_user(store, await add_admin(store, "manage_users"))
    with entered(scope):
        await refused(two_factor.disable(scope, "wrong password", None, holder.user_id), ValidationFailed)
        await two_factor.disable(scope, PASSWORD, None, holder.user_id)
    assert await value(store, "select count(*) from two_factors") == 0
    assert await value(store, "select count(*) from recovery_codes") == 0
    assert await value(store, "select count(*) from audit_entries where action = 'two_factor.disabled'") == 1


async def test_who_helps_gives_their_own_code(store):
    holder = await add_holder(store)
    helper = await add_holder(store, await add_admin(store, "manage_users"))
    scope = await as_user(store, helper.user_id)
    with entered(scope):
        await refused(two_factor.disable(scope, PASSWORD, None, holder.user_id), ValidationFailed)
        await refused(
            two_factor.disable(scope, PASSWORD, holder.code(scope.now), holder.user_id), ValidationFailed
        )
        await two_factor.disable(scope, PASSWORD, helper.code(scope.now), holder.user_id)
    assert await value(store, "select user_id from two_factors") == helper.user_id


async def test_nobody_takes_it_from_who_holds_more_than_they_do(store):
    store, owner = await owner_of(store)
    stronger = await add_admin(store, "manage_users", "manage_orders")
    helper = await as_user(store, await add_admin(store, "manage_users"))
    customer = await as_user(store, await add_user(store))
    for target in (owner, stronger):
        await add_holder(store, target)
        for scope in (helper, customer):
            with entered(scope), pytest.raises(DomainError) as refusal:
                await two_factor.disable(scope, PASSWORD, None, target)
            assert refusal.value.status == 403
            assert isinstance(refusal.value, InsufficientPrivileges) or scope is customer
    assert await value(store, "select count(*) from two_factors") == 2


async def test_an_unknown_user_is_not_found(store):
    scope = await as_user(store, await add_admin(store, "manage_users"))
    with entered(scope):
        for unknown in (uuid7(), "nobody", 2**62):
            with pytest.raises(DomainError) as refusal:
                await two_factor.disable(scope, PASSWORD, None, unknown)
            assert refusal.value.status == 404


async def test_turning_it_on_and_off_is_told_by_mail_and_audited(store):
    user_id = await add_user(store)
    holder = await enrolled(store, user_id)
    scope = await as_user(store, user_id)
    with entered(scope):
        await two_factor.disable(scope, PASSWORD, holder.recovery_codes[0])
    kinds = await rows(store, "select kind from mails order by id")
    assert [record["kind"] for record in kinds] == ["two_factor_on", "two_factor_off"]
    actions = await rows(store, "select action from audit_entries order by id")
    assert [record["action"] for record in actions] == ["two_factor.enabled", "two_factor.disabled"]


async def test_another_secret_of_the_deployment_makes_codes_wrong_and_no_accident(store):
    holder = await add_holder(store)
    await execute(store, "update two_factors set secret = $1", b"\x01" + b"x" * 60)
    scope = visitor(store)
    assert (
        await refused(holder.verify(await holder.challenge(scope), holder.code(scope.now), scope))
    ).message == WRONG


def _code(begun, scope):
    import pyotp

    return pyotp.TOTP(begun.secret).at(scope.now)


async def test_an_unknown_token_costs_nobody_a_try(store):
    holder = await add_holder(store)
    await holder.challenge()
    await refused(holder.verify(some_token(), "123456"))
    assert await wrong_attempts(store, holder.user_id) == 0
    assert await value(store, "select tries from sign_in_challenges") == 0


# --- As several processes do it ----------------------------------------------------------------------------------------------


@pytest.fixture
def in_no_turn(monkeypatch):
    """Let attempts pass side by side, as those of several processes do."""

    @asynccontextmanager
    async def at_once(scope, subject):
        yield

    monkeypatch.setattr(lockout, "in_turn", at_once)


@pytest.mark.parametrize("round_", range(10))
async def test_of_verifies_in_several_processes_one_succeeds(store, in_no_turn, round_):
    holder = await add_holder(store)
    scope = visitor(store)
    tokens = [await holder.challenge(scope) for _ in range(3)]
    code = holder.code(scope.now)
    outcomes = await asyncio.gather(
        *(holder.verify(token, code, scope) for token in (*tokens, *tokens)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(SignedIn) == 1
    assert {str(outcome) for outcome in outcomes if not isinstance(outcome, SignedIn)} <= {WRONG, EXPIRED}
    assert await value(store, "select count(*) from sessions") == 1


@pytest.mark.parametrize("round_", range(10))
async def test_a_password_change_meanwhile_leaves_no_session(store, in_no_turn, round_):
    holder = await add_holder(store)
    scope = visitor(store)
    tokens = [await holder.challenge(scope) for _ in range(3)]

    async def change():
        await asyncio.sleep(round_ / 500)
        with entered(system(store)):
            await accounts.update_user(system(store), holder.user_id, {"password": "another long password"})

    codes = [holder.code(scope.now, step) for step in (-1, 0, 1)]
    verifies = [holder.verify(token, code, scope) for token, code in zip(tokens, codes, strict=True)]
    outcomes = await asyncio.gather(change(), *verifies, return_exceptions=True)
    assert outcomes[0] is None
    assert {type(outcome).__name__ for outcome in outcomes[1:]} <= {"SignedIn", "Unauthenticated"}
    assert await value(store, "select count(*) from sessions where ended_at is null") == 0
    assert await value(store, "select count(*) from sign_in_challenges") == 0


async def test_guesses_in_several_processes_are_five_a_token(store, in_no_turn):
    holder = await add_holder(store)
    scope = visitor(store)
    token = await holder.challenge(scope)
    guesses = [holder.verify(token, holder.wrong_code(scope.now), scope) for _ in range(12)]
    outcomes = [str(outcome) for outcome in await asyncio.gather(*guesses, return_exceptions=True)]
    assert sorted(outcomes) == [WRONG] * 5 + [EXPIRED] * 7
