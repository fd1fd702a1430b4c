"""Refresh, logout, sessions and `me` (docs/reference/current.md#refresh-tokens, #logout, #sessions)."""

import asyncio

import jwt
import pytest

from kernel.scope import Store
from tests.harness import records, scopes
from tests.harness.http import Client, is_token_pair
from tests.harness.records import PASSWORD, UNKNOWN_ID

LOGIN = "/api/v1/auth/login"
REFRESH = "/api/v1/auth/refresh"
LOGOUT = "/api/v1/auth/logout"
ME = "/api/v1/auth/me"


# --- refresh -----------------------------------------------------------------------------------------------------------------


async def test_a_refresh_returns_a_new_pair_and_consumes_the_token(new_client) -> None:
    customer = await new_client()
    answer = await customer.with_token(None).post(REFRESH, {"refresh_token": customer.refresh_token})
    assert answer.status == 200
    assert is_token_pair(answer.body)
    assert answer.body["refresh_token"] != customer.refresh_token
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await customer.with_token(answer.body["access_token"]).get(ME)).status == 200
    again = await customer.post(REFRESH, {"refresh_token": customer.refresh_token})
    assert again.status == 401
    assert again.body["error"] == "invalid refresh token"
    assert set(again.body) == {"error", "detail"}
    # A retry within ten seconds is a client that lost the response: its session continues.
    assert (await customer.post(REFRESH, {"refresh_token": answer.body["refresh_token"]})).status == 200


async def test_of_concurrent_refreshes_one_fails(new_client) -> None:
    for repetition in range(5):
        customer = await new_client()
        answers = await asyncio.gather(
            *(customer.post(REFRESH, {"refresh_token": customer.refresh_token}) for _ in range(2))
        )
        assert sorted(answer.status for answer in answers) == [200, 401], repetition
        rejected = next(answer for answer in answers if answer.status == 401)
        assert rejected.body["error"] == "invalid refresh token", repetition


async def test_reusing_a_refresh_token_later_revokes_the_session(new_client) -> None:
    customer = await new_client()
    first = customer.refresh_token
    second = (await customer.post(REFRESH, {"refresh_token": first})).body["refresh_token"]
    third = (await customer.post(REFRESH, {"refresh_token": second})).body["refresh_token"]
    stolen = await customer.post(REFRESH, {"refresh_token": first})
    assert (stolen.status, stolen.body["error"]) == (401, "invalid refresh token")
    assert (await customer.post(REFRESH, {"refresh_token": third})).status == 401
    me = await customer.get(ME)
    assert (me.status, me.body) == (401, {"error": "token revoked: refresh token reused"})
    audited = await scopes.value(
        customer.store, "select count(*) from audit_entries where action = 'session.refresh_token_reused'"
    )
    assert audited == 1


@pytest.mark.parametrize("body", [{}, {"refresh_token": None}, {"refresh_token": ""}, None])
@pytest.mark.parametrize("path", [REFRESH, LOGOUT])
async def test_a_missing_refresh_token_is_rejected(visitor: Client, path: str, body: dict | None) -> None:
    answer = await visitor.post(path, body)
    assert (answer.status, answer.body) == (400, {"error": "refresh_token is required"})


@pytest.mark.parametrize("path", [REFRESH, LOGOUT])
async def test_a_refresh_token_of_a_wrong_type_is_rejected(visitor: Client, path: str) -> None:
    answer = await visitor.post(path, {"refresh_token": 5})
    assert (answer.status, answer.body["error"]) == (400, "invalid request body")


@pytest.mark.parametrize("token", ["unknown", "x" * 100_000, "☃", "' or 1=1 --"])
async def test_an_unknown_refresh_token_is_invalid(visitor: Client, token: str) -> None:
    answer = await visitor.post(REFRESH, {"refresh_token": token})
    assert (answer.status, answer.body["error"]) == (401, "invalid refresh token")


async def test_a_refresh_token_of_another_store_is_rejected(new_client, other_store: Store) -> None:
    customer = await new_client()
    answer = await customer.at(other_store).with_token(None).post(REFRESH, {"refresh_token": customer.refresh_token})
    assert (answer.status, answer.body["error"]) == (401, "invalid refresh token")
    assert (await customer.post(REFRESH, {"refresh_token": customer.refresh_token})).status == 200


