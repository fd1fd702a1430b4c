"""POST /api/v1/auth/login: successful sign-ins, and the status and text of all errors (docs/reference/current.md#sign-in)."""

from datetime import UTC, datetime

import pytest
from argon2 import PasswordHasher

from auth.passwords import hash_password
from auth.sessions import login
from kernel.errors import Conflict, SignInDenied, Unauthenticated, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, active_scope
from tests.auth.kit import add_admin, add_user, add_vendor, authenticate_request, email_of, sign_in
from tests.harness.http import bearer
from tests.harness.records import PASSWORD
from tests.harness.scopes import anonymous_scope, execute, rows, value

CPF, CNPJ, ALPHANUMERIC_CNPJ, PHONE = "11144477735", "11222333000181", "12ABC34501DE35", "11912345678"


async def attempt(store, identifier, password=PASSWORD):
    scope = anonymous_scope(store)
    with active_scope(scope):
        return await login(scope, identifier, password)


async def test_a_right_password_returns_a_pair_with_a_valid_access_token(store):
    user_id = await add_user(store)
    pair = await attempt(store, await email_of(store, user_id))
    actor = await authenticate_request(store, "user", bearer(pair.access_token))
    assert (actor.kind, actor.user_id) == (ActorKind.CUSTOMER, user_id)


async def test_the_access_token_expires_after_15_minutes_in_whole_seconds(store):
    pair = await sign_in(store, await add_user(store))
    assert pair.expires_at.microsecond == 0
    assert 890 <= (pair.expires_at - datetime.now(UTC)).total_seconds() <= 900


async def test_a_sign_in_is_recorded(store):
    user_id = await add_user(store)
    await sign_in(store, user_id)
    assert await value(store, "select last_login_at from users where id = $1", user_id) is not None
    (session,) = await rows(store, "select ip_address, user_agent from sessions where user_id = $1", user_id)
    assert session["ip_address"].startswith("10.")
    assert session["user_agent"] == "pytest"


async def test_the_refresh_token_is_stored_as_a_hash(store):
    pair = await sign_in(store, await add_user(store))
    (stored,) = await rows(store, "select token_hash::text as hash from refresh_tokens")
    assert len(pair.refresh_token) >= 43
    assert pair.refresh_token.encode().hex() not in stored["hash"]


@pytest.mark.parametrize(
    "columns, spellings",
    [
        ({"email": "ana@loja.com.br"}, ["ana@loja.com.br", " Ana@Loja.com.BR "]),
        ({"cpf": CPF}, ["11144477735", "111.444.777-35", " 111 444 777 35"]),
        ({"cnpj": CNPJ}, ["11222333000181", "11.222.333/0001-81"]),
        ({"cnpj": ALPHANUMERIC_CNPJ}, ["12ABC34501DE35", "12.abc.345/01de-35"]),
        ({"phone": PHONE}, ["11912345678", "+55 (11) 91234-5678", "011 91234-5678"]),
    ],
    ids=["e-mail", "CPF", "CNPJ", "alphanumeric CNPJ", "telephone"],
)
async def test_every_identifier_type_is_accepted_in_every_spelling(store, columns, spellings):
    user_id = await add_user(store, **columns)
    for spelling in spellings:
        pair = await attempt(store, spelling)
        assert (await authenticate_request(store, "user", bearer(pair.access_token))).user_id == user_id, spelling


async def test_eleven_digits_are_a_cpf_first_and_a_phone_second(store):
    both = "11980000077"  # a valid CPF that is also a valid mobile number
    by_phone = await add_user(store, phone=both)
    assert (
        await authenticate_request(store, "user", bearer((await attempt(store, both)).access_token))
    ).user_id == by_phone
    by_cpf = await add_user(store, cpf=both)
    assert (
        await authenticate_request(store, "user", bearer((await attempt(store, both)).access_token))
    ).user_id == by_cpf


@pytest.mark.parametrize(
    "identifier",
    ["nobody@example.com", CPF, CNPJ, PHONE, "not an identifier", "@", "x" * 5000, "\x00", "\ud800", "🙈"],
)
async def test_an_unknown_identifier_is_invalid_credentials(store, identifier):
    with pytest.raises(Unauthenticated) as refused:
        await attempt(store, identifier)
    assert refused.value.message == "invalid credentials"


async def test_an_identifier_of_more_than_320_characters_is_examined_as_none(store):
    email = f"{'a' * 60}@{'b' * 60}.example"
    await add_user(store, email=email)
    spaces = 320 - len(email)
    assert await attempt(store, " " * spaces + email)
    with pytest.raises(Unauthenticated, match=r"^invalid credentials$"):
        await attempt(store, " " * (spaces + 1) + email)


@pytest.mark.parametrize("password", ["wrong", PASSWORD.upper(), PASSWORD + " ", "x" * 5000, "\x00", "\ud800"])
async def test_a_wrong_password_is_invalid_credentials(store, password):
    user_id = await add_user(store)
    with pytest.raises(Unauthenticated) as refused:
        await attempt(store, await email_of(store, user_id), password)
    assert refused.value.message == "invalid credentials"


async def test_an_account_without_a_password_cannot_sign_in(store):
    user_id = await add_user(store, password=None)
    with pytest.raises(Unauthenticated):
        await attempt(store, await email_of(store, user_id), "None")


async def test_another_stores_account_is_unknown_here(store, other_store):
    user_id = await add_user(other_store)
    with pytest.raises(Unauthenticated):
        await attempt(store, await email_of(other_store, user_id))


