"""Errors and token revocation of the OAuth routes (docs/reference/current.md#app-tokens, RFC 6749, RFC 7009)."""

import re

import pytest

from tests.current.test_oauth_tokens import PRODUCTS, works
from tests.harness.oauth import (
    REVOKE,
    TOKEN,
    App,
    approve_app,
    exchange_code,
    issue_tokens,
    post_form,
    refresh_tokens,
    register_app,
)


@pytest.fixture
async def app(admin) -> App:
    return await register_app(admin)


# --- Invalid requests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body,error",
    [
        ({}, "invalid_request"),
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": 5}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "authorization_code", "code": ["x"]}, "invalid_request"),
        ({"grant_type": "authorization_code", "code": {}}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": 7}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "é" * 5_000}, "invalid_grant"),
    ],
)
async def test_an_invalid_token_request_is_400_with_an_oauth_error(visitor, body, error):
    answer = await visitor.post(TOKEN, body)
    assert (answer.status, answer.body["error"]) == (400, error)
    assert set(answer.body) == {"error", "error_description", "detail"}
    assert re.fullmatch(r"[ !#-\[\]-~]+", answer.body["error_description"])  # RFC 6749, section 5.2
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "data,content_type",
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'{"grant_type": "\\u0000"}', "application/json"),
        (b'{"grant_type": "\\ud800"}', "application/json"),
        (b"grant_type=%00", "application/x-www-form-urlencoded"),
        (b"grant_type=%ff", "application/x-www-form-urlencoded"),
        (b"grant_type[x]=1", "application/x-www-form-urlencoded"),
        (b"grant_type=refresh_token&refresh_token=a&refresh_token=b", "application/x-www-form-urlencoded"),
        (b"grant_type=password&grant_type=refresh_token&refresh_token=a", "application/x-www-form-urlencoded"),
        (b"<grant/>", "application/xml"),
        (b"", None),
    ],
)
@pytest.mark.parametrize("path", [TOKEN, REVOKE])
async def test_an_unreadable_body_is_an_invalid_request(visitor, path, data, content_type):
    answer = await visitor.request("POST", path, data=data, headers={"Content-Type": content_type})
    error = "invalid_client" if path == REVOKE and data.startswith(b"grant_type[") else "invalid_request"
    assert answer.body["error"] == error


@pytest.mark.parametrize(
    "change",
    [
        {"client_secret": "vcs_wrong"},
        {"client_secret": None},
        {"client_secret": ""},
        {"client_id": None},
        {"client_id": "vci_unknown"},
        {"client_id": "x" * 100_000},
        {"client_secret": "é\u2028"},
    ],
)
async def test_wrong_client_credentials_are_401(admin, app, change):
    code = (await approve_app(admin, app))["code"]
    answer = await exchange_code(admin, app, code, **change)
    assert (answer.status, answer.body["error"]) == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="vitrine"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert (await exchange_code(admin, app, code)).status == 200


@pytest.mark.parametrize("change", [{"client_secret": "wrong"}, {"client_secret": None}, {"client_id": None}])
async def test_refresh_credentials_are_optional_but_must_be_valid(admin, app, change):
    first = await issue_tokens(admin, app)
    answer = await refresh_tokens(admin, first["refresh_token"], **app.credentials | change)
    assert (answer.status, answer.body["error"]) == (401, "invalid_client")
    assert (await refresh_tokens(admin, first["refresh_token"])).status == 200


@pytest.mark.parametrize(
    "header",
    ["Bearer abc", "Basic", "Basic %%%", "Basic YWJj", "Basic /w==", "Digest x", "Basic JTAwOiUwMA=="],
)
async def test_an_authorization_header_without_client_credentials_is_401(visitor, header):
    answer = await post_form(visitor, TOKEN, basic=header, grant_type="refresh_token", refresh_token="x")
    assert (answer.status, answer.body["error"]) == (401, "invalid_client")


async def test_credentials_in_header_and_body_are_rejected(admin, app):
    answer = await post_form(
        admin, TOKEN, basic=app.basic, grant_type="refresh_token", refresh_token="x", **app.credentials
    )
    assert (answer.status, answer.body["error"]) == (400, "invalid_request")


async def test_the_store_is_resolved_first(admin, app):
    answer = await admin.request("POST", TOKEN, {}, headers={"X-Tenant-ID": None, "Host": "localhost"})
    assert (answer.status, answer.body) == (
        404,
        {"error": "tenant not found", "error_description": "tenant not found"},
    )


# --- Revoking ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basic", [False, True])
async def test_revoking_a_refresh_token_revokes_the_whole_grant(admin, app, basic):
    first, other_tokens = await issue_tokens(admin, app), await issue_tokens(admin, app)
    sent = {"token": first["refresh_token"], "token_type_hint": "refresh_token"}
    if basic:
        answer = await post_form(admin, REVOKE, basic=app.basic, **sent)
    else:
        answer = await admin.with_token(None).post(REVOKE, {**sent, **app.credentials})
    assert (answer.status, answer.body) == (200, {})
    rejected = await admin.with_token(first["access_token"]).get(PRODUCTS)
    assert (rejected.status, rejected.body["error"]) == (401, "token revoked: revoked by the app")
    assert (await refresh_tokens(admin, first["refresh_token"])).body["error"] == "invalid_grant"
    assert await works(admin, other_tokens)


async def test_revoking_an_access_token_does_not_revoke_the_refresh_token(admin, app):
    first = await issue_tokens(admin, app)
    answer = await post_form(admin, REVOKE, token=first["access_token"], **app.credentials)
    assert answer.status == 200
    assert not await works(admin, first)
    assert await works(admin, (await refresh_tokens(admin, first["refresh_token"])).body)


async def test_revoking_an_unknown_token_succeeds(admin, app):
    for token in ("unknown", "vat_live_x", "é"):
        assert (await post_form(admin, REVOKE, token=token, **app.credentials)).status == 200


async def test_an_app_can_revoke_only_its_own_tokens(admin, app):
    first, other = await issue_tokens(admin, app), await register_app(admin, name="Outro")
    assert (await post_form(admin, REVOKE, token=first["refresh_token"])).body["error"] == "invalid_client"
    answer = await post_form(admin, REVOKE, token=first["refresh_token"], **other.credentials)
    assert (answer.status, answer.body["error"]) == (400, "invalid_grant")
    assert (await post_form(admin, REVOKE, **app.credentials)).body["error"] == "invalid_request"
    assert await works(admin, first)
