"""Shared by tests of apps: register and approve an app and exchange its code, over HTTP."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from auth.secrets import APP_SECRET_PURPOSE, decrypt
from models.connection.database import fetchval
from tests.harness.http import Client, Response

TOKEN, REVOKE = "/api/v1/oauth/token", "/api/v1/oauth/revoke"
REDIRECT = "https://app.example/callback"
SCOPES = ["read_orders", "write_products"]
APP_SCOPES = [
    f"write_{part}" for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]
"""All scopes of apps."""
VERIFIER = "a-verifier-of-at-least-43-characters-abcdefghijk"

REGISTER = (
    "mutation ($input: AppInput!) { app_register(input: $input)"
    " { id client_id client_secret name mode redirect_uris scopes created_at } }"
)
INSTALL = """
mutation ($client_id: String!, $scopes: [String!]!, $redirect_uri: String, $state: String, $code_challenge: String) {
  app_install(client_id: $client_id, scopes: $scopes, redirect_uri: $redirect_uri, state: $state, code_challenge: $code_challenge)
  { code redirect_to }
}"""
INSTALLED = "{ installed_apps { id client_id name mode scopes rate_limit installed_at updated_at } }"
UNINSTALL = "mutation ($id: ID!) { app_uninstall(id: $id) { id } }"
UPDATE = "mutation ($id: ID!, $input: InstalledAppInput!) { installed_app_update(id: $id, input: $input) { id scopes rate_limit } }"


@dataclass(frozen=True)
class App:
    client_id: str
    client_secret: str

    @property
    def credentials(self) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.client_secret}

    @property
    def basic(self) -> str:
        pair = f"{self.client_id}:{self.client_secret}".encode()
        return "Basic " + base64.b64encode(pair).decode()


def challenge(verifier: str = VERIFIER) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


async def graphql(caller: Client, query: str, **variables: Any) -> dict[str, Any]:
    """Execute a GraphQL operation and return the response body."""
    response = await caller.post("/graphql", {"query": query, "variables": variables})
    assert response.status == 200, response
    return response.body


async def graphql_result(caller: Client, query: str, **variables: Any) -> Any:
    """Execute a GraphQL operation and return the value of its only root field."""
    body = await graphql(caller, query, **variables)
    assert "errors" not in body, body
    return next(iter(body["data"].values()))


async def graphql_error(caller: Client, query: str, **variables: Any) -> dict[str, Any]:
    """Execute a GraphQL operation and return its only error."""
    body = await graphql(caller, query, **variables)
    assert len(body["errors"]) == 1, body
    return body["errors"][0]


async def register_app(admin: Client, **fields: Any) -> App:
    defaults = {"name": "Etiquetas", "redirect_uris": [REDIRECT], "scopes": SCOPES}
    made = await graphql_result(admin, REGISTER, input=defaults | fields)
    return App(made["client_id"], made["client_secret"])


async def approve_app(admin: Client, app: App, scopes: list[str] | None = None, **more: Any) -> dict[str, str]:
    return await graphql_result(admin, INSTALL, client_id=app.client_id, scopes=scopes or SCOPES, **more)


async def exchange_code(caller: Client, app: App, code: str, **more: Any) -> Response:
    body = {"grant_type": "authorization_code", **app.credentials, "code": code} | more
    return await caller.with_token(None).post(TOKEN, body)


async def refresh_tokens(caller: Client, refresh_token: str, **more: Any) -> Response:
    body = {"grant_type": "refresh_token", "refresh_token": refresh_token} | more
    return await caller.with_token(None).post(TOKEN, body)


async def post_form(caller: Client, path: str, *, basic: str | None = None, **fields: str) -> Response:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": basic}
    return await caller.with_token(None).request("POST", path, data=urlencode(fields), headers=headers)


async def issue_tokens(admin: Client, app: App, scopes: list[str] | None = None) -> dict[str, Any]:
    """Install the app and return its first token pair."""
    answer = await exchange_code(admin, app, (await approve_app(admin, app, scopes))["code"])
    assert answer.status == 200, answer
    return answer.body


async def find_installation(admin: Client, app: App) -> dict[str, Any]:
    return next(app_ for app_ in await graphql_result(admin, INSTALLED) if app_["client_id"] == app.client_id)


def query_parameters(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query, keep_blank_values=True)


async def signing_secret(app_number: int) -> str:
    """Return the stored secret of an app, decrypted."""
    encrypted = await fetchval("select secret_sealed from apps where id = $1", app_number)
    return decrypt(APP_SECRET_PURPOSE, encrypted).decode()
