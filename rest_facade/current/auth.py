"""Serve the sign-in routes, `/api/v1/auth` (docs/reference/current.md#sign-in)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiohttp import hdrs, web

from kernel import clock
from kernel.errors import DomainError, MalformedRequest, NotFound, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import ANONYMOUS, Scope, Store
from resolvers.execute import FacadeOperation, execute, execute_field
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import REQUEST_ID, SCOPE, Credential, Handler, Route

KEY_PATH = "/api/v1/auth/key"
SESSION_ENDED = "session ended"
# As long as the server's own processes cache the keys.
_CACHED_ONE_MINUTE = {"Cache-Control": "public, max-age=60"}

_TOKEN_FIELDS = ("access_token", "refresh_token", "expires_at")


@dataclass(frozen=True, slots=True)
class SignInHandlers:
    """Serve the sign-in routes with the operations of this facade."""

    operations: Mapping[str, FacadeOperation] = field(repr=False)

    def routes(self) -> list[Route]:
        """List the routes."""
        operations, store = self.operations, Credential.STORE
        verify = text_handler(operations["SignInVerify"], "temp_token", "code")
        refresh = text_handler(operations["SessionRefresh"], "refresh_token")
        logout = text_handler(operations["SignOut"], "refresh_token")
        return [
            Route("POST", "/api/v1/auth/login", self.login, store, attempt_limit="login"),
            Route("POST", KEY_PATH, self.sign_in_with_key, store, attempt_limit="sign_in_key"),
            Route("GET", KEY_PATH, self.open_link, store, attempt_limit="sign_in_key"),
            Route("POST", "/api/v1/auth/verify-2fa", verify, store),
            Route("POST", "/api/v1/auth/refresh", refresh, store),
            Route("POST", "/api/v1/auth/logout", logout, store),
            Route("POST", "/api/v1/auth/logout-all", text_handler(operations["SignOutEverywhere"]), Credential.USER),
            Route("GET", "/api/v1/auth/sessions", self.sessions, Credential.USER),
            Route("DELETE", "/api/v1/auth/sessions/{id}", self.revoke_session, Credential.USER),
            Route("GET", "/api/v1/auth/me", self.me, Credential.USER),
            Route("GET", "/.well-known/jwks.json", self.keys, Credential.NONE),
        ]

    async def login(self, request: web.Request) -> web.Response:
        """Sign in with `{email | identifier, password}`."""
        scope, operation = request[SCOPE], self.operations["SignIn"]
        try:
            variables = credentials(await read_json_object(request))
        except DomainError:
            await _count_attempt(scope, operation)
            raise
        data = await execute(scope, operation, variables)
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
        data = await execute(request[SCOPE], self.operations["SignInWithKey"], {"key": key})
        return json_response(_pair_or_challenge(data["sign_in_with_key"]))

    async def sessions(self, request: web.Request) -> web.Response:
        """List the caller's sessions."""
        data = await execute(request[SCOPE], self.operations["Sessions"])
        return json_response({"sessions": data["sessions"], "total": len(data["sessions"])})

    async def revoke_session(self, request: web.Request) -> web.Response:
        """Revoke one of the caller's sessions."""
        session = parse_uuid(request.match_info["id"])
        if session is None:
            raise NotFound("session")
        await execute(request[SCOPE], self.operations["SessionEnd"], {"id": str(session)})
        return json_response({"message": SESSION_ENDED})

    async def me(self, request: web.Request) -> web.Response:
        """Return the caller's account and privileges."""
        scope = request[SCOPE]
        data = await execute(scope, self.operations["Me"])
        return json_response({**data["me"], "privileges": sorted(scope.actor.privileges)})

    async def keys(self, request: web.Request) -> web.Response:
        """Return the public keys that verify access tokens, independent of a store (RFC 7517)."""
        no_store = Store(id=0, public_id=UUID(int=0), name="")
        scope = Scope(no_store, ANONYMOUS, request[REQUEST_ID], clock.now(), family="plain")
        data = await execute(scope, self.operations["SigningKeys"])
        return json_response({"keys": data["signing_keys"]}, headers=_CACHED_ONE_MINUTE)


def text_handler(operation: FacadeOperation, *names: str, counts_attempts: bool = False) -> Handler:
    """Build the handler of an operation whose variables are text fields of the body, which may be empty.

    With `counts_attempts` an unreadable body counts as an attempt before it is rejected.
    """

    async def handle(request: web.Request) -> web.Response:
        scope = request[SCOPE]
        try:
            body = await read_json_object(request, empty=True) if names else {}
            variables = {name: text_field(body, name) for name in names}
        except DomainError:
            if counts_attempts:
                await _count_attempt(scope, operation)
            raise
        return json_response(await execute_field(scope, operation, variables))

    return handle


async def _count_attempt(scope: Scope, operation: FacadeOperation) -> None:
    """Count an attempt with an unreadable body like any other, so that the rate limit applies before the 400."""
    try:
        await execute(scope, operation)
    except ValidationFailed:
        pass  # expected without a body; the body's own error is raised instead


def _pair_or_challenge(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token pair or the two-factor challenge."""
    fields = ("requires_2fa", "temp_token") if result["requires_2fa"] else _TOKEN_FIELDS
    return {name: result[name] for name in fields}


def credentials(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the sign-in credentials; a non-blank `identifier` takes precedence over `email`."""
    identifier, email = text_field(body, "identifier"), text_field(body, "email")
    has_identifier = identifier is not None and identifier.strip()
    return {"identifier": identifier if has_identifier else email, "password": text_field(body, "password")}


def text_field(body: Mapping[str, Any], name: str) -> str | None:
    """Return a text field of a body, None when absent or null; raises `MalformedRequest` without quoting the value, a possible secret."""
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value
    raise MalformedRequest(detail=f"{name} is no text")
