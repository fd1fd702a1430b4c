"""Check `POST auth_tokens` and its error format (docs/reference/legacy.md#auth-tokens)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.shop import Answer, Shop, some_address

PATHS = [
    f"{base}/auth_tokens{slash}"
    for base in ("/api", "/api/v1.0", "/api/2.0", "/api/2")
    for slash in ("", "/")
]
CNPJ = "11222333000181"


async def sign_in(shop: Shop, body: Any = None, path: str = "/api/auth_tokens", **kwargs: Any) -> Answer:
    shop.address = some_address()  # at most five attempts a minute from one address
    return await shop.post(path, body, auth=None, **kwargs)


def credentials(shop: Shop) -> dict[str, str]:
    return {"email": shop.caio.email, "password": shop.caio.password}


@pytest.mark.parametrize("path", PATHS)
async def test_email_and_password_return_a_token(shop, path):
    answer = await sign_in(shop, credentials(shop), path)
    assert answer.status == 201
    assert set(answer.body) == {"token", "ttl"}
    assert answer.body["ttl"] == 86_400
    assert isinstance(answer.body["token"], str)
    assert answer.headers["Cache-Control"] == "no-store"


async def test_the_token_authenticates_on_the_legacy_api_only(shop):
    token = (await sign_in(shop, {"email": shop.owner.email, "password": shop.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await shop.get("/api/users", auth=None, headers=headers)).status == 200
    other = await shop.get("/api/v1/auth/me", auth=None, headers=headers)
    assert other.status == 401


async def test_a_cnpj_replaces_the_email(shop):
    await shop.put(f"/api/users/{shop.caio}", {"CNPJ": CNPJ})
    for cnpj in (CNPJ, "11.222.333/0001-81", int(CNPJ)):
        answer = await sign_in(shop, {"CNPJ": cnpj, "password": shop.caio.password})
        assert answer.status == 201, answer.raw


async def test_a_form_encoded_body_is_accepted(shop):
    data = f"email={shop.caio.email}&password=correct+horse+battery".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await sign_in(shop, data=data, headers=headers)).status == 201


@pytest.mark.parametrize(
    "change, status, body",
    [
        ({"password": "wrong password"}, 401, {"error": "invalid credentials"}),
        ({"email": "nobody@example.com"}, 401, {"error": "invalid credentials"}),
        ({"email": "no address"}, 401, {"error": "invalid credentials"}),
        ({"password": None}, 400, {"error": "Required field: password"}),
        ({"password": ""}, 400, {"error": "Required field: password"}),
        ({"password": {}}, 400, {"error": "Required field: password"}),
        ({"email": None}, 400, {"error": "Required field: email"}),
        ({"email": ""}, 400, {"error": "Required field: email"}),
        ({"email": []}, 400, {"error": "Required field: email"}),
        ({"email": None, "CNPJ": "123"}, 401, {"error": "invalid credentials"}),
    ],
)
async def test_errors_have_the_format_of_the_route(shop, change, status, body):
    answer = await sign_in(shop, credentials(shop) | change)
    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b'{"email": "\\u0000"}', b"\xff\xfe{", b'{"a": 1}x', b'{"a": NaN}']
)
async def test_malformed_json_is_rejected(shop, data):
    answer = await sign_in(shop, data=data, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["error"] == "invalid JSON"
    assert "status" not in answer.body


async def test_an_inactive_account_gets_a_message(shop):
    for columns in ({"status": "D"}, {"status": "P"}, {"email_verified_at": None}):
        person = await shop.new_person(**columns)
        answer = await sign_in(shop, {"email": person.email, "password": person.password})
        assert (answer.status, set(answer.body)) == (403, {"message"}), answer.raw


async def test_a_cnpj_of_several_accounts_is_a_conflict(shop):
    for person in (shop.caio, shop.bia):
        await shop.put(f"/api/users/{person}", {"CNPJ": CNPJ})
    answer = await sign_in(shop, {"CNPJ": CNPJ, "password": shop.caio.password})
    assert (answer.status, answer.body["error"]) == (409, "multiple_accounts_cnpj")
    assert (await sign_in(shop, {"CNPJ": CNPJ, "password": "wrong password"})).status == 401


async def test_the_sixth_attempt_in_a_minute_is_rate_limited(shop):
    shop.address = some_address()
    for _ in range(5):
        answer = await shop.post("/api/auth_tokens", credentials(shop), auth=None)
        assert answer.status == 201
    answer = await shop.post("/api/2.0/auth_tokens/", credentials(shop), auth=None)
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["error"] == "rate limit exceeded"
    assert "status" not in answer.body


async def test_ten_wrong_passwords_lock_the_account(shop):
    for _ in range(10):
        assert (await sign_in(shop, credentials(shop) | {"password": "wrong password"})).status == 401
    answer = await sign_in(shop, credentials(shop))
    assert (answer.status, answer.body["error"]) == (429, "account_locked")
    assert int(answer.headers["Retry-After"]) > 0


async def test_other_methods_are_not_allowed(shop):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        answer = await shop.call(method, "/api/auth_tokens", auth=None)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert answer.body == {"status": 405, "message": "Method not allowed"}


async def test_a_token_is_revoked_by_a_password_change_and_expires(shop):
    token = (await sign_in(shop, {"email": shop.owner.email, "password": shop.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await shop.get("/api/users", auth=None, headers=headers)).status == 200
    answer = await shop.put(f"/api/users/{shop.owner}", {"password": "another long password"})
    assert answer.status == 200, answer.raw
    answer = await shop.get("/api/users", auth=None, headers=headers)
    assert (answer.status, answer.body["message"]) == (401, "Invalid credentials")
    new_token = (await sign_in(shop, {"email": shop.owner.email, "password": "another long password"})).body[
        "token"
    ]
    past = datetime.now(UTC) - timedelta(seconds=1)
    await shop.execute("update legacy_tokens set expires_at = $1", past)
    answer = await shop.get("/api/users", auth=None, headers={"Authorization": f"Bearer {new_token}"})
    assert answer.status == 401


async def test_a_user_of_another_store_is_unknown(shop, other_shop):
    person = await other_shop.new_person("view_products")
    answer = await sign_in(shop, {"email": person.email, "password": person.password})
    assert (answer.status, answer.body) == (401, {"error": "invalid credentials"})


async def test_an_unknown_store_is_not_found(shop):
    answer = await sign_in(
        shop, credentials(shop), headers={"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"}
    )
    assert (answer.status, answer.body["error"]) == (404, "tenant not found")
