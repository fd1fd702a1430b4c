"""Sign-in, registration and sessions over `/graphql`, without a credential or with a key (docs/reference/graphql.md#sign-in)."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from kernel.clock import now
from kernel.scope import active_scope
from models.connection import database
from tests.auth.two_factor_users import enrol
from tests.harness import records
from tests.harness.http import Client
from tests.harness.records import PASSWORD
from tests.harness.scopes import system_scope
from tests.harness.storefront import StorefrontClient

ORIGIN = {"Origin": "https://shop.example"}
SIGN_IN = """
    mutation ($identifier: String, $password: String) {
        sign_in(identifier: $identifier, password: $password) { access_token refresh_token expires_at requires_2fa temp_token }
    }
"""
REFRESH = (
    "mutation ($token: String) { session_refresh(refresh_token: $token) { access_token refresh_token expires_at } }"
)
VERIFY = (
    "mutation ($token: String, $code: String) { sign_in_verify(temp_token: $token, code: $code) { refresh_token } }"
)
SIGN_OUT = "mutation ($token: String) { sign_out(refresh_token: $token) { message } }"
REGISTER = "mutation ($input: RegistrationInput!) { user_register(input: $input) { message } }"
VENDOR_SIGN_UP = "mutation ($input: VendorSignupInput!) { vendor_sign_up(input: $input) { status } }"


async def execute(client: Client, query: str, **variables: Any) -> dict[str, Any]:
    response = await client.post("/graphql", {"query": query, "variables": variables}, headers=ORIGIN)
    assert response.status == 200, response
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN["Origin"]
    return response.body


async def test_a_page_signs_in_refreshes_and_signs_out_without_a_credential(visitor: Client):
    user = await records.add_user(visitor.store)
    signed_in = (await execute(visitor, SIGN_IN, identifier=user.email, password=PASSWORD))["data"]["sign_in"]
    assert signed_in["requires_2fa"] is False
    assert signed_in["temp_token"] is None

    me = await visitor.with_token(signed_in["access_token"]).post("/graphql", {"query": "{ me { id } }"})
    assert me.body["data"] == {"me": {"id": user.id}}

    refreshed = (await execute(visitor, REFRESH, token=signed_in["refresh_token"]))["data"]["session_refresh"]
    assert refreshed["refresh_token"] != signed_in["refresh_token"]
    await execute(visitor, SIGN_OUT, token=refreshed["refresh_token"])
    again = await execute(visitor, REFRESH, token=refreshed["refresh_token"])
    assert again["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_storefront_key_signs_a_shopper_in(storefront: StorefrontClient):
    sample = storefront.sample
    user = await records.add_user(sample.store)
    client = Client(sample.http, sample.store, {"X-API-Key": storefront.key or ""})
    answer = await execute(client, SIGN_IN, identifier=user.email, password=PASSWORD)
    assert answer["data"]["sign_in"]["access_token"]


async def test_two_factor_sign_in_takes_two_steps(visitor: Client):
    record = await records.add_user(visitor.store)
    user = await enrol(visitor.store, record.number)
    challenge = (await execute(visitor, SIGN_IN, identifier=record.email, password=PASSWORD))["data"]["sign_in"]
    assert challenge["requires_2fa"] is True
    assert challenge["access_token"] is None
    verified = await execute(visitor, VERIFY, token=challenge["temp_token"], code=user.code(now(), 1))
    assert verified["data"]["sign_in_verify"]["refresh_token"]


async def test_attempts_are_counted_for_each_operation_of_a_document(visitor: Client):
    user = await records.add_user(visitor.store)
    sign_in = f'sign_in(identifier: "{user.email}", password: "{PASSWORD}") {{ requires_2fa }}'
    body = await execute(visitor, "mutation {" + " ".join(f"a{number}: {sign_in}" for number in range(6)) + "}")
    (error,) = body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["a5"], "RATE_LIMITED")


async def test_registration_answers_alike_for_known_and_unknown_addresses(visitor: Client):
    user = await records.add_user(visitor.store)
    answers = [
        await execute(visitor, REGISTER, input={"email": email, "password": PASSWORD, "name": "Ana"})
        for email in (user.email, "new@example.com")
    ]
    assert answers[0] == answers[1]
    assert answers[0]["data"]["user_register"]["message"]


async def test_vendor_sign_up_answers_alike_and_mails_the_owner_of_a_known_address(visitor: Client):
    user = await records.add_user(visitor.store)
    answers = [
        await execute(visitor, VENDOR_SIGN_UP, input={"email": email, "password": PASSWORD, "company": f"Loja {email}"})
        for email in (user.email, "new@example.com")
    ]
    assert answers[0] == answers[1]
    assert answers[0]["data"] == {"vendor_sign_up": {"status": "P"}}
    with active_scope(system_scope(visitor.store)):
        created = await database.fetchval("select count(*) from vendors where tenant_id = $1", visitor.store.id)
        mails = await database.fetch("select recipient from mails where tenant_id = $1", visitor.store.id)
    assert created == 1
    assert user.email in {mail["recipient"] for mail in mails}


async def test_a_response_with_tokens_is_not_stored_for_an_idempotency_key(visitor: Client):
    user = await records.add_user(visitor.store)
    body = {"query": SIGN_IN, "variables": {"identifier": user.email, "password": PASSWORD}}
    first, second = [await visitor.post("/graphql", body, headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    assert first.body["data"]["sign_in"]["access_token"]
    assert "Idempotent-Replayed" not in second.headers
    with active_scope(system_scope(visitor.store)):
        stored = await database.fetchval(
            "select count(*) from idempotency_claims where tenant_id = $1", visitor.store.id
        )
    assert stored == 0


@pytest.mark.parametrize(
    "document",
    [
        "{ store { name } }",
        "mutation { sign_out_everywhere { message } }",
        'mutation { sign_out(refresh_token: "x") { message } api_key_create { key } }',
        "mutation { ...f } fragment f on Mutation { api_key_create { key } }",
        "mutation ($a: Int = ) {",
        "{" + "a" * 100_000 + "}",
    ],
)
async def test_anything_else_needs_a_credential(document: str, visitor: Client):
    response = await visitor.post("/graphql", {"query": document}, headers=ORIGIN)
    assert response.status == 401
    assert response.body == {
        "error": "missing authorization header",
        "message": "missing authorization header",
        "status": 401,
        "errors": [{"message": "missing authorization header", "extensions": {"code": "UNAUTHENTICATED"}}],
    }
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="vitrine"'


async def test_a_wrong_token_is_challenged_with_its_error(visitor: Client):
    response = await visitor.with_token("nonsense").post("/graphql", {"query": SIGN_IN})
    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="vitrine", error="invalid_token"'
    assert response.body["errors"][0]["extensions"] == {"code": "UNAUTHENTICATED"}


async def test_a_mistake_in_a_sign_in_document_is_reported(visitor: Client):
    body = await execute(visitor, "mutation { sign_in(login: 1) { nothing } }")
    assert {error["extensions"]["code"] for error in body["errors"]} == {"GRAPHQL_VALIDATION_FAILED"}


async def test_documents_of_callers_without_a_credential_are_not_stored(visitor: Client):
    document_id = "sha256:" + sha256(SIGN_IN.encode()).hexdigest()
    apollo = {"persistedQuery": {"version": 1, "sha256Hash": document_id.removeprefix("sha256:")}}
    await visitor.post("/graphql", {"query": SIGN_IN, "documentId": document_id})
    await visitor.post("/graphql", {"query": SIGN_IN, "extensions": apollo})
    response = await visitor.post("/graphql", {"documentId": document_id})
    assert response.body["errors"][0]["extensions"]["code"] == "PERSISTED_DOCUMENT_NOT_FOUND"
    response = await visitor.post("/graphql", {"extensions": apollo})
    assert response.body["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("POST", "/api/v1/auth/login", 400),
        ("GET", "/api/v1/auth/login", 405),
        ("POST", "/api/v1/auth/nothing", 404),
        ("POST", "/api/v1/oauth/token", 400),
        ("POST", "/api/v1/oauth/revoke", 401),
        ("GET", "/api/v1/storefront/nothing", 404),
        ("DELETE", "/graphql", 405),
    ],
)
async def test_pages_read_the_errors_of_the_sign_in_routes(method: str, path: str, status: int, visitor: Client):
    response = await visitor.request(method, path, {}, headers=ORIGIN)
    assert response.status == status
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN["Origin"]
    assert response.headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize("path", ["/api/v1/admin/products", "/api/v1/nothing", "/api/products"])
async def test_other_routes_stay_closed_to_pages(path: str, visitor: Client):
    response = await visitor.get(path, headers=ORIGIN)
    assert "Access-Control-Allow-Origin" not in response.headers
