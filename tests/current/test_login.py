"""`POST /api/v1/auth/login` (docs/reference/current.md#sign-in)."""

import jwt
import pytest

from auth.passwords import hash_password
from kernel.ids import uuid7
from kernel.scope import Store
from models.connection import database
from tests.harness import records
from tests.harness.http import Client, is_token_pair
from tests.harness.records import PASSWORD, UNKNOWN_ID

LOGIN = "/api/v1/auth/login"
REFRESH = "/api/v1/auth/refresh"
LOGOUT = "/api/v1/auth/logout"
ME = "/api/v1/auth/me"


# --- login -------------------------------------------------------------------------------------------------------------------


async def test_login_with_an_email_returns_a_token_pair(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    answer = await visitor.post(LOGIN, {"email": user.email, "password": PASSWORD})
    assert answer.status == 200
    assert is_token_pair(answer.body)
    assert answer.headers["Cache-Control"] == "no-store"
    claims = jwt.decode(answer.body["access_token"], options={"verify_signature": False})
    assert claims["sub"] == user.id
    assert claims["tid"] == str(visitor.store.public_id)
    me = await visitor.with_token(answer.body["access_token"]).get(ME)
    assert me.body["id"] == user.id


@pytest.mark.parametrize(
    "columns, identifier",
    [
        ({"email": "ana@example.com"}, " Ana@Example.com "),
        ({"cpf": "52998224725"}, "529.982.247-25"),
        ({"cpf": "52998224725"}, "52998224725"),
        ({"cnpj": "11222333000181"}, "11.222.333/0001-81"),
        ({"cnpj": "12ABC34501DE35"}, "12.abc.345/01de-35"),
        ({"phone": "11987654321"}, "(11) 98765-4321"),
    ],
)
async def test_login_accepts_any_identifier(visitor: Client, columns: dict, identifier: str) -> None:
    await records.add_user(visitor.store, **columns)
    answer = await visitor.post(LOGIN, {"identifier": identifier, "password": PASSWORD})
    assert answer.status == 200, answer


async def test_the_identifier_takes_precedence_over_the_email(visitor: Client) -> None:
    first = await records.add_user(visitor.store, cpf="52998224725")
    user = await records.add_user(visitor.store)
    answer = await visitor.post(LOGIN, {"email": user.email, "identifier": "52998224725", "password": PASSWORD})
    claims = jwt.decode(answer.body["access_token"], options={"verify_signature": False})
    assert claims["sub"] == first.id


@pytest.mark.parametrize("empty", [None, "", "  "])
async def test_an_empty_identifier_is_ignored(visitor: Client, empty: str | None) -> None:
    user = await records.add_user(visitor.store)
    answer = await visitor.post(LOGIN, {"email": user.email, "identifier": empty, "password": PASSWORD})
    assert answer.status == 200


async def test_unknown_fields_are_ignored(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    answer = await visitor.post(LOGIN, {"email": user.email, "password": PASSWORD, "remember": True, "otp": {"a": [1]}})
    assert answer.status == 200


@pytest.mark.parametrize(
    "body",
    [{"email": "ana@example.com"}, {"identifier": "x", "password": None}, {"email": "x", "password": ""}],
)
async def test_a_missing_password_is_rejected(visitor: Client, body: dict) -> None:
    answer = await visitor.post(LOGIN, body)
    assert (answer.status, answer.body) == (400, {"error": "password is required"})


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"password": "x"},
        {"email": None, "password": "x"},
        {"email": " ", "identifier": "", "password": "x"},
    ],
)
async def test_a_missing_identifier_is_rejected(visitor: Client, body: dict) -> None:
    answer = await visitor.post(LOGIN, body)
    assert (answer.status, answer.body) == (400, {"error": "identifier is required"})


