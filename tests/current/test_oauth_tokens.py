"""An app exchanges its code for tokens, renews and revokes them; what comes back spent was stolen."""

import asyncio
import base64
from urllib.parse import quote

import pytest

from kernel.ids import has_valid_checksum
from tests.current import kit
from tests.current.oauth import (
    REDIRECT,
    SCOPES,
    TOKEN,
    VERIFIER,
    App,
    approve,
    challenge,
    exchange,
    form,
    register,
    renew,
    tokens_of,
)

PRODUCTS = "/api/v1/admin/products"


@pytest.fixture
async def app(admin) -> App:
    return await register(admin)


async def works(caller, tokens) -> bool:
    answer = await caller.with_token(tokens["access_token"]).get(PRODUCTS)
    assert answer.status in (200, 401), answer
    return answer.status == 200


async def forget_clock(store, sql, *args):
    assert await kit.execute(store, sql, *args) >= 1


# --- Exchanging a code -------------------------------------------------------------------------------------------------------


async def test_a_code_is_exchanged_for_a_pair_of_tokens(admin, app):
    answer = await exchange(admin, app, (await approve(admin, app))["code"])
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


async def test_a_test_app_says_so_in_its_tokens(admin):
    tokens = await tokens_of(admin, await register(admin, mode="test"))
    assert tokens["access_token"].startswith("vat_test_")
    assert await works(admin, tokens)


