"""Serve the OAuth token routes, `/api/v1/oauth` (docs/reference/current.md#app-tokens; RFC 6749, 7009)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from aiohttp import hdrs, web

from kernel.errors import InvalidClient, MalformedRequest, OAuthError
from kernel.text import has_forbidden_characters
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_form_or_json
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route

PREFIX = "/api/v1/oauth"
INVALID_REQUEST = "invalid_request"
TOKEN_TYPE = "Bearer"

_NO_CACHE = {"Pragma": "no-cache"}
_CLIENT = ("client_id", "client_secret")


class OAuthHandlers:
    """Serve the token and revocation routes with the operations of this facade."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        # Operation and body fields by grant type.
        self._grants: Mapping[str, tuple[FacadeOperation, tuple[str, ...]]] = {
            "authorization_code": (operations["AppCodeExchange"], (*_CLIENT, "code", "redirect_uri", "code_verifier")),
            "refresh_token": (operations["AppTokenRenew"], (*_CLIENT, "refresh_token", "scope")),
        }
        self._revoke = operations["AppTokenRevoke"]

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("POST", f"{PREFIX}/token", self.token, Credential.STORE, names_store=True),
            Route("POST", f"{PREFIX}/revoke", self.revoke, Credential.STORE, names_store=True),
        ]

    async def token(self, request: web.Request) -> web.Response:
        """Exchange an authorization code or a refresh token for tokens; the body is JSON or a form."""
        body = await read_client_request(request)
        grant_type = _text(body, "grant_type")
        if not grant_type:
            raise OAuthError(INVALID_REQUEST, "grant_type is required")
        if grant_type not in self._grants:
            raise OAuthError("unsupported_grant_type", f"grant_type must be one of {', '.join(self._grants)}")
        operation, fields = self._grants[grant_type]
        data = await execute(request[SCOPE], operation, {name: _text(body, name) for name in fields})
        tokens = data[operation.fields[0]]
        return json_response(
            {
                "access_token": tokens["access_token"],
                "refresh_token": tokens["refresh_token"],
                "token_type": TOKEN_TYPE,
                "expires_in": tokens["expires_in"],
                "scopes": tokens["scopes"],
                "scope": " ".join(tokens["scopes"]),
            },
            headers=_NO_CACHE,
        )

    async def revoke(self, request: web.Request) -> web.Response:
        """Revoke a token; an unknown or expired one gets the same response (RFC 7009, section 2.2)."""
        body = await read_client_request(request)
        variables = {name: _text(body, name) for name in (*_CLIENT, "token")}
        await execute(request[SCOPE], self._revoke, variables)
        return json_response({}, headers=_NO_CACHE)


async def read_client_request(request: web.Request) -> dict[str, Any]:
    """Parse the body, including client credentials sent in the header, which are read first."""
    header = request.headers.get(hdrs.AUTHORIZATION)
    client = None if header is None else _basic(header)
    try:
        body = await read_form_or_json(request)
    except MalformedRequest as error:
        raise OAuthError(INVALID_REQUEST, str(error.details.get("detail", error.message))) from error
    if client is None:
        return body
    if body.get("client_secret") is not None:
        raise OAuthError(INVALID_REQUEST, "client credentials belong in the header or in the body, not both")
    client_id, client_secret = client
    if body.get("client_id") not in (None, client_id):
        raise OAuthError(INVALID_REQUEST, "the client_id of the body is not the one in the header")
    return {**body, "client_id": client_id, "client_secret": client_secret}


def _basic(header: str) -> tuple[str, str]:
    """Parse client credentials from `Authorization: Basic`, each form-encoded (RFC 6749, section 2.3.1)."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient("the authorization header must be Basic with the client's credentials")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidClient("the authorization header can't be read") from error
    client_id, colon, client_secret = text.partition(":")
    pair = unquote_plus(client_id), unquote_plus(client_secret)
    if not colon or any(has_forbidden_characters(part) for part in pair):
        raise InvalidClient("the authorization header can't be read")
    return pair


def _text(body: Mapping[str, Any], name: str) -> str | None:
    """Return a text field of the body, None when absent, null or empty, which are equivalent (RFC 6749, section 3.2)."""
    value = body.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise OAuthError(INVALID_REQUEST, f"{name} must be a text")
    return value