async def test_access_and_refresh_tokens_are_not_interchangeable(new_client) -> None:
    customer = await new_client()
    assert (await customer.post(REFRESH, {"refresh_token": customer.token})).status == 401
    answer = await customer.with_token(customer.refresh_token).get(ME)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


async def test_an_expired_refresh_token_is_invalid(new_client) -> None:
    customer = await new_client()
    await scopes.execute(customer.store, "update refresh_tokens set expires_at = now() - interval '1 second'")
    answer = await customer.post(REFRESH, {"refresh_token": customer.refresh_token})
    assert (answer.status, answer.body["error"]) == (401, "invalid refresh token")


# --- logout ------------------------------------------------------------------------------------------------------------------


async def test_logout_revokes_the_session_and_is_idempotent(new_client) -> None:
    customer = await new_client()
    for repetition in range(2):
        answer = await customer.with_token(None).post(LOGOUT, {"refresh_token": customer.refresh_token})
        assert (answer.status, answer.body) == (200, {"message": "logged out"}), repetition
    rejected = await customer.post(REFRESH, {"refresh_token": customer.refresh_token})
    assert (rejected.status, rejected.body["error"]) == (401, "invalid refresh token")
    me = await customer.get(ME)
    assert (me.status, me.body) == (401, {"error": "token revoked: logged out"})


async def test_logout_with_an_unknown_token_succeeds(visitor: Client) -> None:
    answer = await visitor.post(LOGOUT, {"refresh_token": "unknown"})
    assert (answer.status, answer.body) == (200, {"message": "logged out"})


async def test_logout_does_not_revoke_other_sessions(new_client, visitor: Client) -> None:
    customer = await new_client()
    other = await records.sign_in(customer.store, customer.user)
    await customer.post(LOGOUT, {"refresh_token": customer.refresh_token})
    assert (await customer.with_token(other.access_token).get(ME)).status == 200


async def test_logout_everywhere_revokes_every_session(new_client) -> None:
    customer = await new_client()
    other = await records.sign_in(customer.store, customer.user)
    answer = await customer.post("/api/v1/auth/logout-all")
    assert (answer.status, answer.body) == (200, {"message": "signed out of all devices"})
    for token in (customer.token, other.access_token):
        me = await customer.with_token(token).get(ME)
        assert (me.status, me.body) == (401, {"error": "token revoked: signed out of all devices"}), token
    assert (await customer.post(REFRESH, {"refresh_token": other.refresh_token})).status == 401


# --- sessions and me ---------------------------------------------------------------------------------------------------------


async def test_sessions_are_listed_and_revoked_individually(new_client) -> None:
    customer = await new_client()
    other = await records.sign_in(customer.store, customer.user)
    listed = await customer.get("/api/v1/auth/sessions")
    assert listed.status == 200
    assert listed.body["total"] == 2
    assert [set(session) for session in listed.body["sessions"]] == [
        {"id", "created_at", "last_used_at", "expires_at", "ip_address", "user_agent", "current"}
    ] * 2
    assert [session["current"] for session in listed.body["sessions"]] == [False, True]
    ended = await customer.delete(f"/api/v1/auth/sessions/{listed.body['sessions'][0]['id']}")
    assert (ended.status, ended.body) == (200, {"message": "session ended"})
    assert (await customer.get("/api/v1/auth/sessions")).body["total"] == 1
    gone = await customer.with_token(other.access_token).get(ME)
    assert (gone.status, gone.body) == (401, {"error": "token revoked: session ended"})


async def test_a_session_stores_its_device(visitor: Client) -> None:
    user = await records.add_user(visitor.store)
    tokens = await visitor.post(
        LOGIN, {"email": user.email, "password": PASSWORD}, headers={"User-Agent": "Painel/2.0 ☃"}
    )
    signed_in = visitor.with_token(tokens.body["access_token"])
    session = (await signed_in.get("/api/v1/auth/sessions")).body["sessions"][0]
    assert session["ip_address"] == visitor.ip
    assert session["user_agent"].startswith("Painel/2.0")
    assert session["current"] is True