async def test_nothing_of_a_secret_is_stored_as_it_is(admin, app):
    approval = await approve(admin, app)
    tokens = (await exchange(admin, app, approval["code"])).body
    stored = str(
        [
            *await kit.rows(admin.store, "select * from app_grants"),
            *await kit.rows(admin.store, "select * from app_tokens"),
            *await kit.rows(admin.store, "select * from apps where client_id = $1", app.client_id),
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
async def test_a_form_is_as_good_as_json(admin, app, basic):
    code = (await approve(admin, app))["code"]
    answer = await form(
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


async def test_basic_credentials_are_form_encoded_and_go_with_json_too(admin, app):
    encoded = base64.b64encode(f"{quote(app.client_id)}:{app.client_secret.replace('_', '%5F')}".encode())
    answer = await admin.ask(
        "POST",
        TOKEN,
        {"grant_type": "authorization_code", "code": (await approve(admin, app))["code"]},
        headers={"Authorization": f"basic {encoded.decode()}"},
    )
    assert answer.status == 200


async def test_a_code_exchanged_twice_revokes_what_it_gave(admin, app):
    code = (await approve(admin, app))["code"]
    first = (await exchange(admin, app, code)).body
    renewed = (await renew(admin, first["refresh_token"])).body
    again = await exchange(admin, app, code)
    assert (again.status, again.body["error"]) == (400, "invalid_grant")
    for tokens in (first, renewed):
        answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
        assert (answer.status, answer.body["error"]) == (401, "token revoked: authorization code reused")
    assert (await renew(admin, renewed["refresh_token"])).body["error"] == "invalid_grant"
    actions = await kit.rows(admin.store, "select action from audit_entries order by id")
    assert "app.code_reused" in [row["action"] for row in actions]


async def test_a_code_reused_leaves_other_approvals_alone(admin, app):
    other = await tokens_of(admin, app)
    code = (await approve(admin, app))["code"]
    await exchange(admin, app, code)
    assert (await exchange(admin, app, code)).status == 400
    assert await works(admin, other)


async def test_of_many_exchanges_at_once_one_succeeds_and_its_tokens_end(admin, app):
    for _ in range(10):
        code = (await approve(admin, app))["code"]
        answers = await asyncio.gather(*(exchange(admin, app, code) for _ in range(4)))
        assert sorted(answer.status for answer in answers) == [200, 400, 400, 400]
        given = next(answer for answer in answers if answer.status == 200)
        assert not await works(admin, given.body)


async def test_a_code_is_good_for_ten_minutes(admin, app):
    code = (await approve(admin, app))["code"]
    left = await kit.value(admin.store, "select max(code_expires_at) - now() from app_grants")
    assert 590 < left.total_seconds() <= 600
    await forget_clock(admin.store, "update app_grants set code_expires_at = now()")
    answer = await exchange(admin, app, code)
    assert (answer.status, answer.body) == (
        400,
        {"error": "invalid_grant", "detail": "the code has expired"},
    )


@pytest.mark.parametrize(
    "address",
    ["https://app.example/callback/", "https://app.example/callback?x=1", "https://APP.example/callback"],
)
async def test_a_redirect_uri_must_be_the_very_one(admin, app, address):
    code = (await approve(admin, app))["code"]
    answer = await exchange(admin, app, code, redirect_uri=address)
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")
    # A mistake costs nothing: the code is still good for its owner.
    assert (await exchange(admin, app, code, redirect_uri=REDIRECT)).status == 200


async def test_a_code_of_another_app_is_unknown_and_stays_good(admin, app):
    other = await register(admin, name="Outro")
    code = (await approve(admin, app))["code"]
    assert (await exchange(admin, other, code)).body["error"] == "invalid_grant"
    assert (await exchange(admin, app, code)).status == 200
    # Nor does a stranger who learns a spent code end what it gave.
    assert (await exchange(admin, other, code)).body == {
        "error": "invalid_grant",
        "detail": "the code is unknown",
    }


async def test_a_code_of_another_store_is_unknown(admin, other_admin, app):
    code = (await approve(admin, app))["code"]
    assert (await exchange(other_admin, app, code)).body["error"] == "invalid_grant"
    assert (await exchange(admin, app, code)).status == 200


# --- PKCE --------------------------------------------------------------------------------------------------------------------


async def test_what_began_with_a_challenge_needs_its_verifier(admin, app):
    code = (await approve(admin, app, code_challenge=challenge()))["code"]
    for wrong in (
        {},
        {"code_verifier": VERIFIER + "x"},
        {"code_verifier": "short"},
        {"code_verifier": challenge()},
    ):
        answer = await exchange(admin, app, code, **wrong)
        assert (answer.status, answer.body["error"]) == (400, "invalid_grant"), wrong
    assert (await exchange(admin, app, code, code_verifier=VERIFIER)).status == 200


async def test_a_verifier_without_a_challenge_is_refused(admin, app):
    answer = await exchange(admin, app, (await approve(admin, app))["code"], code_verifier=VERIFIER)
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")


# --- Renewing ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["bare", "credentials", "basic"])
async def test_a_refresh_token_gives_the_next_pair(admin, app, how):
    first = await tokens_of(admin, app)
    if how == "basic":
        answer = await form(
            admin, TOKEN, basic=app.basic, grant_type="refresh_token", refresh_token=first["refresh_token"]
        )
    else:
        answer = await renew(
            admin, first["refresh_token"], **(app.credentials if how == "credentials" else {})
        )
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.body["scopes"] == SCOPES
    assert answer.body["access_token"] != first["access_token"]
    assert await works(admin, answer.body)
    assert await works(admin, first)  # what was given before lives on until it expires


async def test_a_spent_refresh_token_revokes_all_tokens_of_the_installation(admin, app):
    first, beside = await tokens_of(admin, app), await tokens_of(admin, app)
    second = (await renew(admin, first["refresh_token"])).body
    again = await renew(admin, first["refresh_token"])
    assert (again.status, again.body["error"]) == (400, "invalid_grant")
    for tokens in (first, second, beside):
        answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
        assert (answer.status, answer.body["error"]) == (401, "token revoked: refresh token reused")
        assert (await renew(admin, tokens["refresh_token"])).body["error"] == "invalid_grant"
    audited = await kit.value(
        admin.store, "select count(*) from audit_entries where action = 'app.refresh_token_reused'"
    )
    assert audited == 1
    # The app is still installed: approved again, it goes on.
    assert await works(admin, await tokens_of(admin, app))


async def test_of_two_renewals_at_once_one_succeeds(admin, app):
    for _ in range(10):
        first = await tokens_of(admin, app)
        answers = await asyncio.gather(*(renew(admin, first["refresh_token"]) for _ in range(2)))
        assert sorted(answer.status for answer in answers) == [200, 400]
        assert not await works(admin, first)


async def test_a_refresh_token_is_good_for_ninety_days(admin, app):
    first = await tokens_of(admin, app)
    left = await kit.value(admin.store, "select max(expires_at) - now() from app_tokens where kind = 'R'")
    assert 89 < left.total_seconds() / 86_400 <= 90
    await forget_clock(admin.store, "update app_tokens set expires_at = now()")
    answer = await renew(admin, first["refresh_token"])
    assert answer.body == {"error": "invalid_grant", "detail": "the refresh token has expired"}


async def test_an_expired_access_token_is_401_in_the_contracts_words(admin, app):
    tokens = await tokens_of(admin, app)
    await forget_clock(admin.store, "update app_tokens set expires_at = now() where kind = 'A'")
    answer = await admin.with_token(tokens["access_token"]).get(PRODUCTS)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})


async def test_a_renewal_may_ask_for_less_and_the_next_gives_all_again(admin, app):
    first = await tokens_of(admin, app)
    less = (await renew(admin, first["refresh_token"], scope="read_products")).body
    assert (less["scopes"], less["scope"]) == (["read_products"], "read_products")
    assert await works(admin, less)
    assert (await admin.with_token(less["access_token"]).post(PRODUCTS, {})).body["error"] == "token_scope"
    assert (await renew(admin, less["refresh_token"])).body["scopes"] == SCOPES


async def test_scopes_are_given_as_they_were_approved(admin):
    both = ["read_orders", "write_orders"]
    tokens = await tokens_of(admin, await register(admin, scopes=both), both)
    assert tokens["scopes"] == both
    assert (await renew(admin, tokens["refresh_token"])).body["scopes"] == both


async def test_a_renewal_may_not_ask_for_more(admin, app):
    first = await tokens_of(admin, app)
    answer = await renew(admin, first["refresh_token"], scope="read_products write_orders")
    assert (answer.status, answer.body["error"]) == (400, "invalid_request")
    assert (await renew(admin, first["refresh_token"])).status == 200


async def test_a_refresh_token_of_another_app_is_unknown_to_it(admin, app):
    first, other = await tokens_of(admin, app), await register(admin, name="Outro")
    assert (await renew(admin, first["refresh_token"], **other.credentials)).body["error"] == "invalid_grant"
    assert (await renew(admin, first["refresh_token"], **app.credentials)).status == 200


async def test_an_access_token_does_not_refresh_and_a_refresh_token_opens_nothing(admin, app):
    first = await tokens_of(admin, app)
    assert (await renew(admin, first["access_token"])).body["error"] == "invalid_grant"
    answer = await admin.with_token(first["refresh_token"]).get(PRODUCTS)
    assert (answer.status, answer.body) == (401, {"error": "invalid or expired token"})
