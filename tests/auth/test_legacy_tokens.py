"""POST /api/auth_tokens (legacy-api, Auth tokens; decisions-legacy section 6)."""

from datetime import UTC, datetime, timedelta

import pytest

from auth.legacy_tokens import issue_legacy_token
from auth.sessions import login, logout_all
from kernel.errors import (
    AccountBarred,
    Conflict,
    RateLimited,
    Unauthenticated,
    ValidationFailed,
)
from kernel.scope import ActorKind, entered
from tests.auth.kit import PASSWORD, add_user, as_user, ask, bearer, email_of, rows, value, visitor

CNPJ = "11222333000181"


async def ask_token(store, email=None, cnpj=None, password=PASSWORD, *, scope=None):
    scope = scope or visitor(store)
    with entered(scope):
        return await issue_legacy_token(scope, email, cnpj, password)


async def test_any_user_gets_a_token_for_a_day(store):
    user_id = await add_user(store)
    given = await ask_token(store, await email_of(store, user_id))
    assert given.ttl == 86_400
    now = datetime.now(UTC)
    assert (await ask(store, "legacy_any", bearer(given.token))).user_id == user_id
    assert await ask(store, "legacy_any", bearer(given.token), now=now + timedelta(seconds=86_390))
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await ask(store, "legacy_any", bearer(given.token), now=now + timedelta(seconds=86_410))


async def test_a_token_is_kept_as_a_hash_only(store):
    given = await ask_token(store, await email_of(store, await add_user(store)))
    (stored,) = await rows(store, "select * from legacy_tokens")
    assert given.token.encode() not in stored["token_hash"]


@pytest.mark.parametrize("spelling", ["11222333000181", "11.222.333/0001-81"])
async def test_a_cnpj_stands_for_the_email(store, spelling):
    user_id = await add_user(store, cnpj=CNPJ)
    given = await ask_token(store, cnpj=spelling)
    assert (await ask(store, "legacy_any", bearer(given.token))).user_id == user_id


async def test_the_email_wins_over_the_cnpj(store):
    by_email, _ = await add_user(store), await add_user(store, cnpj=CNPJ)
    given = await ask_token(store, await email_of(store, by_email), CNPJ)
    assert (await ask(store, "legacy_any", bearer(given.token))).user_id == by_email


@pytest.mark.parametrize(
    "email, cnpj, password, message",
    [
        (None, None, PASSWORD, "Required field: email"),
        ("", " ", PASSWORD, "Required field: email"),
        (None, None, None, "Required field: email"),
        ("ana@loja.com.br", None, None, "Required field: password"),
        (None, CNPJ, "", "Required field: password"),
    ],
)
async def test_what_is_missing_is_named(store, email, cnpj, password, message):
    with pytest.raises(ValidationFailed) as refused:
        await ask_token(store, email, cnpj, password)
    assert (refused.value.status, refused.value.message, refused.value.fields) == (400, message, {})


async def test_a_wrong_password_or_name_is_invalid_credentials(store):
    user_id = await add_user(store, cpf="11144477735", phone="11912345678", cnpj=CNPJ)
    email = await email_of(store, user_id)
    attempts = [
        (email, None, "wrong"),
        ("nobody@example.com", None, PASSWORD),
        ("11144477735", None, PASSWORD),  # neither CPF nor telephone name anybody here
        (None, "11912345678", PASSWORD),
        (None, "00000000000191", PASSWORD),
        (None, "garbage", PASSWORD),
    ]
    for name, cnpj, password in attempts:
        with pytest.raises(Unauthenticated) as refused:
            await ask_token(store, name, cnpj, password)
        assert (refused.value.status, refused.value.message) == (401, "invalid credentials")


@pytest.mark.parametrize("columns", [{"status": "D"}, {"status": "P"}, {"email_verified_at": None}], ids=str)
async def test_account_states_are_told_with_a_message(store, columns):
    with pytest.raises(AccountBarred) as refused:
        await ask_token(store, await email_of(store, await add_user(store, **columns)))
    assert refused.value.status == 403
    assert refused.value.message


async def test_a_cnpj_of_several_accounts_is_a_conflict(store):
    for _ in range(2):
        await add_user(store, cnpj=CNPJ)
    with pytest.raises(Conflict) as refused:
        await ask_token(store, cnpj=CNPJ)
    assert (refused.value.status, refused.value.reason) == (409, "multiple_accounts_cnpj")


async def test_the_limit_is_the_same_and_counted_apart(store):
    email = await email_of(store, await add_user(store))
    scope = visitor(store)
    for _ in range(5):
        await ask_token(store, email, scope=scope)
    with pytest.raises(RateLimited) as refused:
        await ask_token(store, email, scope=scope)
    assert (refused.value.status, refused.value.retry_after) == (429, 60)
    with entered(scope):
        assert await login(scope, email, PASSWORD)


async def test_logout_all_ends_legacy_tokens_too(store):
    user_id = await add_user(store)
    given = await ask_token(store, await email_of(store, user_id))
    await ask(store, "legacy_any", bearer(given.token))
    scope = await as_user(store, user_id)
    with entered(scope):
        await logout_all(scope)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await ask(store, "legacy_any", bearer(given.token))


async def test_a_token_counts_as_a_sign_in(store):
    user_id = await add_user(store)
    await ask_token(store, await email_of(store, user_id))
    assert await value(store, "select last_login_at from users where id = $1", user_id) is not None
    actor = await ask(
        store, "legacy_any", bearer((await ask_token(store, await email_of(store, user_id))).token)
    )
    assert actor.kind is ActorKind.CUSTOMER
