"""Clients that know only the shared address find the routes, and the routes find the store."""

from __future__ import annotations

import pytest

from kernel.settings import Settings
from tests.harness.http import Client
from tests.harness.oauth import REVOKE, SCOPES, TOKEN, App, approve_app, issue_tokens, register_app
from tests.server.middleware_server import run_server

METADATA = "/.well-known/oauth-authorization-server"
ANYWHERE = {"X-Tenant-ID": None}


@pytest.fixture
async def app(admin: Client) -> App:
    return await register_app(admin)


async def test_the_metadata_name_the_routes_at_the_address_of_the_request() -> None:
    async with run_server() as server:
        answer = await server.get(METADATA, Host="loja.example:8443")
        assert answer.status == 200
        issuer = answer.json["issuer"]
        assert issuer == "http://loja.example:8443"
        assert {name: value for name, value in answer.json.items() if name.endswith("_endpoint")} == {
            "authorization_endpoint": f"{issuer}/api/v1/oauth/authorize",
            "token_endpoint": f"{issuer}/api/v1/oauth/token",
            "revocation_endpoint": f"{issuer}/api/v1/oauth/revoke",
        }
        assert answer.json["response_types_supported"] == ["code"]
        assert answer.json["code_challenge_methods_supported"] == ["S256"]
        assert set(SCOPES) <= set(answer.json["scopes_supported"])
        assert server.store_resolver.hosts == []
        assert (await server.get(METADATA, Host="a/b")).status in (400, 404)


@pytest.mark.parametrize("trusted,scheme", [("127.0.0.0/8", "https"), ("10.0.0.0/8", "http")])
async def test_only_a_trusted_proxy_names_the_scheme(trusted: str, scheme: str) -> None:
    settings = Settings.from_environment({"VITRINE_TRUSTED_PROXIES": trusted})
    async with run_server(settings=settings) as server:
        answer = await server.get(METADATA, Host="loja.example", X_Forwarded_Proto="https")
        assert answer.json["issuer"] == f"{scheme}://loja.example"


async def test_the_scheme_of_the_base_url_counts_at_its_host() -> None:
    settings = Settings.from_environment({"VITRINE_BASE_URL": "https://loja.example"})
    async with run_server(settings=settings) as server:
        assert (await server.get(METADATA, Host="loja.example")).json["issuer"] == "https://loja.example"
        assert (await server.get(METADATA, Host="other.example")).json["issuer"] == "http://other.example"


async def test_tokens_are_exchanged_renewed_and_revoked_without_naming_the_store(admin: Client, app: App) -> None:
    visitor = admin.with_token(None)
    code = {"grant_type": "authorization_code", "code": (await approve_app(admin, app))["code"], **app.credentials}
    exchanged = await visitor.post(TOKEN, code, headers=ANYWHERE)
    assert exchanged.status == 200, exchanged
    refresh = {"grant_type": "refresh_token", "refresh_token": exchanged.body["refresh_token"]}
    renewed = await visitor.post(TOKEN, refresh, headers=ANYWHERE)
    assert renewed.status == 200, renewed
    for name in ("access_token", "refresh_token"):
        revoked = await visitor.post(REVOKE, {"token": renewed.body[name], **app.credentials}, headers=ANYWHERE)
        assert (revoked.status, revoked.body) == (200, {}), name
    refresh["refresh_token"] = renewed.body["refresh_token"]
    assert (await visitor.post(TOKEN, refresh, headers=ANYWHERE)).body["error"] == "invalid_grant"


async def test_a_request_without_a_code_is_answered_by_the_store_of_the_client(admin: Client, app: App) -> None:
    visitor = admin.with_token(None)
    for body, status, error in (
        ({"grant_type": "authorization_code", "code": "x", **app.credentials}, 400, "invalid_grant"),
        ({"grant_type": "authorization_code", **app.credentials}, 400, "invalid_request"),
        ({"grant_type": "x", **app.credentials}, 400, "unsupported_grant_type"),
        ({"grant_type": "x", "client_id": "vci_unknown"}, 404, "tenant not found"),
        ({"grant_type": "x", "client_id": 1}, 404, "tenant not found"),
    ):
        answer = await visitor.post(TOKEN, body, headers=ANYWHERE)
        assert (answer.status, answer.body["error"]) == (status, error), answer


async def test_a_named_store_is_not_replaced_by_that_of_the_code(admin: Client, other_admin: Client, app: App) -> None:
    code = {"grant_type": "authorization_code", "code": (await approve_app(admin, app))["code"], **app.credentials}
    elsewhere = await other_admin.with_token(None).post(TOKEN, code)
    assert elsewhere.body["error"] == "invalid_grant"
    assert (await admin.with_token(None).post(TOKEN, code, headers=ANYWHERE)).status == 200


async def test_a_code_of_an_app_that_another_store_registered_names_its_own_store(
    admin: Client, other_admin: Client, app: App
) -> None:
    tokens = await issue_tokens(other_admin, app, SCOPES)
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], **app.credentials}
    renewed = await admin.with_token(None).post(TOKEN, refresh, headers=ANYWHERE)
    assert renewed.status == 200, renewed
    products = await other_admin.with_token(renewed.body["access_token"]).get("/api/v1/admin/products")
    assert products.status == 200
