"""Check `POST auth_tokens` and its error format (docs/reference/legacy.md#auth-tokens)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.harness.http import Response
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import unused_ip

PATHS = [f"{base}/auth_tokens{slash}" for base in ("/api", "/api/v1.0", "/api/2.0", "/api/2") for slash in ("", "/")]
CNPJ = "11222333000181"


async def sign_in(sample: SampleStore, body: Any = None, path: str = "/api/auth_tokens", **kwargs: Any) -> Response:
    sample.ip = unused_ip()  # at most five attempts a minute from one address
    return await sample.post(path, body, auth=None, **kwargs)


def credentials(sample: SampleStore) -> dict[str, str]:
    return {"email": sample.caio.email, "password": sample.caio.password}


@pytest.mark.parametrize("path", PATHS)
async def test_email_and_password_return_a_token(sample, path):
    answer = await sign_in(sample, credentials(sample), path)
    assert answer.status == 201
    assert set(answer.body) == {"token", "ttl"}
    assert answer.body["ttl"] == 86_400
    assert isinstance(answer.body["token"], str)
    assert answer.headers["Cache-Control"] == "no-store"


async def test_the_token_authenticates_on_the_legacy_api_only(sample):
    token = (await sign_in(sample, {"email": sample.owner.email, "password": sample.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await sample.get("/api/users", auth=None, headers=headers)).status == 200
    other = await sample.get("/api/v1/auth/me", auth=None, headers=headers)
    assert other.status == 401


async def test_a_cnpj_replaces_the_email(sample):
    await sample.put(f"/api/users/{sample.caio}", {"CNPJ": CNPJ})
    for cnpj in (CNPJ, "11.222.333/0001-81", int(CNPJ)):
        answer = await sign_in(sample, {"CNPJ": cnpj, "password": sample.caio.password})
        assert answer.status == 201, (cnpj, answer.raw)


async def test_a_form_encoded_body_is_accepted(sample):
    data = f"email={sample.caio.email}&password=correct+horse+battery".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await sign_in(sample, data=data, headers=headers)).status == 201


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
async def test_errors_have_the_format_of_the_route(sample, change, status, body):
    answer = await sign_in(sample, credentials(sample) | change)
    assert (answer.status, answer.body) == (status, body)


@pytest.mark.parametrize("data", [b"{", b"[1]", b'{"email": "\\u0000"}', b"\xff\xfe{", b'{"a": 1}x', b'{"a": NaN}'])
async def test_malformed_json_is_rejected(sample, data):
    answer = await sign_in(sample, data=data, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["error"] == "invalid JSON"
    assert "status" not in answer.body


async def test_an_inactive_account_gets_a_message(sample):
    for columns in ({"status": "D"}, {"status": "P"}, {"email_verified_at": None}):
        person = await sample.add_user(**columns)
        answer = await sign_in(sample, {"email": person.email, "password": person.password})
        assert (answer.status, set(answer.body)) == (403, {"message"}), (columns, answer.raw)


async def test_a_cnpj_of_several_accounts_is_a_conflict(sample):
    for person in (sample.caio, sample.bia):
        await sample.put(f"/api/users/{person}", {"CNPJ": CNPJ})
    answer = await sign_in(sample, {"CNPJ": CNPJ, "password": sample.caio.password})
    assert (answer.status, answer.body["error"]) == (409, "multiple_accounts_cnpj")
    assert (await sign_in(sample, {"CNPJ": CNPJ, "password": "wrong password"})).status == 401


async def test_the_sixth_attempt_in_a_minute_is_rate_limited(sample):
    sample.ip = unused_ip()
    for repetition in range(5):
        answer = await sample.post("/api/auth_tokens", credentials(sample), auth=None)
        assert answer.status == 201, repetition
    answer = await sample.post("/api/2.0/auth_tokens/", credentials(sample), auth=None)
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "60"
    assert answer.body["error"] == "rate limit exceeded"
    assert "status" not in answer.body


async def test_ten_wrong_passwords_lock_the_account(sample):
    for repetition in range(10):
        assert (await sign_in(sample, credentials(sample) | {"password": "wrong password"})).status == 401, repetition
    answer = await sign_in(sample, credentials(sample))
    assert (answer.status, answer.body["error"]) == (429, "account_locked")
    assert int(answer.headers["Retry-After"]) > 0


async def test_other_methods_are_not_allowed(sample):
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        answer = await sample.request(method, "/api/auth_tokens", auth=None)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST"), method
        assert answer.body == {"status": 405, "message": "Method not allowed"}, method


async def test_a_token_is_revoked_by_a_password_change_and_expires(sample):
    token = (await sign_in(sample, {"email": sample.owner.email, "password": sample.owner.password})).body["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert (await sample.get("/api/users", auth=None, headers=headers)).status == 200
    answer = await sample.put(f"/api/users/{sample.owner}", {"password": "another long password"})
    assert answer.status == 200, answer.raw
    answer = await sample.get("/api/users", auth=None, headers=headers)
    assert (answer.status, answer.body["message"]) == (401, "Invalid credentials")
    new_token = (await sign_in(sample, {"email": sample.owner.email, "password": "another long password"})).body[
        "token"
    ]
    past = datetime.now(UTC) - timedelta(seconds=1)
    await sample.execute("update legacy_tokens set expires_at = $1", past)
    answer = await sample.get("/api/users", auth=None, headers={"Authorization": f"Bearer {new_token}"})
    assert answer.status == 401


async def test_a_user_of_another_store_is_unknown(sample, other_sample):
    person = await other_sample.add_user("view_products")
    answer = await sign_in(sample, {"email": person.email, "password": person.password})
    assert (answer.status, answer.body) == (401, {"error": "invalid credentials"})


async def test_an_unknown_store_is_not_found(sample):
    answer = await sign_in(sample, credentials(sample), headers={"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"})
    assert (answer.status, answer.body["error"]) == (404, "tenant not found")