@pytest.mark.parametrize("id", ["1", "0", "-1", "abc", "%F0%9F%98%80", UNKNOWN_ID, "1'--", "9" * 400, "%20"])
async def test_an_unknown_session_is_not_found(new_client, id: str) -> None:
    customer = await new_client()
    answer = await customer.delete(f"/api/v1/auth/sessions/{id}")
    assert (answer.status, answer.body) == (404, {"error": "session not found"})


async def test_the_session_of_another_user_cannot_be_revoked(new_client, admin: Client, other_admin: Client) -> None:
    customer = await new_client()
    session = (await customer.get("/api/v1/auth/sessions")).body["sessions"][0]["id"]
    for other_user in (admin, other_admin):
        assert (await other_user.delete(f"/api/v1/auth/sessions/{session}")).status == 404
    assert (await customer.get(ME)).status == 200


@pytest.mark.parametrize(
    "privileges, columns, role",
    [
        (("view_orders", "manage_content"), {}, "admin"),
        ((), {"user_type": "C", "cpf": "52998224725", "phone": "11987654321"}, "customer"),
    ],
)
async def test_me_returns_the_callers_account(new_client, privileges, columns: dict, role: str) -> None:
    me = await new_client(*privileges, firstname="Ana", lastname="Souza", **columns)
    answer = await me.get(ME)
    assert answer.status == 200
    shown = answer.body
    assert shown.pop("created_at").endswith("Z")
    assert shown.pop("last_login_at").endswith("Z")
    assert shown == {
        "id": me.user.id,
        "name": "Ana Souza",
        "email": me.user.email,
        "role": role,
        "status": "A",
        "phone": columns.get("phone"),
        "cpf": columns.get("cpf"),
        "cnpj": None,
        "is_owner": False,
        "privileges": sorted({*privileges, *(["view_content"] if privileges else [])}),
    }


async def test_me_works_for_a_vendor(new_client, store: Store) -> None:
    vendor = await records.add_vendor(store)
    me = await new_client(user_type="V", vendor_id=vendor.number)
    answer = await me.get(ME)
    assert (answer.status, answer.body["role"], answer.body["privileges"]) == (200, "vendor", [])


SIGNED_IN_ROUTES = [
    ("GET", ME),
    ("GET", "/api/v1/auth/sessions"),
    ("DELETE", f"/api/v1/auth/sessions/{UNKNOWN_ID}"),
    ("POST", "/api/v1/auth/logout-all"),
]


@pytest.mark.parametrize("method, path", SIGNED_IN_ROUTES)
async def test_account_routes_require_a_user_token(visitor: Client, method: str, path: str) -> None:
    answer = await visitor.request(method, path)
    assert (answer.status, answer.body) == (401, {"error": "missing authorization header"})
    answer = await visitor.request(method, path, headers={"Authorization": "Basic YTpi"})
    assert (answer.status, answer.body) == (401, {"error": "invalid authorization format"})
    for token in ("x.y.z", "vat_live_x", "sfk_x"):
        answer = await visitor.with_token(token).request(method, path)
        assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"}), token


# --- published keys --------------------------------------------------------------------------------------------------------------------


async def test_tokens_verify_with_the_published_keys(new_client) -> None:
    customer = await new_client()
    answer = await customer.with_token(None).get(
        "/.well-known/jwks.json", headers={"X-Tenant-ID": None, "Host": "x.example"}
    )
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "public, max-age=60"
    keys = answer.body["keys"]
    assert [set(key) for key in keys] == [{"kty", "crv", "x", "kid", "alg", "use"}] * len(keys)
    kid = jwt.get_unverified_header(customer.token)["kid"]
    key = next(jwt.PyJWK(key).key for key in keys if key["kid"] == kid)
    claims = jwt.decode(customer.token, key, algorithms=["EdDSA"], audience="vitrine-api", issuer="vitrine")
    assert claims["sub"] == customer.user.id
    assert set(claims) == {"iss", "aud", "sub", "tid", "sid", "typ", "iat", "exp", "jti"}
