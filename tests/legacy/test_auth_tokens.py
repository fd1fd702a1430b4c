"""Check `POST auth_tokens` and its own form of errors."""

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


async def ask(shop: Shop, body: Any = None, path: str = "/api/auth_tokens", **how: Any) -> Answer:
    shop.address = some_address()  # five attempts a minute from one address, whatever their outcome
    return await shop.post(path, body, auth=None, **how)


def right(shop: Shop) -> dict[str, str]:
    return {"email": shop.caio.email, "password": shop.caio.password}


@pytest.mark.parametrize("path", PATHS)
async def test_an_email_and_password_give_a_token(shop, path):
    answer = await ask(shop, right(shop), path)
    assert answer.status == 201
    assert set(answer.body) == {"token", "ttl"}
    assert answer.body["ttl"] == 86_400
    assert isinstance(answer.body["token"], str)
    assert answer.headers["Cache-Control"] == "no-store"


async def test_the_token_is_good_on_the_legacy_layer(shop):
    token = (await ask(shop, {"email": shop.owner.email, "password": shop.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await shop.get("/api/users", auth=None, headers=headers)).status == 200
    other = await shop.get("/api/v1/auth/me", auth=None, headers=headers)
    assert other.status == 401


async def test_a_cnpj_stands_for_the_email(shop):
    await shop.put(f"/api/users/{shop.caio}", {"CNPJ": CNPJ})
    for given in (CNPJ, "11.222.333/0001-81", int(CNPJ)):
        answer = await ask(shop, {"CNPJ": given, "password": shop.caio.password})
        assert answer.status == 201, answer.raw


async def test_a_php_form_asks_too(shop):
    data = f"email={shop.caio.email}&password=correct+horse+battery".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await ask(shop, data=data, headers=headers)).status == 201


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
async def test_refusals_have_the_routes_own_form(shop, change, status, body):
    answer = await ask(shop, right(shop) | change)
    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b'{"email": "\\u0000"}', b"\xff\xfe{", b'{"a": 1}x', b'{"a": NaN}']
)
async def test_a_body_that_is_none(shop, data):
    answer = await ask(shop, data=data, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["error"] == "invalid JSON"
    assert "status" not in answer.body


async def test_states_of_the_account_are_told_with_a_message(shop):
    for columns in ({"status": "D"}, {"status": "P"}, {"email_verified_at": None}):
        person = await shop.new_person(**columns)
        answer = await ask(shop, {"email": person.email, "password": person.password})
        assert (answer.status, set(answer.body)) == (403, {"message"}), answer.raw


async def test_a_cnpj_of_several_accounts(shop):
    for person in (shop.caio, shop.bia):
        await shop.put(f"/api/users/{person}", {"CNPJ": CNPJ})
    answer = await ask(shop, {"CNPJ": CNPJ, "password": shop.caio.password})
    assert (answer.status, answer.body["error"]) == (409, "multiple_accounts_cnpj")
    assert (await ask(shop, {"CNPJ": CNPJ, "password": "wrong password"})).status == 401


async def test_the_sixth_attempt_in_a_minute_waits(shop):
    shop.address = some_address()
    for _ in range(5):
        answer = await shop.post("/api/auth_tokens", right(shop), auth=None)
        assert answer.status == 201
    answer = await shop.post("/api/2.0/auth_tokens/", right(shop), auth=None)
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["error"] == "rate limit exceeded"
    assert "status" not in answer.body


async def test_ten_wrong_passwords_lock_the_account(shop):
    for _ in range(10):
        assert (await ask(shop, right(shop) | {"password": "wrong password"})).status == 401
    answer = await ask(shop, right(shop))
    assert (answer.status, answer.body["error"]) == (429, "account_locked")
    assert int(answer.headers["Retry-After"]) > 0


async def test_other_methods_are_not_allowed(shop):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        answer = await shop.call(method, "/api/auth_tokens", auth=None)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        assert answer.body == {"status": 405, "message": "Method not allowed"}


async def test_a_token_ends_with_the_password_and_with_time(shop):
    token = (await ask(shop, {"email": shop.owner.email, "password": shop.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await shop.get("/api/users", auth=None, headers=headers)).status == 200
    answer = await shop.put(f"/api/users/{shop.owner}", {"password": "another long password"})
    assert answer.status == 200, answer.raw
    answer = await shop.get("/api/users", auth=None, headers=headers)
    assert (answer.status, answer.body["message"]) == (401, "Invalid credentials")
    again = (await ask(shop, {"email": shop.owner.email, "password": "another long password"})).body["token"]
    ago = datetime.now(UTC) - timedelta(seconds=1)
    await shop.execute("update legacy_tokens set expires_at = $1", ago)
    answer = await shop.get("/api/users", auth=None, headers={"Authorization": f"Bearer {again}"})
    assert answer.status == 401


async def test_another_stores_user_is_nobody_here(shop, other_shop):
    person = await other_shop.new_person("view_products")
    answer = await ask(shop, {"email": person.email, "password": person.password})
    assert (answer.status, answer.body) == (401, {"error": "invalid credentials"})


async def test_a_store_that_is_not_there(shop):
    answer = await ask(shop, right(shop), headers={"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"})
    assert (answer.status, answer.body["error"]) == (404, "tenant not found")
