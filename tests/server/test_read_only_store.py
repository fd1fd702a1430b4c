"""A read-only store, which moves, answers sign-ins and refreshes, and keeps what is valid where it moves (docs/deploy.md#move-a-store)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyotp

from auth import two_factor_codes
from auth.store_resolution import invalidate_store
from domain import stores
from domain.people import two_factor
from kernel.scope import active_scope
from tests.harness.http import Client, Response, bearer
from tests.harness.oauth import SCOPES, graphql_result, issue_tokens, refresh_tokens, register_app
from tests.harness.records import PASSWORD, sign_in
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront

LOGIN = "/api/v1/auth/login"
VERIFY = "/api/v1/auth/verify-2fa"
REFRESH = "/api/v1/auth/refresh"
LOGOUT = "/api/v1/auth/logout"
ME = "/api/v1/auth/me"
SIGN_IN = """
    mutation ($email: String!, $password: String!) {
        sign_in(identifier: $email, password: $password) { access_token refresh_token }
    }
"""
SESSION_REFRESH = """
    mutation ($token: String!) { session_refresh(refresh_token: $token) { access_token refresh_token } }
"""

TOKENS = """
    select (select jsonb_agg(to_jsonb(s) order by s.id) from sessions s where s.user_id = $1)::text as sessions, (
        select jsonb_agg(to_jsonb(t) order by t.id) from refresh_tokens t join sessions s on s.id = t.session_id
        where s.user_id = $1
    )::text as refresh_tokens
"""


async def make_read_only(sample: SampleStore, *, read_only: bool = True) -> None:
    await stores.change_status(sample.store.id, "A", read_only=read_only)
    with active_scope(sample.scope):
        await invalidate_store(sample.store.id)


async def post(
    sample: SampleStore, path: str, body: dict[str, Any], *, auth: str | None = None, **who: Any
) -> Response:
    return await sample.post(path, body, auth=auth, **who)


def credentials(user: Any) -> dict[str, str]:
    return {"email": user.email, "password": PASSWORD}


async def test_people_sign_in_to_a_read_only_store_in_every_family(sample: SampleStore):
    storefront = await open_storefront(sample)
    await make_read_only(sample)
    for user in (sample.owner, sample.vendor_user, sample.caio):
        answer = await post(sample, LOGIN, credentials(user))
        assert answer.status == 200, (user.email, answer)
        me = await sample.anonymous.request("GET", ME, headers=bearer(answer.body["access_token"]))
        assert (me.status, me.body["id"]) == (200, user.id), user.email
    shop = Client(sample.http, sample.store, {"X-API-Key": storefront.key or ""})
    for caller in (sample.anonymous, shop):
        tokens = await graphql_result(caller, SIGN_IN, **credentials(sample.caio))
        again = await graphql_result(caller, SESSION_REFRESH, token=tokens["refresh_token"])
        me = await sample.anonymous.request("GET", ME, headers=bearer(again["access_token"]))
        assert me.status == 200, caller
    token = await post(sample, "/api/auth_tokens", credentials(sample.owner))
    assert token.status == 201, token
    listed = await sample.anonymous.request("GET", "/api/products", headers=bearer(token.body["token"]))
    assert listed.status == 200, listed
    assert (await post(sample, "/api/vendor_login", credentials(sample.vendor_user))).status == 200
    key = await post(sample, "/api/auth", {"email": sample.caio.email}, auth="basic")
    assert key.status == 201, key
    assert (await post(sample, "/api/v1/auth/key", {"key": key.body["key"]})).status == 200


async def test_a_refresh_token_of_a_read_only_store_stays_valid_where_the_store_moves(sample: SampleStore):
    tokens = await sign_in(sample.store, sample.caio)
    await make_read_only(sample)
    [before] = await sample.rows(TOKENS, sample.caio.number)
    body = {"refresh_token": tokens.refresh_token}
    for repetition in range(2):
        answer = await post(sample, REFRESH, body)
        assert (answer.status, answer.body.get("refresh_token")) == (200, tokens.refresh_token), repetition
    me = await sample.anonymous.request("GET", ME, headers=bearer(answer.body["access_token"]))
    assert me.status == 200
    [after] = await sample.rows(TOKENS, sample.caio.number)
    assert dict(after) == dict(before)
    assert (await post(sample, REFRESH, {"refresh_token": "unknown"})).status == 401
    await make_read_only(sample, read_only=False)
    rotated = await post(sample, REFRESH, body)
    assert rotated.status == 200
    assert rotated.body["refresh_token"] != tokens.refresh_token


async def test_a_sign_out_ends_the_session_of_a_read_only_store(sample: SampleStore):
    tokens = await sign_in(sample.store, sample.caio)
    await make_read_only(sample)
    body = {"refresh_token": tokens.refresh_token}
    assert (await post(sample, LOGOUT, body)).status == 200
    assert (await post(sample, REFRESH, body)).status == 401


async def test_what_would_be_undone_by_the_move_is_refused(sample: SampleStore):
    """Who ends all sessions, or uses a code that is valid once, relies on it: the other installation would not know of it."""
    await sample.token(sample.caio)
    with active_scope(sample.scope):
        secret = await two_factor.enable_for_demo(sample.scope, sample.owner.number)
        [recovery_code, *_] = await two_factor_codes.replace_recovery_codes(sample.scope, sample.owner.number)
    await make_read_only(sample)
    assert (await post(sample, "/api/v1/auth/logout-all", {}, auth="bearer", by=sample.caio)).status == 503
    assert (await post(sample, "/api/v1/auth/password/forgot", {"email": sample.caio.email})).status == 503
    current_code = pyotp.TOTP(secret).at(datetime.now(UTC))
    codes = (("recovery", recovery_code, 503), ("wrong", "XXXX-XXXX", 401), ("app", current_code, 200))
    for name, code, status in codes:
        challenge = await post(sample, LOGIN, credentials(sample.owner))
        answer = await post(sample, VERIFY, {"temp_token": challenge.body["temp_token"], "code": code})
        assert answer.status == status, (name, answer)
    [row] = await sample.rows("select count(*) from recovery_codes where used_at is not null")
    assert row["count"] == 0


async def test_an_app_keeps_its_refresh_token_in_a_read_only_store(sample: SampleStore):
    admin = await sample.client(sample.owner)
    app = await register_app(admin, scopes=SCOPES)
    tokens = await issue_tokens(admin, app, SCOPES)
    await make_read_only(sample)
    for repetition in range(2):
        answer = await refresh_tokens(admin, tokens["refresh_token"])
        assert (answer.status, answer.body.get("refresh_token")) == (200, tokens["refresh_token"]), repetition
    listed = await admin.with_token(answer.body["access_token"]).get("/api/v1/admin/orders")
    assert listed.status == 200
    await make_read_only(sample, read_only=False)
    rotated = await refresh_tokens(admin, tokens["refresh_token"])
    assert rotated.status == 200
    assert rotated.body["refresh_token"] != tokens["refresh_token"]
