"""POST /api/auth_tokens (docs/reference/legacy.md#auth-tokens)."""

from datetime import UTC, datetime, timedelta

import pytest

from auth.legacy_tokens import issue_legacy_token
from auth.sessions import login, logout_all
from kernel.errors import (
    Conflict,
    RateLimited,
    SignInDenied,
    Unauthenticated,
    ValidationFailed,
)
from kernel.scope import ActorKind, active_scope
from tests.auth.kit import add_user, authenticate_request, email_of, user_scope
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, rows, value

CNPJ = "11222333000181"


async def ask_token(store, email=None, cnpj=None, password=PASSWORD, *, scope=None):
    scope = scope or anonymous_scope(store)
    with active_scope(scope):
        return await issue_legacy_token(scope, email, cnpj, password)


async def test_any_user_gets_a_token_for_a_day(store):
    user_id = await add_user(store)
    issued = await ask_token(store, await email_of(store, user_id))
    assert issued.ttl == 86_400
    now = datetime.now(UTC)
    assert (await authenticate_request(store, "legacy_any", bearer(issued.token))).user_id == user_id
    assert await authenticate_request(store, "legacy_any", bearer(issued.token), now=now + timedelta(seconds=86_390))
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await authenticate_request(store, "legacy_any", bearer(issued.token), now=now + timedelta(seconds=86_410))


async def test_a_token_is_stored_as_a_hash(store):
    issued = await ask_token(store, await email_of(store, await add_user(store)))
    (stored,) = await rows(store, "select * from legacy_tokens")
    assert issued.token.encode() not in stored["token_hash"]


@pytest.mark.parametrize("spelling", ["11222333000181", "11.222.333/0001-81"])
async def test_a_cnpj_can_replace_the_email(store, spelling):
    user_id = await add_user(store, cnpj=CNPJ)
    issued = await ask_token(store, cnpj=spelling)
    assert (await authenticate_request(store, "legacy_any", bearer(issued.token))).user_id == user_id


async def test_the_email_takes_precedence_over_the_cnpj(store):
    by_email, _ = await add_user(store), await add_user(store, cnpj=CNPJ)
    issued = await ask_token(store, await email_of(store, by_email), CNPJ)
    assert (await authenticate_request(store, "legacy_any", bearer(issued.token))).user_id == by_email


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
async def test_missing_fields_are_named(store, email, cnpj, password, message):
    with pytest.raises(ValidationFailed) as refused:
        await ask_token(store, email, cnpj, password)
    assert (refused.value.status, refused.value.message, refused.value.fields) == (400, message, {})


async def test_a_wrong_password_or_identifier_is_invalid_credentials(store):
    user_id = await add_user(store, cpf="11144477735", phone="11912345678", cnpj=CNPJ)
    email = await email_of(store, user_id)
    attempts = [
        (email, None, "wrong"),
        ("nobody@example.com", None, PASSWORD),
        ("11144477735", None, PASSWORD),  # neither CPF nor phone is accepted here
        (None, "11912345678", PASSWORD),
        (None, "00000000000191", PASSWORD),
        (None, "garbage", PASSWORD),
    ]
    for name, cnpj, password in attempts:
        with pytest.raises(Unauthenticated) as refused:
            await ask_token(store, name, cnpj, password)
        assert (refused.value.status, refused.value.message) == (401, "invalid credentials"), (name, cnpj, password)


@pytest.mark.parametrize("columns", [{"status": "D"}, {"status": "P"}, {"email_verified_at": None}], ids=str)
async def test_account_states_are_reported_with_a_message(store, columns):
    with pytest.raises(SignInDenied) as refused:
        await ask_token(store, await email_of(store, await add_user(store, **columns)))
    assert refused.value.status == 403
    assert refused.value.message


async def test_a_cnpj_of_several_accounts_is_a_conflict(store):
    for _ in range(2):
        await add_user(store, cnpj=CNPJ)
    with pytest.raises(Conflict) as refused:
        await ask_token(store, cnpj=CNPJ)
    assert (refused.value.status, refused.value.reason) == (409, "multiple_accounts_cnpj")


async def test_the_rate_limit_is_the_same_and_counted_separately(store):
    email = await email_of(store, await add_user(store))
    scope = anonymous_scope(store)
    for _ in range(5):
        await ask_token(store, email, scope=scope)
    with pytest.raises(RateLimited) as refused:
        await ask_token(store, email, scope=scope)
    assert (refused.value.status, refused.value.retry_after) == (429, 60)
    with active_scope(scope):
        assert await login(scope, email, PASSWORD)


async def test_logout_all_revokes_legacy_tokens(store):
    user_id = await add_user(store)
    issued = await ask_token(store, await email_of(store, user_id))
    await authenticate_request(store, "legacy_any", bearer(issued.token))
    scope = await user_scope(store, user_id)
    with active_scope(scope):
        await logout_all(scope)
    with pytest.raises(Unauthenticated, match="Invalid credentials"):
        await authenticate_request(store, "legacy_any", bearer(issued.token))


async def test_a_token_counts_as_a_sign_in(store):
    user_id = await add_user(store)
    await ask_token(store, await email_of(store, user_id))
    assert await value(store, "select last_login_at from users where id = $1", user_id) is not None
    actor = await authenticate_request(
        store, "legacy_any", bearer((await ask_token(store, await email_of(store, user_id))).token)
    )
    assert actor.kind is ActorKind.CUSTOMER
