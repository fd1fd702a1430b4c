"""Be the sign-in routes, `/api/v1/auth` (contract, Endpoints; decisions section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from aiohttp import web

from kernel import clock
from kernel.errors import DomainError, MalformedRequest, NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import ANONYMOUS, Scope, Store
from resolvers.execute import FacadeOperation, execute
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, request_id_of, scope_of

SESSION_ENDED = "session ended"
# Tokens must not stay in any cache on the way (RFC 6749, section 5.1).
_NOT_STORED = {"Cache-Control": "no-store"}
# As long as our own processes go on with the keys they know.
_KEPT_A_MINUTE = {"Cache-Control": "public, max-age=60"}

_PAIR = ("access_token", "refresh_token", "expires_at")


class SignIn:
    """Serve the sign-in routes with the operations of this facade."""

    def __init__(self, operations: Mapping[str, FacadeOperation]) -> None:
        self._sign_in = operations["SignIn"]
        self._verify = operations["SignInVerify"]
        self._refresh = operations["SessionRefresh"]
        self._sign_out = operations["SignOut"]
        self._sign_out_everywhere = operations["SignOutEverywhere"]
        self._sessions = operations["Sessions"]
        self._session_end = operations["SessionEnd"]
        self._me = operations["Me"]
        self._keys = operations["SigningKeys"]

    def routes(self) -> list[Route]:
        """List the routes."""
        return [
            Route("POST", "/api/v1/auth/login", self.login, Needs.STORE, attempt="login"),
            Route("POST", "/api/v1/auth/verify-2fa", self.verify_two_factor, Needs.STORE),
            Route("POST", "/api/v1/auth/refresh", self.refresh, Needs.STORE),
            Route("POST", "/api/v1/auth/logout", self.logout, Needs.STORE),
            Route("POST", "/api/v1/auth/logout-all", self.logout_all, Needs.USER),
            Route("GET", "/api/v1/auth/sessions", self.sessions, Needs.USER),
            Route("DELETE", "/api/v1/auth/sessions/{id}", self.end_session, Needs.USER),
            Route("GET", "/api/v1/auth/me", self.me, Needs.USER),
            Route("GET", "/.well-known/jwks.json", self.keys, Needs.NOTHING),
        ]

    async def login(self, request: web.Request) -> web.Response:
        """Sign in with `{email | identifier, password}`."""
        scope = scope_of(request)
        try:
            given = credentials(await read_json_object(request))
        except DomainError:
            await self._count(scope)
            raise
        data = await execute(scope, self._sign_in, given)
        return json_response(_pair_or_challenge(data["sign_in"]), headers=_NOT_STORED)

    async def verify_two_factor(self, request: web.Request) -> web.Response:
        """Answer a challenge with `{temp_token, code}`."""
        body = await read_json_object(request, empty=True)
        given = {"temp_token": text(body, "temp_token"), "code": text(body, "code")}
        data = await execute(scope_of(request), self._verify, given)
        return json_response(data["sign_in_verify"], headers=_NOT_STORED)

    async def refresh(self, request: web.Request) -> web.Response:
        """Exchange a refresh token for the next pair."""
        given = refresh_token(await read_json_object(request, empty=True))
        data = await execute(scope_of(request), self._refresh, given)
        return json_response(data["session_refresh"], headers=_NOT_STORED)

    async def logout(self, request: web.Request) -> web.Response:
        """End the session of a refresh token."""
        given = refresh_token(await read_json_object(request, empty=True))
        data = await execute(scope_of(request), self._sign_out, given)
        return json_response(data["sign_out"])

    async def logout_all(self, request: web.Request) -> web.Response:
        """End every session of the caller."""
        data = await execute(scope_of(request), self._sign_out_everywhere)
        return json_response(data["sign_out_everywhere"])

    async def sessions(self, request: web.Request) -> web.Response:
        """List the caller's sessions."""
        data = await execute(scope_of(request), self._sessions)
        return json_response({"sessions": data["sessions"], "total": len(data["sessions"])})

    async def end_session(self, request: web.Request) -> web.Response:
        """End one of the caller's sessions."""
        session = parse_uuid(request.match_info["id"])
        if session is None:
            raise NotFound("session")
        await execute(scope_of(request), self._session_end, {"id": str(session)})
        return json_response({"message": SESSION_ENDED})

    async def me(self, request: web.Request) -> web.Response:
        """Show the caller's own account, and what it may do."""
        scope = scope_of(request)
        data = await execute(scope, self._me)
        return json_response({**data["me"], "privileges": sorted(scope.actor.privileges)})

    async def keys(self, request: web.Request) -> web.Response:
        """Show the public keys that verify access tokens, of no store in particular (RFC 7517)."""
        nowhere = Store(id=0, public_id=UUID(int=0), name="")
        scope = Scope(nowhere, ANONYMOUS, request_id_of(request), clock.now(), family="plain")
        data = await execute(scope, self._keys)
        return json_response({"keys": data["signing_keys"]}, headers=_KEPT_A_MINUTE)

    async def _count(self, scope: Scope) -> None:
        """Count an attempt whose body can't be read like every other: the sixth in a minute is 429 before it is anything else."""
        try:
            await execute(scope, self._sign_in)
        except ValidationFailed:
            pass  # of course: it held nothing. What is wrong with the body is the better answer.


def _pair_or_challenge(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Show the half that was filled (contract, Token pair and Two-factor challenge)."""
    shown = ("requires_2fa", "temp_token") if answer["requires_2fa"] else _PAIR
    return {name: answer[name] for name in shown}


def credentials(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Give who wants to enter: `identifier` wins over `email` where both say something."""
    identifier, email = text(body, "identifier"), text(body, "email")
    has_identifier = identifier is not None and identifier.strip()
    return {"identifier": identifier if has_identifier else email, "password": text(body, "password")}


def refresh_token(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Give the refresh token of a body."""
    return {"refresh_token": text(body, "refresh_token")}


def text(body: Mapping[str, Any], name: str) -> str | None:
    """Give a text of a body, None when it is absent or null; `MalformedRequest` for what is no text, which may be a secret."""
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value
    raise MalformedRequest(detail=f"{name} is no text")
