"""Exchanging, refreshing and reusing app tokens (docs/reference/current.md#app-tokens)."""

import asyncio
import base64
from urllib.parse import quote

import pytest

from kernel.ids import has_valid_checksum
from tests.harness import scopes
from tests.harness.oauth import (
    REDIRECT,
    SCOPES,
    TOKEN,
    VERIFIER,
    App,
    approve_app,
    challenge,
    exchange_code,
    issue_tokens,
    post_form,
    refresh_tokens,
    register_app,
)

PRODUCTS = "/api/v1/admin/products"


@pytest.fixture
async def app(admin) -> App:
    return await register_app(admin)


async def works(caller, tokens) -> bool:
    answer = await caller.with_token(tokens["access_token"]).get(PRODUCTS)
    assert answer.status in (200, 401), answer
    return answer.status == 200


async def expire_rows(store, sql, *args):
    assert await scopes.execute(store, sql, *args) >= 1


def invalid_grant(text: str) -> dict[str, str]:
    return {"error": "invalid_grant", "error_description": text, "detail": text}


# --- Exchanging a code -------------------------------------------------------------------------------------------------------


async def test_a_code_is_exchanged_for_a_pair_of_tokens(admin, app):
    answer = await exchange_code(admin, app, (await approve_app(admin, app))["code"])
    assert answer.status == 200
    assert set(answer.body) == {
        "access_token", "refresh_token", "token_type", "expires_in", "scopes", "scope",
    }  # fmt: skip
    assert answer.body["token_type"] == "Bearer"
    assert answer.body["expires_in"] == 3_600
    assert answer.body["scopes"] == SCOPES
    assert answer.body["scope"] == "read_orders write_products"
    assert answer.body["access_token"].startswith("vat_live_")
    assert has_valid_checksum(answer.body["access_token"])
    assert has_valid_checksum(answer.body["refresh_token"])
    assert answer.headers["Cache-Control"] == "no-store"
    assert await works(admin, answer.body)


async def test_tokens_of_a_test_app_have_the_test_prefix(admin):
    tokens = await issue_tokens(admin, await register_app(admin, mode="test"))
    assert tokens["access_token"].startswith("vat_test_")
    assert await works(admin, tokens)


async def test_secrets_are_stored_only_as_hashes(admin, app):
    approval = await approve_app(admin, app)
    tokens = (await exchange_code(admin, app, approval["code"])).body
    stored = str(
        [
            *await scopes.rows(admin.store, "select * from app_grants"),
            *await scopes.rows(admin.store, "select * from app_tokens"),
            *await scopes.rows(admin.store, "select * from apps where client_id = $1", app.client_id),
        ]
    )
    for secret in (
        approval["code"],
        app.client_secret,
        tokens["access_token"],
        tokens["refresh_token"],
    ):
        assert secret not in stored
    assert app.client_id in stored


@pytest.mark.parametrize("basic", [False, True], ids=["credentials in the body", "Basic"])
async def test_a_form_encoded_body_is_accepted(admin, app, basic):
    code = (await approve_app(admin, app))["code"]
    answer = await post_form(
        admin,
        TOKEN,
        basic=app.basic if basic else None,
        grant_type="authorization_code",
        code=code,
        redirect_uri=REDIRECT,
        **({} if basic else app.credentials),
    )
    assert answer.status == 200
    assert await works(admin, answer.body)


async def test_basic_credentials_are_form_encoded_also_with_a_json_body(admin, app):
    encoded = base64.b64encode(f"{quote(app.client_id)}:{app.client_secret.replace('_', '%5F')}".encode())
    answer = await admin.request(
        "POST",
        TOKEN,
        {"grant_type": "authorization_code", "code": (await approve_app(admin, app))["code"]},
        headers={"Authorization": f"basic {encoded.decode()}"},
    )
    assert answer.status == 200


