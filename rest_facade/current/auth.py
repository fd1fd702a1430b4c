"""Serve the sign-in routes, `/api/v1/auth` (docs/reference/current.md#sign-in)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from aiohttp import hdrs, web

from kernel import clock
from kernel.errors import DomainError, MalformedRequest, NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import ANONYMOUS, Scope, Store
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route, request_id_of, scope_of

KEY_PATH = "/api/v1/auth/key"
SESSION_ENDED = "session ended"
# As long as the server's own processes cache the keys.
_CACHED_ONE_MINUTE = {"Cache-Control": "public, max-age=60"}

_TOKEN_FIELDS = ("access_token", "refresh_token", "expires_at")


class SignInHandlers:
    """Serve the sign-in routes with the operations of this facade."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._sign_in = operations["SignIn"]
        self._sign_in_with_key = operations["SignInWithKey"]
        self._verify = operations["SignInVerify"]
        self._refresh = operations["SessionRefresh"]
        self._sign_out = operations["SignOut"]
        self._sign_out_everywhere = operations["SignOutEverywhere"]
        self._sessions = operations["Sessions"]
        self._session_revoke = operations["SessionEnd"]
        self._me = operations["Me"]
        self._keys = operations["SigningKeys"]

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("POST", "/api/v1/auth/login", self.login, Credential.STORE, attempt_limit="login"),
            Route("POST", KEY_PATH, self.sign_in_with_key, Credential.STORE, attempt_limit="sign_in_key"),
            Route("GET", KEY_PATH, self.open_link, Credential.STORE, attempt_limit="sign_in_key"),
            Route("POST", "/api/v1/auth/verify-2fa", self.verify_two_factor, Credential.STORE),
            Route("POST", "/api/v1/auth/refresh", self.refresh, Credential.STORE),
            Route("POST", "/api/v1/auth/logout", self.logout, Credential.STORE),
            Route("POST", "/api/v1/auth/logout-all", self.logout_all, Credential.USER),
            Route("GET", "/api/v1/auth/sessions", self.sessions, Credential.USER),
            Route("DELETE", "/api/v1/auth/sessions/{id}", self.revoke_session, Credential.USER),
            Route("GET", "/api/v1/auth/me", self.me, Credential.USER),
            Route("GET", "/.well-known/jwks.json", self.keys, Credential.NONE),
        ]

    async def login(self, request: web.Request) -> web.Response:
        """Sign in with `{email | identifier, password}`."""
        scope = scope_of(request)
        try:
            variables = credentials(await read_json_object(request))
        except DomainError:
            await self._count_attempt(scope)
            raise
        data = await execute(scope, self._sign_in, variables)
        return json_response(_pair_or_challenge(data["sign_in"]))

    async def sign_in_with_key(self, request: web.Request) -> web.Response:
        """Sign in with the `{key}` of `POST /api/auth`."""
        body = await read_json_object(request, empty=True)
        return await self._exchange(request, text_field(body, "key"))

    async def open_link(self, request: web.Request) -> web.Response:
        """Sign in by the link of `POST /api/auth`, which contains the key; HEAD, as link previews send it, does not use it up."""
        if request.method == hdrs.METH_HEAD:
            return web.Response()
        return await self._exchange(request, request.query.get("key"))

    async def _exchange(self, request: web.Request, key: str | None) -> web.Response:
        data = await execute(scope_of(request), self._sign_in_with_key, {"key": key})
        return json_response(_pair_or_challenge(data["sign_in_with_key"]))

    async def verify_two_factor(self, request: web.Request) -> web.Response:
        """Answer a two-factor challenge with `{temp_token, code}`."""
        body = await read_json_object(request, empty=True)
        variables = {"temp_token": text_field(body, "temp_token"), "code": text_field(body, "code")}
        data = await execute(scope_of(request), self._verify, variables)
        return json_response(data["sign_in_verify"])

    async def refresh(self, request: web.Request) -> web.Response:
        """Exchange a refresh token for a new token pair."""
        variables = refresh_token(await read_json_object(request, empty=True))
        data = await execute(scope_of(request), self._refresh, variables)
        return json_response(data["session_refresh"])

    async def logout(self, request: web.Request) -> web.Response:
        """Revoke the session of a refresh token."""
        variables = refresh_token(await read_json_object(request, empty=True))
        data = await execute(scope_of(request), self._sign_out, variables)
        return json_response(data["sign_out"])

    async def logout_all(self, request: web.Request) -> web.Response:
        """Revoke all sessions of the caller."""
        data = await execute(scope_of(request), self._sign_out_everywhere)
        return json_response(data["sign_out_everywhere"])

    async def sessions(self, request: web.Request) -> web.Response:
        """List the caller's sessions."""
        data = await execute(scope_of(request), self._sessions)
        return json_response({"sessions": data["sessions"], "total": len(data["sessions"])})

    async def revoke_session(self, request: web.Request) -> web.Response:
        """Revoke one of the caller's sessions."""
        session = parse_uuid(request.match_info["id"])
        if session is None:
            raise NotFound("session")
        await execute(scope_of(request), self._session_revoke, {"id": str(session)})
        return json_response({"message": SESSION_ENDED})

    async def me(self, request: web.Request) -> web.Response:
        """Return the caller's account and privileges."""
        scope = scope_of(request)
        data = await execute(scope, self._me)
        return json_response({**data["me"], "privileges": sorted(scope.actor.privileges)})

    async def keys(self, request: web.Request) -> web.Response:
        """Return the public keys that verify access tokens, independent of a store (RFC 7517)."""
        no_store = Store(id=0, public_id=UUID(int=0), name="")
        scope = Scope(no_store, ANONYMOUS, request_id_of(request), clock.now(), family="plain")
        data = await execute(scope, self._keys)
        return json_response({"keys": data["signing_keys"]}, headers=_CACHED_ONE_MINUTE)

    async def _count_attempt(self, scope: Scope) -> None:
        """Count an attempt with an unreadable body like any other, so that the rate limit applies before the 400."""
        try:
            await execute(scope, self._sign_in)
        except ValidationFailed:
            pass  # expected without credentials; the body's own error is raised instead


def _pair_or_challenge(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token pair or the two-factor challenge."""
    fields = ("requires_2fa", "temp_token") if result["requires_2fa"] else _TOKEN_FIELDS
    return {name: result[name] for name in fields}


def credentials(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the sign-in credentials; a non-blank `identifier` takes precedence over `email`."""
    identifier, email = text_field(body, "identifier"), text_field(body, "email")
    has_identifier = identifier is not None and identifier.strip()
    return {"identifier": identifier if has_identifier else email, "password": text_field(body, "password")}


def refresh_token(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the refresh token of a body."""
    return {"refresh_token": text_field(body, "refresh_token")}


def text_field(body: Mapping[str, Any], name: str) -> str | None:
    """Return a text field of a body, None when absent or null; raises `MalformedRequest` without quoting the value, a possible secret."""
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value
    raise MalformedRequest(detail=f"{name} is no text")