async def test_a_body_that_is_not_json_is_rejected(visitor: Client) -> None:
    answer = await visitor.post(LOGIN, data=b'{"email": ', headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["error"] == "invalid request body"
    assert set(answer.body) == {"error", "detail"}


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_the_content_type_must_be_json(visitor: Client, content_type: str | None) -> None:
    user = await records.add_user(visitor.store)
    body = b'{"email": "%s", "password": "%s"}' % (user.email.encode(), PASSWORD.encode())
    answer = await visitor.post(LOGIN, data=body, headers={"Content-Type": content_type})
    assert (answer.status, answer.body["error"]) == (400, "invalid request body")


@pytest.mark.parametrize("field", ["email", "identifier", "password"])
@pytest.mark.parametrize("wrong", [5, 1.5, True, [], {}, ["a"]])
async def test_a_credential_of_a_wrong_type_is_rejected_and_not_echoed(visitor: Client, field: str, wrong) -> None:
    answer = await visitor.post(LOGIN, {"email": "a@example.com", "password": "12345678"} | {field: wrong})
    assert (answer.status, answer.body) == (
        400,
        {"error": "invalid request body", "detail": f"{field} is no text"},
    )


async def test_wrong_credentials_get_identical_responses(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    wrong = await visitor.post(LOGIN, {"email": user.email, "password": "wrong password"})
    unknown = await visitor.post(LOGIN, {"email": "nobody@example.com", "password": PASSWORD})
    unusual = await visitor.post(LOGIN, {"identifier": "☃" * 5000, "password": PASSWORD})
    for answer in (wrong, unknown, unusual):
        assert (answer.status, answer.body) == (401, {"error": "invalid credentials"})


async def test_a_user_of_another_store_cannot_sign_in(visitor: Client, other_store: Store) -> None:
    user = await records.add_user(other_store)
    answer = await visitor.post(LOGIN, {"email": user.email, "password": PASSWORD})
    assert (answer.status, answer.body) == (401, {"error": "invalid credentials"})


@pytest.mark.parametrize(
    "columns, code",
    [
        ({"email_verified_at": None}, "email_not_verified"),
        ({"status": "D"}, "account_disabled"),
        ({"status": "P"}, "account_pending_approval"),
    ],
)
async def test_an_account_that_may_not_sign_in_gets_the_reason(visitor: Client, columns: dict, code: str) -> None:
    user = await records.add_user(visitor.store, **columns)
    answer = await visitor.post(LOGIN, {"email": user.email, "password": PASSWORD})
    assert answer.status == 403
    assert set(answer.body) == {"error", "message"}
    assert answer.body["error"] == code
    assert answer.body["message"]
    wrong = await visitor.post(LOGIN, {"email": user.email, "password": "wrong password"})
    assert (wrong.status, wrong.body) == (401, {"error": "invalid credentials"})


async def test_a_platform_account_is_redirected_to_its_panel(visitor: Client) -> None:
    email = f"{uuid7()}@platform.example"
    async with database.cross_store_connection() as everywhere:
        await everywhere.execute(
            "insert into platform_users (public_id, email, password_hash) values ($1, $2, $3)",
            uuid7(),
            email,
            await hash_password(PASSWORD),
        )
    answer = await visitor.post(LOGIN, {"email": email, "password": PASSWORD})
    assert answer.status == 403
    assert set(answer.body) == {"error", "message"}
    assert answer.body["error"] == "wrong_panel"


@pytest.mark.parametrize(
    "columns, identifier, code",
    [
        ({"cpf": "52998224725"}, "529.982.247-25", "multiple_accounts_cpf"),
        ({"cnpj": "11222333000181"}, "11222333000181", "multiple_accounts_cnpj"),
        ({"phone": "11987654321"}, "11987654321", "multiple_accounts_phone"),
    ],
)
async def test_an_ambiguous_identifier_is_reported_only_with_a_correct_password(
    visitor: Client, columns: dict, identifier: str, code: str
) -> None:
    await records.add_user(visitor.store, **columns)
    await records.add_user(visitor.store, **columns)
    answer = await visitor.post(LOGIN, {"identifier": identifier, "password": PASSWORD})
    assert answer.status == 409
    assert set(answer.body) == {"error", "message"}
    assert answer.body["error"] == code
    wrong = await visitor.post(LOGIN, {"identifier": identifier, "password": "wrong password"})
    assert (wrong.status, wrong.body) == (401, {"error": "invalid credentials"})


async def _send_attempts(visitor: Client, *attempts: dict) -> None:
    for attempt in attempts:
        answer = await visitor.post(LOGIN, **attempt)
        assert answer.status in (200, 400, 401), attempt


GOOD_FORM = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "attempt",
    [
        {"json": {"email": "nobody@example.com", "password": "wrong password"}},
        {"json": {}},
        {"json": {"email": 5, "password": "x"}},
        {"data": b"{", "headers": GOOD_FORM},
        {"data": b"a=b", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"data": b"", "headers": {}},
    ],
)
async def test_the_sixth_attempt_in_a_minute_is_rejected_regardless_of_the_previous_five(
    visitor: Client, attempt: dict
) -> None:
    user = await records.add_user(visitor.store)
    await _send_attempts(visitor, *[attempt] * 5)
    for sixth in ({"json": {"email": user.email, "password": PASSWORD}}, attempt):
        answer = await visitor.post(LOGIN, **sixth)
        assert answer.status == 429, sixth
        assert answer.body["error"] == "rate limit exceeded", sixth
        assert set(answer.body) == {"error", "detail"}, sixth
        assert answer.headers["Retry-After"] == "60", sixth
    other_address = await visitor.from_new_address().post(LOGIN, {"email": user.email, "password": PASSWORD})
    assert other_address.status == 200


async def test_attempts_at_all_stores_share_one_rate_limit(visitor: Client, other_store: Store) -> None:
    user = await records.add_user(visitor.store)
    valid = {"json": {"email": user.email, "password": PASSWORD}}
    await _send_attempts(visitor, valid, valid)
    await _send_attempts(visitor.at(other_store), valid, valid, valid)
    assert (await visitor.post(LOGIN, **valid)).status == 429


async def test_ten_wrong_passwords_lock_the_account(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    for repetition in range(10):
        wrong = await visitor.from_new_address().post(LOGIN, {"email": user.email, "password": "wrong password"})
        assert wrong.status == 401, repetition
    answer = await visitor.from_new_address().post(LOGIN, {"email": user.email, "password": PASSWORD})
    assert answer.status == 429
    assert answer.body["error"] == "account_locked"
    assert set(answer.body) == {"error", "detail"}
    assert 0 < int(answer.headers["Retry-After"]) <= 900


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_other_methods_are_not_allowed(visitor: Client, method: str) -> None:
    answer = await visitor.request(method, LOGIN)
    assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", "POST")


async def test_an_unavailable_or_unknown_store_is_reported_first(http, new_store) -> None:
    for status, code in (("S", "tenant_suspended"), ("M", "tenant_maintenance")):
        closed = await new_store(status=status)
        for path in (LOGIN, REFRESH, LOGOUT):
            answer = await Client(http, closed).post(path, data=b"{")
            assert (answer.status, answer.body["error"]) == (503, code)
    stranger = Client(http, closed)
    for tenant in (None, "", UNKNOWN_ID, "x"):
        answer = await stranger.post(LOGIN, {}, headers={"X-Tenant-ID": tenant})
        assert (answer.status, answer.body) == (404, {"error": "tenant not found"}), tenant


@pytest.mark.parametrize(
    "path",
    [
        LOGIN,
        "/api/v1/auth/password/forgot",
        "/api/v1/auth/password/reset",
        "/api/auth_tokens",
        "/api/vendor_login",
    ],
)
async def test_attempts_at_unknown_and_unavailable_stores_are_rate_limited(
    visitor: Client, new_store, path: str
) -> None:
    closed = await new_store(status="S")
    for attempt_index in range(5):
        tenant = (UNKNOWN_ID, None, str(closed.public_id), "x", UNKNOWN_ID)[attempt_index]
        answer = await visitor.http.post(
            path,
            json={},
            headers={"X-Forwarded-For": visitor.ip, **({"X-Tenant-ID": tenant} if tenant else {})},
        )
        assert answer.status == (503 if attempt_index == 2 else 404)
    for store in (str(visitor.store.public_id), UNKNOWN_ID):
        answer = await visitor.http.post(path, json={}, headers={"X-Forwarded-For": visitor.ip, "X-Tenant-ID": store})
        assert (answer.status, answer.headers["Retry-After"]) == (429, "60"), store
        assert "rate limit exceeded" in (await answer.json()).values(), store