async def test_reusing_a_code_revokes_its_tokens(admin, app):
    code = (await approve_app(admin, app))["code"]
    first = (await exchange_code(admin, app, code)).body
    renewed = (await refresh_tokens(admin, first["refresh_token"])).body
    again = await exchange_code(admin, app, code)
    assert (again.status, again.body["error"]) == (400, "invalid_grant")
    for tokens in (first, renewed):
        answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
        assert (answer.status, answer.body["error"]) == (401, "token revoked: authorization code reused"), tokens
    assert (await refresh_tokens(admin, renewed["refresh_token"])).body["error"] == "invalid_grant"
    actions = await scopes.rows(admin.store, "select action from audit_entries order by id")
    assert "app.code_reused" in [row["action"] for row in actions]


async def test_reusing_a_code_does_not_revoke_other_grants(admin, app):
    other = await issue_tokens(admin, app)
    code = (await approve_app(admin, app))["code"]
    await exchange_code(admin, app, code)
    assert (await exchange_code(admin, app, code)).status == 400
    assert await works(admin, other)


async def test_of_concurrent_exchanges_one_succeeds_and_its_tokens_are_revoked(admin, app):
    for repetition in range(10):
        code = (await approve_app(admin, app))["code"]
        answers = await asyncio.gather(*(exchange_code(admin, app, code) for _ in range(4)))
        assert sorted(answer.status for answer in answers) == [200, 400, 400, 400], repetition
        succeeded = next(answer for answer in answers if answer.status == 200)
        assert not await works(admin, succeeded.body), repetition


async def test_a_code_expires_after_ten_minutes(admin, app):
    code = (await approve_app(admin, app))["code"]
    left = await scopes.value(admin.store, "select max(code_expires_at) - now() from app_grants")
    assert 590 < left.total_seconds() <= 600
    await expire_rows(admin.store, "update app_grants set code_expires_at = now()")
    answer = await exchange_code(admin, app, code)
    assert (answer.status, answer.body) == (400, invalid_grant("the code has expired"))


@pytest.mark.parametrize(
    "address",
    ["https://app.example/callback/", "https://app.example/callback?x=1", "https://APP.example/callback"],
)
async def test_the_redirect_uri_must_match_exactly(admin, app, address):
    code = (await approve_app(admin, app))["code"]
    answer = await exchange_code(admin, app, code, redirect_uri=address)
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")
    # A wrong redirect URI does not consume the code.
    assert (await exchange_code(admin, app, code, redirect_uri=REDIRECT)).status == 200


async def test_a_code_of_another_app_is_rejected_and_remains_valid(admin, app):
    other = await register_app(admin, name="Outro")
    code = (await approve_app(admin, app))["code"]
    assert (await exchange_code(admin, other, code)).body["error"] == "invalid_grant"
    assert (await exchange_code(admin, app, code)).status == 200
    # Another app that presents the used code does not revoke its tokens.
    assert (await exchange_code(admin, other, code)).body == invalid_grant("the code is unknown")


async def test_a_code_of_another_store_is_rejected(admin, other_admin, app):
    code = (await approve_app(admin, app))["code"]
    assert (await exchange_code(other_admin, app, code)).body["error"] == "invalid_grant"
    assert (await exchange_code(admin, app, code)).status == 200


# --- PKCE --------------------------------------------------------------------------------------------------------------------


async def test_a_code_challenge_requires_its_verifier(admin, app):
    code = (await approve_app(admin, app, code_challenge=challenge()))["code"]
    for wrong in (
        {},
        {"code_verifier": VERIFIER + "x"},
        {"code_verifier": "short"},
        {"code_verifier": challenge()},
    ):
        answer = await exchange_code(admin, app, code, **wrong)
        assert (answer.status, answer.body["error"]) == (400, "invalid_grant"), wrong
    assert (await exchange_code(admin, app, code, code_verifier=VERIFIER)).status == 200


async def test_a_verifier_without_a_challenge_is_rejected(admin, app):
    answer = await exchange_code(admin, app, (await approve_app(admin, app))["code"], code_verifier=VERIFIER)
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")


# --- Refreshing ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authentication", ["bare", "credentials", "basic"])
async def test_a_refresh_token_returns_a_new_pair(admin, app, authentication):
    first = await issue_tokens(admin, app)
    if authentication == "basic":
        answer = await post_form(
            admin, TOKEN, basic=app.basic, grant_type="refresh_token", refresh_token=first["refresh_token"]
        )
    else:
        answer = await refresh_tokens(
            admin, first["refresh_token"], **(app.credentials if authentication == "credentials" else {})
        )
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.body["scopes"] == SCOPES
    assert answer.body["access_token"] != first["access_token"]
    assert await works(admin, answer.body)
    assert await works(admin, first)  # the previous access token remains valid until it expires