async def test_a_deleted_account_is_unknown(store):
    user_id = await add_user(store, deleted_at=datetime.now(UTC))
    with pytest.raises(Unauthenticated):
        await attempt(store, await email_of(store, user_id))


@pytest.mark.parametrize(
    "identifier, password, message",
    [
        (None, PASSWORD, "identifier is required"),
        ("", PASSWORD, "identifier is required"),
        ("  ", PASSWORD, "identifier is required"),
        ("ana@loja.com.br", None, "password is required"),
        ("ana@loja.com.br", "", "password is required"),
        (None, None, "identifier is required"),
    ],
)
async def test_missing_fields_are_named_in_the_simple_error_format(store, identifier, password, message):
    with pytest.raises(ValidationFailed) as refused:
        await attempt(store, identifier, password)
    assert (refused.value.message, refused.value.fields) == (message, {})


@pytest.mark.parametrize(
    "columns, reason",
    [
        ({"status": "D"}, "account_disabled"),
        ({"status": "P"}, "account_pending_approval"),
        ({"email_verified_at": None}, "email_not_verified"),
        ({"email_verified_at": None, "status": "D"}, "account_disabled"),
    ],
)
async def test_a_denied_sign_in_reports_the_reason(store, columns, reason):
    user_id = await add_user(store, **columns)
    with pytest.raises(SignInDenied) as refused:
        await attempt(store, await email_of(store, user_id))
    assert refused.value.reason == reason
    assert refused.value.message
    assert await value(store, "select count(*) from sessions") == 0


async def test_account_states_are_reported_only_with_the_right_password(store):
    user_id = await add_user(store, status="D")
    with pytest.raises(Unauthenticated, match="invalid credentials"):
        await attempt(store, await email_of(store, user_id), "wrong password")


async def test_an_account_without_an_email_needs_no_verification(store):
    await add_user(store, email=None, phone=PHONE, email_verified_at=None)
    assert await attempt(store, PHONE)


async def add_platform_user(email):
    from models.connection import database

    async with database.cross_store_connection() as platform:
        await platform.execute(
            "insert into platform_users (public_id, email, password_hash) values ($1, $2, $3)",
            uuid7(),
            email,
            await hash_password(PASSWORD),
        )


async def test_a_platform_account_gets_wrong_panel(store):
    await add_platform_user(email := f"{uuid7()}@vitrine.example")
    with pytest.raises(SignInDenied) as refused:
        await attempt(store, email)
    assert refused.value.reason == "wrong_panel"
    assert refused.value.message
    with pytest.raises(Unauthenticated, match="invalid credentials"):
        await attempt(store, email, "wrong password")


async def test_a_store_account_takes_precedence_over_a_platform_account(store):
    await add_platform_user(email := f"{uuid7()}@vitrine.example")
    await add_user(store, email=email)
    assert await attempt(store, email)


@pytest.mark.parametrize(
    "column, identifier",
    [("cpf", CPF), ("cnpj", CNPJ), ("phone", PHONE)],
    ids=["CPF", "CNPJ", "telephone"],
)
async def test_a_shared_identifier_is_a_conflict_with_the_right_password(store, column, identifier):
    await add_user(store, **{column: identifier})
    await add_user(store, "the other's password", **{column: identifier})
    for password in (PASSWORD, "the other's password"):
        with pytest.raises(Conflict) as refused:
            await attempt(store, identifier, password)
        assert refused.value.reason == f"multiple_accounts_{column}", password
        assert "e-mail" in refused.value.message, password
    with pytest.raises(Unauthenticated, match="invalid credentials"):
        await attempt(store, identifier, "unknown password")


async def test_a_deleted_account_does_not_count_as_sharing(store):
    await add_user(store, cpf=CPF)
    await add_user(store, cpf=CPF, deleted_at=datetime.now(UTC))
    assert await attempt(store, CPF)


@pytest.mark.parametrize(
    "user_type, kind", [("A", ActorKind.ADMIN), ("V", ActorKind.VENDOR), ("C", ActorKind.CUSTOMER)]
)
async def test_users_of_every_type_sign_in(store, user_type, kind):
    vendor_id = await add_vendor(store)
    user_id = await add_user(store, user_type=user_type, vendor_id=vendor_id if user_type == "V" else None)
    actor = await authenticate_request(store, "user", bearer((await sign_in(store, user_id)).access_token))
    assert actor.kind is kind
    assert actor.vendor_id == (vendor_id if user_type == "V" else None)


@pytest.mark.usefixtures("real_password_hashes")
async def test_an_outdated_hash_is_replaced_at_sign_in(store):
    old = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash(PASSWORD)
    user_id = await add_user(store, password=None, password_hash=old)
    await sign_in(store, user_id)
    new = await value(store, "select password_hash from users where id = $1", user_id)
    assert new.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await sign_in(store, user_id)


async def test_a_password_changed_during_verification_rejects_the_sign_in(store, monkeypatch):
    from auth import password_authentication

    user_id = await add_admin(store)
    verify = password_authentication.verify_password

    async def slow(password_hash, password):
        right = await verify(password_hash, password)
        await execute(store, "update users set password_hash = 'changed' where id = $1", user_id)
        return right

    monkeypatch.setattr(password_authentication, "verify_password", slow)
    with pytest.raises(Unauthenticated):
        await attempt(store, await email_of(store, user_id))
    assert await value(store, "select count(*) from sessions") == 0