async def test_reusing_a_refresh_token_revokes_all_tokens_of_the_installation(admin, app):
    first, other_tokens = await issue_tokens(admin, app), await issue_tokens(admin, app)
    second = (await refresh_tokens(admin, first["refresh_token"])).body
    again = await refresh_tokens(admin, first["refresh_token"])
    assert (again.status, again.body["error"]) == (400, "invalid_grant")
    for tokens in (first, second, other_tokens):
        answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
        assert (answer.status, answer.body["error"]) == (401, "token revoked: refresh token reused"), tokens
        assert (await refresh_tokens(admin, tokens["refresh_token"])).body["error"] == "invalid_grant"
    audited = await scopes.value(
        admin.store, "select count(*) from audit_entries where action = 'app.refresh_token_reused'"
    )
    assert audited == 1
    # The app is still installed and works again after a new approval.
    assert await works(admin, await issue_tokens(admin, app))


async def test_of_concurrent_refreshes_one_succeeds(admin, app):
    for repetition in range(10):
        first = await issue_tokens(admin, app)
        answers = await asyncio.gather(*(refresh_tokens(admin, first["refresh_token"]) for _ in range(2)))
        assert sorted(answer.status for answer in answers) == [200, 400], repetition
        assert not await works(admin, first), repetition


async def test_a_refresh_token_expires_after_ninety_days(admin, app):
    first = await issue_tokens(admin, app)
    left = await scopes.value(admin.store, "select max(expires_at) - now() from app_tokens where kind = 'R'")
    assert 89 < left.total_seconds() / 86_400 <= 90
    await expire_rows(admin.store, "update app_tokens set expires_at = now()")
    answer = await refresh_tokens(admin, first["refresh_token"])
    assert answer.body == invalid_grant("the refresh token has expired")


async def test_an_expired_access_token_is_401(admin, app):
    tokens = await issue_tokens(admin, app)
    await expire_rows(admin.store, "update app_tokens set expires_at = now() where kind = 'A'")
    answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


async def test_a_refresh_may_narrow_the_scopes_for_one_access_token(admin, app):
    first = await issue_tokens(admin, app)
    less = (await refresh_tokens(admin, first["refresh_token"], scope="read_products")).body
    assert (less["scopes"], less["scope"]) == (["read_products"], "read_products")
    assert await works(admin, less)
    assert (await admin.with_token(less["access_token"]).post(PRODUCTS, {})).body["error"] == "token_scope"
    assert (await refresh_tokens(admin, less["refresh_token"])).body["scopes"] == SCOPES


async def test_returned_scopes_equal_the_approved_scopes(admin):
    scopes = ["read_orders", "write_orders"]
    tokens = await issue_tokens(admin, await register_app(admin, scopes=scopes), scopes)
    assert tokens["scopes"] == scopes
    assert (await refresh_tokens(admin, tokens["refresh_token"])).body["scopes"] == scopes


async def test_a_refresh_cannot_add_scopes(admin, app):
    first = await issue_tokens(admin, app)
    answer = await refresh_tokens(admin, first["refresh_token"], scope="read_products write_orders")
    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
    assert (await refresh_tokens(admin, first["refresh_token"])).status == 200


async def test_a_refresh_token_of_another_app_is_rejected(admin, app):
    first, other = await issue_tokens(admin, app), await register_app(admin, name="Outro")
    assert (await refresh_tokens(admin, first["refresh_token"], **other.credentials)).body["error"] == "invalid_grant"
    assert (await refresh_tokens(admin, first["refresh_token"], **app.credentials)).status == 200


async def test_access_and_refresh_tokens_are_not_interchangeable(admin, app):
    first = await issue_tokens(admin, app)
    assert (await refresh_tokens(admin, first["access_token"])).body["error"] == "invalid_grant"
    answer = await admin.with_token(first["refresh_token"]).get(PRODUCTS)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})
